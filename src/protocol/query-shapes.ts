/**
 * The shapes of queries. Two families of clients write the fields for vectors, columns and full text in different
 * forms. The normal forms are the forms of the specification.
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
  extension,
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
          'Several query vectors. On a column of vectors, each vector is a separate query. On a column of lists of vectors, the vectors form one query.',
        ),
      },
      value => {
        if (!isList(value)) return undefined
        return typeof value[0] === 'number' ? 'single_vector' : 'multi_vector'
      },
    ),
  ),
  'a vector or an array of vectors, without the object; null or an empty vector means no vector search',
  value => {
    if (isList(value)) return value.length === 0 ? null : value
    if (!isPlainObject(value)) return value
    // Ignore null: clients write an object with both fields, also if their caller set only one field or no vector.
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
        'Names of columns, in the order of the answer.',
      ),
      column_aliases: required(record(string('nonBlank')), 'SQL expressions by output name.'),
    },
    value => {
      if (Array.isArray(value)) return 'column_names'
      return isPlainObject(value) && isAliases(value) ? 'column_aliases' : undefined
    },
  ),
  'an array of names or an object of expressions, without the outer object',
  value => (isPlainObject(value) && selectsAll(value) ? undefined : value),
)

function hasOnly(value: Record<string, unknown>, ...names: string[]): boolean {
  return Object.keys(value).every(name => names.includes(name))
}

/**
 * Return whether an object has expressions by name, without the outer object of a selection. This is so if it has no
 * field with the name and the type of a field of a selection.
 */
function isAliases(value: Record<string, unknown>): boolean {
  const { column_names: names, column_aliases: aliases } = value
  if (Array.isArray(names) || isPlainObject(aliases) || Object.keys(value).length === 0) return false
  return (
    !hasOnly(value, 'column_names', 'column_aliases') ||
    typeof names === 'string' ||
    typeof aliases === 'string'
  )
}

/** Return whether a selection means all columns, because it has no field, or because both fields are empty. */
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
  terms: required(string(), 'Text to search for. It is analyzed like the texts of the column.'),
  column: optional(string('nonEmpty'), 'Column to search; absent: the columns of the query.'),
  operator: optional(operator, 'Whether any term (default) or every term must match.'),
  fuzziness: optional(
    nullable(integer(0)),
    'Maximum edits per term, 0 (default) to 2; null: depends on the length of the term.',
  ),
  prefix_length: optional(integer(0), 'Length of the prefix that must be equal, in characters; default 0.'),
  max_expansions: optional(integer(0), 'Maximum terms of the index that a fuzzy term matches; default 50.'),
  prefix: optional(
    boolean,
    'Whether the last word also matches terms that begin with it, if the text ends with this word; default false.',
  ),
  boost: optional(number, 'Factor for the score, 0 to 1e9; default 1.'),
})
export type MatchQuery = Infer<typeof matchQuery>

const phraseQuery = object({
  terms: required(string(), 'Phrase to search for.'),
  column: optional(string('nonEmpty'), 'Column to search; absent: the columns of the query.'),
  slop: optional(
    integer(0),
    'Maximum other terms between two neighboring terms of the phrase, which must be in order. Default 0.',
  ),
})
export type PhraseQuery = Infer<typeof phraseQuery>

/** The form of a query on several columns that one client sends: lists of the same length. */
const parallelLists = object(
  {
    query: required(string(), 'Text to search for.'),
    columns: required(array(string('nonEmpty'), { min: 1 }), 'Columns to search.'),
    boost: optional(array(number), 'Factors of the score, one for each column.'),
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
      'Matches on several columns. The score of a row is the highest score of a column.',
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

/** A full-text query: exactly one operator. Operators may be nested. */
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
    match: required(matchQuery, 'Finds rows with any or all of the terms.'),
    phrase: required(phraseQuery, 'Finds rows with the terms as a phrase.'),
    multi_match: required(multiMatchQuery, 'Finds rows with the same terms in several columns.'),
    boost: required(
      boostQuery,
      'Finds the rows of one query, with a lower score if another query matches too.',
    ),
    boolean: required(booleanQuery, 'Combines queries that must, must not, or should match.'),
  }),
)

const boostQuery: Shape<BoostQuery> = object({
  positive: required(ftsQuery, 'Query that finds the rows.'),
  negative: required(ftsQuery, 'Query that lowers the score of the rows that it matches.'),
  negative_boost: optional(
    number,
    'The score of `negative`, times this factor, is subtracted from the score; default 0.5.',
  ),
})

const booleanQuery: Shape<BooleanQuery> = object({
  must: optional(array(ftsQuery), 'Queries that must all match.'),
  must_not: optional(array(ftsQuery), 'Queries that must not match.'),
  should: optional(array(ftsQuery), 'Queries that raise the score. Without `must`, at least one must match.'),
})

const fullText = choice(
  {
    string_query: required(
      object({
        query: required(string(), 'Text to search for.'),
        columns: optional(
          array(string('nonEmpty')),
          'Columns to search; absent: all columns with a full-text index.',
        ),
      }),
      'A text: the words to search for.',
    ),
    structured_query: required(
      object({ query: required(ftsQuery, 'The operator of the query.') }),
      'A structured query.',
    ),
  },
  // The other form: a query object without the outer object that has the name of its kind.
  value => {
    if (!isPlainObject(value) || !('query' in value)) return undefined
    return typeof value.query === 'string' ? 'string_query' : 'structured_query'
  },
)

const fusion = object(
  {
    rrf: optionalEvenEmpty(
      object({ k: optional(number, 'The constant k; default 60.') }),
      'Reciprocal rank fusion: the sum of 1 / (k + rank), with ranks from 0. The default.',
    ),
    weighted: optional(
      object({
        vector_weight: required(
          number,
          'Weight of the vector search, 0 to 1; the text search has the remaining weight.',
        ),
      }),
      'Weighted sum of vector score and text score, each scaled from 0 (worst match) to 1 (best match).',
    ),
    candidates: optional(
      saturatingInteger(1),
      'Maximum rows that each of the two searches returns, at any offset; default max(200, 4 x k). At least offset + k. Required with aggregates, groups, distinct rows and an order.',
    ),
  },
  {
    check: ({ rrf, weighted }) =>
      rrf !== undefined && weighted !== undefined ? 'must not have both rrf and weighted' : undefined,
  },
)

const highlight = object({
  columns: optional(
    array(string('nonEmpty'), { distinct: name => name }),
    'Columns to highlight; absent: the searched columns.',
  ),
  pre: optional(string(), 'Text before a matching word; default `<b>`.'),
  post: optional(string(), 'Text after a matching word; default `</b>`.'),
  escape: optional(enumeration(['none', 'html']), 'Whether to escape the text for HTML; default none.'),
  snippet_length: optional(
    integer(1),
    'Maximum length of a snippet in UTF-16 units; absent: the whole text instead of snippets.',
  ),
  snippets: optional(integer(1), 'Maximum snippets, 1 to 100; default 1.'),
})

// ---- the query

export const distanceType = enumeration(['l2', 'cosine', 'dot', 'hamming'], { euclidean: 'l2' })

const order = object(
  {
    column_name: required(
      string('nonEmpty'),
      'Sort key: a column of the answer or of the table. SQL expressions as keys are an extension of Sheaf.',
    ),
    ascending: optional(boolean, 'Whether the smallest value comes first; default true.'),
    nulls_first: optional(boolean, 'Whether nulls come before all values; default false.'),
  },
  { hints: { column: 'column_name', name: 'column_name', desc: 'ascending', descending: 'ascending' } },
)

const queryFields = {
  k: required(saturatingInteger(0), 'Maximum rows to return; 2^53 or more means all rows.'),
  vector: optionalEvenEmpty(
    queryVector,
    'One or several query vectors; empty: no vector search. May be absent only with `filter` or `full_text_query`.',
  ),
  vector_column: optional(
    string('nonEmpty'),
    'Vector column to search, or path of a field in structs; absent: the only column whose dimension fits.',
  ),
  distance_type: optional(
    distanceType,
    'Metric; absent: the metric of the index; without an index l2, or cosine for lists of vectors. hamming requires vectors of uint8.',
    ['metric_type'],
  ),
  full_text_query: optional(fullText, 'Full-text query; together with a vector: a hybrid search.'),
  fusion: extension(optional(fusion, 'Method to merge the results of both searches; default rrf.')),
  highlight: extension(
    optionalEvenEmpty(
      highlight,
      'Adds the column `_highlights`: texts of columns with matching words marked. `{}`: use the defaults.',
    ),
  ),
  filter: optional(string('nonBlank'), 'SQL predicate: the rows to return.'),
  ...sqlParameters,
  prefilter: optional(
    boolean,
    'Whether to filter before the search (true, default) or after the search (false).',
  ),
  columns: optionalEvenEmpty(
    selection,
    'Columns to return. Absent, `{}`, or both members empty: all columns; an empty array: no columns.',
  ),
  group_by: extension(
    optionalEvenEmpty(
      array(string('nonBlank')),
      'Columns or SQL expressions to group by; `columns` has the aggregates. `[]`: one group of all rows.',
    ),
  ),
  having: extension(
    optional(
      string('nonBlank'),
      'SQL condition on keys, selected columns and aggregates; only groups for which it is true are returned. Requires groups.',
    ),
  ),
  distinct: extension(optional(boolean, 'Whether to remove duplicate rows; default false.')),
  with_row_id: optional(boolean, 'Whether to return `_rowid`; default false.'),
  offset: optional(
    saturatingInteger(0),
    'Number of rows to skip; default 0. With groups, distinct rows or an order, `offset` and `k` count rows of the answer, which is computed from all matching rows.',
  ),
  resume_at: extension(
    optional(
      saturatingInteger(0),
      'Position at which a scan continues: the number of rows of the version to skip. Also adds `_rowoffset` to the answer.',
    ),
  ),
  order_by: optional(
    array(order),
    'Order of the rows; absent: by distance or score, then by row id. All matching rows are ordered, and the first `k` are returned. In a vector search without bounds, only the `k` nearest rows are ordered.',
  ),
  version: optional(version, 'Version to read; absent: the latest.'),
  differs_from: extension(
    optional(
      version,
      'Another version: return only rows that have another position there, or do not exist there: changed and moved rows. Columns of the table have their field id in the metadata `sheaf:field`.',
    ),
  ),
  lower_bound: optional(number, 'Minimum distance of a returned row, inclusive.'),
  upper_bound: optional(number, 'Maximum distance of a returned row, exclusive.'),
  nprobes: optional(
    integer(0),
    'Partitions of an IVF index to search; absent or 0: the number tuned during the build. Ignored with `minimum_nprobes` or `maximum_nprobes`.',
  ),
  minimum_nprobes: optional(integer(0), 'Minimum partitions to search.'),
  maximum_nprobes: optional(
    integer(0),
    'Maximum partitions to search if the minimum has too few rows; 0: no limit.',
  ),
  ef: optional(integer(0), 'HNSW: size of the candidate list; at least k.'),
  refine_factor: optional(
    integer(0),
    'Candidates per requested row whose exact distances are computed, in each segment of a vector index. Absent or 0: the number tuned during the build, and more until the nearest rows no longer change.',
  ),
  use_lsm: withoutEffect(
    boolean,
    'Whether to read rows that are not yet in the table. Without effect: all rows are in the table.',
  ),
  approx_mode: withoutEffect(
    string(),
    'Accuracy of an approximate search. Without effect: use `nprobes`, `ef` and `refine_factor`.',
  ),
  bypass_vector_index: optional(boolean, 'Whether to search exactly, without a vector index; default false.'),
  fast_search: optional(boolean, 'Whether to search indexed rows only; default false.'),
  require_index: extension(
    optional(
      boolean,
      'Whether to refuse a text search on a column without an index, instead of reading all rows; default false.',
    ),
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
      object(
        {
          ...caller,
          id: optional(namespaceId, 'Path of the table; must be the same as in the outer request.'),
          ...onBranch,
          ...queryFields,
        },
        rules,
      ),
      'The query to explain.',
    ),
    verbose: optional(boolean, 'Whether to explain in more detail; default false.'),
  },
  {
    check: ({ id, query }) => {
      const { id: inner = [] } = query as { readonly id?: readonly string[] }
      const isSame = inner.length === 0 || formatId(inner) === formatId(id as readonly string[])
      return isSame ? undefined : 'must not have an id that differs from the id of its query'
    },
  },
)
