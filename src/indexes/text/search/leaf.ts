/** A term of a query, and where in its rows a search of one segment has come. */
import { assert } from '../../../errors.js'
import type { WeightedTerm } from '../query.js'
import type { PostingCursor, Postings } from '../segment.js'
import type { Norms } from './norms.js'
import type { Scratch } from './scratch.js'

export class Leaf {
  readonly weight: number
  /** Rows that have it. */
  readonly rows: number
  readonly blocks: number
  /** By block: its last row. */
  readonly last: Uint32Array
  /** How often a row of it has the term at most. */
  readonly mostFrequent: Uint32Array
  /** What a row of block `i` gets at most is at `firstBound + i`. */
  readonly bounds: Float64Array
  readonly firstBound: number
  /** The greatest of them. */
  readonly most: number
  /** Which clause it is of. */
  clause = 0
  /** The first block that may have a row of range `i` is at `firstStart + i`. */
  starts: Uint32Array = none
  firstStart = 0
  /** The greatest bound in the range that is being searched. */
  top = 0
  /** The block that is loaded, -1: none; its rows; and the one that was looked for last, or where it would stand. */
  block = -1
  count = 0
  docs: Uint32Array = none
  at = 0
  /** The first block that may have the rows still to come. */
  #next = 0
  readonly #cursor: PostingCursor

  constructor({ term, weight }: WeightedTerm, postings: Postings, norms: Norms, scratch: Scratch) {
    assert(weight >= 0 && weight < Infinity, `the term ${term} weighs ${weight}`)
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

  /** Of the block that is loaded: unpacked when somebody asks. */
  get frequencies(): Uint32Array {
    return this.#cursor.frequencies
  }

  /** From now on rows of this range are looked for. */
  restart(range: number): void {
    this.#next = this.starts[this.firstStart + range]!
    this.at = 0
  }

  /** The block in which `row` is if it has the term; `blocks`: it has not. Rows come ascending since the last `restart`. */
  reach(row: number): number {
    const { last, blocks } = this
    let block = this.#next
    while (block < blocks && last[block]! < row) block++
    this.#next = block
    return block
  }

  /** Whether `row`, for which `reach` gave `block`, has the term. Then it stands at `at`. */
  has(row: number, block: number): boolean {
    if (block === this.blocks) return false
    if (block !== this.block) this.load(block)
    const { docs } = this
    // In growing steps, then by bisection. The last row of the block is at least `row`.
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

  /** What the term gives the row that `has` found; `norm` is that of its length. */
  share(norm: number): number {
    const { frequency } = this
    return this.weight * (frequency / (frequency + norm))
  }

  /** How often the row at `at` has the term. */
  get frequency(): number {
    return this.frequencies[this.at]!
  }

  /** Of the row at `at`: the first `frequency` numbers. */
  positions(): Uint32Array {
    return this.#cursor.positions(this.at)
  }
}

const none = new Uint32Array(0)
