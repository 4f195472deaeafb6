/**
 * Defines a segment of a scalar index: an immutable file over some rows. The segment numbers its rows from 0
 * (ordinals). table/table-index maps ordinals to table rows. The segment itself contains no information about table
 * rows.
 */
import type { Column } from '../../arrow/column.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { RowSet } from '../../primitives/row-set.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { Scalar } from '../../sql/values/scalar.js'
import type { Key } from './place-of.js'
import type { ScalarProbe } from './probe.js'

/** Access to the Arrow IPC file of a segment. The columns that it returns are verified. */
export interface SegmentFile {
  /** Number of rows of each record batch. */
  readonly batchRows: readonly number[]
  column(batch: number, column: number, signal?: AbortSignal): MaybePromise<Column>
  /** Return a column of a batch if it is in memory. The call counts as a use of the column. */
  peek(batch: number, column: number): Column | undefined
  /** Read several runs of rows of a column together. The result has, for each run, at least the requested rows. */
  rows(runs: readonly RowRun[], column: number, pacer: Pacer): MaybePromise<readonly ColumnRows[]>
  /** Start to read rows that `rows` will probably read next, where a read takes long. Absent: reads are fast. */
  expect?(runs: readonly RowRun[], column: number, pacer: Pacer): void
}

/** The rows `from` to `to - 1` of a record batch. */
export interface RowRun {
  readonly batch: number
  readonly from: number
  readonly to: number
}

/** Consecutive rows of one column of a record batch. */
export interface ColumnRows {
  readonly column: Column
  /** The row number in the batch of the first row of `column`. */
  readonly from: number
}

/** An opened segment. */
export interface ScalarSegment {
  /** Number of rows. */
  readonly rows: number
  /** Return the number of rows that match a probe, or an upper bound if the exact number costs as much as `find`. */
  estimate(probe: ScalarProbe, pacer: Pacer): MaybePromise<number>
  /**
   * Return the value at position `rank` of the sort order, counted from 0. `fromEnd`: count from the greatest value.
   * Return null if the segment has too few values. The method is absent if the segment cannot find values by rank.
   */
  valueAt?(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar>
  /**
   * Append the ordinals of the rows with the value `key`. Reads only memory. Returns false if a needed page is not in
   * memory, or if there are more than `most` rows. The method is absent if the segment cannot find values in this way.
   */
  seek?(key: Key, ordinals: number[], most: number): boolean
  /** Return the ordinals of the rows that match a probe. */
  find(probe: ScalarProbe, pacer: Pacer): MaybePromise<RowSet>
}
