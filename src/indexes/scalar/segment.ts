/**
 * A segment of a scalar index: an immutable file over some rows. The segment numbers its rows from 0 (ordinals).
 * table/table-index maps ordinals to table rows and excludes deleted rows; the segment knows neither.
 */
import type { Column } from '../../arrow/column.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { RowSet } from '../../primitives/row-set.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { Scalar } from '../../sql/values/scalar.js'
import type { ScalarProbe } from './probe.js'

/** The Arrow IPC file of a segment. Columns of its record batches are verified and cached. */
export interface SegmentFile {
  /** Number of rows of each record batch. */
  readonly batchRows: readonly number[]
  column(batch: number, column: number, signal?: AbortSignal): MaybePromise<Column>
  /** Read runs of rows of a column together. The result of each run has at least the requested rows. */
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
  /** Row number, in the batch, of the column's first row. */
  readonly from: number
}

/** An opened segment. */
export interface ScalarSegment {
  /** Number of rows. */
  readonly rows: number
  /** Return the number of rows that match a probe, or an upper bound if the exact number costs as much as `find`. */
  estimate(probe: ScalarProbe, pacer: Pacer): MaybePromise<number>
  /**
   * Return the value at position `rank` of the sort order, from 0. `fromEnd`: count from the greatest value. Null if there are too few
   * values. Absent if the segment cannot address values by rank.
   */
  valueAt?(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar>
  /** Return the ordinals of the rows that match a probe. */
  find(probe: ScalarProbe, pacer: Pacer): MaybePromise<RowSet>
}
