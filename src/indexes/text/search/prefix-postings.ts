/** Finds the rows with a term that begins with a prefix. */
import type { Pacer } from '../../../primitives/pacer.js'
import { type Task, wait } from '../../../primitives/task.js'
import { encodePostings } from '../encode-postings.js'
import { newBlockBuffer, Postings } from '../postings.js'
import type { TextSegment } from '../segment.js'

/** Blocks of postings, and rows, between two checks of the clock. */
const blocksAtOnce = 64
const rowsAtOnce = 64 * 1024

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

/** Joins postings: adds up the frequencies of each row. */
class Sum {
  readonly #segment: TextSegment
  /** The only postings so far. */
  #first: Postings | null = null
  /** Frequencies by row; null: there are fewer than two postings. */
  #sums: Uint32Array | null = null
  #docs = 0
  readonly #buffer = newBlockBuffer()

  constructor(segment: TextSegment) {
    this.#segment = segment
  }

  *add(postings: Postings, pacer: Pacer): Task<void> {
    if (this.#sums !== null) return yield* this.#addTo(this.#sums, postings, pacer)
    if (this.#first === null) {
      this.#first = postings
      return
    }
    this.#sums = new Uint32Array(this.#segment.rows)
    yield* this.#addTo(this.#sums, this.#first, pacer)
    yield* this.#addTo(this.#sums, postings, pacer)
  }

  *#addTo(sums: Uint32Array, postings: Postings, pacer: Pacer): Task<void> {
    const cursor = postings.cursor(this.#buffer)
    for (let block = 0; block < postings.blocks; block++) {
      cursor.load(block)
      const { count, docs, frequencies } = cursor
      for (let i = 0; i < count; i++) {
        const row = docs[i]!
        if (sums[row] === 0) this.#docs++
        sums[row]! += frequencies[i]!
      }
      if (block % blocksAtOnce === blocksAtOnce - 1 && pacer.due()) yield pacer.pause()
    }
  }

  /** Return the joined postings; null: none were added. */
  *postings(pacer: Pacer): Task<Postings | null> {
    const sums = this.#sums
    if (sums === null) return this.#first
    const { lengths } = this.#segment
    const ordinals = new Uint32Array(this.#docs)
    const frequencies = new Uint32Array(this.#docs)
    let count = 0
    for (let from = 0; from < sums.length; from += rowsAtOnce) {
      const to = Math.min(sums.length, from + rowsAtOnce)
      for (let row = from; row < to; row++) {
        if (sums[row] === 0) continue
        ordinals[count] = row
        frequencies[count++] = sums[row]!
      }
      if (pacer.due()) yield pacer.pause()
    }
    const { postings } = yield* encodePostings({ ordinals, frequencies, positions: null, lengths }, pacer)
    const bytes = { bytes: postings, at: 0, end: postings.length }
    return new Postings(count, bytes, null, { name: 'the terms of a prefix', lengths })
  }
}
