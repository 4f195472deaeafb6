/**
 * A segment of a scalar index: an immutable file over some rows, which are numbered from 0 (ordinals) in an order of its own.
 * What table rows these are, and which of them are alive, is for others to know (table/table-index).
 */
import type { Column } from '../../arrow/column.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { RowSet } from '../../primitives/row-set.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { Scalar } from '../../sql/values/scalar.js'
import type { ScalarProbe } from './probe.js'

/** The Arrow IPC file of a segment: columns of record batches, checked and kept in memory. */
export interface SegmentFile {
  /** Rows of each record batch. */
  readonly batchRows: readonly number[]
  column(batch: number, column: number, signal?: AbortSignal): MaybePromise<Column>
  /** Some runs of rows of a column, read at once: for each run these rows, or more. */
  rows(runs: readonly RowRun[], column: number, pacer: Pacer): MaybePromise<readonly ColumnRows[]>
}

/** Rows `from` to `to - 1` of a batch. */
export interface RowRun {
  readonly batch: number
  readonly from: number
  readonly to: number
}

/** Consecutive rows of a column of a batch. */
export interface ColumnRows {
  readonly column: Column
  /** Number in the batch of the column's first row. */
  readonly from: number
}

export interface ScalarSegment {
  /** How many rows it numbers. */
  readonly rows: number
  /** For how many rows a probe is true; a guess from above where knowing would cost as much as finding them. */
  estimate(probe: ScalarProbe, pacer: Pacer): MaybePromise<number>
  /**
   * The value with `rank` others before it, or from the other end after it; null where there are not so many. Absent where values
   * are not kept by their order.
   */
  valueAt?(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar>
  /** The rows for which a probe is true. */
  find(probe: ScalarProbe, pacer: Pacer): MaybePromise<RowSet>
}
