/** A term of a query with its postings in one segment, and the current position of the search in these postings. */
import { assert } from '../../../errors.js'
import { type BlockBuffer, directoryNumbers, PostingCursor, type Postings } from '../postings.js'
import type { Norms } from './norms.js'
import type { Scratch } from './scratch.js'

/** One term of a query. */
export class Leaf extends PostingCursor {
  readonly weight: number
  /** Upper bounds of scores, after `addBounds`. The bound of block `i` is at index `firstBound + i`. */
  bounds: Float64Array = noBounds
  firstBound = 0
  /** The greatest bound of all blocks, after `addBounds`. */
  most = 0
  /**
   * By range: the first block that may have a row of the range. The block of range `i` is at index `firstStart + i`.
   */
  starts: Uint32Array = none
  firstStart = 0
  /** The greatest bound of the blocks with rows in the current range. */
  top = 0
  /** Index of the row in the loaded block that `has` looked up last. */
  at = 0
  /** The block at which `reach` continues to search. Blocks before it have only smaller rows. */
  next = 0

  constructor(weight: number, postings: Postings, buffer: BlockBuffer) {
    super(postings, buffer)
    assert(weight >= 0 && weight < Infinity, 'the weight of a term is negative or not finite')
    this.weight = weight
  }

  override load(block: number): void {
    super.load(block)
    this.at = 0
  }

  /** Return the upper bound of the scores of a block. */
  bound(block: number, norms: Norms): number {
    const frequency = this.mostFrequent(block)
    return this.weight * (frequency / (frequency + norms.of(this.shortest(block))))
  }

  /** Compute the bounds of all blocks. */
  addBounds(norms: Norms, scratch: Scratch): void {
    const { array: bounds, from } = scratch.numbers(this.blocks)
    this.bounds = bounds
    this.firstBound = from
    let most = 0
    for (let block = 0; block < this.blocks; block++) {
      const bound = this.bound(block, norms)
      bounds[from + block] = bound
      if (bound > most) most = bound
    }
    this.most = most
  }

  /** Continue at the start of a block, which may be before the current block. */
  restart(block: number): void {
    this.next = block
    this.at = 0
  }

  /**
   * Return the only block that can contain `row`. Return `blocks` if the row is after all rows with the term. Between
   * two calls of `restart`, calls must have ascending rows.
   */
  reach(row: number): number {
    const { directory, blocks } = this
    let low = this.next
    if (low < blocks && directory[directoryNumbers * low]! < row) {
      // Galloping search, then binary search.
      let high = ++low
      for (let step = 1; high < blocks && directory[directoryNumbers * high]! < row; step *= 2) {
        low = high + 1
        high += step
      }
      if (high > blocks) high = blocks
      while (low < high) {
        const middle = (low + high) >>> 1
        if (directory[directoryNumbers * middle]! < row) low = middle + 1
        else high = middle
      }
      this.next = low
    }
    return low
  }

  /**
   * Return whether `row` has the term. If so, set `at` to its index in the block. `block`: the result of `reach(row)`.
   */
  has(row: number, block: number): boolean {
    if (block === this.blocks) return false
    if (block !== this.block) this.load(block)
    const { docs, count } = this
    let low = this.at
    if (docs[low]! < row) {
      // Galloping search, then binary search. The last row of the block is at least `row`.
      let high = ++low
      for (let step = 1; high < count && docs[high]! < row; step *= 2) {
        low = high + 1
        high += step
      }
      if (high >= count) high = count - 1
      while (low < high) {
        const middle = (low + high) >>> 1
        if (docs[middle]! < row) low = middle + 1
        else high = middle
      }
      this.at = low
    }
    return docs[low] === row
  }

  /** Return the score of the term for the row at `at`. `norm`: the length normalization of the row. */
  share(norm: number): number {
    const { frequency } = this
    return this.weight * (frequency / (frequency + norm))
  }

  /** Frequency of the term in the row at `at`. */
  get frequency(): number {
    return this.frequencyAt(this.at)
  }
}

const none = new Uint32Array(0)
const noBounds = new Float64Array(0)
