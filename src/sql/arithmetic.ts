/**
 * `+ - * / %` on int64, uint64 and float64.
 *
 * Integers are exact: a result that does not fit, or a division by zero, is an error, never a wrapped number.
 * Division truncates toward zero and the remainder has the sign of the dividend. Floats follow IEEE 754. Only
 * rows that matter and hold values can fail.
 */
import type { Column } from '../arrow/column.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput } from '../errors.js'
import { integerRange } from './literal.js'
import type { ArithmeticOp } from './syntax.js'
import { strictValidity } from './truth.js'
import { bitAt, columnOf, doublesOf, type Operand, pairsOf, type RowMask } from './vector.js'

/** `describe` writes the expression for messages. Both operands are of `type`. */
export function calculate(
  op: ArithmeticOp,
  left: Operand,
  right: Operand,
  type: DataType,
  length: number,
  rows: RowMask,
  describe: () => string,
): Column {
  const valid = strictValidity([left, right], length)
  if (type.kind === 'float') {
    const values = new Float64Array(length)
    calculateDoubles(op, doublesOf(left.column), step(left), doublesOf(right.column), step(right), values)
    return columnOf(type, length, { values }, valid)
  }
  const isSigned = type.kind === 'int' && type.signed
  const values = isSigned ? new BigInt64Array(length) : new BigUint64Array(length)
  const out = new Int32Array(values.buffer)
  const a = pairsOf(left.column)
  const b = pairsOf(right.column)
  const [least, greatest] = integerRange(type)!
  let row = calculateSafe(opCodes[op], a, 2 * step(left), b, 2 * step(right), isSigned, out, 0)
  while (row < length) {
    const x = (left.column.values as BigInt64Array)[row * step(left)]!
    const y = (right.column.values as BigInt64Array)[row * step(right)]!
    const exact = exactInteger(op, x, y)
    if (exact !== null && exact >= least && exact <= greatest) {
      values[row] = exact
    } else if ((rows === null || bitAt(rows, row)) && (valid === null || bitAt(valid, row))) {
      const fault = exact === null ? 'division by zero' : `${isSigned ? 'int64' : 'uint64'} overflow`
      throw invalidInput(`${fault} in ${describe()}: ${x} ${op} ${y}`, {
        hint: exact === null ? 'exclude the rows with a zero divisor, or divide by a double' : undefined,
      })
    }
    row = calculateSafe(opCodes[op], a, 2 * step(left), b, 2 * step(right), isSigned, out, row + 1)
  }
  return columnOf(type, length, { values }, valid)
}

function step(operand: Operand): number {
  return operand.constant ? 0 : 1
}

/** The result as mathematics has it, or null for a zero divisor. */
function exactInteger(op: ArithmeticOp, a: bigint, b: bigint): bigint | null {
  switch (op) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return b === 0n ? null : a / b
    case '%':
      return b === 0n ? null : a % b
  }
}

const opCodes: Readonly<Record<ArithmeticOp, number>> = { '+': 0, '-': 1, '*': 2, '/': 3, '%': 4 }
const safeLimit = 2 ** 53

/**
 * Fills pairs of `out` from row `from` on as long as operands and results are integers that doubles hold
 * exactly, and returns the first row for which they are not (the number of rows when there is none).
 */
function calculateSafe(
  code: number,
  a: Int32Array,
  stepA: number,
  b: Int32Array,
  stepB: number,
  isSigned: boolean,
  out: Int32Array,
  from: number,
): number {
  const length = out.length / 2
  const least = isSigned ? -safeLimit : -1
  const top = 0x200000
  for (let i = from; i < length; i++) {
    const highA = a[i * stepA + 1]!
    const highB = b[i * stepB + 1]!
    if (highA >= top || highA < -top || highB >= top || highB < -top) return i
    if (!isSigned && (highA < 0 || highB < 0)) return i
    const x = highA * 2 ** 32 + (a[i * stepA]! >>> 0)
    const y = highB * 2 ** 32 + (b[i * stepB]! >>> 0)
    let result: number
    if (code === 0) result = x + y
    else if (code === 1) result = x - y
    else if (code === 2) result = x * y
    else if (y === 0) return i
    else if (code === 3) result = Math.trunc(x / y)
    else result = x - Math.trunc(x / y) * y
    if (result <= least || result >= safeLimit) return i
    out[2 * i] = result
    out[2 * i + 1] = Math.floor(result / 2 ** 32)
  }
  return length
}

function calculateDoubles(
  op: ArithmeticOp,
  a: Float64Array,
  stepA: number,
  b: Float64Array,
  stepB: number,
  out: Float64Array,
): void {
  switch (op) {
    case '+':
      for (let i = 0; i < out.length; i++) out[i] = a[i * stepA]! + b[i * stepB]!
      break
    case '-':
      for (let i = 0; i < out.length; i++) out[i] = a[i * stepA]! - b[i * stepB]!
      break
    case '*':
      for (let i = 0; i < out.length; i++) out[i] = a[i * stepA]! * b[i * stepB]!
      break
    case '/':
      for (let i = 0; i < out.length; i++) out[i] = a[i * stepA]! / b[i * stepB]!
      break
    case '%':
      for (let i = 0; i < out.length; i++) out[i] = a[i * stepA]! % b[i * stepB]!
      break
  }
}
