/** Reads consecutive slots of the log, several at a time. */
import type { BlobMark } from '../storage/blob-store.js'
import type { CommitLog } from './commit-log.js'

/** Consecutive slots; null: missing. */
interface SlotRun {
  readonly found: (Uint8Array | null)[]
  /** The mark of the last slot's blob, taken before its read; null if unknown. */
  readonly mark: BlobMark | null
}

/**
 * Read up to `window` slots from `first` on. If the log has `peek`, read those that exist. If `first` is missing, read
 * the next slot, to detect a gap.
 *
 * Slots are trimmed in ascending order. So if the slot before `first` still exists afterwards, all the slots read are
 * part of the log.
 */
export async function readSlots(
  log: CommitLog,
  first: number,
  window: number,
  signal: AbortSignal | undefined,
): Promise<SlotRun> {
  if (log.peek === undefined) {
    const reads = Array.from({ length: window }, (_, i) => log.read(first + i, signal))
    return { found: await Promise.all(reads), mark: null }
  }
  const found: (Uint8Array | null)[] = []
  let mark: BlobMark | null = null
  while (found.length < window) {
    const next = log.peek(first + found.length)
    if (next === null) break
    mark = next
    found.push(await log.read(first + found.length, signal))
  }
  if (found.length > 0) return { found, mark }
  const later = log.peek(first + 1) === null ? [] : [await log.read(first + 1, signal)]
  return { found: [null, ...later], mark: null }
}
