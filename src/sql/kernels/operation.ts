/** The types of an arithmetic operation, and a function that computes one row, for types without their own loop. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import type { Interval } from '../values/scalar.js'

/** The types of the operands and of the result of an arithmetic operation. */
export interface ArithmeticSignature {
  readonly left: DataType
  readonly right: DataType
  readonly result: DataType
}

/**
 * Computes `left op right` for one row of each side, as a `Scalar` of the result type. Returns null if the result
 * fails.
 */
export type RowOperation = (
  left: Column,
  leftRow: number,
  right: Column,
  rightRow: number,
) => bigint | Interval | null
