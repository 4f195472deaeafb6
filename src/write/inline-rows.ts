/**
 * Encodes a few plain objects directly as the bytes that `encodeBatch` makes from their batch. A small commit spends
 * most of its CPU time on the steps that this skips: columns, batches, and streams of them.
 *
 * The encoder returns null for all rows that it does not encode: rows that do not fit the schema, and too many bytes.
 * The caller then converts the rows in the usual steps, which throw the errors with their messages.
 */
import { bitmapBytes } from '../arrow/bits.js'
import { BodyMessage, Numbers } from '../arrow/body-message.js'
import { buildColumn } from '../arrow/build-column.js'
import type { Column } from '../arrow/column.js'
import { hasDictionaries } from '../arrow/encode-ipc.js'
import { type FlatColumns, flattenColumn } from '../arrow/flatten.js'
import { SpreadLimit } from '../arrow/infer-type.js'
import { Place } from '../arrow/place.js'
import { isRow, roughBytes } from '../arrow/rows.js'
import type { DataType, Field, IntType, Schema } from '../arrow/types.js'
import { SheafError } from '../errors.js'
import { checkFiniteVectors } from './conform.js'
import { inlineBytes } from './stage.js'

/** Maximum number of rows that are encoded in one call, which does not yield to the event loop. */
const rowsMax = 1024
/** The encoder reads rows only up to this many bytes by `roughBytes`, if a column has another type than the common ones. */
const roughBytesMax = 4 * inlineBytes

/** Memory in which the bytes are collected. Encoding does not wait, so all encoders share the memory. */
const memory = new Uint8Array(4 * inlineBytes)
const view = new DataView(memory.buffer)
const texts = Buffer.from(memory.buffer)

type Cells = readonly unknown[]

/** The encoder of one schema. */
export class InlineRowEncoder {
  readonly #fields: readonly Field[]
  readonly #names: ReadonlySet<string>
  /** Whether `buildColumn` builds one of the columns. */
  readonly #hasOthers: boolean
  /** The message before the body. All batches of a schema have equally many nodes and buffers. */
  #message: BodyMessage | null = null
  /** The length and the null count of each field node. */
  readonly #nodes = new Numbers()
  /** The offset and the length of each buffer. */
  readonly #buffers = new Numbers()
  /** The end of the written bytes in `memory`. `bodyAt`: the start of the body. */
  #at = 0
  #bodyAt = 0

  private constructor({ fields }: Schema) {
    this.#fields = fields
    this.#names = new Set(fields.map(({ name }) => name))
    this.#hasOthers = fields.some(({ type }) => !isCommon(type))
  }

  /** Return the encoder of a schema. Returns null for a schema with dictionaries, because they need further messages. */
  static of(schema: Schema): InlineRowEncoder | null {
    return hasDictionaries(schema) ? null : new InlineRowEncoder(schema)
  }

  /** Encode rows. Returns null if the rows do not fit the schema, or take more than `inlineBytes` bytes. */
  encode(rows: readonly object[]): Uint8Array | null {
    if (rows.length > rowsMax || !this.#areRows(rows)) return null
    return this.#encoded(rows.length, field => this.#column(field, rows))
  }

  /**
   * Encode one row with new values. Returns null as `encode` does.
   *
   * `values`: the new values by column name. `kept`: the other columns of the row, as columns of one row.
   */
  encodeChanged(values: object, kept: readonly Column[]): Uint8Array | null {
    const rows = [values]
    if (!this.#areRows(rows)) return null
    let next = 0
    return this.#encoded(1, (field, i) => {
      if (i === 0) next = 0
      return Object.hasOwn(values, field.name) ? this.#column(field, rows) : this.#flat(kept[next++]!)
    })
  }

  /** Encode all columns. `write`: writes the nodes and buffers of a column. Returns false if a value does not fit. */
  #encoded(rows: number, write: (field: Field, i: number) => boolean): Uint8Array | null {
    this.#nodes.length = 0
    this.#buffers.length = 0
    // Without the length of the message, the body begins at a guess, and is written again.
    this.#bodyAt = this.#message?.bytes ?? 0
    this.#at = this.#bodyAt
    try {
      for (let i = 0; i < this.#fields.length; i++) if (!write(this.#fields[i]!, i)) return null
    } catch (error) {
      if (error instanceof SheafError) return null
      throw error
    }
    if (this.#message === null) {
      this.#message = new BodyMessage(this.#nodes.length / 2, this.#buffers.length / 2)
      return this.#encoded(rows, write)
    }
    if (this.#at > inlineBytes) return null
    this.#message.write(memory, view, rows, this.#at - this.#bodyAt, this.#nodes, this.#buffers)
    return memory.slice(0, this.#at)
  }

  #areRows(rows: readonly object[]): boolean {
    let bytes = 0
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]
      if (!isRow(row)) return false
      for (const key of Object.keys(row)) if (!this.#names.has(key)) return false
      if (!this.#hasOthers) continue
      bytes += roughBytes(row)
      if (bytes > roughBytesMax) return false
    }
    return true
  }

  /** Write the nodes and buffers of a column. Returns false if a value does not fit. */
  #column(field: Field, rows: readonly object[]): boolean {
    const { name, type } = field
    if (!isCommon(type)) return this.#otherColumn(field, rows)
    const cells = cellsOf(rows, name)
    const nullCount = countNulls(cells)
    if (nullCount > 0 && !field.nullable) return false
    this.#nodes.push(rows.length, nullCount)
    if (nullCount === 0) this.#end(this.#at)
    else if (!this.#validity(cells)) return false
    switch (type.kind) {
      case 'int':
        return type.bits === 64 ? this.#wideInts(cells, type.signed) : this.#ints(cells, type)
      case 'float':
        return this.#floats(cells, type.bits / 8)
      case 'utf8':
        return this.#texts(cells)
      case 'fixed_size_list':
        return this.#vectors(cells, type.size)
      default:
        return false
    }
  }

  /** End the buffer that begins at `start`, with zeros up to a multiple of 8. */
  #end(start: number): void {
    this.#buffers.push(start - this.#bodyAt, this.#at - start)
    while ((this.#at - this.#bodyAt) % 8 !== 0) memory[this.#at++] = 0
  }

  /** Reserve `bytes` zero bytes. Returns their position; -1 if there is no room. */
  #zeros(bytes: number): number {
    const start = this.#at
    if (start + bytes + 8 > memory.length) return -1
    memory.fill(0, start, start + bytes)
    this.#at = start + bytes
    return start
  }

  #validity(cells: Cells): boolean {
    const start = this.#zeros(bitmapBytes(cells.length))
    if (start < 0) return false
    for (let i = 0; i < cells.length; i++) {
      if (cells[i] !== null && cells[i] !== undefined) memory[start + (i >>> 3)]! |= 1 << (i & 7)
    }
    this.#end(start)
    return true
  }

  #wideInts(cells: Cells, signed: boolean): boolean {
    const start = this.#zeros(8 * cells.length)
    if (start < 0) return false
    for (let i = 0; i < cells.length; i++) {
      const value = cells[i]
      if (value === null || value === undefined) continue
      const at = start + 8 * i
      if (typeof value === 'number') {
        if (!Number.isSafeInteger(value) || (value < 0 && !signed)) return false
        view.setInt32(at, value | 0, true)
        view.setInt32(at + 4, Math.floor(value / 2 ** 32), true)
      } else if (typeof value === 'bigint') {
        if ((signed ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) !== value) return false
        view.setBigUint64(at, BigInt.asUintN(64, value), true)
      } else {
        return false
      }
    }
    this.#end(start)
    return true
  }

  #ints(cells: Cells, { bits, signed }: IntType): boolean {
    const width = bits / 8
    const least = signed ? -(2 ** (bits - 1)) : 0
    const greatest = least + 2 ** bits - 1
    const start = this.#zeros(width * cells.length)
    if (start < 0) return false
    for (let i = 0; i < cells.length; i++) {
      const value = cells[i]
      if (value === null || value === undefined) continue
      if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > greatest)
        return false
      const at = start + width * i
      if (width === 4) view.setInt32(at, value, true)
      else if (width === 2) view.setInt16(at, value, true)
      else view.setInt8(at, value)
    }
    this.#end(start)
    return true
  }

  #floats(cells: Cells, width: number): boolean {
    const start = this.#zeros(width * cells.length)
    if (start < 0) return false
    for (let i = 0; i < cells.length; i++) {
      const value = cells[i]
      if (value === null || value === undefined) continue
      if (typeof value !== 'number') return false
      const at = start + width * i
      if (width === 8) view.setFloat64(at, value, true)
      else {
        if (Number.isFinite(value) && !Number.isFinite(Math.fround(value))) return false
        view.setFloat32(at, value, true)
      }
    }
    this.#end(start)
    return true
  }

  #texts(cells: Cells): boolean {
    const offsets = this.#zeros(4 * (cells.length + 1))
    if (offsets < 0) return false
    this.#end(offsets)
    const start = this.#at
    for (let i = 0; i < cells.length; i++) {
      const value = cells[i]
      if (typeof value === 'string') {
        // A UTF-16 code unit takes at most 3 bytes.
        if (this.#at + 3 * value.length + 8 > memory.length || !value.isWellFormed()) return false
        this.#at += texts.write(value, this.#at)
      } else if (value !== null && value !== undefined) {
        return false
      }
      view.setInt32(offsets + 4 * (i + 1), this.#at - start, true)
    }
    this.#end(start)
    return true
  }

  /** Write vectors of float32. The elements of a null vector are 0. */
  #vectors(cells: Cells, size: number): boolean {
    this.#nodes.push(size * cells.length, 0)
    this.#end(this.#at)
    const start = this.#zeros(4 * size * cells.length)
    if (start < 0) return false
    for (let i = 0; i < cells.length; i++) {
      const vector = cells[i]
      if (vector === null || vector === undefined) continue
      const isList = Array.isArray(vector) || vector instanceof Float32Array
      if (!isList || vector.length !== size) return false
      for (let k = 0; k < size; k++) {
        const number: unknown = vector[k]
        if (typeof number !== 'number' || !Number.isFinite(Math.fround(number))) return false
        view.setFloat32(start + 4 * (size * i + k), number, true)
      }
    }
    this.#end(start)
    return true
  }

  /** Write a column of another type. Throws the errors of `buildColumn`. */
  #otherColumn(field: Field, rows: readonly object[]): boolean {
    const place = Place.column(field.name)
    const options = { limit: new SpreadLimit(), inferred: false }
    const column = buildColumn(field, cellsOf(rows, field.name), place, options)
    checkFiniteVectors(column, place)
    return this.#flat(column)
  }

  /** Write the nodes and buffers of a column. Returns false if there is no room. */
  #flat(column: Column): boolean {
    const flat: FlatColumns = { nodes: [], buffers: [] }
    flattenColumn(column, flat)
    for (let i = 0; i < flat.nodes.length; i += 2) this.#nodes.push(flat.nodes[i]!, flat.nodes[i + 1]!)
    for (const parts of flat.buffers) {
      const start = this.#at
      for (const part of parts) {
        if (this.#at + part.length + 8 > memory.length) return false
        memory.set(part, this.#at)
        this.#at += part.length
      }
      this.#end(start)
    }
    return true
  }
}

/** Return whether the encoder writes the values of a type itself. */
function isCommon(type: DataType): boolean {
  switch (type.kind) {
    case 'int':
      return true
    case 'float':
      return type.bits > 16
    case 'utf8':
      return !type.large
    case 'fixed_size_list': {
      const element = type.child.type
      return element.kind === 'float' && element.bits === 32
    }
    default:
      return false
  }
}

/** Return the values of a column. Inherited names such as `constructor` count only as own keys. */
function cellsOf(rows: readonly object[], name: string): unknown[] {
  const isInherited = name in Object.prototype
  const cells: unknown[] = new Array(rows.length)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as Readonly<Record<string, unknown>>
    cells[i] = isInherited && !Object.hasOwn(row, name) ? undefined : row[name]
  }
  return cells
}

function countNulls(cells: Cells): number {
  let count = 0
  for (let i = 0; i < cells.length; i++) if (cells[i] === null || cells[i] === undefined) count++
  return count
}
