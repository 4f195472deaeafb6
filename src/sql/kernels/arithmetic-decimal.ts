/** The operators `+ - * / %` on decimals. The results have the precision and scale that Arrow defines. */
import { readDecimal } from '../../arrow/decimal.js'
import type { DataType } from '../../arrow/types.js'
import type { ArithmeticOp } from '../syntax/syntax.js'
import {
  asDecimalType,
  type DecimalType,
  decimalRange,
  decimalType,
  maxDigits,
  powerOfTen,
  widerBits,
} from '../values/decimals.js'
import type { ArithmeticSignature, RowOperation } from './operation.js'

/** Number of fractional digits that a quotient has in addition to those of the dividend. */
const quotientDigits = 4

/**
 * Return the signature for two decimals, or for a decimal and an integer. Return null for a product with more
 * fractional digits than a decimal of the width can have.
 */
export function decimalSignature(
  op: ArithmeticOp,
  left: DataType,
  right: DataType,
): ArithmeticSignature | null {
  const [a, b] = [asDecimalType(left)!, asDecimalType(right)!]
  const bits = widerBits(a, b)
  const scale = Math.max(a.scale, b.scale)
  const result = (precision: number, digits: number) => ({
    left: a,
    right: b,
    result: decimalType(bits, precision, digits),
  })
  switch (op) {
    case '+':
    case '-':
      return result(Math.max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
    case '*':
      if (a.scale + b.scale > maxDigits[bits]) return null
      return result(a.precision + b.precision + 1, a.scale + b.scale)
    case '/': {
      const digits = Math.min(a.scale + quotientDigits, maxDigits[bits])
      return result(a.precision + digits - a.scale + b.scale, digits)
    }
    case '%':
      return result(Math.min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
  }
}

/**
 * Return a function that computes one row. The types must be those of a `decimalSignature`. The function returns null
 * for a zero divisor and for a result out of range.
 */
export function decimalOperation(
  op: ArithmeticOp,
  left: DecimalType,
  right: DecimalType,
  type: DecimalType,
): RowOperation {
  const [least, greatest] = decimalRange(type)
  const [factorA, factorB] = factorsOf(op, left.scale, right.scale, type.scale)
  return (a, i, b, k) => {
    const x = readDecimal(a.values as Uint8Array, i, left.bits) * factorA
    const y = readDecimal(b.values as Uint8Array, k, right.bits) * factorB
    if ((op === '/' || op === '%') && y === 0n) return null
    const result = exactInteger(op, x, y)
    return result >= least && result <= greatest ? result : null
  }
}

/**
 * Return the factors by which the unscaled integers of both sides are multiplied before the operation, so that its
 * result has the scale `result`. `a` and `b`: the scales of the sides.
 */
function factorsOf(op: ArithmeticOp, a: number, b: number, result: number): readonly [bigint, bigint] {
  if (op === '*') return [1n, 1n]
  const shift = op === '/' ? result - a + b : 0
  if (op === '/') return shift >= 0 ? [powerOfTen(shift), 1n] : [1n, powerOfTen(-shift)]
  return [powerOfTen(result - a), powerOfTen(result - b)]
}

/** Compute an exact integer result. Quotients are truncated toward zero. The divisor must not be 0. */
export function exactInteger(op: ArithmeticOp, a: bigint, b: bigint): bigint {
  switch (op) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '%':
      return a % b
  }
}
