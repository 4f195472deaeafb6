/**
 * The shapes of queries. Two families of clients write vector, columns and full text differently; the normal forms are those of the
 * specification.
 */
import { formatId } from './identifiers.js'
import { caller, namespaceId, onBranch, onTable, sqlParameters, version } from './request-fields.js'
import {
  accept,
  array,
  boolean,
  choice,
  type ExactlyOne,
  enumeration,
  type Infer,
  integer,
  named,
  nullable,
  number,
  object,
  optional,
  optionalEvenEmpty,
  record,
  required,
  type Shape,
  saturatingInteger,
  string,
  vector,
  withoutEffect,
} from './shape.js'

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
}

// ---- vector

const queryVector = accept(
  nullable(
    choice(
      {
        single_vector: required(vector, 'One query vector.'),
        multi_vector: required(
          array(vector, { min: 1 }),
          'Several query vectors. On a vector column: a batch of queries. On a column of lists of vectors: one max-sim query.',
        ),
      },
      value => {
        if (!isList(value)) return undefined
        return typeof value[0] === 'number' ? 'single_vector' : 'multi_vector'
      },
    ),
  ),
  'a bare vector or array of vectors; null or an empty vector means no vector search',
  value => {
    if (isList(value)) return value.length === 0 ? null : value
    if (!isPlainObject(value)) return value
    // Clients without a vector write an object with empty fields; clients with one write both fields.
    const given = Object.entries(value).filter(([, item]) => item !== null && item !== undefined)
    return given.every(([name, item]) => isEmptyList(item) && /^(single|multi)_vector$/.test(name))
      ? null
      : value
  },
)

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || ArrayBuffer.isView(value)
}

function isEmptyList(value: unknown): boolean {
  return isList(value) && value.length === 0
}

// ---- columns

export const selection = accept(
  choice(
    {
      column_names: required(
        array(string('nonEmpty'), { distinct: name => name }),
        'Columns, in this order.',
      ),
      column_aliases: required(record(string('nonBlank')), 'SQL expressions by output name.'),
    },
    value => {
      if (Array.isArray(value)) return 'column_names'
      return isPlainObject(value) && isAliases(value) ? 'column_aliases' : undefined
    },
  ),
  'a bare array of names or a bare object of expressions',
  value => (isPlainObject(value) && selectsAll(value) ? undefined : value),
)

function hasOnly(value: Record<string, unknown>, ...names: string[]): boolean {
  return Object.keys(value).every(name => names.includes(name))
}

/** Return whether an object is a bare object of expressions: it has no field with the name and the type of a field of a selection. */
function isAliases(value: Record<string, unknown>): boolean {
  const { column_names: names, column_aliases: aliases } = value
  if (Array.isArray(names) || isPlainObject(aliases) || Object.keys(value).length === 0) return false
  return (
    !hasOnly(value, 'column_names', 'column_aliases') ||
    typeof names === 'string' ||
    typeof aliases === 'string'
  )
}

/** Return whether a value means all columns: it has no field, or both fields are empty. */
function selectsAll({
  column_names: names,
  column_aliases: aliases,
  ...others
}: Record<string, unknown>): boolean {
  const isAll = isEmptyList(names) && isPlainObject(aliases) && Object.keys(aliases).length === 0
  return (isAll || (names ?? aliases ?? undefined) === undefined) && Object.keys(others).length === 0
}

// ---- full text

const operator = enumeration(['Or', 'And'])

const matchQuery = object({
  terms: required(string(), 'Text to search for; tokenized like the column.'),
  column: optional(string('nonEmpty'), 'Column; absent: the columns of the query.'),
  operator: optional(operator, 'Whether any term (default) or every term must match.'),
  fuzziness: optional(
    nullable(integer(0)),
    'Most edits per term, 0 (default) to 2; null: by the length of the term.',
  ),
  prefix_length: optional(integer(0), 'Length of the prefix that must match exactly, characters; default 0.'),
  max_expansions: optional(integer(0), 'Most terms to which a fuzzy term expands; default 50.'),
  prefix: optional(
    boolean,
    'Whether the last word, if the text ends with it, also matches terms that begin with it; default false.',
  ),
  boost: optional(number, 'Factor for the score, 0 to 1e9; default 1.'),
})
export type MatchQuery = Infer<typeof matchQuery>

const phraseQuery = object({
  terms: required(string(), 'Phrase to search for.'),
  column: optional(string('nonEmpty'), 'Column; absent: the columns of the query.'),
  slop: optional(
    integer(0),
    'How many extra positions may be between two neighboring terms of the phrase; their order must match. Default 0.',
  ),
})
export type PhraseQuery = Infer<typeof phraseQuery>

/** The form of one client: lists of the same length. */
const parallelLists = object(
  {
    query: required(string(), 'Text to search for.'),
    columns: required(array(string('nonEmpty'), { min: 1 }), 'Columns.'),
    boost: optional(array(number), 'A factor for each column.'),
  },
  {
    check: ({ columns, boost }) => {
      const [some, factors] = [columns, boost ?? columns] as unknown[][]
      return some!.length === factors!.length
        ? undefined
        : `has ${factors!.length} factors for ${some!.length} columns`
    },
  },
)

const multiMatchQuery = accept(
  object({
    match_queries: required(
      array(matchQuery, { min: 1 }),
      'Matches on several columns; the best score of them counts.',
    ),
  }),
  'query, columns and boost as parallel lists',
  value => {
    if (!isPlainObject(value) || !('query' in value)) return value
    const { query, columns, boost } = value as Infer<typeof parallelLists>
    return {
      match_queries: columns.map((column, i) => ({
        terms: query,
        column,
        ...(boost !== undefined && { boost: boost[i] }),
      })),
    }
  },
  { is: value => isPlainObject(value) && 'query' in value, shape: parallelLists },
)

interface FtsOperators {
  readonly match: MatchQuery
  readonly phrase: PhraseQuery
  readonly multi_match: { readonly match_queries: readonly MatchQuery[] }
  readonly boost: BoostQuery
  readonly boolean: BooleanQuery
}

/** Exactly one operator. Operators may be nested. */
export type FtsQuery = ExactlyOne<FtsOperators>

interface BoostQuery {
  readonly positive: FtsQuery
  readonly negative: FtsQuery
  readonly negative_boost?: number | undefined
}

interface BooleanQuery {
  readonly must?: readonly FtsQuery[] | undefined
  readonly must_not?: readonly FtsQuery[] | undefined
  readonly should?: readonly FtsQuery[] | undefined
}

const ftsQuery: Shape<FtsQuery> = named('FtsQuery', () =>
  choice({
    match: required(matchQuery, 'Rows with any or all of these terms.'),
    phrase: required(phraseQuery, 'Rows with these terms as a phrase.'),
    multi_match: required(multiMatchQuery, 'The same match over several columns.'),
    boost: required(boostQuery, 'Rows of one query, with a lower score if another query matches.'),
    boolean: required(booleanQuery, 'Rows by queries that must, must not, or should match.'),
  }),
)

const boostQuery: Shape<BoostQuery> = object({
  positive: required(ftsQuery, 'Query for the rows.'),
  negative: required(ftsQuery, 'Query that lowers the score.'),
  negative_boost: optional(number, 'Factor for the score of `negative`, which is subtracted; default 0.5.'),
})

const booleanQuery: Shape<BooleanQuery> = object({
  must: optional(array(ftsQuery), 'Queries that must all match.'),
  must_not: optional(array(ftsQuery), 'Queries of which none may match.'),
  should: optional(array(ftsQuery), 'Queries that raise the score. Without `must`, at least one must match.'),
})

const fullText = choice(
  {
    string_query: required(
      object({
        query: required(string(), 'Text to search for.'),
        columns: optional(array(string('nonEmpty')), 'Columns; absent: all with a full-text index.'),
      }),
      'A plain text.',
    ),
    structured_query: required(object({ query: required(ftsQuery, 'The operators.') }), 'Operators.'),
  },
  // A query object without the name of its kind.
  value => {
    if (!isPlainObject(value) || !('query' in value)) return undefined
    return typeof value.query === 'string' ? 'string_query' : 'structured_query'
  },
)

const fusion = object(
  {
    rrf: optionalEvenEmpty(
      object({ k: optional(number, 'Constant; default 60.') }),
      'Reciprocal rank fusion: the sum of 1 / (k + rank), with ranks from 0. The default.',
    ),
    weighted: optional(
      object({
        vector_weight: required(number, 'Weight of the vector search, 0 to 1; the text search has the rest.'),
      }),
      'Weighted sum of nearness and text score, each scaled from 0 (worst match) to 1 (best match).',
    ),
    candidates: optional(
      saturatingInteger(1),
      'Most rows that each of the two searches returns; default max(200, 4 x k), whatever the offset. offset + k must not exceed it. Required with aggregates, groups, distinct rows and an order.',
    ),
  },
  {
    check: ({ rrf, weighted }) =>
      rrf !== undefined && weighted !== undefined ? 'takes rrf or weighted, not both' : undefined,
  },
)

const highlight = object({
  columns: optional(
    array(string('nonEmpty'), { distinct: name => name }),
    'Columns; absent: the searched columns.',
  ),
  pre: optional(string(), 'Text before a matching word; default `<b>`.'),
  post: optional(string(), 'Text after a matching word; default `</b>`.'),
  escape: optional(enumeration(['none', 'html']), 'Whether to escape the text for HTML; default none.'),
  snippet_length: optional(
    integer(1),
    'Length of a snippet at most, UTF-16 units; absent: no snippets, the whole text.',
  ),
  snippets: optional(integer(1), 'Most snippets, up to 100; default 1.'),
})

// ---- the query

export const distanceType = enumeration(['l2', 'cosine', 'dot', 'hamming'], { euclidean: 'l2' })

const order = object(
  {
    column_name: required(
      string('nonEmpty'),
      'Column to order by, of the answer or of the table. SQL expressions are an extension of Sheaf.',
    ),
    ascending: optional(boolean, 'Smallest first; default true.'),
    nulls_first: optional(boolean, 'Nulls before all values; default false.'),
  },
  { hints: { column: 'column_name', name: 'column_name', desc: 'ascending', descending: 'ascending' } },
)

const queryFields = {
  k: required(saturatingInteger(0), 'Most rows to return; 2^53 or more means all.'),
  vector: optionalEvenEmpty(
    queryVector,
    'Query vector or vectors; empty: no vector search. May be absent only with `filter` or `full_text_query`.',
  ),
  vector_column: optional(
    string('nonEmpty'),
    'Column to search, or path of a field in structs; absent: the only vector column that fits.',
  ),
  distance_type: optional(
    distanceType,
    'Metric; absent: that of the index; without an index l2, for lists of vectors cosine. hamming is for uint8.',
    ['metric_type'],
  ),
  full_text_query: optional(fullText, 'Full-text query; with a vector: hybrid search.'),
  fusion: optional(
    fusion,
    'How a hybrid search merges the results of both searches; default rrf. An extension of Sheaf.',
  ),
  highlight: optionalEvenEmpty(
    highlight,
    'Adds the column `_highlights`: texts of columns with matching words marked. `{}`: with the defaults. An extension of Sheaf.',
  ),
  filter: optional(string('nonBlank'), 'SQL predicate.'),
  ...sqlParameters,
  prefilter: optional(boolean, 'Whether to filter before the search (default) or after it.'),
  columns: optionalEvenEmpty(
    selection,
    'Columns to return. Absent, `{}`, or both members empty: all columns; an empty array: none.',
  ),
  group_by: optionalEvenEmpty(
    array(string('nonBlank')),
    'Columns or SQL expressions to group by; `columns` has the aggregates. `[]`: one group of all rows. An extension of Sheaf.',
  ),
  having: optional(
    string('nonBlank'),
    'SQL condition on groups, over keys, selected columns and aggregates; only with groups. An extension of Sheaf.',
  ),
  distinct: optional(boolean, 'Whether to remove duplicate rows; default false. An extension of Sheaf.'),
  with_row_id: optional(boolean, 'Whether to return `_rowid`; default false.'),
  offset: optional(
    saturatingInteger(0),
    'Rows to skip; default 0. With groups, distinct rows or an order, `offset` and `k` count rows of the answer, which is computed from all matching rows.',
  ),
  resume_at: optional(
    saturatingInteger(0),
    'Where a scan continues: skips that many rows of the version, and adds `_rowoffset`. An extension of Sheaf.',
  ),
  order_by: optional(
    array(order),
    'Order of the rows; absent: by distance or score, then row id. All matching rows are ordered and the first `k` returned; of a vector search without bounds, the `k` nearest are ordered.',
  ),
  version: optional(version, 'Version to read; absent: the latest.'),
  differs_from: optional(
    version,
    'Another version: return only rows that have another position in it, or none. These are changed rows, and rows that only moved. Columns of the table have their field id in the metadata `sheaf:field`. An extension of Sheaf.',
  ),
  lower_bound: optional(number, 'Least distance, inclusive.'),
  upper_bound: optional(number, 'Greatest distance, exclusive.'),
  nprobes: optional(
    integer(0),
    'Partitions to search in an IVF index; absent or 0: default. Ignored with `minimum_nprobes` or `maximum_nprobes`.',
  ),
  minimum_nprobes: optional(integer(0), 'Least partitions to search.'),
  maximum_nprobes: optional(integer(0), 'Most partitions to search while rows are missing; 0: no limit.'),
  ef: optional(integer(0), 'HNSW: size of the candidate list; at least k.'),
  refine_factor: optional(
    integer(0),
    'Compute exact distances of k times this many candidates per segment of a vector index. Absent or 0: as many as the index tuned itself for, and more until the nearest rows no longer change.',
  ),
  use_lsm: withoutEffect(
    boolean,
    'Whether to read rows that wait in a log. Without effect: no rows wait in a log.',
  ),
  approx_mode: withoutEffect(
    string(),
    'How exact an index answers. Without effect: use `nprobes`, `ef` and `refine_factor`.',
  ),
  bypass_vector_index: optional(boolean, 'Whether to search exactly; default false.'),
  fast_search: optional(boolean, 'Whether to search indexed rows only; default false.'),
  require_index: optional(
    boolean,
    'Whether to refuse a text search on a column without an index instead of reading every row; default false. An extension of Sheaf.',
  ),
}

const rules = {
  hints: { where: 'filter', predicate: 'filter', limit: 'k', select: 'columns', metric: 'distance_type' },
  check: (query: Readonly<Record<string, unknown>>) =>
    query.vector === undefined && query.filter === undefined && query.full_text_query === undefined
      ? 'needs vector: exactly one of single_vector, multi_vector (null or [] to scan), or a filter or full_text_query'
      : undefined,
}

export const queryRequest = object({ ...onTable, ...onBranch, ...queryFields }, rules)
export type QueryRequest = Infer<typeof queryRequest>

export const analyzeRequest = object(
  {
    ...onTable,
    ...onBranch,
    ...queryFields,
    distributed_metrics: withoutEffect(
      boolean,
      'Whether to report each worker. Without effect: one process does all the work.',
    ),
  },
  rules,
)

export const explainRequest = object(
  {
    ...onTable,
    ...onBranch,
    query: required(
      object({ ...caller, id: optional(namespaceId, 'The same table.'), ...onBranch, ...queryFields }, rules),
      'The query to explain.',
    ),
    verbose: optional(boolean, 'Whether to explain in more detail; default false.'),
  },
  {
    check: ({ id, query }) => {
      const { id: inner = [] } = query as { readonly id?: readonly string[] }
      const isSame = inner.length === 0 || formatId(inner) === formatId(id as readonly string[])
      return isSame ? undefined : 'names a table, but its query names another'
    },
  },
)
