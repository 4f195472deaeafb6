/** Writes the rows of a term, as postings.ts reads them (docs/format.md, "Text indexes"). */
import type { Pacer } from '../../primitives/pacer.js'
import type { Task } from '../../primitives/task.js'
import { ByteSink } from './byte-sink.js'
import { pack, packedWords, widthOf } from './packed.js'
import { blockDocs } from './segment.js'

/** Rows of terms, term by term, and what is known of them. */
export interface TermRows {
  /** Rows of each term, ascending. */
  readonly ordinals: Uint32Array
  /** How often each has the term: at least once. */
  readonly frequencies: Uint8Array | Uint16Array | Uint32Array
  /** Row by row, so many as the frequency says, ascending; null: not kept. */
  readonly positions: Uint32Array | null
  /** Terms of a row, by ordinal. */
  readonly lengths: Uint8Array | Uint16Array | Uint32Array
}

/** Blocks of one step. */
const stepBlocks = 64

/** Where blocks are made ready: one at a time, whoever it is for. */
const gaps = new Uint32Array(blockDocs)
const rests = new Uint32Array(blockDocs)

/** Writes one term after the other; a frequent one in steps, between which others may have their turn. */
export class PostingsEncoder {
  readonly #rows: TermRows
  readonly #postings: ByteSink
  readonly #positions: ByteSink
  #at = 0
  #to = 0
  /** The row before `#at`. */
  #before = -1
  /** Of the next row, among all positions. */
  #positionAt = 0
  #positionsStart = 0
  /** Where the positions of the term's blocks begin, but for the first. */
  readonly #places = new ByteSink()

  /** `positions`: gets those; nothing where they are not kept. */
  constructor(rows: TermRows, postings: ByteSink, positions: ByteSink) {
    this.#rows = rows
    this.#postings = postings
    this.#positions = positions
  }

  /**
   * Begins with a term that has rows `from` to `to - 1`, which follow those of the term before. Postings with a full block begin at a
   * multiple of four, others at once; gives where that is.
   */
  begin(from: number, to: number): number {
    this.#at = from
    this.#to = to
    this.#before = -1
    this.#positionsStart = this.#positions.length
    if (to - from >= blockDocs) this.#postings.align()
    const start = this.#postings.length
    if (to - from >= blockDocs) writeHeader(this.#rows, from, to, this.#postings)
    return start
  }

  /** Writes the next rows; whether there are more. */
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
    if (start < this.#to && this.#places.length > 0) this.#positions.append(this.#places.take())
    return false
  }

  /** Of the rows up to `end`, which are a block. */
  #writePositions(end: number): void {
    const { frequencies, positions } = this.#rows
    const out = this.#positions
    if (this.#before !== -1) writeNumber(this.#places, out.length - this.#positionsStart)
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

export interface EncodedPostings {
  readonly postings: Uint8Array
  /** Null: not kept. */
  readonly positions: Uint8Array | null
}

/** For who has the rows of one term. */
export function* encodePostings(rows: TermRows, pacer: Pacer): Task<EncodedPostings> {
  const postings = new ByteSink()
  const positions = new ByteSink()
  const encoder = new PostingsEncoder(rows, postings, positions)
  encoder.begin(0, rows.ordinals.length)
  while (encoder.step()) if (pacer.due()) yield pacer.pause()
  return { postings: postings.take(), positions: rows.positions === null ? null : positions.take() }
}

function writeHeader(
  { ordinals, frequencies, lengths }: TermRows,
  from: number,
  to: number,
  out: ByteSink,
): void {
  let before = -1
  for (let at = from; at < to; at += blockDocs) {
    const end = Math.min(to, at + blockDocs)
    let gapBits = 0
    let mostFrequent = 1
    let shortest = 0xffffffff
    let last = before
    for (let i = at; i < end; i++) {
      const ordinal = ordinals[i]!
      // What has the bits of all is as wide as the greatest.
      gapBits |= ordinal - last - 1
      last = ordinal
      if (frequencies[i]! > mostFrequent) mostFrequent = frequencies[i]!
      if (lengths[ordinal]! < shortest) shortest = lengths[ordinal]!
    }
    out.varint(last - before - 1)
    out.varint(mostFrequent)
    out.varint(shortest)
    if (end - at === blockDocs) out.varint(widthOf(gapBits))
    before = last
  }
  out.align()
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
