import type { BlobMark } from '../storage/blob-store.js'

/**
 * The only coordination point of a root: numbered slots, each written once.
 *
 * - Slots are appended in order; slot N+1 is written only by a writer that has applied slot N.
 * - Slots that are trimmed go in ascending order, so a slot is there as long as the one before it is; but slot 0 stays.
 * - A written slot never changes. `won` means durable.
 * - Reads see every append that was answered before they began, and `taken` only answers a slot that can be read.
 */
export interface CommitLog {
  /** The bytes of a slot, or null when it is not there (not written yet, or trimmed). */
  read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null>
  /**
   * Throws `Ambiguous` (storage/blob-store) when the outcome is unknown, another `SheafError` when nothing was written. After any other error the
   * outcome is unknown. Takes no signal: once it began, it ends.
   */
  append(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'>
  /**
   * Makes durable that the slots are there which can be read, where a slot can be read before it is durable: its writer may die before it
   * is. Nothing may be answered or built on one before that.
   */
  sync?(): Promise<void>
  /** Whether a slot exists; with `crc`: the one that has that checksum. */
  has(slot: number, crc?: number, signal?: AbortSignal): Promise<boolean>
  /** Takes a slot out of the log: one that is trimmed, or a mistake. */
  remove(slot: number): Promise<void>
  /** Whether a slot exists, and which, synchronously, where that costs microseconds; null when it does not. */
  peek?(slot: number): BlobMark | null
  /**
   * The largest slot number after `after` (default -1: of all) at the moment of the call, or `after` when there is
   * none. Throws corrupted when something else lies among the slots.
   */
  last(signal?: AbortSignal, after?: number): Promise<number>
}
