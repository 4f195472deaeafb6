/**
 * Decodes the postings of a term, which encode-postings.ts writes (docs/format.md, "Text indexes").
 *
 * Every 128 rows form a packed block (packed.ts). The remaining rows form a last block of varints, the tail. Postings
 * with at least one packed block begin with a directory. It has the statistics and the places of all blocks, so that a
 * search can find and decode single blocks. Shorter postings are a tail without a directory.
 */
import { assert, corrupted } from '../../errors.js'
import { ByteReader } from './byte-reader.js'
import type { Numbers } from './narrow.js'
import {
  blockDocs,
  packedNumber,
  packedWords,
  sumOfBits,
  unpackAscending,
  unpackFromOne,
  widthOf,
} from './packed.js'

/** A byte range with the postings or the positions of a term. The bytes must not change. */
export interface TermBytes {
  readonly bytes: Uint8Array
  readonly at: number
  /** End of the range, exclusive. */
  readonly end: number
}

/** The segment that postings belong to. */
export interface PostingsOwner {
  /** Name in error messages. */
  readonly name: string
  /** Number of term occurrences of each row. */
  readonly lengths: Numbers
}

/**
 * Numbers of a block in the directory: its last row, the highest frequency of the term in one of its rows, the number
 * of terms in its shortest row, and its place.
 */
export const directoryNumbers = 4
/**
 * Bits of the packed width in a place. The other bits have the number of words from the directory to the block.
 */
export const widthBits = 6
const widthMask = 2 ** widthBits - 1

/** Memory into which a cursor decodes a block. */
export interface BlockBuffer {
  readonly docs: Uint32Array
  readonly frequencies: Uint32Array
  /** The directory of postings that have none. */
  readonly directory: Uint32Array
  /** Positions of one row. A cursor replaces the array by a longer one if a row has more positions. */
  positions: Uint32Array
}

export function newBlockBuffer(): BlockBuffer {
  return {
    docs: new Uint32Array(blockDocs),
    frequencies: new Uint32Array(blockDocs),
    directory: new Uint32Array(directoryNumbers),
    positions: new Uint32Array(16),
  }
}

const noWords = new Uint32Array(0)

/** The rows with a term, ascending, in blocks of `blockDocs` rows. The last block may have fewer rows. */
export class Postings {
  /** Number of rows with the term. */
  readonly docs: number
  /** Number of blocks. */
  readonly blocks: number
  readonly bytes: TermBytes
  /** The directory and the packed blocks. Empty if there is no packed block. */
  readonly words: Uint32Array
  /** Null if the caller needs no positions. */
  readonly positions: TermBytes | null
  readonly owner: PostingsOwner

  /**
   * Open the postings of a term with `docs` rows. If there are at least `blockDocs` rows, `bytes` must be aligned to
   * four bytes in their buffer. Throws Internal if the range is too short.
   */
  constructor(docs: number, bytes: TermBytes, positions: TermBytes | null, owner: PostingsOwner) {
    this.docs = docs
    this.blocks = Math.ceil(docs / blockDocs)
    this.bytes = bytes
    this.positions = positions
    this.owner = owner
    if (docs < blockDocs) {
      this.words = noWords
      return
    }
    const { at, end } = bytes
    if (end > bytes.bytes.length || end - at < 4 * directoryNumbers * this.blocks) throw damaged(owner)
    this.words = new Uint32Array(bytes.bytes.buffer, bytes.bytes.byteOffset + at, (end - at) >>> 2)
  }

  /** Open a cursor. `buffer`: memory that only this cursor uses; default: a new buffer. */
  cursor(buffer: BlockBuffer = newBlockBuffer()): PostingCursor {
    return new PostingCursor(this, buffer)
  }
}

function damaged({ name }: PostingsOwner): Error {
  return corrupted(`the postings of a term in ${name} are damaged`)
}

/** Throw Internal if the last row of postings is not a row of the segment. */
export function checkRows(
  cursor: PostingCursor,
  { owner }: Postings,
  { rows }: { readonly rows: number },
): void {
  if (!(cursor.last(cursor.blocks - 1) < rows)) throw damaged(owner)
}

/**
 * Reads postings, one block at a time. All methods throw Internal if the postings are damaged in a way that their
 * checksum does not show.
 */
export class PostingCursor {
  /** Number of rows with the term. */
  readonly rows: number
  readonly blocks: number
  /** For each block `directoryNumbers` numbers. Packed blocks may follow. */
  readonly directory: Uint32Array
  /** The number of the loaded block. -1 before the first `load`. */
  block = -1
  /** Number of rows in the loaded block. */
  count = 0
  /** Ordinals of the rows of the loaded block. Only the first `count` numbers are valid. */
  readonly docs: Uint32Array
  readonly #frequencies: Uint32Array
  /** Whether the frequencies of the loaded block are decoded. */
  #isCounted = false
  readonly #postings: Postings
  readonly #buffer: BlockBuffer
  /** The packed frequencies of the loaded block, unless it is the tail: their first word, and their width. */
  #packedAt = 0
  #packedWidth = 0
  /** Whether the positions of the loaded block are found: the next four fields are valid. */
  #arePositionsFound = false
  /** Start of the positions of the loaded block. */
  #positionsAt = 0
  /** Whether each position of the loaded block takes one byte. */
  #arePositionsBytes = false
  /** A row of the loaded block, and the number of positions of the rows before it. */
  #summedRow = 0
  #summed = 0
  /** A row of the loaded block, and the start of its positions. Used if positions take several bytes. */
  #nextRow = 0
  #nextAt = 0

  constructor(postings: Postings, buffer: BlockBuffer) {
    this.rows = postings.docs
    this.blocks = postings.blocks
    this.docs = buffer.docs
    this.#frequencies = buffer.frequencies
    this.#postings = postings
    this.#buffer = buffer
    if (postings.words.length > 0) {
      this.directory = postings.words
    } else {
      this.directory = buffer.directory
      if (this.rows > 0) this.#loadOnlyTail()
    }
  }

  /** Return the last row of a block. */
  last(block: number): number {
    return this.directory[directoryNumbers * block]!
  }

  /** Return the highest frequency of the term in a row of a block. */
  mostFrequent(block: number): number {
    return this.directory[directoryNumbers * block + 1]!
  }

  /** Return the number of terms in the shortest row of a block. */
  shortest(block: number): number {
    const { directory } = this
    if (this.#postings.words.length === 0 && directory[2] === 0) {
      const { lengths } = this.#postings.owner
      let shortest = 0xffffffff
      for (let i = 0; i < this.count; i++) shortest = Math.min(shortest, lengths[this.docs[i]!] ?? shortest)
      directory[2] = shortest
    }
    return directory[directoryNumbers * block + 2]!
  }

  load(block: number): void {
    if (block === this.block) return
    const { directory, docs } = this
    const entry = directoryNumbers * block
    const before = block === 0 ? -1 : directory[entry - directoryNumbers]!
    const place = directory[entry + 3]!
    this.block = block
    this.#arePositionsFound = false
    if (blockDocs * (block + 1) <= this.rows) {
      this.count = blockDocs
      const width = place & widthMask
      unpackAscending(directory, place >>> widthBits, width, before, docs)
      this.#packedAt = (place >>> widthBits) + packedWords(width)
      this.#packedWidth = widthOf(directory[entry + 1]! - 1)
      this.#isCounted = false
    } else {
      this.count = this.rows - blockDocs * block
      this.#loadTail(this.#postings.bytes.at + 4 * (place >>> widthBits), before)
    }
    if (docs[this.count - 1] !== directory[entry]) throw damaged(this.#postings.owner)
  }

  /**
   * The frequency of the term in each row of the loaded block. Only the first `count` numbers are valid. They are
   * decoded at the first access after `load`, because this is almost half of the work and not every caller needs them.
   */
  get frequencies(): Uint32Array {
    if (!this.#isCounted && this.block >= 0) {
      unpackFromOne(this.directory, this.#packedAt, this.#packedWidth, this.#frequencies)
      this.#isCounted = true
    }
    return this.#frequencies
  }

  /** Return the frequency of the term in row `i` of the loaded block. Does not decode the frequencies of other rows. */
  frequencyAt(i: number): number {
    return this.#isCounted
      ? this.#frequencies[i]!
      : packedNumber(this.directory, this.#packedAt, this.#packedWidth, i) + 1
  }

  /**
   * Return the positions of the term in row `i` of the block, ascending. Only the first `frequencyAt(i)` numbers are
   * valid, and only until the next call. Requires postings that were opened with positions.
   */
  positions(i: number): Uint32Array {
    if (!this.#arePositionsFound) this.#findPositions()
    const { bytes } = this.#postings.positions!
    const count = this.frequencyAt(i)
    if (this.#buffer.positions.length < count) this.#buffer.positions = new Uint32Array(2 * count)
    const { positions } = this.#buffer
    let position = 0
    if (this.#arePositionsBytes) {
      const at = this.#positionsAt + this.#positionsBefore(i)
      for (let k = 0; k < count; k++) {
        position += bytes[at + k]!
        positions[k] = position
      }
      return positions
    }
    reader.at = this.#skipTo(i, bytes)
    for (let k = 0; k < count; k++) {
      position += reader.next(bytes)
      positions[k] = position
    }
    this.#nextRow = i + 1
    this.#nextAt = reader.at
    return positions
  }

  /** Find the positions of the loaded block. */
  #findPositions(): void {
    const { positions, owner } = this.#postings
    assert(positions !== null, 'the postings were read without positions')
    const { bytes, at } = positions
    const { count, block, blocks } = this
    this.#summedRow = 0
    this.#summed = 0
    const total = this.#positionsBefore(count)
    // The first rows are read first.
    this.#summedRow = 0
    this.#summed = 0
    /** The offsets of the positions of all blocks except the first. */
    const end = positions.end - 4 * (blocks - 1)
    const start = block === 0 ? at : at + numberAt(bytes, end + 4 * (block - 1))
    const stop = block === blocks - 1 ? end : at + numberAt(bytes, end + 4 * block)
    if (!(total <= stop - start && stop <= bytes.length)) throw damaged(owner)
    this.#positionsAt = start
    this.#arePositionsBytes = total === stop - start
    this.#nextRow = 0
    this.#nextAt = start
    this.#arePositionsFound = true
  }

  /** Return the number of positions of the rows of the loaded block before row `i`. */
  #positionsBefore(i: number): number {
    if (!this.#isCounted && this.#packedWidth <= 1) {
      return this.#packedWidth === 0 ? i : i + sumOfBits(this.directory, this.#packedAt, i)
    }
    const { frequencies } = this
    let row = this.#summedRow
    let sum = this.#summed
    for (; row < i; row++) sum += frequencies[row]!
    while (row > i) sum -= frequencies[--row]!
    this.#summedRow = row
    this.#summed = sum
    return sum
  }

  /** Return the start of the positions of row `i`. Calls with ascending `i` are fastest. */
  #skipTo(i: number, bytes: Uint8Array): number {
    if (i < this.#nextRow) {
      this.#nextRow = 0
      this.#nextAt = this.#positionsAt
    }
    let at = this.#nextAt
    let skipped = this.#positionsBefore(i) - this.#positionsBefore(this.#nextRow)
    for (; skipped > 0 && at < bytes.length; at++) if (bytes[at]! < 128) skipped--
    return at
  }

  /** Load the tail of postings without a directory, and set their directory. */
  #loadOnlyTail(): void {
    const { directory } = this
    this.block = 0
    this.count = this.rows
    this.#loadTail(this.#postings.bytes.at, -1)
    directory[0] = this.docs[this.count - 1]!
    let mostFrequent = 1
    for (let i = 0; i < this.count; i++) {
      if (this.#frequencies[i]! > mostFrequent) mostFrequent = this.#frequencies[i]!
    }
    directory[1] = mostFrequent
    directory[2] = 0
    directory[3] = 0
  }

  #loadTail(from: number, before: number): void {
    const { docs, count } = this
    const frequencies = this.#frequencies
    const { bytes, end } = this.#postings.bytes
    let row = before
    reader.at = from
    for (let i = 0; i < count; i++) {
      const code = reader.next(bytes)
      row += 1 + (code <= 0x7fffffff ? code >> 1 : Math.floor(code / 2))
      docs[i] = row
      frequencies[i] = (code & 1) === 1 ? 1 : reader.next(bytes)
    }
    this.#isCounted = true
    if (!(reader.at <= end)) throw damaged(this.#postings.owner)
  }
}

/** The reader of all cursors. They can share it, because no cursor returns between two reads. */
const reader = new ByteReader()

/** Return the u32 at `at`, little-endian. */
function numberAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
}
