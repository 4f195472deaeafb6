/** Picks rows of a column by their numbers. There is one loop for each layout of the values, for speed. */
import { assert } from '../errors.js'
import { bitmapBytes } from './bits.js'
import { type Batch, type Column, isValid, type Values } from './column.js'
import { ColumnTooLarge } from './column-too-large.js'
import { aligned, asBytes, cellBytes, hasCells, viewCells } from './layout.js'

/** Numbers of rows, from 0. In an Int32Array, a negative number gives a null row. */
type RowNumbers = Uint32Array | Int32Array

/**
 * Maximum length in bytes of values that are copied byte by byte. For longer values, a call of `set` is faster.
 */
const maxBytewiseBytes = 24

/**
 * Return the rows with the numbers `rows`, in the order of `rows`. A row may occur several times. The numbers must be
 * less than the length of the column, which is not checked.
 * @throws ColumnTooLarge if the values exceed 2 GiB.
 */
export function takeColumn(column: Column, rows: RowNumbers): Column {
  const { type } = column
  const length = rows.length
  if (type.kind === 'null') return { ...column, length, nullCount: length }
  const { validity, nullCount } = takeValidity(column, rows)
  // All properties are listed, because the spread syntax (`...column`) would take 25 times the time of the other work
  // for one row.
  const newColumn = (
    values: Column['values'],
    offsets: Int32Array | null,
    children: readonly Column[],
  ): Column => {
    return { type, length, nullCount, validity, values, offsets, children, dictionary: column.dictionary }
  }
  switch (type.kind) {
    case 'bool':
      return newColumn(takeBits(column.values as Uint8Array, rows), null, [])
    case 'utf8':
    case 'binary': {
      assert(column.offsets !== null, 'text without offsets')
      const offsets = takeOffsets(column.offsets, rows)
      const values = takeSlices(column.values as Uint8Array, column.offsets, rows, offsets)
      return newColumn(values, offsets, [])
    }
    case 'list':
    case 'map': {
      assert(column.offsets !== null, 'a list without offsets')
      const offsets = takeOffsets(column.offsets, rows)
      const child = takeColumn(column.children[0]!, childRows(column.offsets, rows, offsets[length]!))
      return newColumn(null, offsets, [child])
    }
    case 'fixed_size_list': {
      const child = takeEqualLists(column.children[0]!, type.size, rows)
      return newColumn(null, null, [child])
    }
    case 'struct':
      return newColumn(
        null,
        null,
        column.children.map(child => takeColumn(child, rows)),
      )
    default: {
      assert(column.values !== null, `a ${type.kind} column without values`)
      if (length <= fewRows && column.values.BYTES_PER_ELEMENT === cellBytes(type)) {
        return newColumn(takeFew(column.values, rows), null, [])
      }
      const cells = takeCells(asBytes(column.values), cellBytes(type), rows)
      return newColumn(viewCells(type, cells, length), null, [])
    }
  }
}

/** Return rows of a batch: calls `takeColumn` for every column. */
export function takeBatch(batch: Batch, rows: RowNumbers): Batch {
  return {
    schema: batch.schema,
    length: rows.length,
    columns: batch.columns.map(column => takeColumn(column, rows)),
  }
}

function takeValidity(column: Column, rows: RowNumbers): Pick<Column, 'validity' | 'nullCount'> {
  const none = { validity: null, nullCount: 0 }
  if (column.validity === null && rows instanceof Uint32Array) return none
  const validity = new Uint8Array(bitmapBytes(rows.length))
  let nullCount = 0
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row >= 0 && isValid(column, row)) validity[i >>> 3]! |= 1 << (i & 7)
    else nullCount++
  }
  return nullCount === 0 ? none : { validity, nullCount }
}

function takeBits(bits: Uint8Array, rows: RowNumbers): Uint8Array {
  const out = new Uint8Array(bitmapBytes(rows.length))
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row >= 0) out[i >>> 3]! |= ((bits[row >>> 3]! >>> (row & 7)) & 1) << (i & 7)
  }
  return out
}

function takeOffsets(offsets: Int32Array, rows: RowNumbers): Int32Array {
  const out = new Int32Array(rows.length + 1)
  let total = 0
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row >= 0) total += offsets[row + 1]! - offsets[row]!
    out[i + 1] = total
  }
  if (total > 0x7fffffff) throw new ColumnTooLarge(rows.length)
  return out
}

function takeSlices(source: Uint8Array, from: Int32Array, rows: RowNumbers, to: Int32Array): Uint8Array {
  const out = new Uint8Array(to[rows.length]!)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row < 0) continue
    const start = from[row]!
    const end = from[row + 1]!
    let at = to[i]!
    if (end - start > maxBytewiseBytes) out.set(source.subarray(start, end), at)
    else for (let k = start; k < end; k++) out[at++] = source[k]!
  }
  return out
}

function childRows(offsets: Int32Array, rows: RowNumbers, total: number): Uint32Array {
  const out = new Uint32Array(total)
  let at = 0
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row < 0) continue
    for (let k = offsets[row]!, end = offsets[row + 1]!; k < end; k++) out[at++] = k
  }
  return out
}

/**
 * Take the child of a fixed_size_list. If the elements have a fixed width and no nulls, as in a vector, all elements of
 * a row are copied together.
 */
function takeEqualLists(child: Column, size: number, rows: RowNumbers): Column {
  const { type } = child
  const length = rows.length * size
  if (hasCells(type) && type.kind !== 'dictionary' && child.nullCount === 0) {
    assert(child.values !== null, `a ${type.kind} column without values`)
    const cells = takeCells(asBytes(child.values), cellBytes(type) * size, rows)
    return { ...child, length, validity: null, values: viewCells(type, cells, length) }
  }
  const expanded = new Int32Array(length)
  for (let i = 0, at = 0; i < rows.length; i++) {
    const first = rows[i]! * size
    for (let k = 0; k < size; k++) expanded[at++] = first < 0 ? -1 : first + k
  }
  return takeColumn(child, expanded)
}

/** Maximum number of rows that `takeFew` copies. */
const fewRows = 8

/**
 * Copy a few elements. A negative row gives zero. This function does not access the `buffer` of the new array, because
 * V8 creates this object on the first access, which is slow.
 */
function takeFew(source: Values, rows: RowNumbers): Values {
  const out = new (source.constructor as new (length: number) => Values)(rows.length)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    // `set` copies the bits. Reading the element as a number might change the bits of a NaN.
    if (row >= 0) out.set(source.subarray(row, row + 1) as never, i)
  }
  return out
}

/** Copy values of `width` bytes each. A negative row gives zeros. */
function takeCells(source: Uint8Array, width: number, rows: RowNumbers): Uint8Array {
  const count = rows.length
  const out = new Uint8Array(width * count)
  if (width === 1) take8(source, rows, out)
  else if (width === 2) take16(source, rows, out)
  else if (width === 4) take32(source, rows, out)
  else if (width === 8) take64(source, rows, out)
  else takeRuns(source, width, rows, out)
  return out
}

function take8(source: Uint8Array, rows: RowNumbers, out: Uint8Array): void {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row >= 0) out[i] = source[row]!
  }
}

function take16(bytes: Uint8Array, rows: RowNumbers, out: Uint8Array): void {
  const source = aligned(bytes, 2, bytes.length >>> 1)
  const from = new Uint16Array(source.buffer, source.byteOffset, source.length >>> 1)
  const to = new Uint16Array(out.buffer, 0, rows.length)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row >= 0) to[i] = from[row]!
  }
}

function take32(bytes: Uint8Array, rows: RowNumbers, out: Uint8Array): void {
  const source = aligned(bytes, 4, bytes.length >>> 2)
  const from = new Uint32Array(source.buffer, source.byteOffset, source.length >>> 2)
  const to = new Uint32Array(out.buffer, 0, rows.length)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row >= 0) to[i] = from[row]!
  }
}

/** Copy 8-byte values as two 32-bit words, because reading a NaN as a float64 might change its bits. */
function take64(bytes: Uint8Array, rows: RowNumbers, out: Uint8Array): void {
  const source = aligned(bytes, 4, bytes.length >>> 2)
  const from = new Uint32Array(source.buffer, source.byteOffset, source.length >>> 2)
  const to = new Uint32Array(out.buffer, 0, 2 * rows.length)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row < 0) continue
    to[2 * i] = from[2 * row]!
    to[2 * i + 1] = from[2 * row + 1]!
  }
}

function takeRuns(source: Uint8Array, width: number, rows: RowNumbers, out: Uint8Array): void {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row >= 0) out.set(source.subarray(row * width, (row + 1) * width), i * width)
  }
}
