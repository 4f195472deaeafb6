/** Arrays of a search, used again by the next one: to make new ones would take longer than many a search. */
import { type BlockRoom, newBlockRoom } from '../segment.js'

/** Rows of a range are at most two to the power of this. */
export const mostRangeBits = 14
/** Numbers of each array that a scratch is kept with. */
const mostKept = 256 * 1024
/** Rooms for blocks that a scratch is kept with. */
const mostBlocks = 256

export class Scratch {
  /** What rows of a range have got so far; between two ranges all is 0. */
  readonly sums = new Float64Array(1 << mostRangeBits)
  /** A bit for each row that has got something, be it 0. */
  readonly touched = new Uint32Array(1 << (mostRangeBits - 5))
  #numbers = new Float64Array(4096)
  #usedNumbers = 0
  #places = new Uint32Array(4096)
  #usedPlaces = 0
  readonly #blocks: BlockRoom[] = []
  #usedBlocks = 0

  /** Room for a block of postings. */
  block(): BlockRoom {
    const at = this.#usedBlocks++
    if (at < this.#blocks.length) return this.#blocks[at]!
    const room = newBlockRoom()
    if (at < mostBlocks) this.#blocks.push(room)
    return room
  }

  /** Room for so many numbers: where it begins in an array that has others, too. What is there means nothing. */
  numbers(count: number): { readonly array: Float64Array; readonly from: number } {
    if (this.#usedNumbers + count > this.#numbers.length) {
      // Who has room in the one before keeps that.
      this.#numbers = new Float64Array(2 * this.#numbers.length + count)
      this.#usedNumbers = 0
    }
    const from = this.#usedNumbers
    this.#usedNumbers += count
    return { array: this.#numbers, from }
  }

  /** The same for places. */
  places(count: number): { readonly array: Uint32Array; readonly from: number } {
    if (this.#usedPlaces + count > this.#places.length) {
      this.#places = new Uint32Array(2 * this.#places.length + count)
      this.#usedPlaces = 0
    }
    const from = this.#usedPlaces
    this.#usedPlaces += count
    return { array: this.#places, from }
  }

  /** For the next search. A scratch that is not given back, because its search failed, is left to the collector. */
  giveBack(): void {
    this.#usedNumbers = 0
    this.#usedPlaces = 0
    this.#usedBlocks = 0
    if (Math.max(this.#numbers.length, this.#places.length) <= mostKept) spare = this
  }
}

/** One is enough: searches that pause, so that others find none, take long anyway. */
let spare: Scratch | null = null

export function takeDesk(): Scratch {
  const scratch = spare ?? new Scratch()
  spare = null
  return scratch
}
