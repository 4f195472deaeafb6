/** Searches sorted columns without nulls by binary search. */
import type { Column } from '../../arrow/column.js'
import { fromFloat16 } from '../../arrow/float16.js'
import type { DataType } from '../../arrow/types.js'
import { orderOfBytes } from '../../primitives/order-of-bytes.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import type { Scalar } from '../../sql/values/scalar.js'
import { orderOfScalars } from '../../sql/values/scalar-order.js'
import { isWide, scalarAt } from '../../sql/values/vector.js'

/** A constant, converted to the representation of the column's values. */
export type Key = number | bigint | Uint8Array | boolean

/** Convert a constant to a key. `value` must not be null, and must have the type of the column. */
export function keyOf(type: DataType, value: Scalar): Key {
  if (typeof value === 'string') return Buffer.from(value)
  if (typeof value === 'bigint' && type.kind !== 'decimal' && !isWide(type)) return Number(value)
  return value as Key
}

/**
 * Return the first of the rows `from` to `to - 1` whose value is not less than `key`. With `after`, return the first
 * row whose value is greater than `key`. Return `to` if there is no such row.
 */
export function placeOf(column: Column, key: Key, after: boolean, from: number, to: number): number {
  const { type, values, offsets } = column
  switch (type.kind) {
    case 'float':
      if (Number.isNaN(key)) return after ? to : placeOfNaN(column, from, to)
      if (type.bits === 16) return placeAmongHalves(values as Uint16Array, key as number, after, from, to)
      return placeAmongNumbers(values as Float64Array, key as number, after, from, to)
    case 'int':
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration':
      return isWide(type)
        ? placeAmongBigints(values as BigInt64Array, key as bigint, after, from, to)
        : placeAmongNumbers(values as Int32Array, key as number, after, from, to)
    case 'utf8':
    case 'binary':
      return placeAmongBytes(values as Uint8Array, offsets!, key as Uint8Array, after, from, to)
    default:
      return placeAmongScalars(column, key, after, from, to)
  }
}

/**
 * Return the end of the run of values that are equal to `key`. The run begins at `from`. Checks the next two rows
 * first, because most runs are short.
 */
export function endOfEqual(column: Column, key: Key, from: number, to: number): number {
  const near = Math.min(to, from + 2)
  const end = placeOf(column, key, true, from, near)
  return end < near ? end : placeOf(column, key, true, near, to)
}

// The functions below are the same binary search for different array types, so that each loop stays monomorphic. A
// value NaN is neither less than nor equal to a key. This gives the right result, because NaN sorts after all numbers.

function placeAmongNumbers(
  values: Int32Array | Float64Array,
  key: number,
  after: boolean,
  from: number,
  to: number,
): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >>> 1
    const value = values[middle]!
    if (value < key || (after && value === key)) low = middle + 1
    else high = middle
  }
  return low
}

function placeAmongHalves(
  values: Uint16Array,
  key: number,
  after: boolean,
  from: number,
  to: number,
): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >>> 1
    const value = fromFloat16(values[middle]!)
    if (value < key || (after && value === key)) low = middle + 1
    else high = middle
  }
  return low
}

function placeAmongBigints(
  values: BigInt64Array,
  key: bigint,
  after: boolean,
  from: number,
  to: number,
): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >>> 1
    const value = values[middle]!
    if (value < key || (after && value === key)) low = middle + 1
    else high = middle
  }
  return low
}

function placeAmongBytes(
  bytes: Uint8Array,
  offsets: Int32Array,
  key: Uint8Array,
  after: boolean,
  from: number,
  to: number,
): number {
  const bound = after ? 1 : 0
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >>> 1
    const order = orderOfBytes(bytes, offsets[middle]!, offsets[middle + 1]!, key, 0, key.length)
    if (order < bound) low = middle + 1
    else high = middle
  }
  return low
}

function placeOfNaN(column: Column, from: number, to: number): number {
  return from + partitionPoint(to - from, i => !Number.isNaN(scalarAt(column, from + i)))
}

function placeAmongScalars(column: Column, key: Key, after: boolean, from: number, to: number): number {
  const bound = after ? 1 : 0
  return from + partitionPoint(to - from, i => orderOfScalars(scalarAt(column, from + i), key) < bound)
}
