/** The types of an arithmetic operation, and the computation of one row for types that have no specialized loop. */
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
 * Computes `left op right` for one row of each side, as a `Scalar` of the result type. Returns null for a division by
 * zero and for a result out of range.
 */
export type RowOperation = (
  left: Column,
  leftRow: number,
  right: Column,
  rightRow: number,
) => bigint | Interval | null
