/** Scratch arrays of a search, reused by the next search: allocating new ones would take longer than many searches. */
import { type BlockBuffer, newBlockBuffer } from '../segment.js'

/** A range has at most two to the power of this many rows. */
export const mostRangeBits = 14
/** A scratch with longer arrays than this is not kept for the next search. */
const mostKept = 256 * 1024
/** Maximum number of block buffers that a scratch keeps. */
const mostBlocks = 256

/** The scratch memory of one search. */
export class Scratch {
  /** Scores so far of the rows of a range. All zeros between two ranges. */
  readonly sums = new Float64Array(1 << mostRangeBits)
  /** A bit for each row to which a score was added, even if the score is 0. */
  readonly touched = new Uint32Array(1 << (mostRangeBits - 5))
  #numbers = new Float64Array(4096)
  #usedNumbers = 0
  #integers = new Uint32Array(4096)
  #usedIntegers = 0
  readonly #blocks: BlockBuffer[] = []
  #usedBlocks = 0

  /** Return a buffer for a block of postings. */
  block(): BlockBuffer {
    const at = this.#usedBlocks++
    if (at < this.#blocks.length) return this.#blocks[at]!
    const buffer = newBlockBuffer()
    if (at < mostBlocks) this.#blocks.push(buffer)
    return buffer
  }

  /** Reserve `count` numbers in a shared array, from index `from` on. Their values are undefined. */
  numbers(count: number): { readonly array: Float64Array; readonly from: number } {
    if (this.#usedNumbers + count > this.#numbers.length) {
      // Earlier reservations keep the previous array.
      this.#numbers = new Float64Array(2 * this.#numbers.length + count)
      this.#usedNumbers = 0
    }
    const from = this.#usedNumbers
    this.#usedNumbers += count
    return { array: this.#numbers, from }
  }

  /** Reserve `count` integers likewise. */
  integers(count: number): { readonly array: Uint32Array; readonly from: number } {
    if (this.#usedIntegers + count > this.#integers.length) {
      this.#integers = new Uint32Array(2 * this.#integers.length + count)
      this.#usedIntegers = 0
    }
    const from = this.#usedIntegers
    this.#usedIntegers += count
    return { array: this.#integers, from }
  }

  /** Release the scratch for the next search. If a search fails and does not release it, the garbage collector takes it. */
  giveBack(): void {
    this.#usedNumbers = 0
    this.#usedIntegers = 0
    this.#usedBlocks = 0
    if (Math.max(this.#numbers.length, this.#integers.length) <= mostKept) spare = this
  }
}

/** One spare scratch suffices. Other searches find none only while a search is paused, and searches that pause take long anyway. */
let spare: Scratch | null = null

/** Return the spare scratch, or a new one. */
export function takeScratch(): Scratch {
  const scratch = spare ?? new Scratch()
  spare = null
  return scratch
}
