/** Which slot was the newest at some time, by the time in the slots themselves. */
import { type SlotReader, SlotTrimmed } from '../commit/slots.js'

/**
 * The newest of slots `first + 1` to `last` that is not after `ts`, or `first`. Slots that are not there any more are taken to
 * be before it. Reads as many slots as their number has bits.
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
