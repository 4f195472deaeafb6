/**
 * A Plan: everything decided about a query on one version of a table, as data. `settle.ts` makes it from a request,
 * `execute.ts` carries it out.
 */
import type { Metric } from '../kernels/metric.js'
import type { TableField } from '../manifest/table-schema.js'
import type { BoundExpression } from '../sql/bound.js'

export interface VectorSearch {
  readonly field: TableField
  readonly query: Float32Array
  readonly metric: Metric
  /** Smallest distance that counts (inclusive). */
  readonly lower: number | undefined
  /** Distance from which on a row no longer counts (exclusive). */
  readonly upper: number | undefined
}

export type OutputColumn =
  | { readonly kind: 'field'; readonly field: TableField }
  | { readonly kind: 'distance' }
  | { readonly kind: 'rowid' }

export interface Plan {
  readonly filter: BoundExpression | null
  /** Whether the filter chooses the rows to search, or thins out the rows found. */
  readonly filterFirst: boolean
  /** Null for a plain scan in row order. */
  readonly search: VectorSearch | null
  readonly offset: number
  /** Rows after the offset; may be larger than any table. */
  readonly limit: number
  readonly output: readonly OutputColumn[]
}
