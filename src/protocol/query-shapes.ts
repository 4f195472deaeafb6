/**
 * Queries. Two families of clients spell vector, columns and full text differently; the normal forms are those of the
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
          'Several: a batch of queries on a vector column, one query (max-sim) on a column of vector lists.',
        ),
      },
      value => {
        if (!isList(value)) return undefined
        return typeof value[0] === 'number' ? 'single_vector' : 'multi_vector'
      },
    ),
  ),
  'a bare vector or array of vectors; null or an empty vector searches none',
  value => {
    if (isList(value)) return value.length === 0 ? null : value
    if (!isPlainObject(value)) return value
    // Clients write an object of nothing where they have none, and both fields where they have one.
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

/** One vector or several; what `vector` holds unless it is null. */
export type QueryVector = NonNullable<Infer<typeof queryVector>>

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
export type Selection = Infer<typeof selection>

function hasOnly(value: Record<string, unknown>, ...names: string[]): boolean {
  return Object.keys(value).every(name => names.includes(name))
}

/** Whether an object has no field of a selection as its type would be there: then its names are those of the columns. */
function isAliases(value: Record<string, unknown>): boolean {
  const { column_names: names, column_aliases: aliases } = value
  if (Array.isArray(names) || isPlainObject(aliases) || Object.keys(value).length === 0) return false
  return (
    !hasOnly(value, 'column_names', 'column_aliases') ||
    typeof names === 'string' ||
    typeof aliases === 'string'
  )
}

/** Nothing, or both fields and nothing in them: what clients write for all columns. */
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
  terms: required(string(), 'Text to look for; tokenised like the column.'),
  column: optional(string('nonEmpty'), 'Column; absent: those of the query.'),
  operator: optional(operator, 'Whether any term (default) or every term must match.'),
  fuzziness: optional(
    nullable(integer(0)),
    'Most edits per term, 0 (default) to 2; null: as many as the length of the term bears.',
  ),
  prefix_length: optional(integer(0), 'Leading characters that must be equal; default 0.'),
  max_expansions: optional(integer(0), 'Most terms a fuzzy term stands for; default 50.'),
  boost: optional(number, 'Factor on the score, 0 to 1e9; default 1.'),
})
export type MatchQuery = Infer<typeof matchQuery>

const phraseQuery = object({
  terms: required(string(), 'Phrase to look for.'),
  column: optional(string('nonEmpty'), 'Column; absent: those of the query.'),
  slop: optional(
    integer(0),
    'Places that each term may stand further behind the term before it than in the phrase; the order is kept. Default 0.',
  ),
})
export type PhraseQuery = Infer<typeof phraseQuery>

/** How one client writes it: lists of the same length. */
const parallelLists = object(
  {
    query: required(string(), 'Text to look for.'),
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
  object({ match_queries: required(array(matchQuery, { min: 1 }), 'The best of them counts.') }),
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

/** Exactly one operator; operators nest. */
export type FtsQuery = ExactlyOne<FtsOperators>

export interface BoostQuery {
  readonly positive: FtsQuery
  readonly negative: FtsQuery
  readonly negative_boost?: number | undefined
}

export interface BooleanQuery {
  readonly must?: readonly FtsQuery[] | undefined
  readonly must_not?: readonly FtsQuery[] | undefined
  readonly should?: readonly FtsQuery[] | undefined
}

const ftsQuery: Shape<FtsQuery> = named('FtsQuery', () =>
  choice({
    match: required(matchQuery, 'Rows with some of these terms.'),
    phrase: required(phraseQuery, 'Rows with these terms in a row.'),
    multi_match: required(multiMatchQuery, 'The same match over several columns.'),
    boost: required(boostQuery, 'Rows of one query, lowered where another matches.'),
    boolean: required(booleanQuery, 'Rows by queries that must, must not, or should match.'),
  }),
)

const boostQuery: Shape<BoostQuery> = object({
  positive: required(ftsQuery, 'What to find.'),
  negative: required(ftsQuery, 'What lowers the score.'),
  negative_boost: optional(number, 'Factor on the negative score; default 0.5.'),
})

const booleanQuery: Shape<BooleanQuery> = object({
  must: optional(array(ftsQuery), 'All of these match.'),
  must_not: optional(array(ftsQuery), 'None of these match.'),
  should: optional(array(ftsQuery), 'These raise the score; without `must` at least one matches.'),
})

const fullText = choice(
  {
    string_query: required(
      object({
        query: required(string(), 'Text to look for.'),
        columns: optional(array(string('nonEmpty')), 'Columns; absent: all with a full-text index.'),
      }),
      'A plain text.',
    ),
    structured_query: required(object({ query: required(ftsQuery, 'The operators.') }), 'Operators.'),
  },
  // Query and columns without the name of the kind.
  value => {
    if (!isPlainObject(value) || !('query' in value)) return undefined
    return typeof value.query === 'string' ? 'string_query' : 'structured_query'
  },
)
export type FullText = Infer<typeof fullText>

const fusion = object(
  {
    rrf: optionalEvenEmpty(
      object({ k: optional(number, 'Constant; default 60.') }),
      'By reciprocal ranks: the sum of 1 / (k + rank), ranks counted from 0. The default.',
    ),
    weighted: optional(
      object({
        vector_weight: required(number, 'Part that nearness counts, 0 to 1; the rest is that of the score.'),
      }),
      'By nearness and score, each brought to 0 for the worst found to 1 for the best.',
    ),
    candidates: optional(
      saturatingInteger(1),
      'Rows that each of the two searches gives at most; default max(200, 4 x k), whatever the offset. A page must end within as many rows. Aggregates, groups, distinct rows and orders need it.',
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
    'Columns; absent: those that are searched.',
  ),
  pre: optional(string(), 'What stands before a word that was looked for; default `<b>`.'),
  post: optional(string(), 'What stands after it; default `</b>`.'),
  escape: optional(
    enumeration(['none', 'html']),
    'Whether the text itself is written for HTML; default none.',
  ),
  snippet_length: optional(
    integer(1),
    'Only snippets, of at most so many UTF-16 units; absent: the whole text.',
  ),
  snippets: optional(integer(1), 'How many snippets at most, up to 100; default 1.'),
})

// ---- the query

export const distanceType = enumeration(['l2', 'cosine', 'dot', 'hamming'], { euclidean: 'l2' })
export type DistanceType = Infer<typeof distanceType>

const order = object(
  {
    column_name: required(string('nonEmpty'), 'Column to order by.'),
    ascending: optional(boolean, 'Smallest first; default true.'),
    nulls_first: optional(boolean, 'Nulls before all values; default false.'),
  },
  { hints: { column: 'column_name', name: 'column_name', desc: 'ascending', descending: 'ascending' } },
)

const queryFields = {
  k: required(saturatingInteger(0), 'Rows to return; 2^53 or more means all.'),
  vector: optionalEvenEmpty(
    queryVector,
    'What to be near to; empty: nothing. May be left out only beside `filter` or `full_text_query`.',
  ),
  vector_column: optional(
    string('nonEmpty'),
    'Column to search, or path of a field in structs; absent: the only one that fits.',
  ),
  distance_type: optional(
    distanceType,
    "Metric; absent: the index's, else l2, for lists of vectors cosine; hamming is for uint8.",
    ['metric_type'],
  ),
  full_text_query: optional(fullText, 'Text to search for; beside a vector: hybrid search.'),
  fusion: optional(
    fusion,
    'How rows found by vector and by text become one list; default rrf. An extension of Sheaf.',
  ),
  highlight: optionalEvenEmpty(
    highlight,
    'Adds `_highlights`: the texts of columns with the words marked for which their rows were found; `{}`: as the defaults have it. An extension of Sheaf.',
  ),
  filter: optional(string('nonBlank'), 'SQL predicate.'),
  ...sqlParameters,
  prefilter: optional(boolean, 'Whether to filter before the search (default) or after it.'),
  columns: optionalEvenEmpty(
    selection,
    'What to return; absent, `{}` or empty in both of its members: all columns; an empty array: none.',
  ),
  group_by: optionalEvenEmpty(
    array(string('nonBlank')),
    'Columns or SQL expressions: one row for all rows equal in them, with aggregates in `columns`; `[]`: one row for all rows. An extension of Sheaf.',
  ),
  distinct: optional(boolean, 'Whether equal rows come once; default false. An extension of Sheaf.'),
  with_row_id: optional(boolean, 'Whether to return `_rowid`; default false.'),
  offset: optional(
    saturatingInteger(0),
    'Rows to skip; default 0. Of groups, distinct rows and ordered rows, `offset` and `k` count the rows of the answer, which is made of all rows that match.',
  ),
  resume_at: optional(
    saturatingInteger(0),
    'Where a scan goes on: passes over that many rows of the version, and adds `_rowoffset`. An extension of Sheaf.',
  ),
  order_by: optional(
    array(order),
    'Order of the rows; absent: by distance or score, then row id. All rows that match are ordered, and `k` of them returned; of a vector without bounds the `k` nearest are.',
  ),
  version: optional(version, 'Version to look at; absent: the latest.'),
  differs_from: optional(
    version,
    'Another version: only rows that are not at the same place in it. Changed rows are among them, and such as only moved. Columns of the table have their field id in the metadata `sheaf:field`. An extension of Sheaf.',
  ),
  lower_bound: optional(number, 'Least distance, inclusive.'),
  upper_bound: optional(number, 'Greatest distance, exclusive.'),
  nprobes: optional(
    integer(0),
    'Partitions to search in an IVF index; absent or 0: default. Ignored beside `minimum_nprobes` or `maximum_nprobes`.',
  ),
  minimum_nprobes: optional(integer(0), 'Partitions searched in any case.'),
  maximum_nprobes: optional(integer(0), 'Partitions searched at most when rows are missing; 0: no limit.'),
  ef: optional(integer(0), 'Effort in an HNSW index; raised to k.'),
  refine_factor: optional(
    integer(0),
    'Measure k times this many candidates of each segment of a vector index; absent or 0: as many as the index found it takes, and more until the nearest rows no longer change.',
  ),
  use_lsm: withoutEffect(boolean, 'Whether rows that wait in a log count. Without effect: none wait.'),
  approx_mode: withoutEffect(
    string(),
    'How an index answers. Without effect: `nprobes`, `ef` and `refine_factor` say it here.',
  ),
  bypass_vector_index: optional(boolean, 'Whether to search exactly; default false.'),
  fast_search: optional(boolean, 'Whether to skip rows no index covers; default false.'),
  require_index: optional(
    boolean,
    'Whether to refuse a text search on a column without an index, instead of reading every row; default false. An extension of Sheaf.',
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
      'Whether to tell of each worker. Without effect: one process does all the work.',
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
    verbose: optional(boolean, 'Whether to tell more; default false.'),
  },
  {
    check: ({ id, query }) => {
      const { id: inner = [] } = query as { readonly id?: readonly string[] }
      const isSame = inner.length === 0 || formatId(inner) === formatId(id as readonly string[])
      return isSame ? undefined : 'names one table, and its query another'
    },
  },
)
