/** Writes data files of Lance (https://lance.org/format/file): pages, and the description of columns at the end. */
import type { Column } from '../../../src/arrow/column.js'
import { columnBytes } from '../../../src/arrow/layout.js'
import type { LanceLeaf, LanceSchema } from './lance-schema.js'
import { type Layer, type LeafRows, layersOf, leafRows } from './levels.js'
import { MessageWriter } from './message-writer.js'
import { encodePage } from './page.js'

/** Bytes of values that a page should have at most. */
const pageBytes = 8 * 1024 * 1024
/** Bytes of values that wait for their pages, in all columns together. */
const waitingBytes = 128 * 1024 * 1024
const leastPageBytes = 64 * 1024
/** Buffers of pages begin at multiples of this number of bytes. */
const alignment = 64

/** A leaf, and its rows that are not written yet. */
interface WaitingLeaf {
  readonly leaf: LanceLeaf
  /** Known from the first rows on. */
  layers: readonly Layer[]
  pieces: LeafRows[]
  bytes: number
  /** The first row that is not written yet. */
  row: number
  readonly pages: MessageWriter[]
}

/** Writes one file. The caller appends the chunks of every `write` and of `finish` in order. */
export class LanceFileWriter {
  readonly #schema: LanceSchema
  readonly #leaves: readonly WaitingLeaf[]
  readonly #pageBytes: number
  #position = 0
  /** Number of rows. */
  rows = 0

  constructor(schema: LanceSchema) {
    this.#schema = schema
    this.#leaves = schema.leaves.map(leaf => ({ leaf, layers: [], pieces: [], bytes: 0, row: 0, pages: [] }))
    const share = waitingBytes / Math.max(1, schema.leaves.length)
    this.#pageBytes = Math.min(pageBytes, Math.max(leastPageBytes, share))
  }

  /** Number of bytes, with the rows that wait for their pages. */
  get bytes(): number {
    return this.#leaves.reduce((sum, { bytes }) => sum + bytes, this.#position)
  }

  /** Write rows. `columns`: the columns of the schema, without dictionaries. */
  *write(columns: readonly Column[], rows: number): Generator<Uint8Array> {
    for (const waiting of this.#leaves) {
      const { leaf } = waiting
      const column = columns[leaf.column]!
      if (waiting.layers.length === 0) waiting.layers = layersOf(column, leaf.path)
      const piece = leafRows(column, leaf.path, waiting.layers)
      const bytes = columnBytes(piece.values) + 4 * piece.items
      if (waiting.bytes > 0 && waiting.bytes + bytes > 2 * this.#pageBytes) yield* this.#writePage(waiting)
      waiting.pieces.push(piece)
      waiting.bytes += bytes
      if (waiting.bytes >= this.#pageBytes) yield* this.#writePage(waiting)
    }
    this.rows += rows
  }

  *#writePage(waiting: WaitingLeaf): Generator<Uint8Array> {
    const { rows, buffers, layout } = encodePage(waiting.pieces, waiting.layers, this.#schema.version)
    const positions: number[] = []
    for (const buffer of buffers) {
      positions.push(this.#position)
      yield* this.#append(buffer)
      const gap = (alignment - (buffer.length % alignment)) % alignment
      if (gap > 0) yield* this.#append(new Uint8Array(gap))
    }
    waiting.pages.push(
      new MessageWriter()
        .numbers(1, positions)
        .numbers(
          2,
          buffers.map(buffer => buffer.length),
        )
        .number(3, rows)
        .message(4, encoding('/lance.encodings21.PageLayout', layout))
        .number(5, waiting.row),
    )
    waiting.row += rows
    waiting.pieces = []
    waiting.bytes = 0
  }

  *#append(bytes: Uint8Array): Generator<Uint8Array> {
    this.#position += bytes.length
    if (bytes.length > 0) yield bytes
  }

  /** Write the pages that wait, and the end of the file. */
  *finish(): Generator<Uint8Array> {
    for (const waiting of this.#leaves) if (waiting.pieces.length > 0) yield* this.#writePage(waiting)
    const { fields, metadata, version } = this.#schema
    const schema = new MessageWriter()
    for (const field of fields) schema.message(1, field)
    schema.entries(5, metadata)
    const descriptor = new MessageWriter().message(1, schema).number(2, this.rows).finish()
    const descriptorStart = this.#position
    yield* this.#append(descriptor)

    const columnsStart = this.#position
    const columnTable: number[] = []
    for (const { pages } of this.#leaves) {
      const column = new MessageWriter().message(1, encoding('/lance.encodings.ColumnEncoding', plainColumns))
      for (const page of pages) column.message(2, page)
      const bytes = column.finish()
      columnTable.push(this.#position, bytes.length)
      yield* this.#append(bytes)
    }
    const columnTableStart = this.#position
    yield* this.#append(uint64s(columnTable))
    const bufferTableStart = this.#position
    yield* this.#append(uint64s([descriptorStart, descriptor.length]))
    const footer = new Uint8Array(40)
    footer.set(uint64s([columnsStart, columnTableStart, bufferTableStart]))
    const view = new DataView(footer.buffer)
    view.setUint32(24, 1, true)
    view.setUint32(28, this.#leaves.length, true)
    view.setUint16(32, 2, true)
    view.setUint16(34, version === '2.1' ? 1 : 2, true)
    footer.set(lanceMagic, 36)
    yield* this.#append(footer)
  }
}

/** The last bytes of files and manifests. */
export const lanceMagic: Uint8Array = new TextEncoder().encode('LANC')

/** The message `ColumnEncoding` of columns that have nothing but pages. */
const plainColumns = new MessageWriter().message(1, new MessageWriter())

/** The message `Encoding`, which contains a message of any type. */
function encoding(type: string, message: MessageWriter): MessageWriter {
  const any = new MessageWriter().text(1, type).message(2, message)
  return new MessageWriter().message(2, new MessageWriter().message(1, any))
}

function uint64s(values: readonly number[]): Uint8Array {
  return new Uint8Array(BigUint64Array.from(values, BigInt).buffer)
}
