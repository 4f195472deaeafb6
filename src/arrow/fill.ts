/** Creates columns without rows, and columns in which every row is null. */
import { bitmapBytes } from './bits.js'
import type { Column } from './column.js'
import { cellBytes, hasCells, hasOffsets, viewCells } from './layout.js'
import { childFields, type DataType } from './types.js'

/** Create a column without rows. */
export function emptyColumn(type: DataType): Column {
  return fillerColumn(type, 0)
}

/** Create a column of `length` null rows. */
export function nullColumn(type: DataType, length: number): Column {
  const column = fillerColumn(type, length)
  if (length === 0 || type.kind === 'null') return column
  return { ...column, nullCount: length, validity: new Uint8Array(bitmapBytes(length)) }
}

/**
 * Create a column of zeros, for use below a null row. Its rows are not null, because a child may be non-nullable. Only
 * rows of null and dictionary columns are null, because these types have no zero value.
 */
function fillerColumn(type: DataType, length: number): Column {
  const noValue = type.kind === 'null' || type.kind === 'dictionary'
  const perRow = type.kind === 'fixed_size_list' ? type.size : hasOffsets(type) ? 0 : 1
  return {
    type,
    length,
    nullCount: noValue ? length : 0,
    validity: type.kind === 'dictionary' && length > 0 ? new Uint8Array(bitmapBytes(length)) : null,
    values: zeroValues(type, length),
    offsets: hasOffsets(type) ? new Int32Array(length + 1) : null,
    children: childFields(type).map(child => fillerColumn(child.type, perRow * length)),
    dictionary: type.kind === 'dictionary' ? emptyColumn(type.value) : null,
  }
}

function zeroValues(type: DataType, length: number): Column['values'] {
  if (type.kind === 'bool') return new Uint8Array(bitmapBytes(length))
  if (type.kind === 'utf8' || type.kind === 'binary') return new Uint8Array(0)
  return hasCells(type) ? viewCells(type, new Uint8Array(cellBytes(type) * length), length) : null
}
