/**
 * Reads some rows of a column from the buffers of a data file. It reads only the bytes that these rows need. The
 * position of a value of fixed width is computed from its row number. The position of a text or a list is read from the
 * offsets. Consecutive rows are copied together.
 *
 * The functions are generators and do no I/O. A generator requests bytes, then yields. The caller reads the bytes and
 * resumes the generator. The requests before one yield are independent, so the caller can read them concurrently. The
 * children of a column request their bytes before the same yield.
 */
import { corrupted, quote } from '../errors.js'
import { endOfRun } from '../primitives/is-run.js'
import { bitmapBytes, countBits, cutBits } from './bits.js'
import type { Column } from './column.js'
import { ColumnTooLarge } from './column-too-large.js'
import { type ColumnRange, countParts } from './file-layout.js'
import { cellBytes, hasCells, isLarge, viewCells } from './layout.js'
import type { DataType, Field } from './types.js'
import { type WireField, wireFields } from './wire-field.js'

/** Access to the buffers of one column in a file. Buffers are numbered from 0, in the order of the file. */
export interface BufferBytes {
  /** Request the bytes `from` to `to - 1` of a buffer. */
  want(buffer: number, from: number, to: number): void
  /** Copy requested bytes, which are now available, to `target` at offset `at`. */
  copy(buffer: number, from: number, to: number, target: Uint8Array, at: number): void
}

/** A generator that gathers rows. It continues after a `yield` when the requested bytes are available. */
export type Gathering<T> = Generator<void, T, undefined>

/**
 * Gather rows of a column. `rows`: numbers of the rows in the order of the result; a row may occur several times.
 * `dictionaries`: the decoded dictionaries of the range, by id.
 * @throws Internal if offsets or indices are outside of the column. ColumnTooLarge if the values exceed 2 GiB.
 */
export function gatherRows(
  field: Field,
  range: ColumnRange,
  rows: Uint32Array,
  bytes: BufferBytes,
  dictionaries: ReadonlyMap<number, Column>,
): Gathering<Column> {
  return new Gatherer(range, bytes, dictionaries).column(wireFieldOf(field, range), 0, 0, rows)
}

/** Fields without dictionaries by the fields of their schema. */
const wireFieldsOf = new WeakMap<Field, WireField>()

function wireFieldOf(field: Field, { dictionaries }: ColumnRange): WireField {
  const known = dictionaries.length === 0 ? wireFieldsOf.get(field) : undefined
  if (known !== undefined) return known
  const firstId = dictionaries.length === 0 ? 0 : Math.min(...dictionaries.map(({ id }) => id))
  const wire = wireFields({ fields: [field] }, firstId)[0]!
  if (dictionaries.length === 0) wireFieldsOf.set(field, wire)
  return wire
}

/** Memory for the offsets of a few rows. Used only between two yields. Creating a buffer takes longer than the copy. */
const fewOffsets = new Uint8Array(1024)
const fewWords = new Uint32Array(fewOffsets.buffer)

class Gatherer {
  readonly #range: ColumnRange
  readonly #bytes: BufferBytes
  readonly #dictionaries: ReadonlyMap<number, Column>

  constructor(range: ColumnRange, bytes: BufferBytes, dictionaries: ReadonlyMap<number, Column>) {
    this.#range = range
    this.#bytes = bytes
    this.#dictionaries = dictionaries
  }

  /** Gather rows of a field. `node`, `buffer`: numbers of the field's first node and first buffer in the range. */
  *column(field: WireField, node: number, buffer: number, rows: Uint32Array): Gathering<Column> {
    const { type } = field
    const { length } = rows
    this.#checkRows(field, rows, this.#range.nodes[2 * node]!)
    if (type.kind === 'null') return plain(type, length, { validity: null, nullCount: length })
    const hasNulls = this.#range.nodes[2 * node + 1]! > 0
    if (hasNulls) this.#wantBits(buffer, rows)
    switch (type.kind) {
      case 'bool': {
        this.#wantBits(buffer + 1, rows)
        yield
        return {
          ...plain(type, length, this.#nulls(hasNulls, buffer, rows)),
          values: this.#bits(buffer + 1, rows),
        }
      }
      case 'utf8':
      case 'binary': {
        const { starts, offsets } = yield* this.#offsets(field, buffer + 1, rows)
        // The texts of consecutive rows are contiguous, so one request reads the texts of a whole run of rows.
        for (let i = 0, end: number; i < length; i = end) {
          end = endOfRun(rows, i)
          const bytes = offsets[end]! - offsets[i]!
          this.#checkWithin(field, starts[i]! + bytes, this.#bufferBytes(buffer + 2))
          if (bytes > 0) this.#bytes.want(buffer + 2, starts[i]!, starts[i]! + bytes)
        }
        yield
        const values = new Uint8Array(offsets[length]!)
        for (let i = 0, end: number; i < length; i = end) {
          end = endOfRun(rows, i)
          const bytes = offsets[end]! - offsets[i]!
          if (bytes > 0) this.#bytes.copy(buffer + 2, starts[i]!, starts[i]! + bytes, values, offsets[i]!)
        }
        return { ...plain(type, length, this.#nulls(hasNulls, buffer, rows)), values, offsets }
      }
      case 'list':
      case 'map': {
        const { starts, offsets } = yield* this.#offsets(field, buffer + 1, rows)
        const below = new Uint32Array(offsets[length]!)
        for (let i = 0, at = 0; i < length; i++) {
          for (let row = starts[i]!, left = offsets[i + 1]! - offsets[i]!; left > 0; left--)
            below[at++] = row++
        }
        const nulls = this.#nulls(hasNulls, buffer, rows)
        const child = yield* this.column(field.children[0]!, node + 1, buffer + 2, below)
        return { ...plain(type, length, nulls), offsets, children: [child] }
      }
      case 'fixed_size_list': {
        const child = yield* this.#together(hasNulls, [this.#elements(field, node + 1, buffer + 1, rows)])
        return { ...plain(type, length, this.#nulls(hasNulls, buffer, rows)), children: child }
      }
      case 'struct': {
        let [childNode, childBuffer] = [node + 1, buffer + 1]
        const all: Gathering<Column>[] = []
        for (const child of field.children) {
          all.push(this.column(child, childNode, childBuffer, rows))
          const parts = countParts(child)
          childNode += parts.nodes
          childBuffer += parts.buffers
        }
        const children = yield* this.#together(hasNulls, all)
        return { ...plain(type, length, this.#nulls(hasNulls, buffer, rows)), children }
      }
      default: {
        const cells = yield* this.#cells(buffer + 1, cellBytes(type), rows)
        const column = {
          ...plain(type, length, this.#nulls(hasNulls, buffer, rows)),
          values: viewCells(type, cells, length),
        }
        return type.kind === 'dictionary' ? this.#decodable(field, column) : column
      }
    }
  }

  /**
   * Gather the elements of a fixed_size_list. If the elements have a fixed width and no nulls, reads a row as one
   * value.
   */
  *#elements(
    { type, children }: WireField,
    node: number,
    buffer: number,
    rows: Uint32Array,
  ): Gathering<Column> {
    const size = type.kind === 'fixed_size_list' ? type.size : 0
    const child = children[0]!
    const length = rows.length * size
    const hasNulls = this.#range.nodes[2 * node + 1]! > 0
    if (size > 0 && hasCells(child.type) && child.type.kind !== 'dictionary' && !hasNulls) {
      this.#checkRows(child, rows, Math.floor(this.#range.nodes[2 * node]! / size))
      const cells = yield* this.#cells(buffer + 1, cellBytes(child.type) * size, rows)
      return {
        ...plain(child.type, length, { validity: null, nullCount: 0 }),
        values: viewCells(child.type, cells, length),
      }
    }
    const below = new Uint32Array(length)
    for (let i = 0, at = 0; i < rows.length; i++) {
      for (let k = 0; k < size; k++) below[at++] = rows[i]! * size + k
    }
    return yield* this.column(child, node, buffer, below)
  }

  /**
   * Run several generators concurrently: each yield waits for the requests of all of them. `isAsked`: whether the
   * parent also has requested bytes. If true, this generator yields at least once, so that the parent's bytes become
   * available.
   */
  *#together<T>(isAsked: boolean, all: readonly Gathering<T>[]): Gathering<T[]> {
    const given: T[] = []
    let left = all
    let isWaiting = isAsked
    for (;;) {
      const next: Gathering<T>[] = []
      for (const each of left) {
        const { done, value } = each.next()
        if (done === true) given[all.indexOf(each)] = value
        else next.push(each)
      }
      if (next.length > 0 || isWaiting) yield
      isWaiting = false
      if (next.length === 0) return given
      left = next
    }
  }

  *#cells(buffer: number, width: number, rows: Uint32Array): Gathering<Uint8Array> {
    const cells = new Uint8Array(width * rows.length)
    if (width === 0) {
      yield
      return cells
    }
    for (let i = 0, end: number; i < rows.length; i = end) {
      end = endOfRun(rows, i)
      this.#bytes.want(buffer, rows[i]! * width, (rows[i]! + end - i) * width)
    }
    yield
    for (let i = 0, end: number; i < rows.length; i = end) {
      end = endOfRun(rows, i)
      this.#bytes.copy(buffer, rows[i]! * width, (rows[i]! + end - i) * width, cells, i * width)
    }
    return cells
  }

  /**
   * Read the offsets of rows. `starts`: start of each row's values in the values buffer or child of the file.
   * `offsets`: the offsets of the result column.
   */
  *#offsets(
    field: WireField,
    buffer: number,
    rows: Uint32Array,
  ): Gathering<{ readonly starts: Float64Array; readonly offsets: Int32Array }> {
    const width = isLarge(field.type) ? 8 : 4
    let longest = 0
    for (let i = 0, end: number; i < rows.length; i = end) {
      end = endOfRun(rows, i)
      longest = Math.max(longest, end - i)
      this.#bytes.want(buffer, rows[i]! * width, (rows[i]! + end - i + 1) * width)
    }
    yield
    const wanted = (longest + 1) * width
    const some = wanted <= fewOffsets.length ? fewOffsets : new Uint8Array(wanted)
    const words = some === fewOffsets ? fewWords : new Uint32Array(some.buffer)
    const offsetAt = (i: number) => (width === 4 ? words[i]! : words[2 * i]! + words[2 * i + 1]! * 2 ** 32)
    const starts = new Float64Array(rows.length)
    const offsets = new Int32Array(rows.length + 1)
    let total = 0
    for (let from = 0, to: number; from < rows.length; from = to) {
      to = endOfRun(rows, from)
      this.#bytes.copy(buffer, rows[from]! * width, (rows[from]! + to - from + 1) * width, some, 0)
      for (let i = from; i < to; i++) {
        const start = offsetAt(i - from)
        const end = offsetAt(i - from + 1)
        if (end < start)
          throw this.#fault(field, `has descending offsets ${start} and ${end} in row ${rows[i]}`)
        starts[i] = start
        total += end - start
        if (total > 0x7fffffff) throw new ColumnTooLarge(rows.length)
        offsets[i + 1] = total
      }
    }
    return { starts, offsets }
  }

  #wantBits(buffer: number, rows: Uint32Array): void {
    for (let i = 0, end: number; i < rows.length; i = end) {
      end = endOfRun(rows, i)
      this.#bytes.want(buffer, rows[i]! >>> 3, (rows[end - 1]! >>> 3) + 1)
    }
  }

  #bits(buffer: number, rows: Uint32Array): Uint8Array {
    const bits = new Uint8Array(bitmapBytes(rows.length))
    for (let from = 0, to: number; from < rows.length; from = to) {
      to = endOfRun(rows, from)
      const first = rows[from]! >>> 3
      const bytes = new Uint8Array((rows[to - 1]! >>> 3) + 1 - first)
      this.#bytes.copy(buffer, first, first + bytes.length, bytes, 0)
      if (to - from === rows.length) return cutBits(bytes, rows[0]! & 7, rows.length)
      for (let i = from; i < to; i++) {
        const row = rows[i]!
        bits[i >>> 3]! |= ((bytes[(row >>> 3) - first]! >>> (row & 7)) & 1) << (i & 7)
      }
    }
    return bits
  }

  #nulls(hasNulls: boolean, buffer: number, rows: Uint32Array): Nulls {
    const none = { validity: null, nullCount: 0 }
    if (!hasNulls) return none
    const validity = this.#bits(buffer, rows)
    const valid = countBits(validity, rows.length)
    return valid === rows.length ? none : { validity, nullCount: rows.length - valid }
  }

  /** Return a column of indices with its dictionary. Throws `Internal` if an index is out of range. */
  #decodable(field: WireField, column: Column): Column {
    const dictionary = this.#dictionaries.get(field.dictionaryId)
    if (dictionary === undefined)
      throw this.#fault(field, `needs dictionary ${field.dictionaryId}, which was not read`)
    const { values, validity, length } = column
    for (let row = 0; row < length; row++) {
      if (validity !== null && ((validity[row >>> 3]! >>> (row & 7)) & 1) === 0) continue
      const index = values![row]!
      if (index >= 0 && index < dictionary.length) continue
      throw this.#fault(field, `has index ${index}, but its dictionary has ${dictionary.length} values`)
    }
    return { ...column, dictionary }
  }

  #bufferBytes(buffer: number): number {
    return this.#range.buffers[2 * buffer + 1]!
  }

  #checkRows(field: WireField, rows: Uint32Array, length: number): void {
    for (const row of rows)
      if (row >= length) throw this.#fault(field, `has ${length} rows, so row ${row} does not exist`)
  }

  #checkWithin(field: WireField, end: number, bytes: number): void {
    if (end > bytes) throw this.#fault(field, `has the offset ${end}, but only ${bytes} bytes of values`)
  }

  #fault({ path }: WireField, what: string) {
    return corrupted(`column ${quote(path)} at byte ${this.#range.start} ${what}`)
  }
}

type Nulls = Pick<Column, 'validity' | 'nullCount'>

function plain(type: DataType, length: number, { validity, nullCount }: Nulls): Column {
  return { type, length, nullCount, validity, values: null, offsets: null, children: [], dictionary: null }
}
