/** Encodes the postings of terms. postings.ts decodes them (docs/format.md, "Text indexes"). */
import { assert } from '../../errors.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { Task } from '../../primitives/task.js'
import { ByteSink } from './byte-sink.js'
import { blockDocs, pack, packedWords, widthOf } from './packed.js'
import { directoryNumbers, widthBits } from './postings.js'

/** The postings of several terms, one term after the other. */
export interface TermRows {
  /** Rows of each term; ascending within a term. */
  readonly ordinals: Uint32Array
  /** Frequency of the term in each row, at least 1. */
  readonly frequencies: Uint8Array | Uint16Array | Uint32Array
  /**
   * Positions of the term in each row, ascending. A row has as many positions as its frequency. Null if positions are
   * not stored.
   */
  readonly positions: Uint32Array | null
  /** Number of term occurrences of each row, by ordinal. */
  readonly lengths: Uint8Array | Uint16Array | Uint32Array
}

/** Maximum number of blocks that one step encodes. */
const stepBlocks = 64

/** Scratch buffers for one block, shared by all encoders. */
const gaps = new Uint32Array(blockDocs)
const rests = new Uint32Array(blockDocs)

/**
 * Encodes the postings of one term after the other. A frequent term takes several steps. Between two steps the caller
 * may yield to the event loop.
 */
export class PostingsEncoder {
  readonly #rows: TermRows
  readonly #postings: ByteSink
  readonly #positions: ByteSink
  /** Index of the next row to encode, and the index after the last row of the term. */
  #at = 0
  #to = 0
  /** The ordinal of the row before index `#at`. -1 at the first row of a term. */
  #before = -1
  /** Index of the first position of the next row. */
  #positionAt = 0
  /** Start of the term's positions in the output. */
  #positionsStart = 0
  /** For each block of the term except the first: the offset of its positions from `#positionsStart`. */
  readonly #blockOffsets = new ByteSink()

  /** `postings`, `positions`: the outputs. `positions` stays empty if the rows have no positions. */
  constructor(rows: TermRows, postings: ByteSink, positions: ByteSink) {
    this.#rows = rows
    this.#postings = postings
    this.#positions = positions
  }

  /**
   * Begin a term. Its rows are at the indexes `from` to `to - 1`, directly after the rows of the previous term.
   * Postings with a full block are aligned to four bytes. Return the offset where the postings begin.
   */
  begin(from: number, to: number): number {
    this.#at = from
    this.#to = to
    this.#before = -1
    this.#positionsStart = this.#positions.length
    if (to - from >= blockDocs) this.#postings.align()
    const start = this.#postings.length
    if (to - from >= blockDocs) writeDirectory(this.#rows, from, to, this.#postings)
    return start
  }

  /** Write the next rows of the term. Return whether the term has more rows. */
  step(): boolean {
    const start = this.#at
    for (let blocks = 0; blocks < stepBlocks && this.#at < this.#to; blocks++) {
      const end = Math.min(this.#to, this.#at + blockDocs)
      if (end - this.#at === blockDocs) writeBlock(this.#rows, this.#before, this.#at, this.#postings)
      else writeTail(this.#rows, this.#before, this.#at, end, this.#postings)
      if (this.#rows.positions !== null) this.#writePositions(end)
      this.#before = this.#rows.ordinals[end - 1]!
      this.#at = end
    }
    if (this.#at < this.#to) return true
    if (start < this.#to && this.#blockOffsets.length > 0) this.#positions.append(this.#blockOffsets.take())
    return false
  }

  /** Write the positions of the block that ends at index `end`. */
  #writePositions(end: number): void {
    const { frequencies, positions } = this.#rows
    const out = this.#positions
    if (this.#before !== -1) writeNumber(this.#blockOffsets, out.length - this.#positionsStart)
    let at = this.#positionAt
    for (let i = this.#at; i < end; i++) {
      let last = 0
      for (let rest = frequencies[i]!; rest > 0; rest--) {
        const position = positions![at++]!
        out.varint(position - last)
        last = position
      }
    }
    this.#positionAt = at
  }
}

/** The encoded postings of one term. */
export interface EncodedPostings {
  readonly postings: Uint8Array
  /** Null if positions are not stored. */
  readonly positions: Uint8Array | null
}

/** Encode the postings of a single term. */
export function* encodePostings(rows: TermRows, pacer: Pacer): Task<EncodedPostings> {
  const postings = new ByteSink()
  const positions = new ByteSink()
  const encoder = new PostingsEncoder(rows, postings, positions)
  encoder.begin(0, rows.ordinals.length)
  while (encoder.step()) if (pacer.due()) yield pacer.pause()
  return { postings: postings.take(), positions: rows.positions === null ? null : positions.take() }
}

/** Write the directory of the rows at the indexes `from` to `to - 1`. The output must be aligned to four bytes. */
function writeDirectory(
  { ordinals, frequencies, lengths }: TermRows,
  from: number,
  to: number,
  out: ByteSink,
): void {
  const count = directoryNumbers * Math.ceil((to - from) / blockDocs)
  const at = out.skip(4 * count)
  const directory = new Uint32Array(out.bytes.buffer, at, count)
  /** Words from the directory to the next block. */
  let words = count
  let last = -1
  for (let entry = 0; entry < count; entry += directoryNumbers) {
    const start = from + (entry / directoryNumbers) * blockDocs
    const end = Math.min(to, start + blockDocs)
    let gapBits = 0
    let mostFrequent = 1
    let shortest = 0xffffffff
    for (let i = start; i < end; i++) {
      const ordinal = ordinals[i]!
      // The bitwise OR of all gaps has the same width as the greatest gap.
      gapBits |= ordinal - last - 1
      last = ordinal
      if (frequencies[i]! > mostFrequent) mostFrequent = frequencies[i]!
      if (lengths[ordinal]! < shortest) shortest = lengths[ordinal]!
    }
    const width = end - start === blockDocs ? widthOf(gapBits) : 0
    assert(words < 2 ** (32 - widthBits), 'postings are too long for their directory')
    directory.set([last, mostFrequent, shortest, words * 2 ** widthBits + width], entry)
    words += packedWords(width) + packedWords(widthOf(mostFrequent - 1))
  }
}

function writeBlock({ ordinals, frequencies }: TermRows, before: number, from: number, out: ByteSink): void {
  let gapBits = 0
  let restBits = 0
  let last = before
  for (let i = 0; i < blockDocs; i++) {
    const ordinal = ordinals[from + i]!
    const rest = frequencies[from + i]! - 1
    gapBits |= ordinal - last - 1
    restBits |= rest
    gaps[i] = ordinal - last - 1
    rests[i] = rest
    last = ordinal
  }
  const gapWords = packedWords(widthOf(gapBits))
  const count = gapWords + packedWords(widthOf(restBits))
  const at = out.skip(4 * count)
  const words = new Uint32Array(out.bytes.buffer, at, count)
  pack(gaps, widthOf(gapBits), words, 0)
  pack(rests, widthOf(restBits), words, gapWords)
}

function writeTail(
  { ordinals, frequencies }: TermRows,
  before: number,
  from: number,
  to: number,
  out: ByteSink,
): void {
  let last = before
  for (let i = from; i < to; i++) {
    const ordinal = ordinals[i]!
    const frequency = frequencies[i]!
    out.varint(2 * (ordinal - last - 1) + (frequency === 1 ? 1 : 0))
    if (frequency !== 1) out.varint(frequency)
    last = ordinal
  }
}

function writeNumber(out: ByteSink, value: number): void {
  const at = out.skip(4)
  for (let i = 0; i < 4; i++) out.bytes[at + i] = value >>> (8 * i)
}
