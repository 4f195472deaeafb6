/**
 * Storage of named byte sequences (blobs). Sheaf reads and writes disks and object stores only through this interface.
 *
 * - A key is a relative path with '/' separators (storage/key). Keys under `_tmp/` belong to the store: calls with such
 *   a key fail, and `list` never shows them.
 * - A blob never changes after it is written, except through `delete`. Use `put` for names that no other writer uses
 *   (they contain a uuid): `put` fails if the name exists, and never overwrites. Use `putIfAbsent` for every name that
 *   several writers may want.
 * - A resolved write is durable: content and name survive a power loss. A delete may be undone by a power loss.
 * - A write that throws a `SheafError` did not happen, unless the error is `Ambiguous`. After any other error the write
 *   may have happened.
 * - A reader never sees part of a blob: a key is absent, or its blob is complete.
 * - `list` yields keys in byte order.
 * - Every call honours `signal`: it rejects with `signal.reason`, and may or may not have taken effect.
 * - Every call ends: a store that waits for a network sets its own timeouts.
 */
import { ErrorCode, SheafError } from '../errors.js'
import { shareClass } from '../primitives/shared-state.js'
import type { MaybePromise } from '../primitives/task.js'
import type { Processes } from './processes.js'

/**
 * `ServiceUnavailable`: the store does not know the outcome of a write. The write may or may not have happened, and may
 * not survive a power loss.
 */
export class Ambiguous extends SheafError {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(ErrorCode.ServiceUnavailable, message, {
      hint: 'check the store, then open the root again',
      ...options,
    })
  }
}
shareClass(Ambiguous, 'Ambiguous')

/** The size and age of a blob. `size` is in bytes. */
export interface BlobInfo {
  readonly key: string
  readonly size: number
  /** When the blob was last written, by the clock of the store, in milliseconds since 1970. */
  readonly modified: number
}

/** Identifies the content of a key: a replaced blob has a different mark. */
export interface BlobMark {
  readonly ino: number
  readonly mtimeMs: number
  readonly size: number
}

/** Return whether two marks belong to the same blob. */
export function isSameBlob(a: BlobMark, b: BlobMark): boolean {
  return a.ino === b.ino && a.mtimeMs === b.mtimeMs && a.size === b.size
}

/**
 * The bytes of a blob from `offset` on, to be read into `target`. The length of `target` is the length of the range.
 */
export interface ByteRange {
  readonly offset: number
  readonly target: Uint8Array
}

/** A store of blobs. The head of this file lists what every implementation must guarantee. */
export interface BlobStore {
  /** The name of this store in messages: a directory, or `memory://`. */
  readonly name: string
  /** Return the whole blob, or null if the key is absent. */
  get(key: string, signal?: AbortSignal): Promise<Uint8Array | null>
  /**
   * Return `length` bytes from `offset` on. Throws `Internal` if the blob is missing or ends before the range, and
   * never returns fewer bytes.
   */
  getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>
  /**
   * Fill `target` from `offset` on, without a copy where the store can. Throws like `getRange`. The store does not
   * write to `target` after the call has resolved or rejected.
   */
  readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void>
  /**
   * Fill the targets of several ranges of one blob. Returns synchronously if that takes about a millisecond at most.
   * Otherwise the store reads the ranges concurrently, as far as it can. Errors (thrown or rejected) and the use of the
   * targets are those of `readInto`. If one range fails, the targets of other ranges may be filled.
   */
  readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void>
  /** Write a new blob. Throws `Internal` if the key exists. */
  put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>
  /**
   * Like `put`, but from chunks, without holding all of them in memory. The store may request further chunks before it
   * has written the earlier ones, so chunks must not change. If `chunks` throws, nothing becomes visible.
   */
  putStream(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<void>
  /**
   * Write the blob unless the key exists. Exactly one of any number of concurrent callers wins. Throws `Ambiguous` if
   * the outcome is unknown.
   */
  putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'>
  /** Return the size and age of a blob, or null if the key is absent. */
  stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null>
  /** List the blobs whose key starts with `prefix`, after `startAfter` (exclusive), in byte order of the keys. */
  list(prefix: string, startAfter?: string, signal?: AbortSignal): AsyncIterable<BlobInfo>
  /** Delete a blob. Deleting an absent key succeeds. */
  delete(key: string, signal?: AbortSignal): Promise<void>
  /**
   * Make the names of all blobs directly below `prefix` durable, also those that other processes wrote. Only in stores
   * where a blob can be visible before its name is on disk.
   */
  sync?(prefix: string): Promise<void>
  /**
   * Return the mark of a blob, or null if the key is absent. Synchronous; only in stores where that takes microseconds
   * (local disk, memory).
   */
  peek?(key: string): BlobMark | null
  /** Tells which processes that use the store are alive, as far as this machine can tell. */
  readonly processes?: Processes
}
