/** Writes and locates pages of postings. A page ends at the end of a term and has its own checksum. */
import { corrupted } from '../../errors.js'
import { crc32 } from '../../primitives/checksum.js'
import { numbersOf, type SectionFile, sectionOf } from '../sections/section-file.js'
import { ByteSink } from './byte-sink.js'
import type { PageRange } from './pages.js'

/** Minimum size of a full page in bytes. */
const pageBytes = 64 * 1024

/** Collects bytes and splits them into pages. */
export class PageWriter {
  /** The current page. */
  readonly page = new ByteSink()
  readonly pages: Uint8Array[] = []
  /** Bytes of all finished pages. */
  before = 0
  readonly #isAligned: boolean
  readonly #table: number[] = []

  /** `isAligned`: whether pages begin and end at multiples of four bytes. */
  constructor(isAligned: boolean) {
    this.#isAligned = isAligned
  }

  /** Bytes written so far. */
  get length(): number {
    return this.before + this.page.length
  }

  /** End the page if it is full. Call this after each term. */
  cutIfFull(): void {
    if (this.page.length >= pageBytes) this.cut()
  }

  /** End the page, unless it is empty. */
  cut(): void {
    if (this.page.length === 0) return
    if (this.#isAligned) this.page.align()
    const page = this.page.take()
    this.before += page.length
    this.pages.push(page)
    this.#table.push(page.length, crc32(page))
  }

  /** Return the table: for each page, its size in bytes and its checksum (u32s). */
  table(): Uint8Array {
    return new Uint8Array(Uint32Array.from(this.#table).buffer)
  }
}

/** Locates the pages of a section. */
export class PageTable {
  readonly #first: number
  readonly #section: number
  readonly #table: Uint32Array
  /** Start of each page in the section; the last element is the length of the section. */
  readonly #starts: Float64Array
  /** The ranges of the pages that were read. */
  readonly #ranges: PageRange[] = []

  private constructor(first: number, section: number, table: Uint32Array, starts: Float64Array) {
    this.#first = first
    this.#section = section
    this.#table = table
    this.#starts = starts
  }

  /**
   * Read the page table of a section. `first`: number of its first page in the file. Throws Internal if the table is
   * damaged.
   */
  static async read(file: SectionFile, name: string, table: string, first: number): Promise<PageTable> {
    const section = sectionOf(file, name)
    const numbers = await numbersOf(file, table)
    const starts = new Float64Array(numbers.length / 2 + 1)
    for (let i = 0; i + 1 < starts.length; i++) starts[i + 1] = starts[i]! + numbers[2 * i]!
    if (starts.at(-1) !== section.bytes) {
      throw corrupted(
        `the pages of ${name} in ${file.name} have ${starts.at(-1)} bytes, expected ${section.bytes}`,
      )
    }
    return new PageTable(first, section.start, numbers, starts)
  }

  get count(): number {
    return this.#starts.length - 1
  }

  get bytes(): number {
    return this.#table.byteLength + this.#starts.byteLength
  }

  /** Return the index of the page with byte `at` of the section. */
  pageWith(at: number): number {
    const starts = this.#starts
    let page = 0
    for (let end = this.count; page + 1 < end; ) {
      const middle = (page + end) >>> 1
      if (starts[middle]! <= at) page = middle
      else end = middle
    }
    return page
  }

  /** Return the offset of page `page` in the section. */
  startOf(page: number): number {
    return this.#starts[page]!
  }

  /** Return the number of page `page` in the file. */
  numberOf(page: number): number {
    return this.#first + page
  }

  /** Return the range of page `page` in the file. All calls return the same object. */
  rangeOf(page: number): PageRange {
    let range = this.#ranges[page]
    if (range === undefined) {
      const [bytes, crc] = [this.#table[2 * page]!, this.#table[2 * page + 1]!]
      range = { start: this.#section + this.#starts[page]!, bytes, crc }
      this.#ranges[page] = range
    }
    return range
  }
}
