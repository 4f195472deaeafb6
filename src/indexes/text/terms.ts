/**
 * Writes and reads the dictionary of a text segment: its terms in the order of their UTF-8 bytes. A block has 32 terms.
 * The first term of a block is stored whole. Each other term is stored without the prefix that it shares with the
 * previous term. The entries of the terms are in a separate section, so that a scan over the terms need not read them.
 */

import { orderOfBytes } from '../../primitives/order-of-bytes.js'
import type { Pacer } from '../../primitives/pacer.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import type { Task } from '../../primitives/task.js'
import { VarintReader } from '../../primitives/varint.js'
import { ByteSink } from './byte-sink.js'
import type { NearTerm, TermEntry, TermMatcher } from './segment.js'

/** Terms per block. */
const blockTerms = 32
/**
 * Numbers per block: its offsets in `terms` and `entries`, and the offsets of the first term's postings and positions.
 */
const blockNumbers = 4
/** Blocks scanned between two checks of the clock. */
const turnBlocks = 16

/** The sections of a dictionary. */
export interface TermSections {
  readonly terms: Uint8Array
  /** For each term: number of rows, bytes of its postings, and bytes of its positions if positions are stored. */
  readonly entries: Uint8Array
  /** For each block: `blockNumbers` numbers. */
  readonly blocks: Uint32Array
}

/**
 * Number of rows of a term, and the address of its postings and positions in their sections. The ends are exclusive:
 * the next term begins there.
 */
interface TermAddress {
  readonly docs: number
  readonly at: number
  readonly end: number
  readonly positionsAt: number
  readonly positionsEnd: number
}

/** The numbers of consecutive terms: from `from` to `to - 1`. */
interface TermRange {
  readonly from: number
  readonly to: number
}

/** Writes a dictionary, term by term in order. */
export class TermsWriter {
  readonly #terms = new ByteSink()
  readonly #entries = new ByteSink()
  readonly #blocks: Uint32Array
  readonly #hasPositions: boolean
  #count = 0
  /** The previous term. Its entry is written by the next call, because the entry needs the end of its postings. */
  #term: Uint8Array = new Uint8Array(0)
  #docs = 0
  #at = 0
  #positionsAt = 0

  constructor(count: number, hasPositions: boolean) {
    this.#blocks = new Uint32Array(Math.ceil(count / blockTerms) * blockNumbers)
    this.#hasPositions = hasPositions
  }

  /** Add the next term. `at`, `positionsAt`: offsets of its postings and positions. */
  add(term: Uint8Array, docs: number, at: number, positionsAt: number): void {
    this.#endTerm(at, positionsAt)
    let shared = 0
    if (this.#count % blockTerms === 0) {
      const numbers = [this.#terms.length, this.#entries.length, at, positionsAt]
      this.#blocks.set(numbers, (this.#count / blockTerms) * blockNumbers)
    } else {
      const most = Math.min(term.length, this.#term.length)
      while (shared < most && term[shared] === this.#term[shared]) shared++
      this.#terms.varint(shared)
    }
    this.#terms.varint(term.length - shared)
    this.#terms.append(term.subarray(shared))
    this.#term = term
    this.#docs = docs
    this.#at = at
    this.#positionsAt = positionsAt
    this.#count++
  }

  /**
   * Finish the dictionary, and return its sections. `end`, `positionsEnd`: the ends of the last postings and positions.
   */
  take(end: number, positionsEnd: number): TermSections {
    this.#endTerm(end, positionsEnd)
    return { terms: this.#terms.take(), entries: this.#entries.take(), blocks: this.#blocks }
  }

  #endTerm(end: number, positionsEnd: number): void {
    if (this.#count === 0) return
    this.#entries.varint(this.#docs)
    this.#entries.varint(end - this.#at)
    if (this.#hasPositions) this.#entries.varint(positionsEnd - this.#positionsAt)
  }
}

/** Reads a dictionary. */
export class Terms {
  /** Number of terms. */
  readonly count: number
  readonly #sections: TermSections
  readonly #hasPositions: boolean
  /** The terms of the block that was read last, concatenated, and the end of each term. */
  #text = Buffer.alloc(1024)
  readonly #ends = new Uint32Array(blockTerms)

  constructor(count: number, sections: TermSections, hasPositions: boolean) {
    this.count = count
    this.#sections = sections
    this.#hasPositions = hasPositions
  }

  get bytes(): number {
    const { terms, entries, blocks } = this.#sections
    return terms.byteLength + entries.byteLength + blocks.byteLength + this.#text.length
  }

  find(term: string): TermEntry | null {
    const bytes = Buffer.from(term)
    const block = this.#blockOf(bytes)
    if (block < 0) return null
    const { terms, blocks } = this.#sections
    const count = Math.min(blockTerms, this.count - block * blockTerms)
    const reader = new VarintReader(terms, blocks[block * blockNumbers])
    /**
     * Length of the common prefix of `term` and the previous term of the block. The previous term is less than `term`.
     */
    let common = 0
    for (let i = 0; i < count; i++) {
      const shared = i === 0 ? 0 : reader.next()
      const end = shared + reader.next()
      const at = reader.at - shared
      reader.at = at + end
      // This term and the previous term differ from `term` at the same byte, so this term is less than `term` too.
      if (shared > common) continue
      if (shared < common) return null
      while (common < end && common < bytes.length && terms[at + common] === bytes[common]) common++
      if (common === end) {
        if (common === bytes.length) return this.#entry(block * blockTerms + i, term)
      } else if (common === bytes.length || terms[at + common]! > bytes[common]!) return null
    }
    return null
  }

  /** Return the terms that begin with a prefix. */
  range(prefix: string): TermRange {
    const first = Buffer.from(prefix)
    // No byte of UTF-8 is 0xff, so this follows all terms with the prefix.
    const next = Buffer.concat([first, Uint8Array.of(0xff)])
    return { from: this.#rankOf(first), to: this.#rankOf(next) }
  }

  /** Return all matching terms. */
  *near(matcher: TermMatcher, pacer: Pacer): Task<readonly NearTerm[]> {
    const { prefix } = matcher
    const found: NearTerm[] = []
    const first = Buffer.from(prefix)
    const blocks = Math.ceil(this.count / blockTerms)
    // The terms with the prefix are consecutive. They follow all terms that are less than the prefix.
    for (let block = Math.max(0, this.#blockOf(first)); block < blocks; block++) {
      if (block % turnBlocks === 0 && pacer.due()) yield pacer.pause()
      const count = this.#readBlock(block)
      const { text, ends } = this.#units(count)
      let from = 0
      for (let i = 0; i < count; i++) {
        const term = text.slice(from, ends[i])
        from = ends[i]!
        if (!term.startsWith(prefix)) {
          if (Buffer.compare(Buffer.from(term), first) > 0) return found
          continue
        }
        const distance = matcher.distance(term)
        if (distance !== null) found.push({ entry: this.#entry(block * blockTerms + i, term), distance })
      }
    }
    return found
  }

  /** Return the number of rows and the addresses of the term `number`. */
  locate(number: number): TermAddress {
    const { entries, blocks } = this.#sections
    const block = Math.floor(number / blockTerms)
    const reader = new VarintReader(entries, blocks[block * blockNumbers + 1]!)
    let docs = 0
    let [at, positionsAt] = [0, 0]
    let end = blocks[block * blockNumbers + 2]!
    let positionsEnd = blocks[block * blockNumbers + 3]!
    for (let i = block * blockTerms; i <= number; i++) {
      ;[at, positionsAt] = [end, positionsEnd]
      docs = reader.next()
      end += reader.next()
      if (this.#hasPositions) positionsEnd += reader.next()
    }
    return { docs, at, end, positionsAt, positionsEnd }
  }

  #entry(number: number, term: string): TermEntry {
    return { number, term, docs: this.locate(number).docs }
  }

  /** Return the last block whose first term is not greater than `term`. Return -1 if all terms are greater. */
  #blockOf(term: Buffer): number {
    const { terms, blocks } = this.#sections
    const reader = new VarintReader(terms)
    const isBefore = (block: number) => {
      reader.at = blocks[block * blockNumbers]!
      const length = reader.next()
      return orderOfBytes(term, 0, term.length, terms, reader.at, reader.at + length) >= 0
    }
    return partitionPoint(blocks.length / blockNumbers, isBefore) - 1
  }

  /** Return the number of terms that are less than `term`. */
  #rankOf(term: Buffer): number {
    const block = this.#blockOf(term)
    if (block < 0) return 0
    const count = this.#readBlock(block)
    const isLess = (i: number) => {
      const from = i === 0 ? 0 : this.#ends[i - 1]!
      return orderOfBytes(this.#text, from, this.#ends[i]!, term, 0, term.length) < 0
    }
    return block * blockTerms + partitionPoint(count, isLess)
  }

  /** Decode the terms of a block into `#text`. Return their number. */
  #readBlock(block: number): number {
    const { terms, blocks } = this.#sections
    const count = Math.min(blockTerms, this.count - block * blockTerms)
    const reader = new VarintReader(terms, blocks[block * blockNumbers])
    let before = 0
    let to = 0
    for (let i = 0; i < count; i++) {
      const shared = i === 0 ? 0 : reader.next()
      const rest = reader.next()
      this.#reserve(to, shared + rest)
      copyBytes(this.#text, before, shared, this.#text, to)
      copyBytes(terms, reader.at, rest, this.#text, to + shared)
      reader.at += rest
      before = to
      to += shared + rest
      this.#ends[i] = to
    }
    return count
  }

  #reserve(used: number, more: number): void {
    if (used + more <= this.#text.length) return
    const grown = Buffer.alloc(Math.max(used + more, 2 * this.#text.length))
    this.#text.copy(grown, 0, 0, used)
    this.#text = grown
  }

  /** Return the decoded terms as one string, and the end of each term in UTF-16 units. */
  #units(count: number): { readonly text: string; readonly ends: Uint32Array } {
    const bytes = this.#text
    const end = this.#ends[count - 1]!
    const text = bytes.toString('utf8', 0, end)
    if (text.length === end) return { text, ends: this.#ends }
    const ends = new Uint32Array(count)
    let units = 0
    let at = 0
    for (let i = 0; i < count; i++) {
      for (; at < this.#ends[i]!; at++) {
        // Count each character at its first byte. A character of four bytes has two UTF-16 units.
        if ((bytes[at]! & 0xc0) !== 0x80) units += bytes[at]! < 0xf0 ? 1 : 2
      }
      ends[i] = units
    }
    return { text, ends }
  }
}

function copyBytes(from: Uint8Array, at: number, count: number, to: Uint8Array, toAt: number): void {
  if (count > 64) to.set(from.subarray(at, at + count), toAt)
  else for (let i = 0; i < count; i++) to[toAt + i] = from[at + i]!
}
