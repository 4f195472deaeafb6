/** A store that reports every deletion that is made through it. Then caches can drop the data of deleted blobs. */
import type { MaybePromise } from '../primitives/task.js'
import type { BlobInfo, BlobInPlace, BlobMark, BlobStore, ByteRange } from './blob-store.js'
import type { Processes } from './processes.js'
import type { RequestMeter } from './request-meter.js'

/** Wraps a store, and calls `onDeleted` with the key of every deleted blob. */
export class NotifyingStore implements BlobStore {
  readonly name: string
  /** Defined only if the wrapped store defines it. The same is true for the next seven. */
  readonly peek?: (key: string) => BlobMark | null
  readonly sync?: (prefix: string) => Promise<void>
  readonly openInPlace?: (key: string) => BlobInPlace | null
  readonly listKeys?: NonNullable<BlobStore['listKeys']>
  readonly replace?: NonNullable<BlobStore['replace']>
  readonly abortUploads?: NonNullable<BlobStore['abortUploads']>
  readonly processes?: Processes
  readonly meter?: RequestMeter
  readonly #store: BlobStore
  readonly #onDeleted: (key: string) => void

  constructor(store: BlobStore, onDeleted: (key: string) => void) {
    this.name = store.name
    this.#store = store
    this.#onDeleted = onDeleted
    if (store.peek !== undefined) this.peek = key => store.peek!(key)
    if (store.sync !== undefined) this.sync = prefix => store.sync!(prefix)
    if (store.openInPlace !== undefined) this.openInPlace = key => store.openInPlace!(key)
    if (store.listKeys !== undefined) this.listKeys = (...call) => store.listKeys!(...call)
    if (store.replace !== undefined) this.replace = (...call) => store.replace!(...call)
    if (store.abortUploads !== undefined) this.abortUploads = (...call) => store.abortUploads!(...call)
    if (store.processes !== undefined) this.processes = store.processes
    if (store.meter !== undefined) this.meter = store.meter
  }

  async delete(key: string, signal?: AbortSignal): Promise<void> {
    await this.#store.delete(key, signal)
    this.#onDeleted(key)
  }

  get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    return this.#store.get(key, signal)
  }

  getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#store.getRange(key, offset, length, signal)
  }

  readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    return this.#store.readInto(key, offset, target, signal)
  }

  readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void> {
    return this.#store.readRanges(key, ranges, signal)
  }

  put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    return this.#store.put(key, bytes, signal)
  }

  putStream(...call: Parameters<BlobStore['putStream']>): Promise<void> {
    return this.#store.putStream(...call)
  }

  putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    return this.#store.putIfAbsent(key, bytes, signal)
  }

  stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    return this.#store.stat(key, signal)
  }

  list(prefix: string, startAfter?: string, signal?: AbortSignal): AsyncIterable<BlobInfo> {
    return this.#store.list(prefix, startAfter, signal)
  }
}
