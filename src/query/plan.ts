/**
 * A Plan: everything decided about a query on one version of a table, as data. `settle.ts` makes it from a request,
 * `execute.ts` carries it out, `explain.ts` prints it.
 *
 * The steps, in this order: rows that pass the filter or are nearest; groups of them; the columns of the answer;
 * each row of it once; its order; which rows of it are asked for.
 */
import type { Field, Schema } from '../arrow/types.js'
import type { Effort } from '../indexes/vector/segment.js'
import type { Metric } from '../kernels/metric.js'
import type { AggregateFunction } from '../sql/binding/aggregates.js'
import type { BoundExpression } from '../sql/bound.js'
import type { VectorField } from '../table/vector-column.js'
import type { Fusion, Highlighting, TextSearch } from './text-plan.js'

export interface VectorSearch {
  readonly field: VectorField
  readonly query: Float32Array
  readonly metric: Metric
  /** Smallest distance that counts (inclusive). */
  readonly lower: number | undefined
  /** Distance from which on a row no longer counts (exclusive). */
  readonly upper: number | undefined
  /**
   * Queries that are answered one after the other, each row with the number of its query in front (`query_index`); the first
   * of them is `query`. Null: `query` alone.
   */
  readonly batch: readonly Float32Array[] | null
  /** The vectors of one query on a column of lists of vectors, of which `query` is the first; null on one of vectors. */
  readonly multi: readonly Float32Array[] | null
  /** The index that proposes rows; null: every row is measured. */
  readonly index: IndexSearch | null
  /** Whether rows are passed over that the index does not cover; where none is asked, those that no index on the column covers. */
  readonly fast: boolean
  /** Other indexes on the column, and why they are not asked. */
  readonly unused: readonly { readonly index: string; readonly reason: string }[]
}

/** How an index is asked. */
export interface IndexSearch {
  readonly name: string
  readonly effort: Effort
  /** So many times the rows wanted are measured at least; undefined: as many as the index finds it takes. */
  readonly refineFactor: number | undefined
}

/** A column of the answer: one that is there as it is, or an expression over those that are there. */
export interface OutputColumn {
  readonly field: Field
  /** Reads the columns of the source (`source.ts`), or of the groups where there are some. */
  readonly value: BoundExpression
}

export interface Aggregate {
  readonly fn: AggregateFunction
  /** Whether equal values count once. */
  readonly distinct: boolean
  /** Null: `count(*)`. */
  readonly arg: BoundExpression | null
  readonly field: Field
}

/** The column of the texts in which words are marked. */
export const highlightsName = '_highlights'

/** One row for all rows with equal keys (NULL equals NULL); without keys one row in any case. */
export interface Grouping {
  readonly keys: readonly { readonly field: Field; readonly value: BoundExpression }[]
  readonly aggregates: readonly Aggregate[]
}

export interface OrderKey {
  /** Reads what the columns of the answer read; with `distinct`, the columns of the answer. */
  readonly value: BoundExpression
  readonly ascending: boolean
  readonly nullsFirst: boolean
}

export interface Plan {
  readonly filter: BoundExpression | null
  /** Whether the filter chooses the rows to search, or thins out the rows found. */
  readonly filterFirst: boolean
  /** What rows are to be near to, what they are to say, and how the two become one list; without either it is a scan in row order. */
  readonly search: VectorSearch | null
  readonly text: TextSearch | null
  /** Null unless there are both. */
  readonly fusion: Fusion | null
  /** Columns that the answer shows marked, in `_highlights`; none: it has no such column. */
  readonly highlights: readonly Highlighting[]
  /** Null where every row is one of the answer. */
  readonly grouping: Grouping | null
  readonly output: readonly OutputColumn[]
  /** Metadata of the answer's schema: that of the table, where each row of the answer is one of its rows. */
  readonly metadata: Schema['metadata']
  /** Whether equal rows of the answer come once. */
  readonly distinct: boolean
  /** None: by distance, score or relevance, else in row order (groups: as they are met). */
  readonly order: readonly OrderKey[]
  /** The version whose rows are left out where they are at the same place in this one; undefined: none. */
  readonly differsFrom: number | undefined
  /** Living rows of the version that a scan passes over before it begins. */
  readonly from: number
  /** Living rows of the version from which on a scan passes over all; absent: it goes to the end. */
  readonly until?: number
  /**
   * Which rows offset and limit count: those that the search finds, the best first, or those of the answer. Groups, distinct rows and
   * an order are made of all rows that match, in row order, so offset and limit count rows of the answer.
   */
  readonly counted: 'found' | 'answer'
  /** Rows to skip. */
  readonly offset: number
  /** Rows after the offset; may be larger than any table. */
  readonly limit: number
}

/** Whether rows are found by how well they fit, not in row order. */
export function isRanked({ search, text }: Pick<Plan, 'search' | 'text'>): boolean {
  return search !== null || text !== null
}
