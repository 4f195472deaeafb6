import type { BlobMark } from '../storage/blob-store.js'

/** Slots with consecutive numbers. */
export interface SlotRun {
  /** The bytes of each slot; null for a missing slot. */
  readonly found: (Uint8Array | null)[]
  /** The mark of the last slot's blob, determined before the slot was read; null if unknown. */
  readonly mark: BlobMark | null
  /**
   * The checksum of the slot before the run, read at the same moment as the run; null if this slot is missing. Absent:
   * unknown.
   */
  readonly before?: number | null
}

/**
 * The commit log of a root: numbered slots, each written once. All writers of a root coordinate through this log alone.
 *
 * - Slots are appended in order. A writer writes slot N+1 only after it has applied slot N.
 * - Slots are trimmed in ascending order. So if slot N exists, all later slots that were written exist too. Slot 0 is
 *   never trimmed.
 * - Some logs keep the names of trimmed slots (`trimmedTo`). There a trimmed slot cannot be written again, and the order of
 *   trims does not matter.
 * - A written slot never changes. When `append` answers `won`, the slot is durable.
 * - A read sees every slot whose `append` was answered before the read began.
 * - When `append` answers `taken`, a read finds the slot.
 */
export interface CommitLog {
  /**
   * The newest slot that `read` has found trimmed; 0 before. Only in logs that keep the names of trimmed slots. If `read`
   * returns null there for a slot after this one, the slot was never written.
   */
  readonly trimmedTo?: number | undefined
  /** Return the bytes of a slot, or null if the slot is not written yet or was trimmed. */
  read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null>
  /**
   * Write a slot. Takes no signal, because an append that has begun cannot be stopped.
   *
   * Throws `Ambiguous` (storage/blob-store) when the outcome is unknown. If it throws another `SheafError`, nothing was
   * written. After any other error the outcome is unknown.
   */
  append(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'>
  /**
   * Make all slots durable that can be read. Until `sync` returns, a slot may vanish if its writer dies. So callers
   * must not return results from such a slot, or write the next slot, before `sync` returns. Absent in logs whose slots
   * are durable as soon as they can be read.
   */
  sync?(): Promise<void>
  /** Return whether a slot exists. With `crc`, the slot must also have that checksum. */
  has(slot: number, crc?: number, signal?: AbortSignal): Promise<boolean>
  /** Remove a slot, because it is trimmed or was written by mistake. */
  remove(slot: number): Promise<void>
  /**
   * Return the mark of a slot's blob, or null if the slot does not exist. Synchronous. Absent in logs where this takes
   * longer than microseconds.
   */
  peek?(slot: number): BlobMark | null
  /**
   * Return the mark of a slot if this process appended it last, and the append has also checked that the slot before it
   * still exists. Otherwise return null. Takes no system call. In logs with tails, only for slots in the tail of this
   * process. Absent in logs whose appends do not check this.
   */
  markOfOwn?(slot: number): BlobMark | null
  /** Return whether a slot that was read is in a tail. Absent in logs without tails. */
  inTail?(slot: number): boolean
  /**
   * Return whether the next slot that this process appends may have a tail (commit/tail.ts). If so, the caller may encode
   * it with `mayHaveTail`. Absent in logs without tails.
   */
  startsTail?(): boolean
  /**
   * Return up to `count` slots from `first` on in one read, if the log can. Otherwise return null: then `read` returns
   * them. Absent in logs that read each slot alone.
   */
  readTogether?(first: number, count: number, signal?: AbortSignal): Promise<SlotRun | null>
  /**
   * Make slots readable that may have been acknowledged before a power loss. Call this before the first read. Returns what
   * `last` returns, or undefined if it did not list the log. Absent in logs where a read finds such slots.
   */
  settle?(signal?: AbortSignal): Promise<number | undefined>
  /**
   * Call `onNew` soon after each append of any process, and whenever appends may have been missed. So callers must also
   * look at the log from time to time. Returns a function that stops the calls. Absent in logs that cannot notify.
   */
  watch?(onNew: () => void): () => void
  /** Close the files or connections that the log keeps open. */
  close?(): void | Promise<void>
  /**
   * Return the number of the last slot. Lists only the slots after `after` (default -1: all slots), and returns `after`
   * if there are none. Throws Internal ("corrupted") if a file after the last slot is not a slot.
   */
  last(signal?: AbortSignal, after?: number): Promise<number>
}
