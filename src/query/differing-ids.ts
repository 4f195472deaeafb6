/** Merges the row ids of two versions into lists of added, removed and moved rows. */
import type { Pacer } from '../primitives/pacer.js'
import { sortedByNumbers } from '../primitives/radix.js'

/** Row ids, each list ascending. */
export interface DifferingIds {
  readonly added: Float64Array
  readonly removed: Float64Array
  /** Ids that are in both compared lists. */
  readonly both: Float64Array
}

/** Number of ids that are processed between two checks whether to let the event loop run. */
const rowsAtOnce = 64 * 1024

/** Convert row ids to numbers. This is exact because all ids are below 2^53. */
export function idNumbers(ids: BigUint64Array): Float64Array {
  const halves = new Uint32Array(ids.buffer, ids.byteOffset, 2 * ids.length)
  const numbers = new Float64Array(ids.length)
  for (let i = 0; i < numbers.length; i++) numbers[i] = halves[2 * i + 1]! * 2 ** 32 + halves[2 * i]!
  return numbers
}

/** Join pages of ids into one ascending list. */
export async function ascendingIds(pages: readonly Float64Array[], pacer: Pacer): Promise<Float64Array> {
  const count = pages.reduce((sum, page) => sum + page.length, 0)
  const ids = new Float64Array(count)
  let at = 0
  let isSorted = true
  for (const page of pages) {
    ids.set(page, at)
    for (let i = Math.max(1, at); i < at + page.length; i++) isSorted &&= ids[i - 1]! < ids[i]!
    at += page.length
    await pacer.turn()
  }
  if (isSorted) return ids
  const order = await sortedByNumbers(ids, pacer)
  const sorted = new Float64Array(count)
  for (let from = 0; from < count; from += rowsAtOnce) {
    const to = Math.min(count, from + rowsAtOnce)
    for (let i = from; i < to; i++) sorted[i] = ids[order[i]!]!
    await pacer.turn()
  }
  return sorted
}

/** Compare two ascending lists of ids: of the older version (`from`) and of the newer version (`to`). */
export async function differingIds(
  from: Float64Array,
  to: Float64Array,
  pacer: Pacer,
): Promise<DifferingIds> {
  const added = new Float64Array(to.length)
  const removed = new Float64Array(from.length)
  const both = new Float64Array(Math.min(from.length, to.length))
  let [adds, removes, shared] = [0, 0, 0]
  for (let i = 0, j = 0; i < from.length || j < to.length; ) {
    const end = i + j + rowsAtOnce
    for (; i + j < end && (i < from.length || j < to.length); ) {
      if (j === to.length || from[i]! < to[j]!) removed[removes++] = from[i++]!
      else if (i === from.length || to[j]! < from[i]!) added[adds++] = to[j++]!
      else {
        both[shared++] = from[i++]!
        j++
      }
    }
    await pacer.turn()
  }
  return { added: added.slice(0, adds), removed: removed.slice(0, removes), both: both.slice(0, shared) }
}
