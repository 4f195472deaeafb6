/**
 * Defines `Plan`: a query on one version of a table as data, with all names resolved and all defaults set.
 * `plan-query.ts` plans a request, `execute.ts` executes a plan, `explain.ts` prints a plan.
 *
 * A plan is executed in these steps:
 * 1. Find the rows that pass the filter, or the rows that a search ranks best.
 * 2. Group the rows.
 * 3. Compute the columns of the answer.
 * 4. Remove duplicate rows.
 * 5. Sort.
 * 6. Apply offset and limit.
 */
import type { Field, Schema } from '../arrow/types.js'
import type { Effort } from '../indexes/vector/segment.js'
import type { Metric } from '../kernels/metric.js'
import type { AggregateFunction } from '../sql/binding/aggregates.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { VectorField } from '../table/vector-column.js'
import type { Fusion, Highlighting, TextSearch } from './text-plan.js'

/** A vector search in one column. */
export interface VectorSearch {
  readonly field: VectorField
  readonly query: Float32Array
  readonly metric: Metric
  /** Minimum distance of a match (inclusive). Undefined: no minimum. */
  readonly lower: number | undefined
  /** Maximum distance of a match (exclusive). Undefined: no maximum. */
  readonly upper: number | undefined
  /**
   * Several queries, which are answered one after the other. `query_index` of the answer is the number of a row's
   * query. `query` is the first of them. Null: `query` is the only query.
   */
  readonly batch: readonly Float32Array[] | null
  /**
   * For a column of lists of vectors: all vectors of the query. `query` is the first of them. Null for a column of
   * vectors.
   */
  readonly multi: readonly Float32Array[] | null
  /** The index that returns candidates. Null: an exact search, which measures the distance of every row. */
  readonly index: IndexSearch | null
  /**
   * Whether the search skips unindexed rows. If `index` is null, unindexed rows are the rows that no index on the
   * column covers.
   */
  readonly fast: boolean
  /** The indexes on the column that the search does not use, with the reason. */
  readonly unused: readonly { readonly index: string; readonly reason: string }[]
}

/** The parameters of a search in an index. */
export interface IndexSearch {
  readonly name: string
  readonly effort: Effort
  /** Minimum number of exact distances to measure, as a multiple of the wanted rows. Undefined: the index decides. */
  readonly refineFactor: number | undefined
}

/** A column of the answer: a stored column, or an expression over stored columns. */
export interface OutputColumn {
  readonly field: Field
  /**
   * Reads the columns of the source (`source.ts`). If the query groups rows, it reads the keys and aggregates instead.
   */
  readonly value: BoundExpression
}

/** An aggregate over the rows of each group. */
export interface Aggregate {
  readonly fn: AggregateFunction
  /** Whether the aggregate uses each distinct value of a group only once. */
  readonly distinct: boolean
  /** The argument. Null for `count(*)`. */
  readonly arg: BoundExpression | null
  /** The fraction of `percentile`, or the separator of `string_agg`. Null for other aggregates. */
  readonly option: number | string | null
  /**
   * The aggregate uses only rows for which this condition is true. Null: all rows. Aggregates with equal conditions
   * share the object.
   */
  readonly filter: BoundExpression | null
  readonly field: Field
}

/** Name of the answer's column with highlighted texts. */
export const highlightsName = '_highlights'

/**
 * Groups all rows with equal keys into one row. NULL equals NULL. Without keys, the answer always has exactly one row.
 */
export interface Grouping {
  readonly keys: readonly { readonly field: Field; readonly value: BoundExpression }[]
  readonly aggregates: readonly Aggregate[]
  /** Condition over keys and aggregates. The answer has only groups for which it is true. Null: all groups. */
  readonly having: BoundExpression | null
}

/** One key of the order of an answer. */
export interface OrderKey {
  /** Reads the same columns as `OutputColumn.value`. With `distinct`, it reads the columns of the answer instead. */
  readonly value: BoundExpression
  readonly ascending: boolean
  readonly nullsFirst: boolean
}

/** A planned query. The comment at the head of this file describes its steps. */
export interface Plan {
  /** Condition on rows. Null: no condition. */
  readonly filter: BoundExpression | null
  /** True: the filter selects the rows to search. False: it filters the rows that the search returned. */
  readonly filterFirst: boolean
  /** The vector search. If `search` and `text` are null, the query is a scan in row order. */
  readonly search: VectorSearch | null
  /** The text search. */
  readonly text: TextSearch | null
  /** The merge of the two lists of rows of a hybrid search. Null unless the query has a vector and a text. */
  readonly fusion: Fusion | null
  /** Columns whose highlighted texts are in `_highlights`. Empty: the answer has no column `_highlights`. */
  readonly highlights: readonly Highlighting[]
  /** The grouping of rows. Null: the query does not group rows. */
  readonly grouping: Grouping | null
  readonly output: readonly OutputColumn[]
  /** Metadata of the answer's schema. It is the metadata of the table, unless the query has groups or distinct rows. */
  readonly metadata: Schema['metadata']
  /** Whether to remove duplicate rows from the answer. */
  readonly distinct: boolean
  /**
   * The order of the answer. If it is empty, a search orders by distance, score or relevance, a scan by row order, and
   * groups are ordered by their first row.
   */
  readonly order: readonly OrderKey[]
  /** A version to compare with. Rows at the same position in both versions are left out. Undefined: no comparison. */
  readonly differsFrom: number | undefined
  /** Number of live rows of the version that a scan skips at its start. */
  readonly from: number
  /**
   * Number of live rows of the version after which a scan ends, counted from the start of the version. Default: all
   * rows.
   */
  readonly until?: number
  /**
   * The rows that offset and limit count. 'found': the rows that the search returns, the best row first. 'answer': the
   * rows of the answer. Groups, distinct rows and sorted rows need all matching rows, so offset and limit then count
   * rows of the answer.
   */
  readonly counted: 'found' | 'answer'
  /** Number of rows to skip. */
  readonly offset: number
  /** Maximum number of rows after the offset. It may exceed the number of rows of any table, which means no limit. */
  readonly limit: number
}

/** Return whether a query ranks rows by distance, score or relevance. Other queries scan in row order. */
export function isRanked({ search, text }: Pick<Plan, 'search' | 'text'>): boolean {
  return search !== null || text !== null
}

/** Return the range of a search's rows that the plan uses. The rows are numbered from 0, the best row first. */
export function foundWindow({ counted, offset, limit }: Plan): {
  readonly from: number
  readonly to: number
} {
  return counted === 'found'
    ? { from: offset, to: offset + limit }
    : { from: 0, to: Number.POSITIVE_INFINITY }
}
