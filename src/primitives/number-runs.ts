/**
 * Ascending, distinct integers from 0 to 2^53 - 1, stored as runs of consecutive numbers, for example row ids of a
 * fragment or offsets of deleted rows. A run needs a few bytes, whatever its length.
 *
 * Encoding: two LEB128 varints per run. The first varint is the gap between the previous run (for the first run: 0) and
 * this run. The second varint is the length of the run minus one.
 */
import { firstFrom, partitionPoint } from './partition-point.js'
import { cutIntoRuns, RunSequence } from './run-sequence.js'
import { VarintReader, varintBytes, writeVarint } from './varint.js'

/** A sorted set of numbers as runs. The runs ascend. They do not overlap, and there is a gap between two runs. */
export class NumberRuns extends RunSequence {
  /** Create a set with one run of `count` numbers that starts with `first`. */
  static range(first: number, count: number): NumberRuns {
    return count === 0 ? new NumberRuns([], []) : new NumberRuns([first], [count])
  }

  /** Create runs of `numbers`, which must ascend and be distinct. */
  static of(numbers: ArrayLike<number>): NumberRuns {
    const { starts, lengths } = cutIntoRuns(numbers)
    return new NumberRuns(starts, lengths)
  }

  /** Decode bytes. Returns null if `encode` cannot have written them. */
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
      // An invalid varint is read as NaN. The comparison is written so that it refuses NaN.
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

  get isAscending(): boolean {
    return true
  }

  bounds(): readonly [least: number, greatest: number] {
    return [this.at(0), this.at(this.count - 1)]
  }

  /** Return the number of members that are less than `number`. */
  rankOf(number: number): number {
    const { starts, ranks } = this
    const run = partitionPoint(starts.length, i => starts[i]! < number) - 1
    return run < 0 ? 0 : Math.min(ranks[run]! + (number - starts[run]!), ranks[run + 1]!)
  }

  has(number: number): boolean {
    const rank = this.rankOf(number)
    return rank < this.count && this.at(rank) === number
  }

  /**
   * Return the ranks (positions in this set) of the members of `numbers` that this set contains. `numbers` must ascend.
   * Takes O(m log n), where m is the length of the shorter sequence and n the length of the longer sequence.
   */
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

  *rangesBetween(least: number, greatest: number): Generator<readonly [from: number, to: number]> {
    const [from, to] = [this.rankOf(least), this.rankOf(greatest + 1)]
    if (from < to) yield [from, to]
  }
}
