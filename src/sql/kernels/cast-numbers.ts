/** CAST between booleans and numbers. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import {
  type DecimalType,
  decimalRange,
  decimalToDouble,
  digitsAt,
  digitsOfFloat,
  rescaled,
} from '../values/decimals.js'
import { roundFloat } from '../values/floats.js'
import { integerRange } from '../values/literal.js'
import type { Scalar } from '../values/scalar.js'
import {
  bitAt,
  bytesOfWords,
  columnOf,
  doublesOf,
  isWide,
  narrowArray,
  pairsOf,
  wordCount,
  wordsOf,
} from '../values/vector.js'
import { type Cast, reject } from './cast-rows.js'

/** Return numbers and booleans as doubles. A 64-bit integer becomes the nearest double. */
export function numbersOf(column: Column): Float64Array {
  const { type, length } = column
  if (type.kind === 'bool') {
    const bits = wordsOf(column.values as Uint8Array, length)
    return Float64Array.from({ length }, (_, i) => Number(bitAt(bits, i)))
  }
  if (!isWide(type)) return doublesOf(column).slice(0, length)
  const pairs = pairsOf(column)
  const lift = type.kind === 'int' && !type.signed ? 2 ** 32 : 0
  const out = new Float64Array(length)
  for (let i = 0; i < length; i++) {
    const high = pairs[2 * i + 1]!
    out[i] = (high < 0 ? high + lift : high) * 2 ** 32 + (pairs[2 * i]! >>> 0)
  }
  return out
}

/** Cast doubles to booleans, floats or integers. `numbers` is overwritten. */
export function castNumbers(cast: Cast, numbers: Float64Array): Column {
  const { column, to, valid, fractions } = cast
  const { length } = column
  if (to.kind === 'bool') {
    const bits = new Uint32Array(wordCount(length))
    for (let i = 0; i < length; i++) if (numbers[i] !== 0) bits[i >>> 5]! |= 1 << (i & 31)
    return columnOf(to, length, { values: bytesOfWords(bits) }, valid)
  }
  if (to.kind === 'float') {
    for (let i = 0; i < length; i++) {
      const number = numbers[i]!
      numbers[i] = roundFloat(to.bits, number)
      if (Number.isFinite(number) && !Number.isFinite(numbers[i]!)) reject(cast, i)
    }
    return columnOf(to, length, { values: narrowArray(to, numbers) }, valid)
  }
  const [least, greatest] = integerRange(to)!
  // `past` is the first number above the range, which doubles hold exactly (2^63 or 2^64 for 64-bit integers). For
  // int64, `from` rounds to the minimum, so the minimum is checked separately.
  const from = Number(least) - 1
  const past = Number(greatest) + (isWide(to) ? 0 : 1)
  for (let i = 0; i < length; i++) {
    const number = fractions === 'cut' ? Math.trunc(numbers[i]!) : numbers[i]!
    numbers[i] = number
    const fits = Number.isInteger(number) && (number > from || number === Number(least)) && number < past
    if (!fits) {
      reject(cast, i)
      numbers[i] = 0
    }
  }
  if (!isWide(to)) return columnOf(to, length, { values: narrowArray(to, numbers) }, valid)
  const values = to.kind === 'int' && to.signed ? new BigInt64Array(length) : new BigUint64Array(length)
  const pairs = new Int32Array(values.buffer)
  for (let i = 0; i < length; i++) {
    pairs[2 * i] = numbers[i]!
    pairs[2 * i + 1] = Math.floor(numbers[i]! / 2 ** 32)
  }
  return columnOf(to, length, { values }, valid)
}

/** Cast int64 to uint64 or back. The bits stay the same. A value with a set top bit is out of range and is rejected. */
export function changeSign(cast: Cast): Column {
  const { column, to, valid } = cast
  const pairs = pairsOf(column)
  for (let i = 0; i < column.length; i++) if (pairs[2 * i + 1]! < 0) reject(cast, i)
  const { buffer, byteOffset } = column.values as BigInt64Array
  const isSigned = to.kind === 'int' && to.signed
  const values = isSigned
    ? new BigInt64Array(buffer, byteOffset, column.length)
    : new BigUint64Array(buffer, byteOffset, column.length)
  return columnOf(to, column.length, { values }, valid)
}

/**
 * Return a function that converts one value between a decimal and a boolean or number. The function returns null for a
 * value that does not fit.
 */
export function decimalRow(
  from: DataType,
  to: DataType,
  fractions: Cast['fractions'],
): (value: Scalar) => Scalar {
  if (to.kind === 'decimal') return value => toDecimal(value, from, to)
  const { scale } = from as DecimalType
  switch (to.kind) {
    case 'bool':
      return value => value !== 0n
    case 'float':
      return value => {
        const number = roundFloat(to.bits, decimalToDouble(value as bigint, scale))
        return Number.isFinite(number) ? number : null
      }
    default:
      return value => {
        const { floor, exact } = rescaled(value as bigint, scale, 0)
        const truncated = exact || fractions === 'refuse' || (value as bigint) > 0n ? floor : floor + 1n
        return exactly({ floor: truncated, exact: exact || fractions === 'cut' }, integerRange(to)!)
      }
  }
}

function toDecimal(value: Scalar, from: DataType, to: DecimalType): bigint | null {
  const range = decimalRange(to)
  if (from.kind === 'float') {
    const digits = digitsOfFloat(value as number, from.bits)
    return digits === null ? null : exactly(digitsAt(digits, to.scale), range)
  }
  const integer = typeof value === 'boolean' ? BigInt(value) : (value as bigint)
  return exactly(rescaled(integer, from.kind === 'decimal' ? from.scale : 0, to.scale), range)
}

function exactly(
  { floor, exact }: { floor: bigint; exact: boolean },
  [least, greatest]: readonly [bigint, bigint],
): bigint | null {
  return exact && floor >= least && floor <= greatest ? floor : null
}
