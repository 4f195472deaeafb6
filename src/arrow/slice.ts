/**
 * Slices consecutive rows of a column or batch. The results are views of the buffers, with two exceptions:
 * offsets are copied if the first one is not 0, and bits are copied if the slice does not start at a whole byte.
 */
import { assert } from '../errors.js'
import { bitmapBytes, countBits, cutBits } from './bits.js'
import type { Batch, Column, Values } from './column.js'
import { cellBytes } from './layout.js'

/** Return the `length` rows from `start` on as a column. */
export function sliceColumn(column: Column, start: number, length: number): Column {
  assert(
    start >= 0 && length >= 0 && start + length <= column.length,
    `cannot slice ${length} rows from row ${start} of a column of ${column.length} rows`,
  )
  if (start === 0 && length === column.length) return column
  const { type, values, offsets } = column
  if (type.kind === 'null') return { ...column, length, nullCount: length }

  let validity: Uint8Array | null = null
  let nullCount = 0
  if (column.validity !== null) {
    const cut = cutBits(column.validity, start, length)
    nullCount = length - countBits(cut, length)
    if (nullCount > 0) validity = cut
  }
  const { dictionary } = column
  if (offsets !== null) {
    const first = offsets[start]!
    const last = offsets[start + length]!
    const cut = offsets.subarray(start, start + length + 1)
    return {
      type,
      length,
      nullCount,
      validity,
      values: values === null ? null : values.subarray(first, last),
      offsets: first === 0 ? cut : lowered(cut, first),
      children: column.children.map(child => sliceColumn(child, first, last - first)),
      dictionary,
    }
  }
  if (type.kind === 'bool') {
    const bits = cutBits(values as Uint8Array, start, length)
    return { type, length, nullCount, validity, values: bits, offsets, children: [], dictionary }
  }
  const perRow = type.kind === 'fixed_size_list' ? type.size : 1
  return {
    type,
    length,
    nullCount,
    validity,
    values: values === null ? null : cutCells(column, values, start, length),
    offsets,
    children: column.children.map(child => sliceColumn(child, start * perRow, length * perRow)),
    dictionary,
  }
}

function lowered(offsets: Int32Array, by: number): Int32Array {
  const out = new Int32Array(offsets.length)
  for (let i = 0; i < out.length; i++) out[i] = offsets[i]! - by
  return out
}

function cutCells(column: Column, values: Values, start: number, length: number): Values {
  const perRow = cellBytes(column.type) / values.BYTES_PER_ELEMENT
  return values.subarray(start * perRow, (start + length) * perRow)
}

/** Return a copy of a column, with no more memory than its rows need. Dictionaries are shared. */
export function copyColumn(column: Column): Column {
  const { type, length, nullCount, validity, values, offsets, children, dictionary } = column
  const bytes = type.kind === 'bool' ? bitmapBytes(length) : (offsets?.[length] ?? cellBytes(type) * length)
  return {
    type,
    length,
    nullCount,
    validity: validity?.slice(0, bitmapBytes(length)) ?? null,
    values: values?.slice(0, bytes / values.BYTES_PER_ELEMENT) ?? null,
    offsets: offsets?.slice(0, length + 1) ?? null,
    children: children.map(copyColumn),
    dictionary,
  }
}

/** Return the `length` rows from `start` on as a batch. */
export function sliceBatch(batch: Batch, start: number, length: number): Batch {
  return {
    schema: batch.schema,
    length,
    columns: batch.columns.map(column => sliceColumn(column, start, length)),
  }
}
