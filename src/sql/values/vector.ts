/**
 * Operands of kernels. An operand is a column with one value per row, or a constant with one value for all rows.
 *
 * Hot loops support only a few kinds of buffers: int32, double, float, and 64-bit integers as pairs of 32-bit words.
 * The low word comes first, because Arrow buffers are little-endian on all platforms of Node.
 */
import { type Column, isValid, type Values } from '../../arrow/column.js'
import { readDecimal } from '../../arrow/decimal.js'
import { encodeTexts } from '../../arrow/encode-text.js'
import { nullColumn } from '../../arrow/fill.js'
import { fromFloat16, toFloat16 } from '../../arrow/float16.js'
import { cellBytes } from '../../arrow/layout.js'
import { Place } from '../../arrow/place.js'
import type { DataType } from '../../arrow/types.js'
import { assert } from '../../errors.js'
import { Bitset } from '../../primitives/bitset.js'
import { decimalBytes } from './decimals.js'
import type { Interval, Scalar } from './scalar.js'
import { binary, elementType, intervalType, valueType } from './types.js'

/** An operand with one value per row. */
interface PerRow {
  readonly column: Column
  readonly constant: false
}

/**
 * A constant operand: a column of one row whose value holds for all rows. Caches results that kernels compute from it.
 */
export class Constant {
  readonly column: Column
  readonly constant = true
  #results: Map<(column: Column) => unknown, unknown> | null = null

  constructor(column: Column) {
    this.column = column
  }

  /**
   * Return `compute(column)`. The result is computed once and cached for all batches, because a constant of an
   * expression is the same object in every batch. `compute` is the key of the cache, so pass the same function object
   * in each call. Its result must not be undefined.
   */
  once<T>(compute: (column: Column) => T): T {
    this.#results ??= new Map()
    let result = this.#results.get(compute) as T | undefined
    if (result === undefined) {
      result = compute(this.column)
      this.#results.set(compute, result)
    }
    return result
  }
}

/** An operand of a kernel. */
export type Operand = PerRow | Constant

/** Return a column as an operand. */
export function operandOf(column: Column, isConstant: boolean): Operand {
  return isConstant ? new Constant(column) : { column, constant: false }
}

/** The rows for which a result is requested, one bit per row. Null: all rows. Results for other rows are ignored. */
export type RowMask = Uint32Array | null

export function wordCount(length: number): number {
  return (length + 31) >>> 5
}

/** Return a mask of the bits that belong to rows in the last word of a bitmap. */
export function tailMask(length: number): number {
  return (length & 31) === 0 ? 0xffffffff : (1 << (length & 31)) - 1
}

/** Return word `w` of a row mask as an int32, because a loop over the bits of a uint32 would use doubles. */
export function rowsOfWord(rows: RowMask, w: number, length: number): number {
  if (rows !== null) return rows[w]! | 0
  return (w + 1) << 5 > length ? tailMask(length) | 0 : -1
}

export function bitAt(words: Uint32Array, index: number): boolean {
  return ((words[index >>> 5]! >>> (index & 31)) & 1) === 1
}

/** Convert a bitmap of bytes to a bitmap of 32-bit words. Bits after `length` are 0. */
export function wordsOf(bytes: Uint8Array, length: number): Uint32Array {
  return Bitset.fromBytes(bytes, length).words
}

export function bytesOfWords(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}

/** Return a bitmap of the rows that are not NULL, or null if no row is NULL. */
export function validWords(column: Column): Uint32Array | null {
  if (column.type.kind === 'null') return new Uint32Array(wordCount(column.length))
  return column.validity === null ? null : wordsOf(column.validity, column.length)
}

/** Create a column with the given buffers. `valid`: a bitmap of the rows that are not NULL. Null: no row is NULL. */
export function columnOf(
  type: DataType,
  length: number,
  buffers: { readonly values?: Values; readonly offsets?: Int32Array; readonly children?: readonly Column[] },
  valid: Uint32Array | null,
): Column {
  const nullCount = valid === null ? 0 : length - new Bitset(length, valid).count()
  return {
    type,
    length,
    nullCount,
    validity: valid === null || nullCount === 0 ? null : bytesOfWords(valid),
    values: buffers.values ?? null,
    offsets: buffers.offsets ?? null,
    children: buffers.children ?? [],
    dictionary: null,
  }
}

/** Return whether values of the type are stored as integers that fit into an int32. */
export function fitsInt32(type: DataType): boolean {
  switch (type.kind) {
    case 'int':
      return type.bits < 32 || (type.bits === 32 && type.signed)
    case 'date':
      return type.unit === 'day'
    case 'time':
      return type.unit === 's' || type.unit === 'ms'
    default:
      return false
  }
}

/** Return whether values of the type are stored as 64-bit integers. */
export function isWide(type: DataType): boolean {
  switch (type.kind) {
    case 'int':
      return type.bits === 64
    case 'date':
      return type.unit === 'ms'
    case 'time':
      return type.unit === 'us' || type.unit === 'ns'
    case 'timestamp':
    case 'duration':
      return true
    default:
      return false
  }
}

/** Return the rows of a column as int32. The type of the column must satisfy `fitsInt32`. */
export function int32sOf(column: Column): Int32Array {
  const { values } = column
  return values instanceof Int32Array ? values : new Int32Array(values as Int8Array)
}

/** Return the rows of a column of floats, or of numbers of at most 32 bits, as doubles. The conversion is exact. */
export function doublesOf(column: Column): Float64Array {
  const { values, type } = column
  if (values instanceof Float64Array) return values
  if (type.kind === 'float' && type.bits === 16) return doublesOfHalves(values as Uint16Array)
  return new Float64Array(values as Int32Array)
}

function doublesOfHalves(halves: Uint16Array): Float64Array {
  const doubles = new Float64Array(halves.length)
  for (let i = 0; i < halves.length; i++) doubles[i] = fromFloat16(halves[i]!)
  return doubles
}

/** Return the rows of a 64-bit integer column as pairs of words (low, high), without a copy. */
export function pairsOf(column: Column): Int32Array {
  const values = column.values as BigInt64Array
  return new Int32Array(values.buffer, values.byteOffset, column.length * 2)
}

/** Return the rows of any integer column as pairs of words. */
export function widePairsOf(column: Column): Int32Array {
  if (isWide(column.type)) return pairsOf(column)
  const pairs = new Int32Array(column.length * 2)
  if (!fitsInt32(column.type)) {
    const values = column.values as Uint32Array
    for (let i = 0; i < column.length; i++) pairs[2 * i] = values[i]!
    return pairs
  }
  const values = int32sOf(column)
  for (let i = 0; i < column.length; i++) {
    pairs[2 * i] = values[i]!
    pairs[2 * i + 1] = values[i]! >> 31
  }
  return pairs
}

/** The rows of a column as byte strings. Row i is the bytes from `offsets[i]` up to `offsets[i + 1]`. */
export interface ByteRows {
  readonly bytes: Uint8Array
  readonly offsets: Int32Array
}

/** Return the rows of a utf8, binary, fixed-size binary or decimal column as byte strings. */
export function byteRowsOf(column: Column): ByteRows {
  const bytes = column.values as Uint8Array
  const { type } = column
  if (column.offsets !== null) return { bytes, offsets: column.offsets }
  assert(type.kind === 'fixed_size_binary' || type.kind === 'decimal', `${type.kind} rows are not bytes`)
  return { bytes, offsets: evenOffsets(column.length, cellBytes(type)) }
}

/** Return the element offsets of a list or fixed-size list column. */
export function listOffsetsOf(column: Column): Int32Array {
  if (column.offsets !== null) return column.offsets
  assert(column.type.kind === 'fixed_size_list', `${column.type.kind} is not a list`)
  return evenOffsets(column.length, column.type.size)
}

function evenOffsets(length: number, width: number): Int32Array {
  const offsets = new Int32Array(length + 1)
  for (let i = 0; i <= length; i++) offsets[i] = i * width
  return offsets
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Create a column of the given values. Each value has the form that `Scalar` defines for the type. */
export function columnOfScalars(declared: DataType, scalars: readonly Scalar[]): Column {
  const type = valueType(declared)
  const { length } = scalars
  const valid = new Uint32Array(wordCount(length))
  for (let i = 0; i < length; i++) if (scalars[i] !== null) valid[i >>> 5]! |= 1 << (i & 31)
  switch (type.kind) {
    case 'null':
      return columnOf(type, length, {}, valid)
    case 'bool': {
      const bits = new Uint32Array(wordCount(length))
      for (let i = 0; i < length; i++) if (scalars[i] === true) bits[i >>> 5]! |= 1 << (i & 31)
      return columnOf(type, length, { values: bytesOfWords(bits) }, valid)
    }
    case 'int':
    case 'float':
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration':
      return columnOf(type, length, { values: numbersOf(type, scalars) }, valid)
    case 'decimal': {
      const values = decimalBytes(
        scalars.map(scalar => (scalar as bigint | null) ?? 0n),
        type.bits,
      )
      return columnOf(type, length, { values }, valid)
    }
    case 'interval':
      // Intervals of every unit are stored as months, days and nanoseconds, because only this unit can hold all of
      // them.
      return columnOf(intervalType, length, { values: intervalBytes(scalars) }, valid)
    case 'utf8':
      return columnOf(
        type,
        length,
        encodeTexts(scalars as readonly (string | null)[], Place.column('expression')),
        valid,
      )
    case 'binary':
    case 'fixed_size_binary': {
      const rows = scalars.map(bytes => (bytes as Uint8Array | null) ?? new Uint8Array(0))
      // A constant that is compared with a fixed-size column may have another size. Store it as binary: it equals no
      // row.
      const isFixed =
        type.kind === 'fixed_size_binary' &&
        scalars.every((bytes, i) => bytes === null || rows[i]!.length === type.width)
      return isFixed ? fixedColumn(type, rows, valid) : bytesColumn(binary, rows, valid)
    }
    case 'list': {
      const lists = scalars.map(list => (list as readonly Scalar[] | null) ?? [])
      const offsets = new Int32Array(length + 1)
      for (let i = 0; i < length; i++) offsets[i + 1] = offsets[i]! + lists[i]!.length
      return columnOf(
        type,
        length,
        { offsets, children: [columnOfScalars(type.child.type, lists.flat())] },
        valid,
      )
    }
    case 'fixed_size_list': {
      const missing = new Array<Scalar>(type.size).fill(null)
      const elements = scalars.flatMap(list => (list as readonly Scalar[] | null) ?? missing)
      return columnOf(type, length, { children: [columnOfScalars(type.child.type, elements)] }, valid)
    }
    default:
      assert(
        scalars.every(scalar => scalar === null),
        `no constants of type ${type.kind}`,
      )
      return nullColumn(type, length)
  }
}

/** Return row `index` of a column as a `Scalar`. The type of the column must satisfy `hasConstants`. */
export function scalarAt(column: Column, index: number): Scalar {
  const { type, values } = column
  if (!isValid(column, index)) return null
  switch (type.kind) {
    case 'bool':
      return (((values as Uint8Array)[index >>> 3]! >>> (index & 7)) & 1) === 1
    case 'float':
      return type.bits === 16
        ? fromFloat16((values as Uint16Array)[index]!)
        : (values as Float64Array)[index]!
    case 'int':
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration':
      return BigInt(values![index]!)
    case 'decimal':
      return readDecimal(values as Uint8Array, index, type.bits)
    case 'interval':
      return readInterval(type.unit, values as Uint8Array, index)
    case 'fixed_size_binary':
      return (values as Uint8Array).slice(type.width * index, type.width * (index + 1))
    case 'utf8':
    case 'binary': {
      const bytes = (values as Uint8Array).slice(column.offsets![index]!, column.offsets![index + 1]!)
      return type.kind === 'utf8' ? decoder.decode(bytes) : bytes
    }
    case 'dictionary':
      return scalarAt(column.dictionary!, Number(values![index]))
    default: {
      const offsets = listOffsetsOf(column)
      const elements: Scalar[] = []
      for (let k = offsets[index]!; k < offsets[index + 1]!; k++)
        elements.push(scalarAt(column.children[0]!, k))
      return elements
    }
  }
}

/** Return whether values of the type can be constants. */
export function hasConstants(declared: DataType): boolean {
  const type = valueType(declared)
  const element = elementType(type)
  return element === null ? type.kind !== 'struct' && type.kind !== 'map' : hasConstants(element)
}

function readInterval(
  unit: (DataType & { kind: 'interval' })['unit'],
  bytes: Uint8Array,
  index: number,
): Interval {
  const width = unit === 'year_month' ? 4 : unit === 'day_time' ? 8 : 16
  const view = new DataView(bytes.buffer, bytes.byteOffset + width * index, width)
  const first = view.getInt32(0, true)
  if (unit === 'year_month') return { months: first, days: 0, nanos: 0n }
  const second = view.getInt32(4, true)
  if (unit === 'day_time') return { months: 0, days: first, nanos: BigInt(second) * 1_000_000n }
  return { months: first, days: second, nanos: view.getBigInt64(8, true) }
}

/** Encode intervals as months, days and nanoseconds, 16 bytes per row. */
function intervalBytes(scalars: readonly Scalar[]): Uint8Array {
  const bytes = new Uint8Array(scalars.length * 16)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < scalars.length; i++) {
    const interval = scalars[i] as Interval | null
    if (interval === null) continue
    view.setInt32(16 * i, interval.months, true)
    view.setInt32(16 * i + 4, interval.days, true)
    view.setBigInt64(16 * i + 8, interval.nanos, true)
  }
  return bytes
}

function bytesColumn(type: DataType, rows: readonly Uint8Array[], valid: Uint32Array): Column {
  const offsets = new Int32Array(rows.length + 1)
  for (let i = 0; i < rows.length; i++) offsets[i + 1] = offsets[i]! + rows[i]!.length
  const values = new Uint8Array(offsets[rows.length]!)
  for (let i = 0; i < rows.length; i++) values.set(rows[i]!, offsets[i]!)
  return columnOf(type, rows.length, { values, offsets }, valid)
}

function fixedColumn(
  type: DataType & { kind: 'fixed_size_binary' },
  rows: readonly Uint8Array[],
  valid: Uint32Array,
): Column {
  const values = new Uint8Array(type.width * rows.length)
  for (let i = 0; i < rows.length; i++) values.set(rows[i]!, type.width * i)
  return columnOf(type, rows.length, { values }, valid)
}

function numbersOf(type: DataType, scalars: readonly Scalar[]): Values {
  if (isWide(type)) {
    const wide =
      type.kind === 'int' && !type.signed
        ? new BigUint64Array(scalars.length)
        : new BigInt64Array(scalars.length)
    for (let i = 0; i < scalars.length; i++) wide[i] = (scalars[i] as bigint | null) ?? 0n
    return wide
  }
  return narrowArray(
    type,
    Float64Array.from(scalars, scalar => Number(scalar ?? 0)),
  )
}

/**
 * Convert numbers to the typed array of a column of `type`, which must be a float type or have at most 32 bits. The
 * numbers must fit into the type.
 */
export function narrowArray(type: DataType, numbers: Float64Array): Values {
  if (type.kind === 'float') {
    if (type.bits === 64) return numbers
    return type.bits === 32 ? new Float32Array(numbers) : halvesOf(numbers)
  }
  if (type.kind !== 'int' || (type.bits === 32 && type.signed)) return new Int32Array(numbers)
  if (type.bits === 8) return type.signed ? new Int8Array(numbers) : new Uint8Array(numbers)
  if (type.bits === 16) return type.signed ? new Int16Array(numbers) : new Uint16Array(numbers)
  return new Uint32Array(numbers)
}

function halvesOf(numbers: Float64Array): Uint16Array {
  const halves = new Uint16Array(numbers.length)
  for (let i = 0; i < numbers.length; i++) halves[i] = toFloat16(numbers[i]!)
  return halves
}
