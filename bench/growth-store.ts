/**
 * Counts the reads of a store and the bytes that are read and written. These figures do not depend on other work of the
 * machine.
 */
import type { MaybePromise } from '../src/primitives/task.js'
import type { BlobInfo, BlobMark, BlobStore, ByteRange } from '../src/storage/blob-store.js'
import type { Processes } from '../src/storage/processes.js'

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

export interface Counts {
  /** The number of ranges and of whole blobs that were read. */
  readonly reads: number
  readonly bytesRead: number
  readonly bytesWritten: number
}

export class MeteredStore implements BlobStore {
  readonly name: string
  /** Defined only if the wrapped store defines it. The same is true for `sync` and `processes`. */
  readonly peek?: (key: string) => BlobMark | null
  readonly sync?: (prefix: string) => Promise<void>
  readonly processes?: Processes
  readonly #store: BlobStore
  #reads = 0
  #bytesRead = 0
  #bytesWritten = 0

  constructor(store: BlobStore) {
    this.name = store.name
    this.#store = store
    if (store.peek !== undefined) this.peek = key => store.peek!(key)
    if (store.sync !== undefined) this.sync = prefix => store.sync!(prefix)
    if (store.processes !== undefined) this.processes = store.processes
  }

  counts(): Counts {
    return { reads: this.#reads, bytesRead: this.#bytesRead, bytesWritten: this.#bytesWritten }
  }

  async get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    const bytes = await this.#store.get(key, signal)
    this.#read(bytes?.length ?? 0)
    return bytes
  }

  getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    this.#read(length)
    return this.#store.getRange(key, offset, length, signal)
  }

  readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.#read(target.length)
    return this.#store.readInto(key, offset, target, signal)
  }

  readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void> {
    for (const { target } of ranges) this.#read(target.length)
    return this.#store.readRanges(key, ranges, signal)
  }

  put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.#bytesWritten += bytes.length
    return this.#store.put(key, bytes, signal)
  }

  putStream(key: string, chunks: Chunks, signal?: AbortSignal): Promise<void> {
    return this.#store.putStream(key, this.#written(chunks), signal)
  }

  putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    this.#bytesWritten += bytes.length
    return this.#store.putIfAbsent(key, bytes, signal)
  }

  stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    return this.#store.stat(key, signal)
  }

  list(prefix: string, startAfter?: string, signal?: AbortSignal): AsyncIterable<BlobInfo> {
    return this.#store.list(prefix, startAfter, signal)
  }

  delete(key: string, signal?: AbortSignal): Promise<void> {
    return this.#store.delete(key, signal)
  }

  #read(bytes: number): void {
    this.#reads++
    this.#bytesRead += bytes
  }

  async *#written(chunks: Chunks): AsyncIterable<Uint8Array> {
    for await (const chunk of chunks) {
      this.#bytesWritten += chunk.length
      yield chunk
    }
  }
}
