/**
 * Builds columns from the bodies of IPC messages. The input is untrusted. This module checks lengths, null counts,
 * offsets, dictionary indices and text once, in time linear in the body. So code that reads a column needs no checks.
 */

import { invalidInput, quote, type SheafError } from '../errors.js'
import { bitmapBytes, countBits } from './bits.js'
import type { Budget } from './budget.js'
import { invalidUtf8Row } from './check-utf8.js'
import { type Column, isValid, type Values } from './column.js'
import { decompress } from './decompress.js'
import type { BodyHeader } from './ipc-message.js'
import { aligned, cellBytes, isLarge, viewCells } from './layout.js'
import { sliceColumn } from './slice.js'
import type { Steps } from './steps.js'
import type { WireField } from './wire-field.js'

/**
 * Bytes charged to the budget for each row of a type without buffers, for example `null`. Without this charge a body of
 * a few bytes could claim billions of rows.
 */
const bytesPerEmptyRow = 8

/** Null count in a message whose writer did not count the nulls. apache-arrow writes this value for slices. */
const unknownNulls = -1

/** The body of one IPC message. */
interface Body {
  readonly header: BodyHeader
  readonly bytes: Uint8Array
  /** Offset of `bytes` in the input of the caller. Error messages use it. */
  readonly at: number
  /** A buffer whose bytes are not in `bytes`: its number in the body, from 0, and its bytes. */
  readonly replaced?: { readonly buffer: number; readonly bytes: Uint8Array }
}

/** Options of `assembleColumns`. */
export interface AssembleOptions {
  readonly budget: Budget
  /** Returns the dictionary of a dictionary field. */
  readonly dictionaryOf: (field: WireField) => Column
  /** Whether to check that text is valid UTF-8. It must be true for input that Sheaf did not write. */
  readonly checkText: boolean
}

/**
 * Build the columns of one body. A step builds one column or decompresses one block. The fields must use all nodes and
 * buffers of the body.
 * @throws InvalidInput for a broken body; the message names the column and the byte. The status is 413 if the budget is
 * exceeded.
 */
export function* assembleColumns(
  fields: readonly WireField[],
  body: Body,
  options: AssembleOptions,
): Steps<Column[]> {
  const assembler = new Assembler(body, options)
  const columns: Column[] = []
  for (const field of fields) {
    columns.push(yield* assembler.column(field))
    yield
  }
  assembler.finish()
  return columns
}

class Assembler {
  readonly #body: Body
  readonly #options: AssembleOptions
  #node = 0
  #buffer = 0
  #viewColumn = 0
  /**
   * Bytes of the body minus the bytes of the buffers read so far. It must not become negative: overlapping buffers
   * would let a small body cause unlimited work.
   */
  #bytesLeft: number
  /** Offset of the buffer that was read last. Error messages use it. */
  #at = 0

  constructor(body: Body, options: AssembleOptions) {
    this.#body = body
    this.#options = options
    this.#bytesLeft = body.bytes.length
  }

  finish(): void {
    const { nodes, buffers } = this.#body.header
    if (this.#node !== nodes.length || this.#buffer !== buffers.length) {
      throw invalidInput(
        `broken arrow body: ${nodes.length / 2} nodes and ${buffers.length / 2} buffers, but the schema needs ` +
          `${this.#node / 2} and ${this.#buffer / 2} (byte ${this.#body.at})`,
      )
    }
  }

  *column(field: WireField): Steps<Column> {
    const { path, type } = field
    const { length, nulls } = this.#nextNode(field)
    if (type.kind === 'null') {
      this.#options.budget.charge(length * bytesPerEmptyRow, path)
      return newColumn(field, length, { validity: null, nullCount: length }, null, null)
    }
    const rows = yield* this.#validity(path, length, nulls)
    switch (type.kind) {
      case 'bool':
        return newColumn(field, length, rows, yield* this.#take(path, 'values', bitmapBytes(length)), null)
      case 'utf8':
      case 'binary':
        if (field.view) return yield* this.#views(field, length, rows)
        return yield* this.#text(field, length, rows)
      case 'list':
      case 'map': {
        const offsets = yield* this.#offsets(field, length)
        const at = this.#at
        const child = yield* this.column(field.children[0]!)
        return { ...newColumn(field, length, rows, null, null), ...this.#cutList(path, offsets, child, at) }
      }
      case 'fixed_size_list': {
        if (type.size === 0) this.#options.budget.charge(length * bytesPerEmptyRow, path)
        return {
          ...newColumn(field, length, rows, null, null),
          children: [yield* this.#child(field.children[0]!, length * type.size)],
        }
      }
      case 'struct':
        if (type.children.length === 0) this.#options.budget.charge(length * bytesPerEmptyRow, path)
        return yield* this.#struct(field, length, rows)
      case 'dictionary': {
        const values = yield* this.#cells(field, length)
        const at = this.#at
        const column = {
          ...newColumn(field, length, rows, values, null),
          dictionary: this.#options.dictionaryOf(field),
        }
        checkIndices(path, column, values, column.dictionary.length, at)
        return column
      }
      default:
        return newColumn(field, length, rows, yield* this.#cells(field, length), null)
    }
  }

  *#struct(field: WireField, length: number, rows: Nulls): Steps<Column> {
    const children: Column[] = []
    for (const child of field.children) children.push(yield* this.#child(child, length))
    return { ...newColumn(field, length, rows, null, null), children }
  }

  /** Build a child column, and cut it to `length` rows, the number that its parent needs. */
  *#child(field: WireField, length: number): Steps<Column> {
    const child = yield* this.column(field)
    if (child.length < length) {
      throw this.#fault(field.path, `has ${child.length} rows, but its parent needs ${length}`)
    }
    return sliceColumn(child, 0, length)
  }

  #cutList(
    path: string,
    { offsets, first }: Offsets,
    child: Column,
    at: number,
  ): Pick<Column, 'offsets' | 'children'> {
    const count = offsets[offsets.length - 1]!
    if (first + count > child.length) {
      throw fault(path, `has offsets up to row ${first + count}, but its child has ${child.length} rows`, at)
    }
    return { offsets, children: [sliceColumn(child, first, count)] }
  }

  *#text(field: WireField, length: number, rows: Nulls): Steps<Column> {
    const { path } = field
    const { offsets, first } = yield* this.#offsets(field, length)
    const at = this.#at
    const data = yield* this.#take(path, 'values', 0)
    const last = first + offsets[length]!
    if (last > data.length)
      throw fault(path, `has offsets up to byte ${last}, but only ${data.length} bytes of data`, at)
    const column = newColumn(field, length, rows, data.subarray(first, last), offsets)
    if (this.#options.checkText && field.type.kind === 'utf8') this.#checkUtf8(path, column)
    return column
  }

  /** Convert views (columnar format, "Variable-size Binary View Layout") to offsets and data. */
  *#views(field: WireField, length: number, rows: Nulls): Steps<Column> {
    const { path } = field
    const bytes = yield* this.#take(path, 'views', 16 * length)
    const viewsAt = this.#at
    const views = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const count = this.#body.header.viewBuffers[this.#viewColumn++]
    if (count === undefined || count < 0)
      throw this.#fault(path, 'has views, but the batch does not give the number of their data buffers')
    const data: Uint8Array[] = []
    for (let i = 0; i < count; i++) data.push(yield* this.#take(path, 'data', 0))

    const offsets = new Int32Array(length + 1)
    let total = 0
    for (let i = 0; i < length; i++) {
      if (isPresent(rows, i)) total += views.getUint32(16 * i, true)
      if (total > 0x7fffffff) throw fault(path, 'has more than 2 GiB of values', viewsAt + 16 * i)
      offsets[i + 1] = total
    }
    this.#options.budget.charge(total + offsets.byteLength, path)
    const values = new Uint8Array(total)
    for (let i = 0; i < length; i++) {
      const size = offsets[i + 1]! - offsets[i]!
      if (size <= 12) {
        values.set(bytes.subarray(16 * i + 4, 16 * i + 4 + size), offsets[i]!)
        continue
      }
      const source = data[views.getInt32(16 * i + 8, true)]
      const start = views.getInt32(16 * i + 12, true)
      if (source === undefined || start < 0 || start + size > source.length) {
        throw fault(path, `has a view outside its data buffers in row ${i}`, viewsAt + 16 * i)
      }
      values.set(source.subarray(start, start + size), offsets[i]!)
    }
    const column = newColumn(field, length, rows, values, offsets)
    if (this.#options.checkText && field.type.kind === 'utf8') this.#checkUtf8(path, column)
    return column
  }

  *#cells(field: WireField, length: number): Steps<Values> {
    const width = cellBytes(field.type)
    if (width === 0) this.#options.budget.charge(length * bytesPerEmptyRow, field.path)
    return viewCells(field.type, yield* this.#take(field.path, 'values', width * length), length)
  }

  /** Read the offsets of `length` rows. Returns the original first offset, and all offsets minus the first one. */
  *#offsets(field: WireField, length: number): Steps<Offsets> {
    const { path, type } = field
    const large = isLarge(type)
    const bytes = yield* this.#take(path, 'offsets', 0)
    // Writers may omit the offsets of an empty column.
    if (length === 0 && bytes.length === 0) return { offsets: new Int32Array(1), first: 0 }
    const width = large ? 8 : 4
    if (bytes.length < width * (length + 1)) {
      throw this.#fault(
        path,
        `has ${bytes.length} bytes of offsets, but ${length} rows need ${width * (length + 1)}`,
      )
    }
    const source = aligned(bytes, width, length + 1)
    let offsets: Int32Array
    if (large) {
      this.#options.budget.charge(4 * (length + 1), path)
      offsets = this.#narrow(path, new BigInt64Array(source.buffer, source.byteOffset, length + 1))
    } else {
      offsets = new Int32Array(source.buffer, source.byteOffset, length + 1)
    }
    const first = offsets[0]!
    if (first < 0) throw this.#fault(path, `has the offset ${first}`)
    let previous = first
    for (let i = 1; i < offsets.length; i++) {
      const offset = offsets[i]!
      if (offset < previous) throw this.#fault(path, `has offsets that decrease at row ${i - 1}`)
      previous = offset
    }
    return { offsets: first === 0 ? offsets : offsets.map(offset => offset - first), first }
  }

  #narrow(path: string, wide: BigInt64Array): Int32Array {
    const out = new Int32Array(wide.length)
    for (let i = 0; i < wide.length; i++) {
      const offset = wide[i]!
      if (offset < 0n) throw this.#fault(path, `has the offset ${offset}`)
      if (offset > 0x7fffffffn) throw this.#fault(path, 'has more than 2 GiB of values in one batch')
      out[i] = Number(offset)
    }
    return out
  }

  *#validity(path: string, length: number, nulls: number): Steps<Nulls> {
    const bits = yield* this.#take(path, 'validity', 0)
    if (nulls === 0 || (nulls === unknownNulls && bits.length === 0)) return { validity: null, nullCount: 0 }
    if (bits.length < bitmapBytes(length)) {
      throw this.#fault(path, `has ${bits.length} bytes of validity for ${length} rows`)
    }
    const nullCount = length - countBits(bits, length)
    return nullCount === 0
      ? { validity: null, nullCount }
      : { validity: bits.subarray(0, bitmapBytes(length)), nullCount }
  }

  #checkUtf8(path: string, column: Column): void {
    const row = invalidUtf8Row(column)
    if (row !== -1) throw this.#fault(path, `has invalid UTF-8 in row ${row}`)
  }

  #nextNode(field: WireField): { length: number; nulls: number } {
    const { nodes } = this.#body.header
    const length = nodes[this.#node]
    const nulls = nodes[this.#node + 1]
    this.#node += 2
    if (length === undefined || nulls === undefined) {
      throw fault(field.path, 'has no node in the batch', this.#body.at)
    }
    if (length < 0 || length > 0x7fffffff || nulls < unknownNulls || nulls > length) {
      throw fault(field.path, `has ${nulls} nulls in ${length} rows`, this.#body.at)
    }
    return { length, nulls }
  }

  /**
   * Return the decompressed bytes of the next buffer. Throws if there are fewer than `minBytes`. `what`: its name in
   * messages.
   */
  *#take(path: string, what: string, minBytes: number): Steps<Uint8Array> {
    const { header, bytes, at, replaced } = this.#body
    const index = this.#buffer / 2
    const offset = header.buffers[this.#buffer]
    const length = header.buffers[this.#buffer + 1]
    this.#buffer += 2
    if (offset === undefined || length === undefined) throw fault(path, `has no ${what} buffer`, at)
    this.#at = at + offset
    let taken: Uint8Array
    if (replaced?.buffer === index) {
      taken = replaced.bytes
    } else if (length === 0) {
      taken = bytes.subarray(0, 0)
    } else {
      this.#bytesLeft -= length
      if (offset < 0 || length < 0 || offset + length > bytes.length) {
        throw this.#fault(
          path,
          `has ${what} at bytes ${offset} to ${offset + length} of a body of ${bytes.length} bytes`,
        )
      }
      if (this.#bytesLeft < 0) throw this.#fault(path, 'has buffers that overlap others')
      taken = bytes.subarray(offset, offset + length)
      if (header.codec !== null) {
        taken = yield* decompress(taken, header.codec, this.#options.budget, path, this.#at)
      }
    }
    if (taken.length < minBytes) {
      throw this.#fault(path, `has ${taken.length} bytes of ${what}, but needs ${minBytes}`)
    }
    return taken
  }

  #fault(path: string, what: string): SheafError {
    return fault(path, what, this.#at)
  }
}

interface Offsets {
  readonly offsets: Int32Array
  readonly first: number
}

type Nulls = Pick<Column, 'validity' | 'nullCount'>

function newColumn(
  field: WireField,
  length: number,
  rows: Nulls,
  values: Values | null,
  offsets: Int32Array | null,
): Column {
  return { type: field.type, length, ...rows, values, offsets, children: [], dictionary: null }
}

function isPresent({ validity }: Nulls, row: number): boolean {
  return validity === null || ((validity[row >>> 3]! >>> (row & 7)) & 1) === 1
}

function checkIndices(path: string, column: Column, values: Values, size: number, at: number): void {
  for (let i = 0; i < column.length; i++) {
    const index = values[i]!
    if ((index < 0 || index >= size) && isValid(column, i)) {
      throw fault(path, `has index ${index} in row ${i}, but its dictionary has ${size} values`, at)
    }
  }
}

function fault(path: string, what: string, at: number): SheafError {
  return invalidInput(`broken arrow body: column ${quote(path)} ${what} (byte ${at})`)
}
