/**
 * Distinct whole numbers below 2^53 in a fixed order, stored as runs. For example the ids of the rows of a fragment, by
 * offset.
 */
import { partitionPoint } from './partition-point.js'

/** A sequence of numbers, stored as runs. */
export abstract class RunSequence {
  /** The first number of each run. */
  readonly starts: Float64Array
  /** How many numbers precede each run. The last element is the total. */
  readonly ranks: Uint32Array

  /** Runs must not be empty. */
  constructor(starts: ArrayLike<number>, lengths: ArrayLike<number>) {
    this.starts = Float64Array.from(starts)
    this.ranks = new Uint32Array(lengths.length + 1)
    for (let run = 0; run < lengths.length; run++) this.ranks[run + 1] = this.ranks[run]! + lengths[run]!
  }

  get count(): number {
    return this.ranks[this.starts.length]!
  }

  /** Return the number at position `rank`, which must exist. */
  at(rank: number): number {
    const run = this.#runOf(rank)
    return this.starts[run]! + (rank - this.ranks[run]!)
  }

  /** Write the numbers at positions `from` to `to - 1` to the beginning of `target`. */
  copy(from: number, to: number, target: Uint32Array | Float64Array): void {
    let at = from
    for (let run = from < to ? this.#runOf(from) : 0; at < to; run++) {
      const shift = this.starts[run]! - this.ranks[run]!
      const end = Math.min(this.ranks[run + 1]!, to)
      for (; at < end; at++) target[at - from] = shift + at
    }
  }

  /** Whether each number is greater than the previous one. */
  abstract get isAscending(): boolean

  /** The least and the greatest number. The sequence must not be empty. */
  abstract bounds(): readonly [least: number, greatest: number]

  /** Return the positions of those `numbers` that this sequence contains. `numbers` must ascend. */
  abstract ranksOf(numbers: Float64Array): Uint32Array

  /** Yield the position ranges (end exclusive) of the numbers from `least` to `greatest`, both inclusive. */
  abstract rangesBetween(least: number, greatest: number): Iterable<readonly [from: number, to: number]>

  #runOf(rank: number): number {
    return partitionPoint(this.starts.length, run => this.ranks[run + 1]! <= rank)
  }
}

/** Split numbers into runs of maximal length. */
export function cutIntoRuns(numbers: ArrayLike<number>): {
  readonly starts: Float64Array
  readonly lengths: Float64Array
} {
  let runs = numbers.length === 0 ? 0 : 1
  for (let i = 1; i < numbers.length; i++) if (numbers[i] !== numbers[i - 1]! + 1) runs++
  const starts = new Float64Array(runs)
  const lengths = new Float64Array(runs)
  let run = -1
  for (let i = 0; i < numbers.length; i++) {
    if (i === 0 || numbers[i] !== numbers[i - 1]! + 1) starts[++run] = numbers[i]!
    lengths[run]! += 1
  }
  return { starts, lengths }
}
