/** A term of a query with its postings in one segment, and the current position of the search in these postings. */
import { assert } from '../../../errors.js'
import type { PostingCursor, Postings } from '../segment.js'
import type { Norms } from './norms.js'
import type { Scratch } from './scratch.js'

/** One term of a query. */
export class Leaf {
  readonly weight: number
  /** Number of rows with the term. */
  readonly rows: number
  readonly blocks: number
  /** Last row of each block. */
  readonly last: Uint32Array
  /** Highest frequency of the term in a row, by block. */
  readonly mostFrequent: Uint32Array
  /** Upper bounds of scores. The bound of block `i` is at index `firstBound + i`. */
  readonly bounds: Float64Array
  readonly firstBound: number
  /** The greatest bound of all blocks. */
  readonly most: number
  /** Index of the clause to which the term belongs. */
  clause = 0
  /**
   * By range: the first block that may have a row of the range. The block of range `i` is at index `firstStart + i`.
   */
  starts: Uint32Array = none
  firstStart = 0
  /** The greatest bound of the blocks with rows in the current range. */
  top = 0
  /**
   * The number of the loaded block (-1 if no block is loaded), its number of rows, and its rows. `at`: the index of the
   * row that `has` looked up last.
   */
  block = -1
  count = 0
  docs: Uint32Array = none
  at = 0
  /** The block at which `reach` continues to search. Blocks before it have only smaller rows. */
  #next = 0
  readonly #cursor: PostingCursor

  constructor(weight: number, postings: Postings, norms: Norms, scratch: Scratch) {
    assert(weight >= 0 && weight < Infinity, `a term has the weight ${weight}`)
    this.weight = weight
    this.rows = postings.docs
    this.blocks = postings.blocks
    this.last = postings.last
    const { array: bounds, from } = scratch.numbers(postings.blocks)
    this.bounds = bounds
    this.firstBound = from
    this.#cursor = postings.cursor(scratch.block())
    const { mostFrequent, shortest } = postings
    this.mostFrequent = mostFrequent
    let most = 0
    for (let block = 0; block < this.blocks; block++) {
      const frequency = mostFrequent[block]!
      const bound = weight * (frequency / (frequency + norms.of(shortest[block]!)))
      bounds[from + block] = bound
      if (bound > most) most = bound
    }
    this.most = most
  }

  load(block: number): void {
    const cursor = this.#cursor
    cursor.load(block)
    this.block = block
    this.count = cursor.count
    this.docs = cursor.docs
    this.at = 0
  }

  /** Frequencies of the loaded block, unpacked at the first access. */
  get frequencies(): Uint32Array {
    return this.#cursor.frequencies
  }

  /** Move to the start of a range. */
  restart(range: number): void {
    this.#next = this.starts[this.firstStart + range]!
    this.at = 0
  }

  /**
   * Return the only block that can contain `row`. Return `blocks` if the row is after all rows with the term. Between
   * two calls of `restart`, calls must have ascending rows.
   */
  reach(row: number): number {
    const { last, blocks } = this
    let block = this.#next
    while (block < blocks && last[block]! < row) block++
    this.#next = block
    return block
  }

  /**
   * Return whether `row` has the term. If so, set `at` to its index in the block. `block`: the result of `reach(row)`.
   */
  has(row: number, block: number): boolean {
    if (block === this.blocks) return false
    if (block !== this.block) this.load(block)
    const { docs } = this
    // Galloping search, then binary search. The last row of the block is at least `row`.
    let low = this.at
    let high = low
    const end = this.count - 1
    for (let step = 1; docs[high]! < row; step *= 2) {
      low = high + 1
      high = Math.min(low + step, end)
    }
    while (low < high) {
      const middle = (low + high) >>> 1
      if (docs[middle]! < row) low = middle + 1
      else high = middle
    }
    this.at = low
    return docs[low] === row
  }

  /** Return the score of the term for the row at `at`. `norm`: the length normalization of the row. */
  share(norm: number): number {
    const { frequency } = this
    return this.weight * (frequency / (frequency + norm))
  }

  /** Frequency of the term in the row at `at`. */
  get frequency(): number {
    return this.frequencies[this.at]!
  }

  /** Return the positions of the term in the row at `at`: the first `frequency` numbers. */
  positions(): Uint32Array {
    return this.#cursor.positions(this.at)
  }
}

const none = new Uint32Array(0)
