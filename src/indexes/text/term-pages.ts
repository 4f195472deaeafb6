/**
 * Writes and reads the pages of a dictionary. A page is some consecutive blocks of the dictionary, with checksums of its
 * own. A reader that knows the first term of each page reads only the pages of the terms of a query.
 */
import { corrupted } from '../../errors.js'
import { crc32 } from '../../primitives/checksum.js'
import { orderOfBytes } from '../../primitives/order-of-bytes.js'
import type { Pacer } from '../../primitives/pacer.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import { numbersOf, type SectionFile, sectionOf } from '../sections/section-file.js'
import { ByteReader } from './byte-reader.js'
import type { PageRange } from './pages.js'
import { blockNumbers, blockTerms, type TermSections, Terms } from './terms.js'

/** A dictionary that is smaller than this number of pages has no pages, because reading it whole takes few bytes. */
const leastPages = 8
/** Maximum bytes of the first term of a page. A page does not begin with a longer term. */
const firstTermMax = 256
/** Blocks read between two checks of the clock. */
const blocksAtOnce = 4096
/**
 * Numbers per page: its first block, the numbers of this block, the checksums of its terms and entries, and the length of
 * its first term.
 */
const pageNumbers = blockNumbers + 4
const [crcAt, lengthAt] = [blockNumbers + 1, blockNumbers + 3]

/** The sections that describe the pages of a dictionary. */
interface TermPageSections {
  /** For each page: `pageNumbers` numbers. */
  readonly pages: Uint32Array
  /** The first terms of all pages, back to back. */
  readonly firsts: Uint8Array
}

/**
 * Divide a dictionary into pages of about `pageBytes` bytes. A page also ends where the postings of the next block begin
 * in another page of postings, so that a reader can read the postings beside the dictionary. `postings`: the pages of
 * postings. Returns null if the dictionary is small.
 */
export async function dividedTerms(
  { terms, entries, blocks }: TermSections,
  postings: readonly Uint8Array[],
  pageBytes: number,
  pacer: Pacer,
): Promise<TermPageSections | null> {
  if (terms.length + entries.length < leastPages * pageBytes) return null
  const count = blocks.length / blockNumbers
  const starts: number[] = []
  let [page, pageEnd] = [0, postings[0]!.length]
  let from = 0
  for (let block = 0; block < count; block++) {
    if (block % blocksAtOnce === 0) await pacer.turn()
    const [termsAt, entriesAt, at] = blocks.subarray(block * blockNumbers, (block + 1) * blockNumbers)
    const isOther = at! >= pageEnd
    while (at! >= pageEnd && page + 1 < postings.length) pageEnd += postings[++page]!.length
    const isLong = termsAt! + entriesAt! - from >= pageBytes
    if (block > 0 && !(isOther || isLong)) continue
    if (block > 0 && firstTerm(terms, termsAt!).length > firstTermMax) continue
    starts.push(block)
    from = termsAt! + entriesAt!
  }
  const pages = new Uint32Array(starts.length * pageNumbers)
  const firsts: Uint8Array[] = []
  for (const [i, block] of starts.entries()) {
    const [own, next] = [block, starts[i + 1] ?? count].map(each => blocks.subarray(each * blockNumbers))
    const [termsEnd = terms.length, entriesEnd = entries.length] = next!
    const first = firstTerm(terms, own![0]!)
    const crcs = [crc32(terms.subarray(own![0], termsEnd)), crc32(entries.subarray(own![1], entriesEnd))]
    pages.set([block, ...own!.subarray(0, blockNumbers), ...crcs, first.length], i * pageNumbers)
    firsts.push(first)
    await pacer.turn()
  }
  return { pages, firsts: Buffer.concat(firsts) }
}

/** Return the first term of the block at `at`. */
function firstTerm(terms: Uint8Array, at: number): Uint8Array {
  const reader = new ByteReader()
  reader.at = at
  const length = reader.next(terms)
  return terms.subarray(reader.at, reader.at + length)
}

/** A page of a dictionary. Ends are exclusive. */
interface TermPage {
  /** Number of its first term. */
  readonly firstNumber: number
  readonly count: number
  readonly terms: PageRange
  readonly entries: PageRange
  /** The postings and positions of its terms in their sections. */
  readonly postingsAt: number
  readonly postingsEnd: number
  readonly positionsAt: number
  readonly positionsEnd: number
}

/** The pages of the dictionary of one segment. */
export class TermPages {
  readonly #numbers: Uint32Array
  readonly #firsts: Uint8Array
  /** End of the first term of each page in `#firsts`. */
  readonly #firstEnds: Uint32Array
  /** Number of terms of the dictionary. */
  readonly #terms: number
  /** The sections `terms` and `entries`. */
  readonly #sections: readonly [PageRange, PageRange]
  /** Bytes of the sections `postings` and `positions`. */
  readonly #ends: readonly [number, number]

  private constructor(file: SectionFile, numbers: Uint32Array, firsts: Uint8Array, terms: number) {
    this.#numbers = numbers
    this.#firsts = firsts
    this.#terms = terms
    this.#sections = [sectionOf(file, 'terms'), sectionOf(file, 'entries')]
    this.#ends = [sectionOf(file, 'postings').bytes, sectionOf(file, 'positions').bytes]
    this.#firstEnds = new Uint32Array(this.count)
    let end = 0
    for (let page = 0; page < this.count; page++) {
      end += this.#at(page, lengthAt)
      this.#firstEnds[page] = end
    }
    if (this.#isConsistent(end)) return
    throw corrupted(`the pages of the dictionary in ${file.name} do not fit to its sections`)
  }

  /**
   * Read the pages of a dictionary of `terms` terms. Throws Internal if they are missing or damaged.
   */
  static async read(file: SectionFile, terms: number): Promise<TermPages> {
    const firsts = new Uint8Array(sectionOf(file, 'firstTerms').bytes)
    const [numbers] = await Promise.all([
      numbersOf(file, 'termPages'),
      file.readInto(sectionOf(file, 'firstTerms'), firsts),
    ])
    return new TermPages(file, numbers, firsts, terms)
  }

  /** Number of pages. */
  get count(): number {
    return Math.floor(this.#numbers.length / pageNumbers)
  }

  /** Bytes of memory. */
  get bytes(): number {
    return this.#numbers.byteLength + this.#firsts.byteLength + this.#firstEnds.byteLength
  }

  /** Bytes of the whole dictionary in the file. */
  get dictionaryBytes(): number {
    return this.#sections[0].bytes + this.#sections[1].bytes
  }

  /** Return the number of the page that has `term` if the dictionary has it. Return -1 if all terms are greater. */
  pageWith(term: Uint8Array): number {
    const ends = this.#firstEnds
    const isNotGreater = (page: number) =>
      orderOfBytes(this.#firsts, ends[page - 1] ?? 0, ends[page]!, term, 0, term.length) <= 0
    return partitionPoint(this.count, isNotGreater) - 1
  }

  page(page: number): TermPage {
    const firstNumber = this.#at(page, 0) * blockTerms
    const range = (section: 0 | 1): PageRange => {
      const { start, bytes } = this.#sections[section]
      const at = this.#at(page, 1 + section)
      const end = this.#next(page, 1 + section, bytes)
      return { start: start + at, bytes: end - at, crc: this.#at(page, crcAt + section) }
    }
    return {
      firstNumber,
      count: Math.min(this.#terms, this.#next(page, 0, Infinity) * blockTerms) - firstNumber,
      terms: range(0),
      entries: range(1),
      postingsAt: this.#at(page, 3),
      postingsEnd: this.#next(page, 3, this.#ends[0]),
      positionsAt: this.#at(page, 4),
      positionsEnd: this.#next(page, 4, this.#ends[1]),
    }
  }

  #at(page: number, number: number): number {
    return this.#numbers[page * pageNumbers + number]!
  }

  #next(page: number, number: number, end: number): number {
    return page + 1 < this.count ? this.#at(page + 1, number) : end
  }

  /** Return whether the pages cover the dictionary. `end`: the length of all first terms. */
  #isConsistent(end: number): boolean {
    const { count } = this
    if (count === 0 || count * pageNumbers !== this.#numbers.length || end !== this.#firsts.length)
      return false
    const blocks = Math.ceil(this.#terms / blockTerms)
    const ends = [blocks, ...this.#sections.map(({ bytes }) => bytes), ...this.#ends]
    for (const [number, end] of ends.entries()) {
      if (this.#at(0, number) !== 0) return false
      // Each page has terms and entries. Without positions, all positions are 0.
      const least = number < 3 ? 1 : 0
      for (let page = 0; page < count; page++)
        if (this.#next(page, number, end) - this.#at(page, number) < least) return false
    }
    for (let page = 0; page < count; page++) {
      // Each term has at least one byte, its length.
      const { count: terms, terms: range } = this.page(page)
      if (terms < 1 || terms > range.bytes) return false
    }
    return true
  }
}

/** Return the terms of a page. `terms`, `entries`: the bytes of the page in the sections of these names. */
export function termsOfPage(
  { count, postingsAt, positionsAt }: TermPage,
  terms: Uint8Array,
  entries: Uint8Array,
  hasPositions: boolean,
): Terms {
  const blocks = new Uint32Array(Math.ceil(count / blockTerms) * blockNumbers)
  const ofTerms = new ByteReader()
  const ofEntries = new ByteReader()
  let [at, positions] = [postingsAt, positionsAt]
  for (let i = 0; i < count; i++) {
    if (i % blockTerms === 0) {
      blocks.set([ofTerms.at, ofEntries.at, at, positions], (i / blockTerms) * blockNumbers)
    } else ofTerms.next(terms)
    const length = ofTerms.next(terms)
    ofTerms.at += length
    ofEntries.next(entries)
    at += ofEntries.next(entries)
    if (hasPositions) positions += ofEntries.next(entries)
  }
  return new Terms(count, { terms, entries, blocks }, hasPositions)
}
