/** Finds the slot that was the newest at a given time, using the times in slots. */
import { type SlotReader, SlotTrimmed } from '../commit/slots.js'

/**
 * Return the newest slot after `first` and up to `last` whose time is not after `ts` (milliseconds since 1970). Returns
 * `first` if there is none. Trimmed slots count as older. Uses binary search, so it reads only a few slots.
 */
export async function newestSlotAt(
  slots: SlotReader,
  first: number,
  last: number,
  ts: number,
  signal?: AbortSignal,
): Promise<number> {
  let [low, high] = [first, last]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((await timeOf(slots, middle, signal)) <= ts) low = middle
    else high = middle - 1
  }
  return low
}

async function timeOf(slots: SlotReader, number: number, signal: AbortSignal | undefined): Promise<number> {
  try {
    return (await slots.get(number, signal)).header.ts
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof SlotTrimmed) return Number.NEGATIVE_INFINITY
    throw error
  }
}
