/** Compare decimals, intervals, and points and spans of time that have different units. */
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
 * Set the bits in `out` of the rows for which `left` equals `right` (with `isEquality`), or is less than `right`. With
 * `orEqual`, "less" includes equal. Both sides have the same type. `step` 0: all rows are compared with the first row
 * of `right`.
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

/** Return the unscaled integers of a decimal column as `size` words of 32 bits each, low word first. */
function wordsOfCells({ values, length }: Column, size: number): Int32Array {
  const { buffer, byteOffset } = aligned(values as Uint8Array, 4, length * size)
  return new Int32Array(buffer, byteOffset, length * size)
}

/** Compare two signed integers of `size` words. Return -1, 0 or 1 if the first one is less, equal or greater. */
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

/**
 * If a float differs from the approximate double of a decimal by more than this fraction, the order of the two doubles
 * is also the order of the exact values.
 */
const relativeError = 2 ** -48

/**
 * Set the bits in `out` of the rows for which `left` equals `right` (with `isEquality`), or is less than `right`. One
 * side must be decimals, the other side floats.
 */
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

/** The smallest normal positive double. `relativeError` does not hold for smaller doubles, which have fewer digits. */
const leastNormal = 2 ** -1022

/**
 * Convert an integer of `size` words to a double. The result is approximate, because each word adds a rounding error.
 */
function doubleOfCell(words: Int32Array, at: number, size: number): number {
  let value = words[at + size - 1]!
  for (let k = size - 2; k >= 0; k--) value = value * 2 ** 32 + (words[at + k]! >>> 0)
  return value
}

/**
 * Set the bits in `out` of the rows for which `left` equals `right` (with `isEquality`), or is less than `right`. Used
 * for comparable types without a specialized loop.
 */
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
 * Return a function that converts a row of `type` to an integer, so that rows of both types can be compared. The
 * integers are nanoseconds, or for numbers unscaled integers of the larger scale.
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

/**
 * Convert intervals to decimals by the length in nanoseconds. Intervals are equal exactly if their decimals are equal.
 * Return any other column unchanged.
 */
export function withoutIntervals(column: Column): Column {
  if (column.type.kind !== 'interval') return column
  const lengths: bigint[] = []
  for (let i = 0; i < column.length; i++) {
    lengths.push(isValid(column, i) ? intervalNanos(scalarAt(column, i) as Interval) : 0n)
  }
  const type = decimalType(128, maxDigits[128], 0)
  return { ...column, type, values: decimalBytes(lengths, 128) }
}
