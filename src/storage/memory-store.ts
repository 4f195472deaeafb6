/** Stores blobs in the memory of the process. */
import { assert, corrupted, invalidInput } from '../errors.js'
import { eachOrAborted } from '../primitives/abort.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import { sharedState } from '../primitives/shared-state.js'
import type { BlobInfo, BlobMark, BlobStore, ByteRange } from './blob-store.js'
import { checkKey, checkPrefix } from './key.js'
import { checkRange } from './range.js'

export interface StoredBlob {
  readonly bytes: Uint8Array
  /** The number of blobs that were written before this one. It identifies the blob. */
  readonly number: number
  readonly modified: number
}

const scheme = 'memory://'

/** By url: the stores with a name. They are kept until the process ends. */
const named = sharedState('memory roots', () => new Map<string, MemoryStore>())

/** A store in memory, for tests and temporary data. */
export class MemoryStore implements BlobStore {
  readonly name: string
  readonly #clock: Clock
  protected readonly blobs = new Map<string, StoredBlob>()
  #written = 0

  constructor(name = scheme, clock: Clock = systemClock) {
    this.name = name
    this.#clock = clock
  }

  /**
   * Open a store. The url `memory://` always creates a new store. All callers in this process that use the same url
   * `memory://<name>` share one store. Throws `InvalidInput` for any other url.
   */
  static open(url: string): MemoryStore {
    if (!url.startsWith(scheme)) throw invalidInput(`${url} does not start with ${scheme}`)
    if (url === scheme) return new MemoryStore()
    const store = named.get(url) ?? new MemoryStore(url)
    named.set(url, store)
    return store
  }

  async get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    return this.#find(key, signal)?.bytes.slice() ?? null
  }

  async getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#range(key, offset, length, signal).slice()
  }

  async readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    target.set(this.#range(key, offset, target.length, signal))
  }

  readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): void {
    for (const { offset, target } of ranges) target.set(this.#range(key, offset, target.length, signal))
  }

  async put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    assert((await this.putIfAbsent(key, bytes, signal)) === 'won', `${key} already exists`)
  }

  async putStream(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<void> {
    checkKey(key)
    const parts: Uint8Array[] = []
    for await (const chunk of eachOrAborted(chunks, signal)) parts.push(new Uint8Array(chunk))
    await this.put(key, Buffer.concat(parts), signal)
  }

  async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    if (this.#find(key, signal) !== undefined) return 'taken'
    const blob = { bytes: new Uint8Array(bytes), number: this.#written++, modified: this.#clock.now() }
    this.blobs.set(key, blob)
    return 'won'
  }

  async stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    const blob = this.#find(key, signal)
    return blob === undefined ? null : { key, size: blob.bytes.length, modified: blob.modified }
  }

  async *list(prefix: string, startAfter = '', signal?: AbortSignal): AsyncIterable<BlobInfo> {
    checkPrefix(prefix)
    const pacer = new Pacer(signal, this.#clock)
    const keys = [...this.blobs.keys()].filter(key => key.startsWith(prefix) && key > startAfter).sort()
    for (const key of keys) {
      const info = await this.stat(key, signal)
      if (info !== null) yield info
      await pacer.turn()
    }
  }

  async delete(key: string, signal?: AbortSignal): Promise<void> {
    this.#find(key, signal)
    this.blobs.delete(key)
  }

  peek(key: string): BlobMark | null {
    const blob = this.#find(key)
    return blob === undefined ? null : { ino: blob.number, mtimeMs: blob.modified, size: blob.bytes.length }
  }

  #find(key: string, signal?: AbortSignal): StoredBlob | undefined {
    signal?.throwIfAborted()
    checkKey(key)
    return this.blobs.get(key)
  }

  #range(key: string, offset: number, length: number, signal?: AbortSignal): Uint8Array {
    const blob = this.#find(key, signal)
    if (blob === undefined) throw corrupted(`${key} is missing`)
    checkRange(key, blob.bytes.length, offset, length)
    return blob.bytes.subarray(offset, offset + length)
  }
}
