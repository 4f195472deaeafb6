/**
 * Ascending, distinct whole numbers below 2^53 as runs: row ids of a fragment, offsets of dead rows. Numbers that follow
 * each other cost nothing, a gap a few bytes.
 *
 * As bytes: for every run two varints (LEB128): how many numbers are left out since the run before (before the first:
 * from 0 on), and its length less one.
 */
import { partitionPoint } from './partition-point.js'

export class NumberRuns {
  /** The first number of every run. */
  readonly starts: Float64Array
  /** How many numbers come before every run; at the end, how many there are. */
  readonly ranks: Uint32Array

  /** Runs that neither touch nor overlap, ascending, none of them empty. */
  constructor(starts: ArrayLike<number>, lengths: ArrayLike<number>) {
    this.starts = Float64Array.from(starts)
    this.ranks = new Uint32Array(lengths.length + 1)
    for (let run = 0; run < lengths.length; run++) this.ranks[run + 1] = this.ranks[run]! + lengths[run]!
  }

  /** `first`, and as many less one that follow it. */
  static range(first: number, count: number): NumberRuns {
    return count === 0 ? new NumberRuns([], []) : new NumberRuns([first], [count])
  }

  /** `numbers` are ascending and distinct. */
  static of(numbers: ArrayLike<number>): NumberRuns {
    let runs = numbers.length === 0 ? 0 : 1
    for (let i = 1; i < numbers.length; i++) if (numbers[i] !== numbers[i - 1]! + 1) runs++
    const starts = new Float64Array(runs)
    const lengths = new Float64Array(runs)
    let run = -1
    for (let i = 0; i < numbers.length; i++) {
      if (i === 0 || numbers[i] !== numbers[i - 1]! + 1) starts[++run] = numbers[i]!
      lengths[run]! += 1
    }
    return new NumberRuns(starts, lengths)
  }

  /** Null for bytes that `encode` does not give. */
  static decode(bytes: Uint8Array): NumberRuns | null {
    const most = bytes.length >>> 1
    const starts = new Float64Array(most)
    const lengths = new Float64Array(most)
    const reader = new VarintReader(bytes)
    let runs = 0
    let count = 0
    let end = 0
    for (; reader.at < bytes.length; runs++) {
      const gap = reader.next()
      const length = reader.next() + 1
      const touches = gap === 0 && runs > 0
      count += length
      // What is no varint is NaN, and makes all of these so.
      if (touches || !(end + gap + length <= Number.MAX_SAFE_INTEGER) || count > 0xffff_ffff) return null
      starts[runs] = end + gap
      lengths[runs] = length
      end += gap + length
    }
    return new NumberRuns(starts.subarray(0, runs), lengths.subarray(0, runs))
  }

  encode(): Uint8Array {
    const { starts, ranks } = this
    const gapBefore = (run: number) => {
      return run === 0 ? starts[0]! : starts[run]! - starts[run - 1]! - (ranks[run]! - ranks[run - 1]!)
    }
    let size = 0
    for (let run = 0; run < starts.length; run++) {
      size += varintBytes(gapBefore(run)) + varintBytes(ranks[run + 1]! - ranks[run]! - 1)
    }
    const bytes = new Uint8Array(size)
    let at = 0
    for (let run = 0; run < starts.length; run++) {
      at = writeVarint(bytes, at, gapBefore(run))
      at = writeVarint(bytes, at, ranks[run + 1]! - ranks[run]! - 1)
    }
    return bytes
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

  /** How many of the numbers are less than `number`. */
  rankOf(number: number): number {
    const { starts, ranks } = this
    const run = partitionPoint(starts.length, i => starts[i]! < number) - 1
    return run < 0 ? 0 : Math.min(ranks[run]! + (number - starts[run]!), ranks[run + 1]!)
  }

  has(number: number): boolean {
    const rank = this.rankOf(number)
    return rank < this.count && this.at(rank) === number
  }

  /** The ranks of those of `numbers`, ascending, that are among these. Costs the shorter of the two, times a logarithm. */
  ranksOf(numbers: Float64Array): Uint32Array {
    const { starts, ranks } = this
    const found = new Uint32Array(Math.min(numbers.length, this.count))
    let count = 0
    for (let i = 0, run = 0; i < numbers.length && run < starts.length; ) {
      const number = numbers[i]!
      const start = starts[run]!
      const rank = ranks[run]! + (number - start)
      if (number < start) i = firstFrom(numbers, i + 1, start)
      else if (rank >= ranks[run + 1]!) run = Math.max(run + 1, firstFrom(starts, run + 1, number + 1) - 1)
      else {
        found[count++] = rank
        i++
      }
    }
    return found.subarray(0, count)
  }

  #runOf(rank: number): number {
    return partitionPoint(this.starts.length, run => this.ranks[run + 1]! <= rank)
  }
}

/** The first of `values`, ascending, that is at least `least`, looked for from number `from` on in growing steps. */
function firstFrom(values: Float64Array, from: number, least: number): number {
  let low = from
  let step = 1
  while (low + step <= values.length && values[low + step - 1]! < least) {
    low += step
    step *= 2
  }
  let high = Math.min(values.length, low + step - 1)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** Gives the place after it. */
function writeVarint(bytes: Uint8Array, from: number, value: number): number {
  let at = from
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) + 128
  bytes[at++] = rest
  return at
}

class VarintReader {
  readonly #bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** NaN where none stands that is below 2^53; then there is nothing more to be read. */
  next(): number {
    let value = 0
    for (let factor = 1; this.at < this.#bytes.length && factor <= 2 ** 49; factor *= 128) {
      const byte = this.#bytes[this.at++]!
      value += (byte % 128) * factor
      if (byte < 128) return Number.isSafeInteger(value) ? value : Number.NaN
    }
    return Number.NaN
  }
}
