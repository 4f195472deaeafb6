/**
 * Storage of named byte sequences (blobs). Sheaf reads and writes disks and object stores only through this interface.
 *
 * - A key is a relative path with '/' separators (storage/key). Keys under `_tmp/` belong to the store: calls with such
 *   a key fail, and `list` never shows them.
 * - A blob never changes after it is written, except through `openInPlace` and `replace`, and `delete` is the only way to
 *   remove it. Use `put` for names that no other writer uses, because they contain a uuid: `put` fails if the name
 *   exists. Use `putIfAbsent` for every name that several writers may want to write.
 * - When a write resolves, the blob is durable: its content and its name survive a power loss. A power loss may undo a
 *   delete.
 * - If a write throws a `SheafError`, nothing was written, unless the error is `Ambiguous`. After any other error the
 *   blob may have been written.
 * - A reader never sees a part of a blob. Either the key is absent, or its blob is complete.
 * - `list` yields keys in byte order.
 * - Every call stops when `signal` fires, and rejects with `signal.reason`. A write or delete may or may not have
 *   happened.
 * - Every call ends. A store that waits for a network sets its own timeouts.
 */
import { ErrorCode, SheafError } from '../errors.js'
import { shareClass } from '../primitives/shared-state.js'
import type { MaybePromise } from '../primitives/task.js'
import type { Processes } from './processes.js'
import type { RequestMeter } from './request-meter.js'

/**
 * The error (`ServiceUnavailable`) of a write whose outcome the store does not know. The write may or may not have
 * happened, and may not survive a power loss.
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

/** The size and age of a blob. `size`: in bytes. */
export interface BlobInfo {
  readonly key: string
  readonly size: number
  /** The time when the blob was written, by the clock of the store, in milliseconds since 1970. */
  readonly modified: number
}

/** Identifies the blob under a key. If the blob is deleted and another one is written, the mark differs. */
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
 * A blob that one process fills in place, while other processes read it. It is written like any other blob, usually
 * with zeros, so its name and its size are durable before it is opened. Its size never changes.
 */
export interface BlobInPlace {
  readonly size: number
  /** Identifies the blob, as in its `BlobMark`. */
  readonly ino: number
  /** Fill `target` with the bytes from `offset` on. Sees every earlier write of every process. */
  read(offset: number, target: Uint8Array): void
  /** Write bytes at `offset`. Readers see them at once. They survive a power loss only after `sync`. */
  write(offset: number, bytes: Uint8Array): void
  /** Make all earlier writes of this process durable. After an error, they may be lost, and another `sync` may not report it. */
  sync(): Promise<void>
  close(): void
}

/** A range of bytes to read: from `offset` on, as many bytes as `target` has. They are written to `target`. */
export interface ByteRange {
  readonly offset: number
  readonly target: Uint8Array
}

/** A store of blobs. The head of this file lists what every implementation must guarantee. */
export interface BlobStore {
  /** The name of this store in messages: a directory, or `memory://`. */
  readonly name: string
  /**
   * The address of this store, which no other store of the world has. Only in object storage. With it, `connect` may open a
   * root from the state in `cacheDir`.
   */
  readonly address?: string
  /** Return the whole blob, or null if the key is absent. */
  get(key: string, signal?: AbortSignal): Promise<Uint8Array | null>
  /**
   * Return exactly `length` bytes from `offset` on. Throws `Internal` if the blob is missing or ends before the end of
   * the range.
   */
  getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>
  /**
   * Fill `target` with the bytes from `offset` on, without a copy if the store can. Throws the errors of `getRange`.
   * After the call has resolved or rejected, the store does not write to `target`.
   */
  readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void>
  /**
   * Fill the targets of several ranges of one blob. Returns synchronously if the reads take at most about a
   * millisecond. Otherwise the store reads the ranges concurrently if it can. Throws or rejects with the errors of
   * `readInto`. If one range fails, the targets of other ranges may be filled.
   */
  readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void>
  /** Write a new blob. Throws `Internal` if the key exists. */
  put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>
  /**
   * Like `put`, but from chunks, which are not all kept in memory. The store may request further chunks before it has
   * written earlier ones, so the caller must not change a chunk. If `chunks` throws, no blob is written.
   */
  putStream(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<void>
  /**
   * Write the blob if the key does not exist. If several callers write the same key concurrently, exactly one of them
   * wins. Throws `Ambiguous` if the outcome is unknown.
   */
  putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'>
  /**
   * Write a blob, whether or not the key exists. A concurrent read returns the old or the new blob. A call that failed may
   * take effect later, so later calls for the same key must not depend on their order. Only in stores where a listing is
   * slow and names cost nothing (object storage). Logs then keep the names of trimmed slots, and a blob with a fixed name
   * leads to the newest checkpoint.
   */
  replace?(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>
  /** Return the size and age of a blob, or null if the key is absent. */
  stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null>
  /**
   * List the blobs whose keys start with `prefix` and come after `startAfter`, in byte order of the keys. `startAfter`
   * is exclusive. Default: from the first key.
   */
  list(prefix: string, startAfter?: string, signal?: AbortSignal): AsyncIterable<BlobInfo>
  /** Return the keys that `list` yields. Only in stores where `list` must ask for the size and age of each blob. */
  listKeys?(prefix: string, startAfter?: string, signal?: AbortSignal): Promise<readonly string[]>
  /** Delete a blob. Deleting an absent key succeeds. */
  delete(key: string, signal?: AbortSignal): Promise<void>
  /**
   * Free the parts of blobs whose writes ended without a result, because their processes were killed: those of keys that
   * start with `prefix`, of writes that began before `before` (milliseconds since 1970, by the clock of the store). Does
   * nothing if the store may not do this. Only in stores that keep such parts until they are told to free them.
   */
  abortUploads?(prefix: string, before: number, signal?: AbortSignal): Promise<void>
  /**
   * Make the names of all blobs in the folder `prefix` durable, including blobs that other processes wrote. Only in
   * stores where a blob can be visible before its name is on disk.
   */
  sync?(prefix: string): Promise<void>
  /**
   * Return the mark of a blob, or null if the key is absent. Synchronous. Only in stores where this takes microseconds
   * (local disk, memory).
   */
  peek?(key: string): BlobMark | null
  /**
   * Open a blob to fill it in place, or to read it while another process fills it. Returns null if the key is absent.
   * Synchronous. Only in stores where every process at once sees the writes and the new names of all others, and a
   * write can be made durable without a change of the blob's size (local file systems of Linux).
   */
  openInPlace?(key: string): BlobInPlace | null
  /** Tells which of the processes that use the store are alive. Absent if the store cannot know. */
  readonly processes?: Processes
  /** Counts the requests of this store. Only in stores that send requests to a server. */
  readonly meter?: RequestMeter
}
