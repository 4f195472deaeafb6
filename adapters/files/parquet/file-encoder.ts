/** Encodes the parts of a Parquet file: pages, row groups, indexes of pages, and the metadata. */

import type { Batch, Column } from '../../../src/arrow/column.js'
import { concatBytes } from '../../../src/arrow/concat-bytes.js'
import { encodeSchemaMessage } from '../../../src/arrow/ipc-message.js'
import type { Schema } from '../../../src/arrow/types.js'
import { crc32 } from '../../../src/primitives/checksum.js'
import type { Pacer } from '../../../src/primitives/pacer.js'
import { joinZones } from '../../../src/sql/zones/zone.js'
import { codecNumbers, compressPage, type ParquetCompression } from './codecs.js'
import {
  type EncodedBounds,
  encodeBounds,
  encodePlain,
  pageBody,
  statisticsOf,
  type ValueStatistics,
} from './encode-values.js'
import { bitWidth, encodeHybrid } from './hybrid.js'
import { leavesOf } from './leaves-of.js'
import { physicalTypes } from './metadata.js'
import { type ShreddedLeaf, shredColumn } from './shred-columns.js'
import {
  binary,
  bool,
  bools,
  int32,
  int64,
  list,
  struct,
  type ThriftField,
  text,
  writeThrift,
} from './thrift-writer.js'
import { type FilePlan, type LeafWritePlan, planFile } from './write-plan.js'

/** Numbers of encodings in the format. */
const Encoding = { plain: 0, rle: 3 } as const

export const parquetMagic = new Uint8Array(Buffer.from('PAR1', 'latin1'))

/** A page that is not written yet. */
interface Page {
  /** The header and the body. */
  readonly bytes: readonly [header: Uint8Array, body: Uint8Array]
  readonly length: number
  /** Bytes of header and body before compression. */
  readonly plainLength: number
  readonly entries: number
  readonly rows: number
  readonly statistics: ValueStatistics
}

/** A column chunk that is written. */
interface WrittenChunk {
  readonly plan: LeafWritePlan
  readonly pages: readonly (Omit<Page, 'bytes'> & { readonly offset: number; readonly firstRow: number })[]
  readonly offset: number
  readonly length: number
  readonly plainLength: number
  columnIndex: readonly [offset: number, length: number] | null
  offsetIndex: readonly [offset: number, length: number] | null
}

interface WrittenGroup {
  readonly rows: number
  readonly chunks: readonly WrittenChunk[]
}

export class ParquetEncoder {
  readonly #plan: FilePlan
  readonly #schema: Schema
  readonly #compression: ParquetCompression
  readonly #pacer: Pacer
  readonly #groups: WrittenGroup[] = []
  /** The pages of each leaf in the row group that is not written yet. */
  #pending: { readonly plan: LeafWritePlan; readonly pages: Page[] }[]
  #offset = parquetMagic.length
  /** Rows of the row group that is not written yet. */
  pendingRows = 0
  /** Bytes of the row group that is not written yet. */
  pendingBytes = 0

  constructor(schema: Schema, compression: ParquetCompression, pacer: Pacer) {
    this.#schema = schema
    this.#plan = planFile(schema.fields)
    this.#compression = compression
    this.#pacer = pacer
    this.#pending = this.#plan.columns
      .flatMap(plan => leavesOf<LeafWritePlan>(plan))
      .map(plan => ({ plan, pages: [] }))
  }

  /** Add rows to the current row group, as one page of each leaf. The columns must not have dictionaries. */
  async addPage({
    columns,
    length,
  }: Pick<Batch, 'length'> & { readonly columns: readonly Column[] }): Promise<void> {
    const leaves: ShreddedLeaf[] = []
    for (let i = 0; i < columns.length; i++) {
      shredColumn(this.#plan.columns[i]!, columns[i]!, leaves)
      await this.#pacer.turn()
    }
    for (let i = 0; i < leaves.length; i++) {
      const page = await this.#page(leaves[i]!, length)
      this.#pending[i]!.pages.push(page)
      this.pendingBytes += page.length
      await this.#pacer.turn()
    }
    this.pendingRows += length
  }

  async #page(leaf: ShreddedLeaf, rows: number): Promise<Page> {
    const { plan, entries, repetition, definition } = leaf
    const levels: Uint8Array[] = []
    if (plan.repeated > 0) levels.push(encodeHybrid(repetition, bitWidth(plan.repeated)))
    if (plan.level > 0) levels.push(encodeHybrid(definition, bitWidth(plan.level)))
    const plain = pageBody(levels, encodePlain(leaf))
    const body = await compressPage(this.#compression, plain)
    const header = writeThrift([
      [1, int32(0)],
      [2, int32(plain.length)],
      [3, int32(body.length)],
      [4, int32(crc32(body) | 0)],
      [
        5,
        struct([
          [1, int32(entries)],
          [2, int32(Encoding.plain)],
          [3, int32(Encoding.rle)],
          [4, int32(Encoding.rle)],
        ]),
      ],
    ])
    return {
      bytes: [header, body],
      length: header.length + body.length,
      plainLength: header.length + plain.length,
      entries,
      rows,
      statistics: statisticsOf(leaf),
    }
  }

  /** End the current row group. Returns its bytes. */
  *endGroup(): Generator<Uint8Array> {
    if (this.pendingRows === 0) return
    const chunks: WrittenChunk[] = []
    const pending = this.#pending
    this.#pending = pending.map(({ plan }) => ({ plan, pages: [] }))
    for (const { plan, pages } of pending) {
      const offset = this.#offset
      let firstRow = 0
      const written = []
      for (const { bytes, ...page } of pages) {
        written.push({ ...page, offset: this.#offset, firstRow })
        firstRow += page.rows
        this.#offset += page.length
        yield* bytes
      }
      const plainLength = pages.reduce((sum, page) => sum + page.plainLength, 0)
      const length = this.#offset - offset
      chunks.push({ plan, pages: written, offset, length, plainLength, columnIndex: null, offsetIndex: null })
    }
    this.#groups.push({ rows: this.pendingRows, chunks })
    this.pendingRows = 0
    this.pendingBytes = 0
  }

  /** Return the end of the file: the indexes of pages, and the metadata. */
  *finish(): Generator<Uint8Array> {
    const chunks = this.#groups.flatMap(group => group.chunks)
    for (const chunk of chunks) {
      const index = columnIndex(chunk)
      if (index === null) continue
      chunk.columnIndex = [this.#offset, index.length]
      this.#offset += index.length
      yield index
    }
    for (const chunk of chunks) {
      const index = offsetIndex(chunk)
      chunk.offsetIndex = [this.#offset, index.length]
      this.#offset += index.length
      yield index
    }
    const metadata = this.#metadata()
    yield metadata
    yield concatBytes([new Uint8Array(Uint32Array.of(metadata.length).buffer), parquetMagic])
  }

  #metadata(): Uint8Array {
    const arrow = Buffer.from(encodeSchemaMessage(this.#schema, 0, 8)).toString('base64')
    const leaves = this.#pending.length
    return writeThrift([
      [1, int32(2)],
      [2, list(this.#plan.elements)],
      [3, int64(this.#groups.reduce((sum, { rows }) => sum + rows, 0))],
      [4, list(this.#groups.map(group => this.#group(group)))],
      [
        5,
        list([
          struct([
            [1, text('ARROW:schema')],
            [2, text(arrow)],
          ]),
        ]),
      ],
      [6, text('Sheaf')],
      // The bounds in statistics have the order of their type.
      [7, list(Array.from({ length: leaves }, () => struct([[1, struct([])]])))],
    ])
  }

  #group({ rows, chunks }: WrittenGroup): ThriftField {
    const sum = (of: 'length' | 'plainLength') => chunks.reduce((total, chunk) => total + chunk[of], 0)
    return struct([
      [1, list(chunks.map(chunk => this.#chunk(chunk)))],
      [2, int64(sum('plainLength'))],
      [3, int64(rows)],
      [5, chunks.length === 0 ? null : int64(chunks[0]!.offset)],
      [6, int64(sum('length'))],
    ])
  }

  #chunk(chunk: WrittenChunk): ThriftField {
    const { plan, pages, offset, length, plainLength } = chunk
    const statistics = pages.map(page => page.statistics).reduce(joined)
    const data = struct([
      [1, int32(physicalTypes.indexOf(plan.storage.physical))],
      [2, list([int32(Encoding.plain), int32(Encoding.rle)])],
      [3, list(plan.names.map(text))],
      [4, int32(codecNumbers[this.#compression])],
      [5, int64(pages.reduce((sum, page) => sum + page.entries, 0))],
      [6, int64(plainLength)],
      [7, int64(length)],
      [9, int64(offset)],
      [12, statisticsField(statistics, encodeBounds(statistics, plan))],
    ])
    return struct([
      [2, int64(0)],
      [3, data],
      [4, chunk.offsetIndex && int64(chunk.offsetIndex[0])],
      [5, chunk.offsetIndex && int32(chunk.offsetIndex[1])],
      [6, chunk.columnIndex && int64(chunk.columnIndex[0])],
      [7, chunk.columnIndex && int32(chunk.columnIndex[1])],
    ])
  }
}

function joined(a: ValueStatistics, b: ValueStatistics): ValueStatistics {
  return {
    zone: a.zone === null || b.zone === null ? null : joinZones(a.zone, b.zone),
    nulls: a.nulls + b.nulls,
    nans: a.nans === null || b.nans === null ? null : a.nans + b.nans,
  }
}

function statisticsField({ nulls, nans }: ValueStatistics, bounds: EncodedBounds | null): ThriftField {
  return struct([
    [3, int64(nulls)],
    [5, bounds && binary(bounds.greatest)],
    [6, bounds && binary(bounds.least)],
    [7, bounds && bool(bounds.isExact)],
    [8, bounds && bool(bounds.isExact)],
    [9, nans === null ? null : int64(nans)],
  ])
}

/** Encode the bounds of each page. Null if a page has values without bounds. */
function columnIndex({ plan, pages }: WrittenChunk): Uint8Array | null {
  const isNull = pages.map(({ statistics, entries }) => statistics.nulls === entries)
  const bounds = pages.map(({ statistics }) => encodeBounds(statistics, plan))
  if (bounds.some((bound, i) => bound === null && !isNull[i])) return null
  const nans = pages.map(({ statistics }) => statistics.nans ?? 0)
  const hasNans = pages.some(({ statistics }) => statistics.nans !== null)
  const empty = new Uint8Array(0)
  return writeThrift([
    [1, bools(isNull)],
    [2, list(bounds.map(bound => binary(bound?.least ?? empty)))],
    [3, list(bounds.map(bound => binary(bound?.greatest ?? empty)))],
    // The pages have no order.
    [4, int32(0)],
    [5, list(pages.map(({ statistics }) => int64(statistics.nulls)))],
    [8, hasNans ? list(nans.map(int64)) : null],
  ])
}

function offsetIndex({ pages }: WrittenChunk): Uint8Array {
  return writeThrift([
    [
      1,
      list(
        pages.map(({ offset, length, firstRow }) =>
          struct([
            [1, int64(offset)],
            [2, int32(length)],
            [3, int64(firstRow)],
          ]),
        ),
      ),
    ],
  ])
}
