/**
 * Provides the scratch arrays of a search. The next search reuses them, because allocating takes longer than many
 * searches.
 */
import { type BlockBuffer, newBlockBuffer } from '../postings.js'

/** Binary logarithm of the maximum number of rows in a range (search/sweep). */
export const mostRangeBits = 14
/** Number of rows in `Scratch.table`. */
export const tableRows = 1 << 14
/** Maximum length of the arrays of a scratch that is kept for the next search. */
const mostKept = 256 * 1024
/** Maximum number of block buffers that a scratch keeps. */
const mostBlocks = 256

/** The scratch memory of one search. */
export class Scratch {
  /** Sums of the scores of the rows in the current range. All sums are 0 when a range begins. */
  readonly sums = new Float64Array(1 << mostRangeBits)
  /** A bit per row of the range: whether a score was added to the row, even a score of 0. */
  readonly touched = new Uint32Array(1 << (mostRangeBits - 5))
  /** A byte per row of a range of `tableRows` rows. All bytes are 0 between two uses. */
  readonly table = new Uint8Array(tableRows)
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

  /**
   * Reserve `count` numbers. They are the elements from index `from` on in a shared array; their values are arbitrary.
   */
  numbers(count: number): { readonly array: Float64Array; readonly from: number } {
    if (this.#usedNumbers + count > this.#numbers.length) {
      // Callers of earlier reservations continue to use the previous array.
      this.#numbers = new Float64Array(2 * this.#numbers.length + count)
      this.#usedNumbers = 0
    }
    const from = this.#usedNumbers
    this.#usedNumbers += count
    return { array: this.#numbers, from }
  }

  /** Reserve `count` integers, as `numbers` does. */
  integers(count: number): { readonly array: Uint32Array; readonly from: number } {
    if (this.#usedIntegers + count > this.#integers.length) {
      this.#integers = new Uint32Array(2 * this.#integers.length + count)
      this.#usedIntegers = 0
    }
    const from = this.#usedIntegers
    this.#usedIntegers += count
    return { array: this.#integers, from }
  }

  /**
   * Release the scratch for the next search. A search that fails need not call this; the next search gets a new
   * scratch.
   */
  giveBack(): void {
    this.#usedNumbers = 0
    this.#usedIntegers = 0
    this.#usedBlocks = 0
    if (Math.max(this.#numbers.length, this.#integers.length) <= mostKept) spare = this
  }
}

/**
 * The scratch that the next search uses. One is enough: a second search needs its own scratch only while another search
 * is paused, and searches that pause take much longer than an allocation.
 */
let spare: Scratch | null = null

/** Return the spare scratch, or a new one. */
export function takeScratch(): Scratch {
  const scratch = spare ?? new Scratch()
  spare = null
  return scratch
}
