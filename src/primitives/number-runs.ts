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
    const starts: number[] = []
    const lengths: number[] = []
    for (let from = 0; from < numbers.length; ) {
      const first = numbers[from]!
      let to = from + 1
      while (to < numbers.length && numbers[to] === first + (to - from)) to++
      starts.push(first)
      lengths.push(to - from)
      from = to
    }
    return new NumberRuns(starts, lengths)
  }

  /** Null for bytes that `encode` does not give. */
  static decode(bytes: Uint8Array): NumberRuns | null {
    const starts: number[] = []
    const lengths: number[] = []
    let count = 0
    let end = 0
    for (let at = 0; at < bytes.length; ) {
      const gap = readVarint(bytes, at)
      if (gap === null) return null
      const rest = readVarint(bytes, gap.end)
      if (rest === null) return null
      at = rest.end
      const start = end + gap.value
      const length = rest.value + 1
      end = start + length
      count += length
      const touches = gap.value === 0 && starts.length > 0
      if (touches || !Number.isSafeInteger(end) || count > 0xffff_ffff) return null
      starts.push(start)
      lengths.push(length)
    }
    return new NumberRuns(starts, lengths)
  }

  encode(): Uint8Array {
    const bytes: number[] = []
    let end = 0
    for (let run = 0; run < this.starts.length; run++) {
      const start = this.starts[run]!
      const length = this.ranks[run + 1]! - this.ranks[run]!
      writeVarint(bytes, start - end)
      writeVarint(bytes, length - 1)
      end = start + length
    }
    return Uint8Array.from(bytes)
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

function writeVarint(bytes: number[], value: number): void {
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  bytes.push(rest)
}

/** Null where none stands that is below 2^53. */
function readVarint(
  bytes: Uint8Array,
  from: number,
): { readonly value: number; readonly end: number } | null {
  let value = 0
  let factor = 1
  for (let at = from; at < bytes.length && factor <= 2 ** 49; at++, factor *= 128) {
    const byte = bytes[at]!
    value += (byte % 128) * factor
    if (byte < 128) return Number.isSafeInteger(value) ? { value, end: at + 1 } : null
  }
  return null
}
