/**
 * Reads the rows of one leaf in one row group, page by page. Rows that are skipped are not decoded. If the file has an
 * index of pages, skipped pages are not read either.
 */
import type { Column } from '../../../src/arrow/column.js'
import { concatColumns } from '../../../src/arrow/concat.js'
import { emptyColumn } from '../../../src/arrow/fill.js'
import { unsupported } from '../../../src/errors.js'
import type { Pacer } from '../../../src/primitives/pacer.js'
import { decompressPage } from './codecs.js'
import { decodeValues, Encoding } from './decode-values.js'
import { brokenParquet } from './fault.js'
import { bitWidth, HybridReader, type PagePart, readLevels } from './hybrid.js'
import type { ColumnChunk, PagePlace } from './metadata.js'
import { type DataPage, PageStream } from './page-stream.js'
import { PageValues } from './page-values.js'
import type { RangeFile } from './random-access.js'
import type { LeafPlan } from './read-plan.js'

/** Entries of a page whose levels are decoded together. */
const blockEntries = 1 << 16

/** Maximum number of entries in one answer. */
const maxAnswerEntries = 1 << 27

/** Maximum number of values in a dictionary. */
const maxDictionary = 1 << 26

/** The levels and values of some rows of a leaf. Null levels are all the greatest level. */
export interface LeafRows {
  readonly entries: number
  readonly repetition: Uint8Array | null
  readonly definition: Uint8Array | null
  /** The values of the entries with the greatest definition level. */
  readonly values: Column
}

/** A page of which some entries are decoded. */
interface Page {
  readonly repetition: HybridReader | null
  readonly definition: HybridReader | null
  readonly values: PageValues
  readonly at: number
  /** Entries that are not decoded. */
  left: number
}

/** Entries of a page whose levels are decoded. */
interface Block {
  readonly entries: number
  readonly repetition: Uint8Array | null
  readonly definition: Uint8Array | null
  /** The next entry. */
  entry: number
}

/** Some entries of a block. */
interface Piece {
  readonly block: Block
  readonly from: number
  readonly to: number
  readonly values: Column
}

/** The chunk of a leaf in one row group. */
interface LeafChunk {
  readonly file: RangeFile
  readonly plan: LeafPlan
  readonly chunk: ColumnChunk
  /** The places of the pages, if the file has an index of them and rows will be skipped. */
  readonly places: readonly PagePlace[] | null
  readonly windowBytes: number
}

export class LeafReader {
  readonly #plan: LeafPlan
  readonly #chunk: ColumnChunk
  readonly #places: readonly PagePlace[] | null
  readonly #pages: PageStream
  readonly #pacer: Pacer
  #page: Page | null = null
  #block: Block | null = null
  #dictionary: Column | null = null
  /** The number of the next row. */
  #row = 0
  /** Rows to skip before the next row that is read. */
  #skip = 0
  #hasBegun = false
  /** Whether the next page must begin with a row. */
  #isRowStart = true

  constructor({ file, plan, chunk, places, windowBytes }: LeafChunk, pacer: Pacer) {
    this.#plan = plan
    this.#chunk = chunk
    this.#places = places
    this.#pages = new PageStream(file, chunk.range, windowBytes, places)
    this.#pacer = pacer
  }

  /** Skip rows. They are not read until it is necessary. */
  skip(rows: number): void {
    this.#skip += rows
  }

  /** Read the next rows. Throws InvalidInput if the chunk has fewer rows. */
  async read(rows: number): Promise<LeafRows> {
    if (this.#skip > 0) {
      await this.#jump()
      await this.#advance(this.#skip, null)
      this.#skip = 0
    }
    const pieces: Piece[] = []
    await this.#advance(rows, pieces)
    return this.#joined(pieces)
  }

  /** Go to the page of the next row that is read, if the places of the pages are known. */
  async #jump(): Promise<void> {
    if (this.#places === null) return
    await this.#begin()
    const target = this.#row + this.#skip
    const place = this.#places.findLast(({ firstRow }) => firstRow <= target)
    if (place === undefined || place.firstRow <= this.#row) return
    this.#pages.seek(place.offset)
    this.#page = null
    this.#block = null
    this.#skip = target - place.firstRow
    this.#row = place.firstRow
    this.#isRowStart = true
  }

  /** Pass over rows, and add them to `pieces`. Null: the rows are skipped. */
  async #advance(rows: number, pieces: Piece[] | null): Promise<void> {
    // Without repetition, a row ends with its entry.
    const isFlat = this.#plan.leaf.repeated === 0
    let left = rows
    let entries = 0
    for (;;) {
      let block = this.#block
      if (block === null || block.entry === block.entries) {
        if (left === 0 && isFlat) break
        const next = await this.#nextBlock(pieces === null && isFlat ? left : 0)
        if (next === null) break
        if (typeof next === 'number') {
          left -= next
          continue
        }
        block = next
      }
      const from = block.entry
      const { repetition } = block
      let to = from
      if (isFlat) {
        to = Math.min(block.entries, from + left)
        left -= to - from
      } else {
        // Each level 0 begins a row.
        for (; to < block.entries; to++) {
          to = repetition === null ? -1 : repetition.indexOf(0, to)
          if (to === -1) to = block.entries
          if (to === block.entries || left === 0) break
          left--
        }
      }
      block.entry = to
      this.#pass(block, from, to, pieces)
      entries += to - from
      if (pieces !== null && entries > maxAnswerEntries)
        throw unsupported(`rows of the Parquet file have more than ${maxAnswerEntries} values`)
      if (to < block.entries) break
      await this.#pacer.turn()
    }
    if (left > 0) throw brokenParquet('a column ends before its row group', this.#pages.position)
    this.#row += rows
  }

  /** Take or skip the values of some entries. */
  #pass(block: Block, from: number, to: number, pieces: Piece[] | null): void {
    if (to === from) return
    const count = presentIn(block, from, to, this.#plan.leaf.definition)
    const { values } = this.#page!
    if (pieces === null) values.skip(count)
    else pieces.push({ block, from, to, values: values.take(count) })
  }

  /**
   * Decode the levels of the next entries. Returns null after the last page. `skipped`: if the next page has at most
   * this number of rows, the page is skipped, and its number of rows is returned.
   */
  async #nextBlock(skipped: number): Promise<Block | number | null> {
    const { leaf } = this.#plan
    this.#block = null
    while (this.#page === null || this.#page.left === 0) {
      this.#page = null
      const next = await this.#nextPage()
      if (next === null) return null
      if (skipped > 0 && next.entries <= skipped) return next.entries
      this.#page = await this.#open(next)
      if (next.entries === 0) await this.#pacer.turn()
    }
    const page = this.#page
    const entries = Math.min(blockEntries, page.left)
    const levels = (reader: HybridReader | null, max: number) =>
      reader === null ? null : readLevels(reader, max, entries, page.at)
    const repetition = levels(page.repetition, leaf.repeated)
    const definition = levels(page.definition, leaf.definition)
    if (this.#isRowStart && leaf.repeated > 0 && repetition?.[0] !== 0)
      throw brokenParquet('a page does not begin with a row', page.at)
    this.#isRowStart = false
    page.left -= entries
    this.#block = { entries, repetition, definition, entry: 0 }
    return this.#block
  }

  /** Return the header of the next page of data, or null after the last page. */
  async #nextPage(): Promise<DataPage | null> {
    await this.#begin()
    for (;;) {
      const next = await this.#pages.next()
      if (next === null) return null
      if (next.kind === 'dictionary') throw brokenParquet('a column has a second dictionary', next.at)
      if (next.kind === 'data') return next
    }
  }

  /** Read the dictionary, which is before the first page. */
  async #begin(): Promise<void> {
    if (this.#hasBegun) return
    this.#hasBegun = true
    if (this.#places?.[0]?.offset === this.#chunk.range.offset) return
    const first = await this.#pages.peek()
    if (first?.kind !== 'dictionary') return
    await this.#pages.next()
    if (first.encoding !== Encoding.plain && first.encoding !== Encoding.plainDictionary)
      throw unsupported(`Sheaf does not read Parquet dictionaries with the encoding ${first.encoding}`)
    if (first.entries > maxDictionary)
      throw unsupported(`a dictionary of the Parquet file has more than ${maxDictionary} values`)
    const { at } = first
    const plain = await decompressPage(
      this.#chunk.codec,
      await first.load(),
      first.plainBytes,
      at,
      this.#pacer,
    )
    const part: PagePart = { bytes: plain, from: 0, to: plain.length, at }
    this.#dictionary = decodeValues(this.#plan, Encoding.plain, part, first.entries)
  }

  /** Decompress a page, and find its levels and values. */
  async #open(page: DataPage): Promise<Page> {
    const { leaf } = this.#plan
    const { entries, at, encoding, levelBytes } = page
    const { codec } = this.#chunk
    const stored = await page.load()
    let parts: { repetition: PagePart; definition: PagePart; values: PagePart }
    if (levelBytes === null) {
      if (page.hasBitPackedLevels && leaf.definition > 0)
        throw unsupported('Sheaf does not read Parquet pages with levels in the encoding BIT_PACKED')
      const bytes = await decompressPage(codec, stored, page.plainBytes, at, this.#pacer)
      const repetition = levelsAt(bytes, 0, leaf.repeated > 0, at)
      const definition = levelsAt(bytes, repetition.to, leaf.definition > 0, at)
      parts = { repetition, definition, values: { bytes, from: definition.to, to: bytes.length, at } }
    } else {
      const [first, second] = levelBytes
      const end = first + second
      const length = page.plainBytes - end
      if (end > stored.length || length < 0) throw brokenParquet('the levels of a page are cut off', at)
      const packed = stored.subarray(end)
      const plain = page.isCompressed ? await decompressPage(codec, packed, length, at, this.#pacer) : packed
      parts = {
        repetition: { bytes: stored, from: 0, to: first, at },
        definition: { bytes: stored, from: first, to: end, at },
        values: { bytes: plain, from: 0, to: plain.length, at },
      }
    }
    const readerOf = (part: PagePart, max: number) =>
      max === 0 ? null : new HybridReader(part, bitWidth(max))
    const present = () =>
      readerOf(parts.definition, leaf.definition)?.count(entries, leaf.definition) ?? entries
    return {
      repetition: readerOf(parts.repetition, leaf.repeated),
      definition: readerOf(parts.definition, leaf.definition),
      values: new PageValues(this.#plan, this.#dictionary, encoding, parts.values, present),
      at,
      left: entries,
    }
  }

  #joined(pieces: readonly Piece[]): LeafRows {
    const entries = pieces.reduce((sum, { from, to }) => sum + to - from, 0)
    const levels = (of: 'repetition' | 'definition', max: number): Uint8Array | null => {
      if (pieces.every(({ block }) => block[of] === null)) return null
      const [piece] = pieces
      if (pieces.length === 1) return piece!.block[of]!.subarray(piece!.from, piece!.to)
      const joined = new Uint8Array(entries)
      let at = 0
      for (const { block, from, to } of pieces) {
        const part = block[of]
        if (part === null) joined.fill(max, at, at + to - from)
        else joined.set(part.subarray(from, to), at)
        at += to - from
      }
      return joined
    }
    const { leaf, value } = this.#plan
    const values = pieces.map(piece => piece.values)
    return {
      entries,
      repetition: levels('repetition', leaf.repeated),
      definition: levels('definition', leaf.definition),
      values: values.length === 0 ? emptyColumn(value) : concatColumns(values),
    }
  }
}

/** Return the place of levels, which begin with their length. */
function levelsAt(bytes: Uint8Array, from: number, isPresent: boolean, at: number): PagePart {
  if (!isPresent) return { bytes, from, to: from, at }
  const start = from + 4
  const size =
    start > bytes.length
      ? Infinity
      : new DataView(bytes.buffer, bytes.byteOffset + from, 4).getUint32(0, true)
  if (start + size > bytes.length) throw brokenParquet('the levels of a page are cut off', at)
  return { bytes, from: start, to: start + size, at }
}

/** Count the entries that have a value. */
function presentIn({ definition }: Block, from: number, to: number, max: number): number {
  if (definition === null) return to - from
  let count = 0
  for (let i = from; i < to; i++) if (definition[i] === max) count++
  return count
}
