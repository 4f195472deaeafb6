/** Pages of postings: cut where a term ends, each under a checksum of its own. */
import { corrupted } from '../../errors.js'
import { crc32 } from '../../primitives/checksum.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import { numbersOf, type SectionFile, sectionOf } from '../sections/section-file.js'
import { ByteSink } from './byte-sink.js'
import type { PageRange } from './pages.js'

/** Bytes from which on a page is full. */
const pageBytes = 64 * 1024

export class PageWriter {
  /** The page that is written. */
  readonly page = new ByteSink()
  readonly pages: Uint8Array[] = []
  /** Bytes of the pages before. */
  before = 0
  readonly #isAligned: boolean
  readonly #table: number[] = []

  /** `isAligned`: pages end at multiples of four, and so all begin at one. */
  constructor(isAligned: boolean) {
    this.#isAligned = isAligned
  }

  /** Bytes so far. */
  get length(): number {
    return this.before + this.page.length
  }

  /** After a term. */
  cutIfFull(): void {
    if (this.page.length >= pageBytes) this.cut()
  }

  /** Ends the page, unless it is empty. */
  cut(): void {
    if (this.page.length === 0) return
    if (this.#isAligned) this.page.align()
    const page = this.page.take()
    this.before += page.length
    this.pages.push(page)
    this.#table.push(page.length, crc32(page))
  }

  /** By page: its bytes and its checksum. */
  table(): Uint8Array {
    return new Uint8Array(Uint32Array.from(this.#table).buffer)
  }
}

export class PageTable {
  readonly #first: number
  readonly #section: number
  readonly #table: Uint32Array
  /** Where pages begin in the section; at the end, its length. */
  readonly #starts: Float64Array

  private constructor(first: number, section: number, table: Uint32Array, starts: Float64Array) {
    this.#first = first
    this.#section = section
    this.#table = table
    this.#starts = starts
  }

  /** The pages of a section, of which the first has number `first` among all of the file. Throws corrupted (code 18). */
  static async read(file: SectionFile, name: string, table: string, first: number): Promise<PageTable> {
    const section = sectionOf(file, name)
    const numbers = await numbersOf(file, table)
    const starts = new Float64Array(numbers.length / 2 + 1)
    for (let i = 0; i + 1 < starts.length; i++) starts[i + 1] = starts[i]! + numbers[2 * i]!
    if (starts.at(-1) !== section.bytes) {
      throw corrupted(
        `the pages of ${name} in ${file.name} have ${starts.at(-1)} bytes, not ${section.bytes}`,
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

  /** The page with a byte of the section: its number, where it lies in the file, and where the byte is in it. */
  pageOf(at: number): { readonly number: number; readonly range: PageRange; readonly offset: number } {
    const starts = this.#starts
    const page = partitionPoint(this.count, i => starts[i]! <= at) - 1
    const start = starts[page]!
    const range = {
      start: this.#section + start,
      bytes: this.#table[2 * page]!,
      crc: this.#table[2 * page + 1]!,
    }
    return { number: this.#first + page, range, offset: at - start }
  }
}
