/**
 * Lossless casts between types without children. `lossless-cast.ts` casts lists, structs, maps and dictionaries.
 *
 * A value fits if the new type can represent exactly the same number, instant, text or bytes. Only elements of vectors
 * may be rounded.
 */
import { bitmapBytes } from '../arrow/bits.js'
import type { Column, Values } from '../arrow/column.js'
import { readDecimal, writeDecimal } from '../arrow/decimal.js'
import { allFinite } from '../arrow/finite.js'
import { fromFloat16, toFloat16 } from '../arrow/float16.js'
import { cellBytes, viewCells } from '../arrow/layout.js'
import { equalTypes } from '../arrow/same-type.js'
import type { DataType } from '../arrow/types.js'
import { powerOfTen } from '../sql/values/decimals.js'
import { integerRange } from '../sql/values/literal.js'
import { nanosPerCount } from '../sql/values/temporal.js'

/** A bitmap of the rows whose values are cast. The values of other rows are arbitrary. Null: all rows. */
export type Present = Uint8Array | null

/** Return whether a row is among the rows whose values are cast. */
export function isPresent(bits: Present, row: number): boolean {
  return bits === null || ((bits[row >>> 3]! >>> (row & 7)) & 1) === 1
}

/** The input of a cast. */
interface ValueCast {
  readonly column: Column
  readonly to: DataType
  /** The rows whose values are cast. The values of other rows are arbitrary before and after the cast. */
  readonly present: Present
  /** Whether numbers may be rounded to the nearest float. */
  readonly rounds: boolean
  /** Throw the error for a value that does not fit. */
  readonly refuse: (row: number) => never
}

type Cast = (cast: ValueCast) => Column

/** Return the cast from `from` to `to`. Returns null if there is no lossless cast. Neither type may have children. */
export function exactCast(from: DataType, to: DataType): Cast | null {
  if (equalTypes(from, to)) return relabeled
  switch (to.kind) {
    case 'utf8':
      return from.kind === 'utf8' ? relabeled : null
    case 'binary':
      return from.kind === 'binary' ? relabeled : from.kind === 'fixed_size_binary' ? cutBytes : null
    case 'fixed_size_binary':
      return from.kind === 'binary' ? joinedBytes : null
    case 'float':
      return from.kind === 'float' || from.kind === 'int' ? floats : null
    case 'int':
      return from.kind === 'float'
        ? wholeFloats
        : from.kind === 'int' && isNarrow(from, to)
          ? integers
          : counts(from, to)
    case 'decimal':
    case 'date':
    case 'time':
    case 'duration':
      return counts(from, to)
    case 'timestamp': {
      if (from.kind !== 'timestamp' || (from.timezone === null) !== (to.timezone === null)) return null
      return from.unit === to.unit ? relabeled : counts(from, to)
    }
    default:
      return null
  }
}

/** Cast between types whose buffers have the same meaning: change only the type. */
function relabeled({ column, to }: ValueCast): Column {
  return { ...column, type: to }
}

// ---- numbers

type NumberArray = Exclude<Values, BigInt64Array | BigUint64Array>

function isNarrow(...types: readonly DataType[]): boolean {
  return types.every(type => type.kind === 'int' && type.bits < 64)
}

/** Cast between integers of up to 32 bits. */
function integers({ column, to, present, refuse }: ValueCast): Column {
  const { length } = column
  const from = column.values as NumberArray
  const values = zeroCells(to, length) as NumberArray
  for (let row = 0; row < length; row++) {
    values[row] = from[row]!
    if (values[row] !== from[row] && isPresent(present, row)) refuse(row)
  }
  return { ...column, type: to, values }
}

/** Cast floats and integers to floats. */
function floats(cast: ValueCast): Column {
  const { column, to, present, rounds, refuse } = cast
  const { length, type } = column
  const bits = (to as DataType & { kind: 'float' }).bits
  const numbers = rounds ? numbersToRound(column) : numbersOf(column)
  const values = zeroCells(to, length) as Uint16Array | Float32Array | Float64Array
  if (bits === 16) for (let row = 0; row < length; row++) values[row] = toFloat16(numbers[row]!)
  else values.set(numbers)
  const isWider = type.kind === 'float' && type.bits <= bits
  if (isWider || (rounds && values instanceof Float32Array && allFinite(values, 0, length))) {
    return { ...column, type: to, values }
  }
  const wide =
    column.values instanceof BigInt64Array || column.values instanceof BigUint64Array ? column.values : null
  for (let row = 0; row < length; row++) {
    const value = bits === 16 ? fromFloat16(values[row]!) : values[row]!
    const number = numbers[row]!
    const fits = rounds
      ? Number.isFinite(value) || !Number.isFinite(number)
      : (value === number && (wide === null || BigInt(number) === wide[row])) || Number.isNaN(number)
    if (!fits && isPresent(present, row)) refuse(row)
  }
  return { ...column, type: to, values }
}

/** Return floats and integers as numbers. Integers of 64 bits are rounded to the nearest double. */
function numbersOf({ type, values, length }: Column): Float32Array | Float64Array {
  if (values instanceof Float32Array || values instanceof Float64Array) return values.subarray(0, length)
  const numbers = new Float64Array(length)
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    for (let row = 0; row < length; row++) numbers[row] = Number(values[row])
  } else if (type.kind === 'float') {
    for (let row = 0; row < length; row++) numbers[row] = fromFloat16((values as Uint16Array)[row]!)
  } else {
    numbers.set((values as NumberArray).subarray(0, length))
  }
  return numbers
}

/**
 * Return numbers like `numbersOf`, but prepared for a second rounding to at most 24 significant bits. Rounding a large
 * integer twice could give a wrong result: the first rounding may move the value to the middle of two floats. So this
 * function replaces the low 16 bits of a large integer by one bit, which says whether any of them was set (a sticky
 * bit).
 */
function numbersToRound(column: Column): Float32Array | Float64Array {
  const numbers = numbersOf(column)
  const { values } = column
  if (!(values instanceof BigInt64Array || values instanceof BigUint64Array)) return numbers
  for (let row = 0; row < numbers.length; row++) {
    if (Number.isSafeInteger(numbers[row])) continue
    const value = values[row]!
    const low = value & 0xffffn
    numbers[row] = Number(value - low + (low === 0n ? 0n : 0x8000n))
  }
  return numbers
}

/** Cast floats without a fraction to integers. -0 does not fit, because no integer represents it. */
function wholeFloats({ column, to, present, refuse }: ValueCast): Column {
  const { length } = column
  const numbers = numbersOf(column)
  const values = zeroCells(to, length)
  const [least, greatest] = integerRange(to)!
  for (let row = 0; row < length; row++) {
    if (!isPresent(present, row)) continue
    const number = numbers[row]!
    if (!Number.isInteger(number) || Object.is(number, -0)) refuse(row)
    const whole = BigInt(number)
    if (whole < least || whole > greatest) refuse(row)
    writeCount(to, values, row, whole)
  }
  return { ...column, type: to, values }
}

// ---- integers of any unit

/**
 * Return the cast between integers, decimals, dates, times, timestamps and durations. Each of these types stores an
 * integer number of units. Returns null if the units of the two types do not measure the same quantity.
 */
function counts(from: DataType, to: DataType): Cast | null {
  const ratio = unitRatio(from, to)
  if (ratio === null) return null
  const { multiplier, divisor } = ratio
  return ({ column, present, refuse }) => {
    const { length } = column
    const [least, greatest] = integerRange(to)!
    const values = zeroCells(to, length)
    for (let row = 0; row < length; row++) {
      if (!isPresent(present, row)) continue
      const scaled = readCount(column, row) * multiplier
      const count = scaled / divisor
      if (count * divisor !== scaled || count < least || count > greatest) refuse(row)
      writeCount(to, values, row, count)
    }
    return { ...column, type: to, values }
  }
}

/**
 * Return the number of units of `to` in one unit of `from` as a fraction. Returns null if they measure different
 * quantities.
 */
function unitRatio(
  from: DataType,
  to: DataType,
): { readonly multiplier: bigint; readonly divisor: bigint } | null {
  const [scaleFrom, scaleTo] = [scaleOf(from), scaleOf(to)]
  if (scaleFrom !== null && scaleTo !== null) {
    const digits = scaleTo - scaleFrom
    return { multiplier: powerOfTen(Math.max(digits, 0)), divisor: powerOfTen(Math.max(-digits, 0)) }
  }
  if (from.kind !== to.kind) return null
  const [nanosFrom, nanosTo] = [nanosPerCount(from), nanosPerCount(to)]
  return nanosFrom === null || nanosTo === null ? null : { multiplier: nanosFrom, divisor: nanosTo }
}

function scaleOf(type: DataType): number | null {
  return type.kind === 'int' ? 0 : type.kind === 'decimal' ? type.scale : null
}

function readCount({ type, values }: Column, row: number): bigint {
  return type.kind === 'decimal' ? readDecimal(values as Uint8Array, row, type.bits) : BigInt(values![row]!)
}

function writeCount(to: DataType, values: Values, row: number, count: bigint): void {
  if (to.kind === 'decimal') writeDecimal(values as Uint8Array, row, to.bits, count)
  else if (values instanceof BigInt64Array || values instanceof BigUint64Array) values[row] = count
  else values[row] = Number(count)
}

// ---- bytes

function cutBytes({ column, to }: ValueCast): Column {
  const { width } = column.type as DataType & { kind: 'fixed_size_binary' }
  const offsets = Int32Array.from({ length: column.length + 1 }, (_, row) => row * width)
  return { ...column, type: to, offsets }
}

function joinedBytes({ column, to, present, refuse }: ValueCast): Column {
  const { length, offsets } = column
  const { width } = to as DataType & { kind: 'fixed_size_binary' }
  const bytes = column.values as Uint8Array
  const values = zeroCells(to, length) as Uint8Array
  for (let row = 0; row < length; row++) {
    if (!isPresent(present, row)) continue
    const [from, end] = [offsets![row]!, offsets![row + 1]!]
    if (end - from !== width) refuse(row)
    values.set(bytes.subarray(from, end), row * width)
  }
  return { ...column, type: to, values, offsets: null }
}

function zeroCells(type: DataType, length: number): Values {
  return viewCells(type, new Uint8Array(cellBytes(type) * length), length)
}

/** Return the intersection of two sets of rows. `length`: number of rows of the column. */
export function bothPresent(a: Present, b: Present, length: number): Present {
  if (a === null || b === null) return a ?? b
  const bits = new Uint8Array(bitmapBytes(length))
  for (let i = 0; i < bits.length; i++) bits[i] = a[i]! & b[i]!
  return bits
}
