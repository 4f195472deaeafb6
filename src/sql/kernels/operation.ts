/** What an arithmetic operation takes and gives, and how rows are computed where no loop is written for the type. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import type { Interval } from '../values/scalar.js'

export interface ArithmeticSignature {
  readonly left: DataType
  readonly right: DataType
  readonly result: DataType
}

/** The result for one row of each side, as a `Scalar` of its type; null where there is none that fits. */
export type RowOperation = (
  left: Column,
  leftRow: number,
  right: Column,
  rightRow: number,
) => bigint | Interval | null
