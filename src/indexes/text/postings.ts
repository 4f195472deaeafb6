/**
 * Decodes the postings of a term, which encode-postings.ts writes (docs/format.md, "Text indexes").
 *
 * Every 128 rows form a packed block (packed.ts). The remaining rows form a last block of varints, the tail. Postings
 * with at least one packed block begin with a header. The header has the statistics and the sizes of all blocks, so
 * that blocks can be decoded individually. Shorter postings have no header: opening them decodes the rows to compute
 * the statistics.
 */
import { assert } from '../../errors.js'
import { packedWords, unpackAscending, unpackFromOne, widthOf } from './packed.js'
import {
  type BlockBuffer,
  blockDocs,
  newBlockBuffer,
  type PostingCursor,
  type Postings,
  type TextSegment,
} from './segment.js'

/** A byte range with the postings or the positions of a term. The bytes must not change. */
export interface TermBytes {
  readonly bytes: Uint8Array
  readonly at: number
  /** End of the range, exclusive. */
  readonly end: number
}

/**
 * Open the postings of a term with `docs` rows. If there are at least `blockDocs` rows, `postings` must be aligned to
 * four bytes in their buffer. `lengths`: number of term occurrences of each row. `positions`: null if the caller needs
 * none.
 */
export function openPostings(
  docs: number,
  postings: TermBytes,
  positions: TermBytes | null,
  lengths: TextSegment['lengths'],
): Postings {
  return new PackedPostings(docs, postings, positions, lengths)
}

const noWords = new Uint32Array(0)

class PackedPostings implements Postings {
  readonly docs: number
  readonly blocks: number
  readonly last: Uint32Array
  readonly mostFrequent: Uint32Array
  readonly shortest: Uint32Array
  /** The packed full blocks. */
  readonly words: Uint32Array
  /** For each full block: bits per gap between rows, and index of its first word. */
  readonly gapWidths: Uint8Array
  readonly wordAt: Uint32Array
  /** The bytes of the postings. The tail, which is the last, shorter block, begins at `tailAt`. */
  readonly bytes: Uint8Array
  readonly tailAt: number
  readonly positions: TermBytes | null

  constructor(
    docs: number,
    { bytes, at }: TermBytes,
    positions: TermBytes | null,
    lengths: TextSegment['lengths'],
  ) {
    const blocks = Math.ceil(docs / blockDocs)
    const full = Math.floor(docs / blockDocs)
    this.docs = docs
    this.blocks = blocks
    this.last = new Uint32Array(blocks)
    this.mostFrequent = new Uint32Array(blocks)
    this.shortest = new Uint32Array(blocks)
    this.gapWidths = new Uint8Array(full)
    this.wordAt = new Uint32Array(full + 1)
    this.positions = positions
    this.bytes = bytes
    if (full === 0) {
      this.words = noWords
      this.tailAt = at
      this.#summarizeTail(lengths)
      return
    }
    const start = Math.ceil(this.#readHeader(new Reader(bytes, at), full) / 4) * 4
    this.words = new Uint32Array(bytes.buffer, bytes.byteOffset + start, this.wordAt[full])
    this.tailAt = start + 4 * this.words.length
  }

  cursor(buffer: BlockBuffer = newBlockBuffer()): PostingCursor {
    return new PackedCursor(this, buffer)
  }

  /** Read the header. Return the offset after the header. */
  #readHeader(reader: Reader, full: number): number {
    const { last, mostFrequent, shortest, gapWidths, wordAt } = this
    let before = -1
    let words = 0
    for (let b = 0; b < last.length; b++) {
      before += reader.next() + 1
      last[b] = before
      mostFrequent[b] = reader.next()
      shortest[b] = reader.next()
      if (b === full) break
      gapWidths[b] = reader.next()
      words += packedWords(gapWidths[b]!) + packedWords(widthOf(mostFrequent[b]! - 1))
      wordAt[b + 1] = words
    }
    return reader.at
  }

  /** Compute the statistics of postings without a full block. */
  #summarizeTail(lengths: TextSegment['lengths']): void {
    const reader = new Reader(this.bytes, this.tailAt)
    let last = -1
    let mostFrequent = 1
    let shortest = 0xffffffff
    for (let i = 0; i < this.docs; i++) {
      last = reader.row(last)
      if (reader.frequency > mostFrequent) mostFrequent = reader.frequency
      if (lengths[last]! < shortest) shortest = lengths[last]!
    }
    this.last[0] = last
    this.mostFrequent[0] = mostFrequent
    this.shortest[0] = shortest
  }
}

class PackedCursor implements PostingCursor {
  block = -1
  count = 0
  readonly docs: Uint32Array
  readonly #frequencies: Uint32Array
  /** True if the frequencies of the block are unpacked. */
  #isCounted = false
  readonly #postings: PackedPostings
  readonly #tail: Reader
  readonly #positions: PositionReader | null

  constructor(postings: PackedPostings, { docs, frequencies }: BlockBuffer) {
    this.docs = docs
    this.#frequencies = frequencies
    this.#postings = postings
    this.#tail = new Reader(postings.bytes, postings.tailAt)
    this.#positions =
      postings.positions === null ? null : new PositionReader(postings.positions, postings.blocks)
  }

  load(block: number): void {
    if (block === this.block) return
    const { docs, last, gapWidths, words, wordAt } = this.#postings
    const before = block === 0 ? -1 : last[block - 1]!
    this.block = block
    this.#positions?.enter(block)
    if (block === gapWidths.length) {
      this.count = docs - block * blockDocs
      this.#loadTail(before)
      return
    }
    this.count = blockDocs
    const width = gapWidths[block]!
    const at = wordAt[block]!
    unpackAscending(words, at, width, before, this.docs)
    this.#isCounted = false
  }

  get frequencies(): Uint32Array {
    if (!this.#isCounted && this.block >= 0) this.#count()
    return this.#frequencies
  }

  #count(): void {
    const { mostFrequent, gapWidths, words, wordAt } = this.#postings
    const at = wordAt[this.block]! + packedWords(gapWidths[this.block]!)
    unpackFromOne(words, at, widthOf(mostFrequent[this.block]! - 1), this.#frequencies)
    this.#isCounted = true
  }

  #loadTail(before: number): void {
    const { docs } = this
    const frequencies = this.#frequencies
    const tail = this.#tail
    tail.at = this.#postings.tailAt
    let last = before
    for (let i = 0; i < this.count; i++) {
      last = tail.row(last)
      docs[i] = last
      frequencies[i] = tail.frequency
    }
    this.#isCounted = true
  }

  positions(i: number): Uint32Array {
    assert(this.#positions !== null, 'the postings were read without positions')
    return this.#positions.read(i, this.frequencies)
  }
}

/** Reads the positions of the rows of a block. */
class PositionReader {
  readonly #reader: Reader
  readonly #start: number
  /** Offsets of the positions of all blocks except the first, relative to `#start` (u32). */
  readonly #offsets: DataView
  /** The row of the block whose positions the reader reads next. */
  #row = 0
  #blockAt = 0
  #positions = new Uint32Array(16)

  constructor({ bytes, at, end }: TermBytes, blocks: number) {
    this.#reader = new Reader(bytes, at)
    this.#start = at
    const offsetBytes = 4 * Math.max(0, blocks - 1)
    this.#offsets = new DataView(bytes.buffer, bytes.byteOffset + end - offsetBytes, offsetBytes)
  }

  enter(block: number): void {
    this.#blockAt = this.#start + (block === 0 ? 0 : this.#offsets.getUint32(4 * (block - 1), true))
    this.#reader.at = this.#blockAt
    this.#row = 0
  }

  read(row: number, frequencies: Uint32Array): Uint32Array {
    const reader = this.#reader
    if (row < this.#row) {
      reader.at = this.#blockAt
      this.#row = 0
    }
    for (; this.#row < row; this.#row++) reader.skip(frequencies[this.#row]!)
    const count = frequencies[row]!
    if (this.#positions.length < count) this.#positions = new Uint32Array(2 * count)
    const positions = this.#positions
    let last = 0
    for (let i = 0; i < count; i++) {
      last += reader.next()
      positions[i] = last
    }
    this.#row = row + 1
    return positions
  }
}

/** Reads varints of up to five bytes. Does not validate them, because the checksum of the page was already verified. */
class Reader {
  readonly #bytes: Uint8Array
  at: number
  /** Frequency of the term in the last row read. */
  frequency = 1

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes
    this.at = at
  }

  next(): number {
    const bytes = this.#bytes
    let byte = bytes[this.at++]!
    if (byte < 128) return byte
    let value = byte & 127
    for (let shift = 7; shift < 28; shift += 7) {
      byte = bytes[this.at++]!
      value |= (byte & 127) << shift
      if (byte < 128) return value
    }
    return value + bytes[this.at++]! * 2 ** 28
  }

  /** Read the next row of the tail, and set `frequency`. `before`: the previous row; -1 if there is none. */
  row(before: number): number {
    const code = this.next()
    const isOne = code % 2
    this.frequency = isOne === 1 ? 1 : this.next()
    return before + 1 + (code - isOne) / 2
  }

  skip(numbers: number): void {
    const bytes = this.#bytes
    let { at } = this
    for (let rest = numbers; rest > 0; at++) if (bytes[at]! < 128) rest--
    this.at = at
  }
}
