/**
 * Row ids in any order, stored as runs of consecutive numbers. Such a sequence occurs when rows of several fragments
 * are merged and stay in their order.
 *
 * Encoding: two varints per run. The first varint is the distance between the end of the previous run (for the first
 * run: 0) and the first number of this run. The second varint is 2 * (length - 1), plus 1 if the run starts before the
 * end of the previous run.
 */
import { NumberRuns } from './number-runs.js'
import { firstFrom } from './partition-point.js'
import { cutIntoRuns, RunSequence } from './run-sequence.js'
import { VarintReader, varintBytes, writeVarint } from './varint.js'

/** A sequence of numbers in any order, stored as runs. */
export class UnorderedRuns extends RunSequence {
  /** The runs, sorted by their first number. Computed at the first use. */
  #order: { readonly runs: Uint32Array; readonly starts: Float64Array } | undefined

  /** Create runs of `numbers`, which must be distinct. */
  static of(numbers: ArrayLike<number>): UnorderedRuns {
    const { starts, lengths } = cutIntoRuns(numbers)
    return new UnorderedRuns(starts, lengths)
  }

  /**
   * Decode bytes. Returns null if `encode` cannot have written them. Does not check whether the numbers are distinct.
   */
  static decode(bytes: Uint8Array): UnorderedRuns | null {
    const most = bytes.length >>> 1
    const starts = new Float64Array(most)
    const lengths = new Float64Array(most)
    const reader = new VarintReader(bytes)
    let runs = 0
    let count = 0
    let end = 0
    for (; reader.at < bytes.length; runs++) {
      const distance = reader.next()
      const signed = reader.next()
      const length = Math.floor(signed / 2) + 1
      const start = signed % 2 === 0 ? end + distance : end - distance
      count += length
      // An invalid varint is read as NaN. The comparison is written so that it refuses NaN.
      if (!(start >= 0 && start + length <= Number.MAX_SAFE_INTEGER && count <= 0xffff_ffff)) return null
      starts[runs] = start
      lengths[runs] = length
      end = start + length
    }
    return new UnorderedRuns(starts.subarray(0, runs), lengths.subarray(0, runs))
  }

  encode(): Uint8Array {
    const { starts, ranks } = this
    const varints = new Float64Array(2 * starts.length)
    let size = 0
    for (let run = 0, end = 0; run < starts.length; run++) {
      const length = ranks[run + 1]! - ranks[run]!
      const distance = starts[run]! - end
      varints[2 * run] = Math.abs(distance)
      varints[2 * run + 1] = 2 * (length - 1) + (distance < 0 ? 1 : 0)
      size += varintBytes(varints[2 * run]!) + varintBytes(varints[2 * run + 1]!)
      end = starts[run]! + length
    }
    const bytes = new Uint8Array(size)
    let at = 0
    for (const value of varints) at = writeVarint(bytes, at, value)
    return bytes
  }

  get isAscending(): boolean {
    return false
  }

  bounds(): readonly [least: number, greatest: number] {
    let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (let run = 0; run < this.starts.length; run++) {
      const start = this.starts[run]!
      least = Math.min(least, start)
      greatest = Math.max(greatest, start + this.#lengthOf(run) - 1)
    }
    return [least, greatest]
  }

  ranksOf(numbers: Float64Array): Uint32Array {
    const { runs, starts } = this.#ordered()
    const found = new Uint32Array(Math.min(numbers.length, this.count))
    let count = 0
    for (let i = 0, at = 0; i < numbers.length && at < starts.length; ) {
      const number = numbers[i]!
      const within = number - starts[at]!
      if (within < 0) i = firstFrom(numbers, i + 1, starts[at]!)
      else if (within >= this.#lengthOf(runs[at]!))
        at = Math.max(at + 1, firstFrom(starts, at + 1, number + 1) - 1)
      else {
        found[count++] = this.ranks[runs[at]!]! + within
        i++
      }
    }
    return found.subarray(0, count)
  }

  *rangesBetween(least: number, greatest: number): Generator<readonly [from: number, to: number]> {
    for (let run = 0; run < this.starts.length; run++) {
      const [start, rank] = [this.starts[run]!, this.ranks[run]!]
      const from = Math.max(0, least - start)
      const to = Math.min(this.#lengthOf(run), greatest + 1 - start)
      if (from < to) yield [rank + from, rank + to]
    }
  }

  #lengthOf(run: number): number {
    return this.ranks[run + 1]! - this.ranks[run]!
  }

  #ordered(): { readonly runs: Uint32Array; readonly starts: Float64Array } {
    if (this.#order === undefined) {
      const { starts } = this
      const runs = Uint32Array.from(starts, (_, run) => run).sort((a, b) => starts[a]! - starts[b]!)
      this.#order = { runs, starts: Float64Array.from(runs, run => starts[run]!) }
    }
    return this.#order
  }
}

/** Create a sequence of distinct numbers: `NumberRuns` if the numbers ascend, otherwise `UnorderedRuns`. */
export function runSequence(numbers: ArrayLike<number>): NumberRuns | UnorderedRuns {
  for (let i = 1; i < numbers.length; i++) {
    if (numbers[i]! < numbers[i - 1]!) return UnorderedRuns.of(numbers)
  }
  return NumberRuns.of(numbers)
}
