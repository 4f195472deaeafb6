/**
 * Distinct integers from 0 to 2^53 - 1 in a fixed order, stored as runs of consecutive numbers. An example is the row
 * ids of a fragment in the order of the rows.
 */
import { partitionPoint } from './partition-point.js'

/** A sequence of numbers, stored as runs. */
export abstract class RunSequence {
  /** The first number of each run. */
  readonly starts: Float64Array
  /** For each run, the number of earlier numbers of the sequence. An additional last element is the total. */
  readonly ranks: Uint32Array

  /** `starts` and `lengths`: the first number and the length of each run. Lengths must be greater than 0. */
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

  /** Whether each number is greater than the previous number. */
  abstract get isAscending(): boolean

  /** Return the smallest and the greatest number. The sequence must not be empty. */
  abstract bounds(): readonly [least: number, greatest: number]

  /** Return the positions in this sequence of the members of `numbers` that it contains. `numbers` must ascend. */
  abstract ranksOf(numbers: Float64Array): Uint32Array

  /**
   * Yield the ranges of positions `[from, to)` at which there are numbers from `least` to `greatest`, both inclusive.
   */
  abstract rangesBetween(least: number, greatest: number): Iterable<readonly [from: number, to: number]>

  #runOf(rank: number): number {
    return partitionPoint(this.starts.length, run => this.ranks[run + 1]! <= rank)
  }
}

/** Split numbers into runs of consecutive numbers. The runs are as long as possible. */
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
