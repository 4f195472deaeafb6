/**
 * Computes sizes and views of the buffers in which a column stores its rows (columnar format, "Physical Memory
 * Layout").
 */
import { bitmapBytes } from './bits.js'
import type { Batch, Column, Values } from './column.js'
import type { DataType, IntType } from './types.js'

/**
 * Return the bytes per row in the values buffer of a type whose values have a fixed width: numbers, temporal types,
 * fixed_size_binary, decimal, interval, dictionary indices. Returns 0 for all other types, including bool.
 */
export function cellBytes(type: DataType): number {
  switch (type.kind) {
    case 'int':
    case 'float':
    case 'decimal':
      return type.bits >>> 3
    case 'fixed_size_binary':
      return type.width
    case 'date':
      return type.unit === 'day' ? 4 : 8
    case 'time':
      return type.unit === 's' || type.unit === 'ms' ? 4 : 8
    case 'timestamp':
    case 'duration':
      return 8
    case 'interval':
      return type.unit === 'year_month' ? 4 : type.unit === 'day_time' ? 8 : 16
    case 'dictionary':
      return type.index.bits >>> 3
    default:
      return 0
  }
}

/** Return whether the values of a type have the fixed width `cellBytes`. True also for fixed_size_binary of width 0. */
export function hasCells(type: DataType): boolean {
  return type.kind === 'fixed_size_binary' || cellBytes(type) > 0
}

/** Return whether columns of a type have offsets, which delimit the rows in the values or in the child. */
export function hasOffsets(type: DataType): boolean {
  return type.kind === 'utf8' || type.kind === 'binary' || type.kind === 'list' || type.kind === 'map'
}

/** Return whether a type has 64-bit offsets in IPC bodies. In memory all offsets have 32 bits. */
export function isLarge(type: DataType): boolean {
  return (type.kind === 'utf8' || type.kind === 'binary' || type.kind === 'list') && type.large
}

/**
 * Return the first `length` rows of a values buffer as the typed array that `Column.values` specifies. The result is a
 * view of `bytes` if they are aligned, else a copy. `bytes` must have at least `length` rows, which is not checked.
 */
export function viewCells(type: DataType, bytes: Uint8Array, length: number): Values {
  switch (type.kind) {
    case 'int':
      return viewInts(type, bytes, length)
    case 'dictionary':
      return viewInts(type.index, bytes, length)
    case 'float': {
      const { buffer, byteOffset } = aligned(bytes, type.bits >>> 3, length)
      if (type.bits === 16) return new Uint16Array(buffer, byteOffset, length)
      if (type.bits === 32) return new Float32Array(buffer, byteOffset, length)
      return new Float64Array(buffer, byteOffset, length)
    }
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration': {
      const width = cellBytes(type)
      const { buffer, byteOffset } = aligned(bytes, width, length)
      if (width === 4) return new Int32Array(buffer, byteOffset, length)
      return new BigInt64Array(buffer, byteOffset, length)
    }
    default:
      return bytes.subarray(0, cellBytes(type) * length)
  }
}

function viewInts(type: IntType, bytes: Uint8Array, length: number): Values {
  const { buffer, byteOffset } = aligned(bytes, type.bits >>> 3, length)
  switch (type.bits) {
    case 8:
      return type.signed
        ? new Int8Array(buffer, byteOffset, length)
        : new Uint8Array(buffer, byteOffset, length)
    case 16:
      return type.signed
        ? new Int16Array(buffer, byteOffset, length)
        : new Uint16Array(buffer, byteOffset, length)
    case 32:
      return type.signed
        ? new Int32Array(buffer, byteOffset, length)
        : new Uint32Array(buffer, byteOffset, length)
    case 64:
      return type.signed
        ? new BigInt64Array(buffer, byteOffset, length)
        : new BigUint64Array(buffer, byteOffset, length)
  }
}

/**
 * Return `bytes` if its start is aligned to `width` bytes, else an aligned copy of its first `width * length` bytes.
 */
export function aligned(bytes: Uint8Array, width: number, length: number): Uint8Array {
  if (bytes.byteOffset % width === 0) return bytes
  return new Uint8Array(bytes.subarray(0, width * length))
}

/** Return the bytes of any typed array, without a copy. */
export function asBytes(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}

/** Return the number of bytes that a column takes in its buffers, including children and dictionaries. */
export function columnBytes(column: Column): number {
  return rowBytes(column, column.length) + dictionaryBytes(column)
}

/**
 * Return the number of bytes that the first `rows` rows of a column take in its buffers, including children, but
 * without dictionaries.
 */
export function rowBytes(column: Column, rows: number): number {
  const { type, offsets, values, children } = column
  let total = column.validity === null ? 0 : bitmapBytes(rows)
  total += type.kind === 'bool' ? bitmapBytes(rows) : cellBytes(type) * rows
  let childRows = type.kind === 'fixed_size_list' ? rows * type.size : rows
  if (offsets !== null) {
    childRows = offsets[rows]!
    total += 4 * (rows + 1)
    if (values !== null) total += childRows
  }
  for (const child of children) total += rowBytes(child, childRows)
  return total
}

function dictionaryBytes({ dictionary, children }: Column): number {
  let total = dictionary === null ? 0 : columnBytes(dictionary)
  for (const child of children) total += dictionaryBytes(child)
  return total
}

/** Return the sum of `columnBytes` of all columns. */
export function batchBytes(batch: Batch): number {
  let total = 0
  for (const column of batch.columns) total += columnBytes(column)
  return total
}
