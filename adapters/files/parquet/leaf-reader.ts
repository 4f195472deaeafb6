/**
 * Reads the rows of one leaf in one row group, page by page. Rows that are skipped are not decoded. If the file has an
 * index of pages, skipped pages are not read either.
 */
import type { Column } from '../../../src/arrow/column.js'
import { concatColumns } from '../../../src/arrow/concat.js'
import { emptyColumn } from '../../../src/arrow/fill.js'
import { sliceColumn } from '../../../src/arrow/slice.js'
import { takeColumn } from '../../../src/arrow/take.js'
import { unsupported } from '../../../src/errors.js'
import type { Pacer } from '../../../src/primitives/pacer.js'
import { decompressPage } from './codecs.js'
import { decodeValues, Encoding } from './decode-values.js'
import { brokenParquet } from './fault.js'
import { decodeHybrid, decodeLevels, type PagePart } from './hybrid.js'
import type { ColumnChunk, PagePlace } from './metadata.js'
import { type DataPage, PageStream } from './page-stream.js'
import type { RangeFile } from './random-access.js'
import type { LeafPlan } from './read-plan.js'

/** Maximum number of values in a page. A few bytes can stand for any number of equal values. */
const maxPageValues = 1 << 24

/** Maximum bytes of a page after decompression. */
export const maxPageBytes = 2 ** 30

/** Maximum bytes of the values in one answer. */
const maxAnswerBytes = 2 ** 30

/** The levels and values of some rows of a leaf. Null levels are all the greatest level. */
export interface LeafRows {
  readonly entries: number
  readonly repetition: Uint8Array | null
  readonly definition: Uint8Array | null
  /** The values of the entries with the greatest definition level. */
  readonly values: Column
}

/** A page whose levels are decoded. */
interface Page {
  readonly entries: number
  readonly repetition: Uint8Array | null
  readonly definition: Uint8Array | null
  readonly encoding: number
  readonly part: PagePart
  /** Number of values that are not null. */
  readonly present: number
  decoded: Column | Uint32Array | null
  /** The next entry, and the next value. */
  entry: number
  value: number
}

/** What a reader reads: the chunk of a leaf. */
export interface LeafChunk {
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
    this.#skip = target - place.firstRow
    this.#row = place.firstRow
    this.#isRowStart = true
  }

  /** Pass over rows, and add them to `pieces`. */
  async #advance(rows: number, pieces: Piece[] | null): Promise<void> {
    // Without repetition, a row ends with its entry.
    const isFlat = this.#plan.leaf.repeated === 0
    let left = rows
    for (;;) {
      let page = this.#page
      if (page === null || page.entry === page.entries) {
        this.#page = null
        if (left === 0 && isFlat) break
        const next = await this.#nextPage()
        if (next === null) break
        if (isFlat && pieces === null && next.entries <= left) {
          left -= next.entries
          continue
        }
        page = await this.#open(next)
        this.#page = page
        if (page.entries === 0) continue
        if (this.#isRowStart && !isFlat && page.repetition?.[0] !== 0)
          throw brokenParquet('a page does not begin with a row', next.at)
        this.#isRowStart = false
      }
      const from = page.entry
      const { repetition } = page
      let to = from
      if (isFlat) {
        to = Math.min(page.entries, from + left)
        left -= to - from
      } else {
        for (; to < page.entries; to++) {
          if (repetition === null || repetition[to] !== 0) continue
          if (left === 0) break
          left--
        }
      }
      const value = page.value
      page.entry = to
      page.value += presentIn(page, from, to, this.#plan.leaf.definition)
      if (pieces !== null && to > from) {
        pieces.push({ page, from, to, values: this.#valuesOf(page, value, page.value - value) })
      }
      if (to < page.entries) break
      await this.#pacer.turn()
    }
    if (left > 0) throw brokenParquet('a column ends before its row group', this.#pages.position)
    this.#row += rows
  }

  /** Return the header of the next page of data, or null after the last page. */
  async #nextPage(): Promise<DataPage | null> {
    await this.#begin()
    for (;;) {
      const next = await this.#pages.next()
      if (next === null) return null
      if (next.kind === 'dictionary') throw brokenParquet('a column has a second dictionary', next.at)
      if (next.kind === 'other') continue
      if (next.entries > maxPageValues)
        throw unsupported(`a page of the Parquet file has more than ${maxPageValues} values`)
      return next
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
    if (first.entries > maxPageValues)
      throw unsupported(`a dictionary of the Parquet file has more than ${maxPageValues} values`)
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

  /** Decompress a page, and decode its levels. */
  async #open(page: DataPage): Promise<Page> {
    const { leaf } = this.#plan
    const { entries, at, encoding } = page
    const { codec } = this.#chunk
    const { levelBytes } = page
    const stored = await page.load()
    let part: PagePart
    let repetition: Uint8Array | null = null
    let definition: Uint8Array | null = null
    if (levelBytes === null) {
      const bytes = await decompressPage(codec, stored, page.plainBytes, at, this.#pacer)
      part = { bytes, from: 0, to: bytes.length, at }
      const next = (max: number) => {
        const size = part.from + 4 > part.to ? Infinity : readLength(part)
        const end = part.from + 4 + size
        if (end > part.to) throw brokenParquet('the levels of a page are cut off', at)
        const levels = decodeLevels({ ...part, from: part.from + 4, to: end }, max, entries)
        part = { ...part, from: end }
        return levels
      }
      if (page.hasBitPackedLevels && leaf.definition > 0)
        throw unsupported('Sheaf does not read Parquet pages with levels in the encoding BIT_PACKED')
      if (leaf.repeated > 0) repetition = next(leaf.repeated)
      if (leaf.definition > 0) definition = next(leaf.definition)
    } else {
      const bytes = stored
      const [first, second] = levelBytes
      const end = first + second
      if (end > bytes.length) throw brokenParquet('the levels of a page are cut off', at)
      if (leaf.repeated > 0)
        repetition = decodeLevels({ bytes, from: 0, to: first, at }, leaf.repeated, entries)
      if (leaf.definition > 0)
        definition = decodeLevels({ bytes, from: first, to: end, at }, leaf.definition, entries)
      const packed = bytes.subarray(end)
      const length = page.plainBytes - end
      if (length < 0) throw brokenParquet('the levels of a page are longer than the page', at)
      const plain = page.isCompressed ? await decompressPage(codec, packed, length, at, this.#pacer) : packed
      part = { bytes: plain, from: 0, to: plain.length, at }
    }
    const opened = { entries, repetition, definition, encoding, part, decoded: null, entry: 0, value: 0 }
    return { ...opened, present: presentIn(opened, 0, entries, leaf.definition) }
  }

  /** Return values of a page. */
  #valuesOf(page: Page, from: number, count: number): Column {
    page.decoded ??= this.#decode(page)
    const { decoded } = page
    if (!(decoded instanceof Uint32Array)) return sliceColumn(decoded, from, count)
    return takeColumn(this.#dictionary!, decoded.subarray(from, from + count))
  }

  #decode({ encoding, part, present }: Page): Column | Uint32Array {
    if (encoding !== Encoding.dictionary && encoding !== Encoding.plainDictionary)
      return decodeValues(this.#plan, encoding, part, present)
    const { at } = part
    if (this.#dictionary === null) throw brokenParquet('a column has no dictionary', at)
    const indices = new Uint32Array(present)
    if (present === 0) return indices
    const width = part.from < part.to ? part.bytes[part.from]! : 33
    if (width > 32) throw brokenParquet(`a page has dictionary indices of ${width} bits`, at)
    decodeHybrid({ ...part, from: part.from + 1 }, width, indices)
    const { length } = this.#dictionary
    for (let i = 0; i < present; i++) {
      if (indices[i]! >= length)
        throw brokenParquet(
          `a page has the dictionary index ${indices[i]}, but there are ${length} values`,
          at,
        )
    }
    const { offsets } = this.#dictionary
    if (offsets === null) return indices
    let bytes = 0
    for (let i = 0; i < present; i++) bytes += offsets[indices[i]! + 1]! - offsets[indices[i]!]!
    if (bytes > maxAnswerBytes)
      throw unsupported(`a page of the Parquet file has more than ${maxAnswerBytes} bytes of values`)
    return indices
  }

  #joined(pieces: readonly Piece[]): LeafRows {
    const entries = pieces.reduce((sum, { from, to }) => sum + to - from, 0)
    const levels = (of: 'repetition' | 'definition', max: number): Uint8Array | null => {
      if (pieces.every(({ page }) => page[of] === null)) return null
      const joined = new Uint8Array(entries)
      let at = 0
      for (const { page, from, to } of pieces) {
        const part = page[of]
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

/** Some entries of a page. */
interface Piece {
  readonly page: Page
  readonly from: number
  readonly to: number
  readonly values: Column
}

function readLength({ bytes, from }: PagePart): number {
  return new DataView(bytes.buffer, bytes.byteOffset + from, 4).getUint32(0, true)
}

/** Count the entries that have a value. */
function presentIn({ definition }: Pick<Page, 'definition'>, from: number, to: number, max: number): number {
  if (definition === null) return to - from
  let count = 0
  for (let i = from; i < to; i++) if (definition[i] === max) count++
  return count
}
