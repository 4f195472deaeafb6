/** Finds the rows with a term that begins with a prefix. */
import type { Pacer } from '../../../primitives/pacer.js'
import { type Task, wait } from '../../../primitives/task.js'
import { encodePostings } from '../encode-postings.js'
import { checkRows, newBlockBuffer, type PostingCursor, Postings } from '../postings.js'
import type { TextSegment } from '../segment.js'

/** Blocks of postings, and words of bits, between two checks of the clock. */
const blocksAtOnce = 64
const wordsAtOnce = 2048

/**
 * Return the texts with which the terms of a normalized prefix begin. A final `σ` or `ς` stands for both letters,
 * because the last letter of the prefix may be inside of the complete word.
 */
export function beginningsOf(start: string): readonly string[] {
  const rest = start.slice(0, -1)
  return /[σς]$/.test(start) ? [`${rest}ς`, `${rest}σ`] : [start]
}

/**
 * Return the rows of a segment that have a term that begins with `start`, or one of the terms `others`. The frequency
 * of a row is the number of occurrences of all these terms. Return null if there is no such row. The result has all
 * rows, however many terms match.
 */
export function* prefixPostings(
  segment: TextSegment,
  start: string,
  others: readonly string[],
  pacer: Pacer,
): Task<Postings | null> {
  const beginnings = beginningsOf(start)
  const sum = new Sum(segment)
  for (const beginning of beginnings) {
    for (const postings of segment.begun(beginning, pacer)) {
      if (postings instanceof Promise) yield postings
      else yield* sum.add(postings, pacer)
    }
  }
  for (const other of others) {
    const entry = beginnings.some(each => other.startsWith(each)) ? null : segment.find(other)
    if (entry !== null) {
      yield* sum.add(yield* wait(segment.postings(entry, false, pacer.signal)), pacer)
    }
  }
  return yield* sum.postings(pacer)
}

/** Arrays in which frequencies are added up by row. */
interface RowSums {
  readonly sums: Uint32Array
  /** A bit for each row with a sum. */
  readonly touched: Uint32Array
}

/** Maximum number of rows of arrays that are kept for the next search. */
const mostKept = 256 * 1024
/** Arrays of zeros that the next search uses, because allocating them takes longer than adding up some thousand rows. */
let spare: RowSums | null = null

function takeSums(rows: number): RowSums {
  const kept = spare
  if (kept === null || kept.sums.length < rows) {
    return { sums: new Uint32Array(rows), touched: new Uint32Array((rows + 31) >>> 5) }
  }
  spare = null
  return kept
}

/** Joins postings: adds up the frequencies of each row. */
class Sum {
  readonly #segment: TextSegment
  /** The only postings so far. */
  #first: Postings | null = null
  /** Null: there are fewer than two postings. */
  #rows: RowSums | null = null
  /** Upper bound of the number of rows. */
  #most = 0
  readonly #buffer = newBlockBuffer()

  constructor(segment: TextSegment) {
    this.#segment = segment
  }

  *add(postings: Postings, pacer: Pacer): Task<void> {
    if (this.#first === null) {
      this.#first = postings
      return
    }
    if (this.#rows === null) {
      this.#rows = takeSums(this.#segment.rows)
      yield* this.#addTo(this.#rows, this.#first, pacer)
    }
    if (postings.blocks === 1) this.#addBlock(this.#rows, this.#open(postings), 0)
    else yield* this.#addTo(this.#rows, postings, pacer)
  }

  *#addTo(rows: RowSums, postings: Postings, pacer: Pacer): Task<void> {
    const cursor = this.#open(postings)
    for (let block = 0; block < postings.blocks; block++) {
      this.#addBlock(rows, cursor, block)
      if (block % blocksAtOnce === blocksAtOnce - 1 && pacer.due()) yield pacer.pause()
    }
  }

  #open(postings: Postings): PostingCursor {
    const cursor = postings.cursor(this.#buffer)
    checkRows(cursor, postings, this.#segment)
    this.#most += postings.docs
    return cursor
  }

  #addBlock({ sums, touched }: RowSums, cursor: PostingCursor, block: number): void {
    cursor.load(block)
    const { count, docs, frequencies } = cursor
    for (let i = 0; i < count; i++) {
      const row = docs[i]!
      sums[row]! += frequencies[i]!
      touched[row >>> 5]! |= 1 << (row & 31)
    }
  }

  /** Return the joined postings; null: none were added. */
  *postings(pacer: Pacer): Task<Postings | null> {
    const rows = this.#rows
    if (rows === null) return this.#first
    const { sums, touched } = rows
    const { lengths } = this.#segment
    const most = Math.min(this.#most, lengths.length)
    const ordinals = new Uint32Array(most)
    const frequencies = new Uint32Array(most)
    let count = 0
    const words = (lengths.length + 31) >>> 5
    for (let from = 0; from < words; from += wordsAtOnce) {
      const to = Math.min(words, from + wordsAtOnce)
      for (let w = from; w < to; w++) {
        let word = touched[w]! | 0
        if (word === 0) continue
        touched[w] = 0
        while (word !== 0) {
          const low = word & -word
          word ^= low
          const row = (w << 5) + 31 - Math.clz32(low)
          ordinals[count] = row
          frequencies[count++] = sums[row]!
          sums[row] = 0
        }
      }
      if (pacer.due()) yield pacer.pause()
    }
    if (sums.length <= mostKept) spare = rows
    const all = { ordinals: ordinals.subarray(0, count), frequencies: frequencies.subarray(0, count) }
    const { postings } = yield* encodePostings({ ...all, positions: null, lengths }, pacer)
    const bytes = { bytes: postings, at: 0, end: postings.length }
    return new Postings(count, bytes, null, { name: 'the terms of a prefix', lengths })
  }
}
