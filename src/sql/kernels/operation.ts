/** Types of an arithmetic operation, and the row-by-row operation for types without their own loop. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import type { Interval } from '../values/scalar.js'

/** The types of the operands and of the result of an arithmetic operation. */
export interface ArithmeticSignature {
  readonly left: DataType
  readonly right: DataType
  readonly result: DataType
}

/** Compute the result for one row of each side, as a `Scalar` of the result type. Return null if no result fits. */
export type RowOperation = (
  left: Column,
  leftRow: number,
  right: Column,
  rightRow: number,
) => bigint | Interval | null
