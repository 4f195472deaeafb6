/** Reads consecutive slots of the log, several at a time. */
import type { BlobMark } from '../storage/blob-store.js'
import type { CommitLog, SlotRun } from './commit-log.js'
import { mayHaveTail } from './slot.js'

/**
 * Read up to `window` slots from slot `first` on. If the log has `peek`, only read slots that exist. If `first` does
 * not exist, read the slot after it, so that the caller can detect a missing slot.
 *
 * The log may be trimmed meanwhile, and a trimmed slot may be written again by mistake. Slots are trimmed in ascending
 * order. So if the slot before `first` still exists after the call, all slots that were read are part of the log.
 */
export async function readSlots(
  log: CommitLog,
  first: number,
  window: number,
  signal: AbortSignal | undefined,
): Promise<SlotRun> {
  if (log.peek === undefined) {
    const together = await log.readTogether?.(first, window, signal)
    if (together != null) return together
    const found = await Promise.all(Array.from({ length: window }, (_, i) => log.read(first + i, signal)))
    // A slot may be in a tail that was unknown until the slot before it was read.
    for (let i = 1; i < window && found[i - 1] !== null; i++) {
      if (mayHaveTail(found[i - 1]!) || log.inTail?.(first + i - 1) === true)
        found[i] ??= await log.read(first + i, signal)
    }
    return { found, mark: null }
  }
  const found: (Uint8Array | null)[] = []
  let mark: BlobMark | null = null
  while (found.length < window) {
    const number = first + found.length
    const next = log.peek(number)
    if (next === null) break
    const together = await log.readTogether?.(number, window - found.length, signal)
    mark = together == null ? next : together.mark
    if (together == null) found.push(await log.read(number, signal))
    else found.push(...together.found)
  }
  if (found.length > 0) return { found, mark }
  const later = log.peek(first + 1) === null ? [] : [await log.read(first + 1, signal)]
  return { found: [null, ...later], mark: null }
}
