/** Distinct whole numbers below 2^53 in some order, as runs: the ids of a fragment's rows, by offset. */
import { partitionPoint } from './partition-point.js'

export abstract class RunSequence {
  /** The first number of every run. */
  readonly starts: Float64Array
  /** How many numbers come before every run; at the end, how many there are. */
  readonly ranks: Uint32Array

  /** None of the runs is empty. */
  constructor(starts: ArrayLike<number>, lengths: ArrayLike<number>) {
    this.starts = Float64Array.from(starts)
    this.ranks = new Uint32Array(lengths.length + 1)
    for (let run = 0; run < lengths.length; run++) this.ranks[run + 1] = this.ranks[run]! + lengths[run]!
  }

  get count(): number {
    return this.ranks[this.starts.length]!
  }

  /** The number with `rank` numbers before it; there is one. */
  at(rank: number): number {
    const run = this.#runOf(rank)
    return this.starts[run]! + (rank - this.ranks[run]!)
  }

  /** Writes the numbers with `from` to `to - 1` numbers before them to the beginning of `target`. */
  copy(from: number, to: number, target: Uint32Array | Float64Array): void {
    let at = from
    for (let run = from < to ? this.#runOf(from) : 0; at < to; run++) {
      const shift = this.starts[run]! - this.ranks[run]!
      const end = Math.min(this.ranks[run + 1]!, to)
      for (; at < end; at++) target[at - from] = shift + at
    }
  }

  /** Whether each number is greater than the one before. */
  abstract get isAscending(): boolean

  /** The least and the greatest; there are some. */
  abstract bounds(): readonly [least: number, greatest: number]

  /** How many numbers come before those of `numbers`, ascending, that are among these. */
  abstract ranksOf(numbers: Float64Array): Uint32Array

  /** The numbers from `least` to `greatest`, both inclusive, by how many come before them: ranges, ends exclusive. */
  abstract rangesBetween(least: number, greatest: number): Iterable<readonly [from: number, to: number]>

  #runOf(rank: number): number {
    return partitionPoint(this.starts.length, run => this.ranks[run + 1]! <= rank)
  }
}

/** Numbers cut into runs, each as long as it can be. */
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
