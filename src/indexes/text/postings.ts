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
import { blockDocs, packedWords, unpackAscending, unpackFromOne, widthOf } from './packed.js'

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
  /** The row of the loaded block whose positions begin at `#positionAt`. -1: the position is not known yet. */
  #positionRow = -1
  #positionAt = 0

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
    this.#positionRow = -1
    if (blockDocs * (block + 1) <= this.rows) {
      this.count = blockDocs
      unpackAscending(directory, place >>> widthBits, place & widthMask, before, docs)
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
      const { directory, block } = this
      const place = directory[directoryNumbers * block + 3]!
      const at = (place >>> widthBits) + packedWords(place & widthMask)
      unpackFromOne(directory, at, widthOf(this.mostFrequent(block) - 1), this.#frequencies)
      this.#isCounted = true
    }
    return this.#frequencies
  }

  /**
   * Return the positions of the term in row `i` of the block, ascending. Only the first `frequencies[i]` numbers are
   * valid, and only until the next call. Calls with ascending `i` are fastest. Requires postings that were opened with
   * positions.
   */
  positions(i: number): Uint32Array {
    const source = this.#postings.positions
    assert(source !== null, 'the postings were read without positions')
    const { bytes } = source
    const { frequencies } = this
    /** The offsets of the positions of all blocks except the first. */
    const end = source.end - 4 * (this.blocks - 1)
    if (this.#positionRow < 0 || i < this.#positionRow) {
      this.#positionRow = 0
      this.#positionAt = source.at + (this.block === 0 ? 0 : numberAt(bytes, end + 4 * (this.block - 1)))
    }
    let at = this.#positionAt
    let skipped = 0
    for (let row = this.#positionRow; row < i; row++) skipped += frequencies[row]!
    for (; skipped > 0 && at < end; at++) if (bytes[at]! < 128) skipped--
    const count = frequencies[i]!
    if (end > bytes.length || end - at < count + skipped) throw damaged(this.#postings.owner)
    if (this.#buffer.positions.length < count) this.#buffer.positions = new Uint32Array(2 * count)
    const { positions } = this.#buffer
    let position = 0
    reader.at = at
    for (let k = 0; k < count; k++) {
      position += reader.next(bytes)
      positions[k] = position
    }
    this.#positionRow = i + 1
    this.#positionAt = reader.at
    return positions
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
