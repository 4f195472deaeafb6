import type { BlobMark } from '../storage/blob-store.js'

/**
 * The commit log of a root: numbered slots, each written once. All writers of a root coordinate through this log alone.
 *
 * - Slots are appended in order. A writer writes slot N+1 only after it has applied slot N.
 * - Slots are trimmed in ascending order, so a slot exists as long as the slot before it exists. Slot 0 is never
 *   trimmed.
 * - A written slot never changes. `won` means durable.
 * - A read sees every append that was answered before the read began.
 * - `append` answers `taken` only when the slot can be read.
 */
export interface CommitLog {
  /** Return the bytes of a slot, or null if the slot is not written yet or was trimmed. */
  read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null>
  /**
   * Write a slot. Takes no signal: an append that has begun runs to its end.
   *
   * Throws `Ambiguous` (storage/blob-store) when the outcome is unknown, and another `SheafError` when nothing was
   * written. After any other error the outcome is unknown.
   */
  append(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'>
  /**
   * Make all slots durable that can be read. Absent in logs whose slots are durable as soon as they can be read. Until
   * `sync` returns, a slot may vanish if its writer dies: do not answer from the slot or write after it.
   */
  sync?(): Promise<void>
  /** Return whether a slot exists. With `crc`, the slot must also have that checksum. */
  has(slot: number, crc?: number, signal?: AbortSignal): Promise<boolean>
  /** Delete a slot that is trimmed, or that was written by mistake. */
  remove(slot: number): Promise<void>
  /**
   * Return the mark of a slot's blob, or null if there is no such slot. Synchronous. Absent in logs where that takes
   * longer than microseconds.
   */
  peek?(slot: number): BlobMark | null
  /**
   * Return the largest slot number after `after`, or `after` if there is none. Default -1: of all slots. Throws
   * Internal ("corrupted") when the log's folder holds something that is not a slot.
   */
  last(signal?: AbortSignal, after?: number): Promise<number>
}
