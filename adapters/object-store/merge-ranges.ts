/** Joins ranges that are near each other, because a request to object storage takes longer than some needless bytes. */
import type { ByteRange } from '../../src/storage/blob-store.js'

/** Ranges that one request reads: `length` bytes from `offset` on. */
interface MergedRange {
  readonly offset: number
  readonly length: number
  readonly ranges: readonly ByteRange[]
}

/** Maximum number of needless bytes between two joined ranges. They arrive in about the time of a request. */
const gapMax = 128 * 1024
/** Maximum size of joined ranges. Larger reads are faster as several concurrent requests. */
const mergedMax = 8 * 1024 * 1024

/** Join ranges. The result is in the order of the offsets. */
export function mergeRanges(ranges: readonly ByteRange[]): MergedRange[] {
  const merged: { offset: number; length: number; ranges: ByteRange[] }[] = []
  for (const range of ranges.toSorted((a, b) => a.offset - b.offset)) {
    const { offset, target } = range
    const last = merged.at(-1)
    const end = offset + target.length
    if (
      last !== undefined &&
      offset <= last.offset + last.length + gapMax &&
      end <= last.offset + mergedMax
    ) {
      last.length = Math.max(last.length, end - last.offset)
      last.ranges.push(range)
    } else {
      merged.push({ offset, length: target.length, ranges: [range] })
    }
  }
  return merged
}
