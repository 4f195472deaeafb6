/** Compare decimals, intervals, and points and spans of time in different units. */
import { type Column, isValid } from '../../arrow/column.js'
import { readDecimal } from '../../arrow/decimal.js'
import { aligned } from '../../arrow/layout.js'
import type { DataType } from '../../arrow/types.js'
import {
  type DecimalType,
  decimalBytes,
  decimalType,
  maxDigits,
  orderWithDecimal,
  powerOfTen,
} from '../values/decimals.js'
import { intervalNanos } from '../values/interval.js'
import type { Interval } from '../values/scalar.js'
import { instantNanos, nanosPerCount } from '../values/temporal.js'
import { zoneNamed } from '../values/time-zone.js'
import { zoneOf } from '../values/types.js'
import { bitAt, doublesOf, scalarAt, validWords } from '../values/vector.js'

/**
 * Find rows of `left` that equal `right`, or are less than it (with `orEqual`, less or equal). Both sides have the same
 * type. With a `step` of 0, the first row of `right` is compared with all rows.
 */
export function compareDecimals(
  isEquality: boolean,
  orEqual: boolean,
  left: Column,
  right: Column,
  step: 0 | 1,
  out: Uint32Array,
  length: number,
): void {
  const size = (left.type as DecimalType).bits >>> 5
  const a = wordsOfCells(left, size)
  const b = wordsOfCells(right, size)
  const bound = orEqual ? 1 : 0
  for (let i = 0; i < length; i++) {
    const order = orderOfCells(a, i * size, b, i * step * size, size)
    if (isEquality ? order === 0 : order < bound) out[i >>> 5]! |= 1 << (i & 31)
  }
}

/** Return the cells of a column as 32-bit words, low word first. */
function wordsOfCells({ values, length }: Column, size: number): Int32Array {
  const { buffer, byteOffset } = aligned(values as Uint8Array, 4, length * size)
  return new Int32Array(buffer, byteOffset, length * size)
}

/** Return -1, 0 or 1 if an integer of `size` words is less than, equal to or greater than another. */
function orderOfCells(a: Int32Array, atA: number, b: Int32Array, atB: number, size: number): number {
  const x = a[atA + size - 1]!
  const y = b[atB + size - 1]!
  if (x !== y) return x < y ? -1 : 1
  for (let k = size - 2; k >= 0; k--) {
    const low = a[atA + k]! >>> 0
    const other = b[atB + k]! >>> 0
    if (low !== other) return low < other ? -1 : 1
  }
  return 0
}

/** If a float and the double nearest to a decimal differ by more than this fraction, their order is certain. */
const relativeError = 2 ** -48

/** Find rows that are equal, or else less. One side holds decimals, the other floats. */
export function compareDecimalsWithFloats(
  isEquality: boolean,
  left: Column,
  right: Column,
  out: Uint32Array,
  length: number,
): void {
  const isLeftDecimal = left.type.kind === 'decimal'
  const decimals = isLeftDecimal ? left : right
  const floats = doublesOf(isLeftDecimal ? right : left)
  const { bits, scale } = decimals.type as DecimalType
  const size = bits >>> 5
  const words = wordsOfCells(decimals, size)
  const unit = 10 ** -scale
  for (let i = 0; i < length; i++) {
    const float = floats[i]!
    const nearest = doubleOfCell(words, i * size, size) * unit
    let order = float - nearest
    // For a NaN float, `order` is NaN, so `orderWithDecimal` decides: NaN is greater than every number.
    if (!(Math.abs(order) > Math.abs(nearest) * relativeError) || Math.abs(order) < leastNormal) {
      order = orderWithDecimal(float, readDecimal(decimals.values as Uint8Array, i, bits), scale)
    }
    const matches = isEquality ? order === 0 : isLeftDecimal ? order > 0 : order < 0
    if (matches) out[i >>> 5]! |= 1 << (i & 31)
  }
}

/** The least normal double. Smaller doubles have fewer digits. */
const leastNormal = 2 ** -1022

/** Return a cell as an approximate double: it is rounded once per word. */
function doubleOfCell(words: Int32Array, at: number, size: number): number {
  let value = words[at + size - 1]!
  for (let k = size - 2; k >= 0; k--) value = value * 2 ** 32 + (words[at + k]! >>> 0)
  return value
}

/** Find rows that are equal, or else less, for comparable types without a specialized loop. */
export function compareValues(
  isEquality: boolean,
  left: Column,
  right: Column,
  out: Uint32Array,
  length: number,
): void {
  const [a, b] = [measure(left.type, right.type), measure(right.type, left.type)]
  const [validA, validB] = [validWords(left), validWords(right)]
  for (let i = 0; i < length; i++) {
    if ((validA !== null && !bitAt(validA, i)) || (validB !== null && !bitAt(validB, i))) continue
    const x = a(left, i)
    const y = b(right, i)
    if (isEquality ? x === y : x < y) out[i >>> 5]! |= 1 << (i & 31)
  }
}

/**
 * Return a function that converts a row to an integer comparable with the other type: nanoseconds, or units of the
 * finer scale.
 */
function measure(type: DataType, other: DataType): (column: Column, row: number) => bigint {
  const count = (column: Column, row: number) => BigInt(column.values![row]!)
  if (type.kind === 'interval') return (column, row) => intervalNanos(scalarAt(column, row) as Interval)
  if (type.kind === 'int' || type.kind === 'decimal') {
    const [scale, otherScale] = [type, other].map(side => (side.kind === 'decimal' ? side.scale : 0)) as [
      number,
      number,
    ]
    const factor = powerOfTen(Math.max(scale, otherScale) - scale)
    if (type.kind === 'int') return (column, row) => count(column, row) * factor
    return (column, row) => readDecimal(column.values as Uint8Array, row, type.bits) * factor
  }
  const unit = nanosPerCount(type)!
  const zone = zoneOf(type) === null ? zoneOf(other) : null
  if (zone === null) return (column, row) => count(column, row) * unit
  const there = zoneNamed(zone)
  return (column, row) => instantNanos(count(column, row) * unit, there)
}

/** Return intervals as decimals that are equal exactly if the intervals are. Return any other column as it is. */
export function withoutIntervals(column: Column): Column {
  if (column.type.kind !== 'interval') return column
  const lengths: bigint[] = []
  for (let i = 0; i < column.length; i++) {
    lengths.push(isValid(column, i) ? intervalNanos(scalarAt(column, i) as Interval) : 0n)
  }
  const type = decimalType(128, maxDigits[128], 0)
  return { ...column, type, values: decimalBytes(lengths, 128) }
}
