/**
 * Bytes at paths: the only way Sheaf touches a disk or an object store.
 *
 * - A key is a '/'-separated relative path (storage/key). Keys under `_tmp/` belong to the store itself: they
 *   are refused, and `list` never shows them.
 * - A blob is immutable once written, except through `delete`. `put` is for names nobody else will write
 *   (they carry a uuid): a name already taken is an error, never an overwrite. Whatever can be contended goes
 *   through `putIfAbsent`.
 * - What a resolved write says is durable: it survives power loss, names included. A delete may come undone.
 * - A write that throws a `SheafError` did not happen, unless that is `Ambiguous`. After any other error it may have.
 * - A reader never sees part of a blob: a key is absent or whole.
 * - `list` yields byte order.
 * - Every call honours `signal`: it rejects with `signal.reason` and may or may not have taken effect.
 * - Every call settles: a store that waits on a network sets its own timeouts.
 */
import { ErrorCode, SheafError } from '../errors.js'
import type { MaybePromise } from '../primitives/task.js'
import type { Processes } from './processes.js'

/** The outcome of a write could not be learned (code 17): it may or may not have happened, or not survive a power loss. */
export class Ambiguous extends SheafError {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(ErrorCode.ServiceUnavailable, message, {
      hint: 'check the store, then open the root again',
      ...options,
    })
  }
}

export interface BlobInfo {
  readonly key: string
  readonly size: number
  /** The store's own time of the last write, milliseconds since 1970. */
  readonly modified: number
}

/** Tells a blob from another one that took its place. */
export interface BlobMark {
  readonly ino: number
  readonly mtimeMs: number
  readonly size: number
}

export function isSameBlob(a: BlobMark, b: BlobMark): boolean {
  return a.ino === b.ino && a.mtimeMs === b.mtimeMs && a.size === b.size
}

/** Bytes of a blob from `offset` on, as many as `target` has. */
export interface ByteRange {
  readonly offset: number
  readonly target: Uint8Array
}

export interface BlobStore {
  /** What messages call this store: a directory, `memory://`. */
  readonly name: string
  /** The whole blob, or null when there is none. */
  get(key: string, signal?: AbortSignal): Promise<Uint8Array | null>
  /**
   * Bytes `offset .. offset+length`. A missing blob or a range past its end is an error (corrupted), never a
   * short answer.
   */
  getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>
  /**
   * Fills `target` from `offset` on, without a copy where the store can. Same errors as `getRange`. `target` is
   * no longer written to once the call has settled.
   */
  readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void>
  /**
   * Fills the targets of several ranges of one blob: before it returns where that takes no longer than about a millisecond, else all
   * at once, as far as the store can. Errors, thrown or rejected with, and `target` are those of `readInto`; where one range fails, targets of others may be filled.
   */
  readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void>
  put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>
  /**
   * `put` from chunks, which stay as they are, without holding them all: the store may ask for some of them before it has
   * written those before. Nothing is visible if `chunks` throws.
   */
  putStream(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<void>
  /** Exactly one of any number of callers wins. Throws `Ambiguous` when the outcome is unknown. */
  putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'>
  stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null>
  /** Blobs whose key starts with `prefix`, after `startAfter` (exclusive), in byte order of the key. */
  list(prefix: string, startAfter?: string, signal?: AbortSignal): AsyncIterable<BlobInfo>
  /** Deleting what is not there is fine. */
  delete(key: string, signal?: AbortSignal): Promise<void>
  /**
   * Makes the names of blobs right below `prefix` durable, whoever gave them, where a blob can be seen before its name is on disk.
   */
  sync?(prefix: string): Promise<void>
  /** Whether a blob is there, and which, synchronously, where that costs microseconds (a local disk, memory); null when it is not. */
  peek?(key: string): BlobMark | null
  /** Which of the processes that use the store are alive, as far as that can be told of those on this machine. */
  readonly processes?: Processes
}
