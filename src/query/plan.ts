/**
 * A `Plan` holds, as data, everything decided about a query on one version of a table. `settle.ts` makes a plan from a request,
 * `execute.ts` executes it, `explain.ts` prints it.
 *
 * Steps, in this order: find the rows that pass the filter or rank best; group them; compute the columns of the answer; remove
 * duplicate rows; sort; apply offset and limit.
 */
import type { Field, Schema } from '../arrow/types.js'
import type { Effort } from '../indexes/vector/segment.js'
import type { Metric } from '../kernels/metric.js'
import type { AggregateFunction } from '../sql/binding/aggregates.js'
import type { BoundExpression } from '../sql/bound.js'
import type { VectorField } from '../table/vector-column.js'
import type { Fusion, Highlighting, TextSearch } from './text-plan.js'

/** A vector search in one column. */
export interface VectorSearch {
  readonly field: VectorField
  readonly query: Float32Array
  readonly metric: Metric
  /** Smallest distance of a match (inclusive). */
  readonly lower: number | undefined
  /** Upper bound of the distances of matches (exclusive). */
  readonly upper: number | undefined
  /**
   * Several queries, answered one after the other: `query_index` is the number of a row's query. The first of them is `query`.
   * Null: `query` alone.
   */
  readonly batch: readonly Float32Array[] | null
  /** For a column of lists of vectors: the vectors of one query, of which `query` is the first. Null for a column of vectors. */
  readonly multi: readonly Float32Array[] | null
  /** The index that proposes rows. Null: an exact search, which measures every row. */
  readonly index: IndexSearch | null
  /** Whether the search skips unindexed rows. Without `index`: the rows that no index on the column covers. */
  readonly fast: boolean
  /** Other indexes on the column, and why the search does not use them. */
  readonly unused: readonly { readonly index: string; readonly reason: string }[]
}

/** The parameters of a search in an index. */
export interface IndexSearch {
  readonly name: string
  readonly effort: Effort
  /** The search measures at least this multiple of the wanted rows exactly. Undefined: the index decides. */
  readonly refineFactor: number | undefined
}

/** A column of the answer: a stored column, or an expression over stored columns. */
export interface OutputColumn {
  readonly field: Field
  /** Reads the columns of the source (`source.ts`), or those of the groups if the query groups rows. */
  readonly value: BoundExpression
}

/** An aggregate over the rows of each group. */
export interface Aggregate {
  readonly fn: AggregateFunction
  /** Whether equal values count once. */
  readonly distinct: boolean
  /** Null: `count(*)`. */
  readonly arg: BoundExpression | null
  /** The fraction of `percentile`, the separator of `string_agg`. Null for all others. */
  readonly option: number | string | null
  /** Only rows for which this condition is true count. Null: all rows. Equal conditions are one object. */
  readonly filter: BoundExpression | null
  readonly field: Field
}

/** Name of the column of texts with marked words. */
export const highlightsName = '_highlights'

/** Combines all rows with equal keys into one row (NULL equals NULL). Without keys, the answer always has one row. */
export interface Grouping {
  readonly keys: readonly { readonly field: Field; readonly value: BoundExpression }[]
  readonly aggregates: readonly Aggregate[]
  /** Only groups for which this condition is true are in the answer. Reads keys and aggregates. Null: all groups. */
  readonly having: BoundExpression | null
}

/** One key of the order of an answer. */
export interface OrderKey {
  /** Reads the same columns as the columns of the answer. With `distinct`: reads the columns of the answer. */
  readonly value: BoundExpression
  readonly ascending: boolean
  readonly nullsFirst: boolean
}

/** See the head of this file. */
export interface Plan {
  readonly filter: BoundExpression | null
  /** True: the filter selects the rows to search. False: it filters the rows that the search returned. */
  readonly filterFirst: boolean
  /** Vector search and text search. With neither, the query is a scan in row order. */
  readonly search: VectorSearch | null
  readonly text: TextSearch | null
  /** How both lists of rows become one. Null unless the query has a vector and a text. */
  readonly fusion: Fusion | null
  /** Columns whose marked texts the answer has in `_highlights`. Empty: the answer has no such column. */
  readonly highlights: readonly Highlighting[]
  /** Null: the query does not group rows. */
  readonly grouping: Grouping | null
  readonly output: readonly OutputColumn[]
  /** Metadata of the answer's schema: the table's, if each row of the answer is a row of the table. */
  readonly metadata: Schema['metadata']
  /** Whether the answer has equal rows only once. */
  readonly distinct: boolean
  /** Empty: by distance, score or relevance; a scan by row order; groups by their first row. */
  readonly order: readonly OrderKey[]
  /** A version to compare with: rows at the same position in both versions are left out. Undefined: no comparison. */
  readonly differsFrom: number | undefined
  /** Number of live rows of the version that a scan skips at its start. */
  readonly from: number
  /** Number of live rows of the version at which a scan ends. Absent: it scans to the end. */
  readonly until?: number
  /**
   * Which rows offset and limit count: those the search returns, best first, or those of the answer. Groups, distinct rows and
   * sorted rows need all matching rows, in row order. Offset and limit then count rows of the answer.
   */
  readonly counted: 'found' | 'answer'
  /** Rows to skip. */
  readonly offset: number
  /** Rows after the offset; may be larger than any table. */
  readonly limit: number
}

/** Whether a query ranks rows by distance, score or relevance, instead of scanning in row order. */
export function isRanked({ search, text }: Pick<Plan, 'search' | 'text'>): boolean {
  return search !== null || text !== null
}
