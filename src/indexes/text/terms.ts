/**
 * Writes and reads the dictionary of a text segment: its terms in the order of their UTF-8 bytes. A block has 16 terms.
 * The first term of a block is stored whole. Each other term is stored without the prefix that it shares with the
 * previous term. The entries of the terms are in a separate section, so that a scan over the terms need not read them.
 */

import { orderOfBytes } from '../../primitives/order-of-bytes.js'
import type { Pacer } from '../../primitives/pacer.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import type { Task } from '../../primitives/task.js'
import { ByteReader } from './byte-reader.js'
import { ByteSink } from './byte-sink.js'
import type { NearTerm, TermEntry, TermMatcher } from './segment.js'

/** Terms per block. */
export const blockTerms = 16
/**
 * Numbers per block: its offsets in `terms` and `entries`, and the offsets of the first term's postings and positions.
 */
export const blockNumbers = 4
const utf8 = new TextEncoder()

/** Blocks scanned between two checks of the clock. */
const turnBlocks = 32

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
export interface TermAddress {
  readonly docs: number
  readonly at: number
  readonly end: number
  readonly positionsAt: number
  readonly positionsEnd: number
}

/** A term of a dictionary. */
export interface StoredTerm extends TermEntry {
  readonly address: TermAddress
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
  /**
   * The first four bytes of the first term of each block, as a number. They are in one small array, so that a binary
   * search seldom reads `terms`, which is not in the cache of the processor.
   */
  readonly #firsts: Uint32Array
  /** The terms of the block that was read last, concatenated, and the end of each term. */
  #text = Buffer.alloc(1024)
  readonly #ends = new Uint32Array(blockTerms)
  /** The UTF-8 bytes of the term that is looked up. */
  #key = new Uint8Array(256)
  readonly #reader = new ByteReader()

  constructor(count: number, sections: TermSections, hasPositions: boolean) {
    this.count = count
    this.#sections = sections
    this.#hasPositions = hasPositions
    const { terms, blocks } = sections
    this.#firsts = new Uint32Array(blocks.length / blockNumbers)
    for (let block = 0; block < this.#firsts.length; block++) {
      this.#reader.at = blocks[block * blockNumbers]!
      const size = this.#reader.next(terms)
      this.#firsts[block] = firstBytes(terms, this.#reader.at, size)
    }
  }

  get bytes(): number {
    const { terms, entries, blocks } = this.#sections
    const read = terms.byteLength + entries.byteLength + blocks.byteLength
    return read + this.#firsts.byteLength + this.#text.length
  }

  find(term: string): StoredTerm | null {
    const length = this.#encode(term)
    const bytes = this.#key
    const block = this.#blockOf(bytes, length)
    if (block < 0) return null
    const { terms, blocks } = this.#sections
    const count = Math.min(blockTerms, this.count - block * blockTerms)
    const reader = this.#reader
    reader.at = blocks[block * blockNumbers]!
    /**
     * Length of the common prefix of `term` and the previous term of the block. The previous term is less than `term`.
     */
    let common = 0
    for (let i = 0; i < count; i++) {
      const shared = i === 0 ? 0 : reader.next(terms)
      const end = shared + reader.next(terms)
      const at = reader.at - shared
      reader.at = at + end
      // This term and the previous term differ from `term` at the same byte, so this term is less than `term` too.
      if (shared > common) continue
      if (shared < common) return null
      while (common < end && common < length && terms[at + common] === bytes[common]) common++
      if (common === end) {
        if (common === length) return this.#stored(block * blockTerms + i, term)
      } else if (common === length || terms[at + common]! > bytes[common]!) return null
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
    const { prefix, shortest, longest } = matcher
    const found: NearTerm[] = []
    const first = Buffer.from(prefix)
    const blocks = Math.ceil(this.count / blockTerms)
    // The terms with the prefix are consecutive. They follow all terms that are less than the prefix.
    for (let block = Math.max(0, this.#blockOf(first, first.length)); block < blocks; block++) {
      if (block % turnBlocks === 0 && pacer.due()) yield pacer.pause()
      const count = this.#readBlock(block)
      const { text, ends } = this.#units(count)
      // A code point has one or two UTF-16 units.
      const mostUnits = text.length === this.#ends[count - 1] ? longest : 2 * longest
      let from = 0
      for (let i = 0; i < count; i++) {
        const units = ends[i]! - from
        from = ends[i]!
        // The terms without a prefix are all terms of the dictionary, so most of them are skipped here.
        if (prefix === '' && (units < shortest || units > mostUnits)) continue
        const term = text.slice(from - units, from)
        if (!term.startsWith(prefix)) {
          if (Buffer.compare(Buffer.from(term), first) > 0) return found
          continue
        }
        const distance = matcher.distance(term)
        if (distance !== null) found.push({ entry: this.#stored(block * blockTerms + i, term), distance })
      }
    }
    return found
  }

  /** Return the addresses of the terms `from` to `to - 1`. */
  locate(from: number, to: number): readonly TermAddress[] {
    const { entries, blocks } = this.#sections
    const hasPositions = this.#hasPositions
    const reader = this.#reader
    const block = Math.floor(from / blockTerms)
    reader.at = blocks[block * blockNumbers + 1]!
    let end = blocks[block * blockNumbers + 2]!
    let positionsEnd = blocks[block * blockNumbers + 3]!
    const located: TermAddress[] = []
    for (let i = block * blockTerms; i < to; i++) {
      const docs = reader.next(entries)
      const at = end
      const positionsAt = positionsEnd
      end += reader.next(entries)
      if (hasPositions) positionsEnd += reader.next(entries)
      if (i >= from) located.push({ docs, at, end, positionsAt, positionsEnd })
    }
    return located
  }

  #stored(number: number, term: string): StoredTerm {
    const address = this.locate(number, number + 1)[0]!
    return { number, term, docs: address.docs, address }
  }

  /** Write the UTF-8 bytes of a term to `#key`. Return their number. */
  #encode(term: string): number {
    const { length } = term
    if (3 * length > this.#key.length) this.#key = new Uint8Array(6 * length)
    const key = this.#key
    for (let i = 0; i < length; i++) {
      const unit = term.charCodeAt(i)
      if (unit >= 128) return utf8.encodeInto(term, key).written
      key[i] = unit
    }
    return length
  }

  /**
   * Return the last block whose first term is not greater than the first `length` bytes of `term`. Return -1 if all terms
   * are greater.
   */
  #blockOf(term: Uint8Array, length: number): number {
    const { terms, blocks } = this.#sections
    const reader = this.#reader
    const firsts = this.#firsts
    const begun = firstBytes(term, 0, length)
    let low = 0
    let high = firsts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const first = firsts[middle]!
      if (first !== begun) {
        if (first < begun) low = middle + 1
        else high = middle
        continue
      }
      reader.at = blocks[middle * blockNumbers]!
      const size = reader.next(terms)
      const { at } = reader
      const most = size < length ? size : length
      let same = 0
      while (same < most && terms[at + same] === term[same]) same++
      if (same === most ? length >= size : term[same]! > terms[at + same]!) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** Return the number of terms that are less than `term`. */
  #rankOf(term: Buffer): number {
    const block = this.#blockOf(term, term.length)
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
    const reader = this.#reader
    reader.at = blocks[block * blockNumbers]!
    let before = 0
    let to = 0
    for (let i = 0; i < count; i++) {
      const shared = i === 0 ? 0 : reader.next(terms)
      const rest = reader.next(terms)
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

/** Return the first four of `length` bytes from `at` on as a number that sorts as they do. Missing bytes count as zeros. */
function firstBytes(bytes: Uint8Array, at: number, length: number): number {
  let number = 0
  for (let i = 0; i < 4; i++) number = (number << 8) | (i < length ? bytes[at + i]! : 0)
  return number >>> 0
}

function copyBytes(from: Uint8Array, at: number, count: number, to: Uint8Array, toAt: number): void {
  if (count > 64) to.set(from.subarray(at, at + count), toAt)
  else for (let i = 0; i < count; i++) to[toAt + i] = from[at + i]!
}
