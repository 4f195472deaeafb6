/** Stores that misbehave on purpose, or keep count. Each wraps another. */
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Clock } from '../../src/primitives/clock.js'
import type { MaybePromise } from '../../src/primitives/task.js'
import {
  Ambiguous,
  type BlobInfo,
  type BlobMark,
  type BlobStore,
  type ByteRange,
} from '../../src/storage/blob-store.js'

import { FileStore } from '../../src/storage/file-store.js'

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** Passes every call on through `around`, which may count, refuse, delay or repeat it. */
export abstract class WrappedStore implements BlobStore {
  readonly name: string
  readonly inner: BlobStore
  /** There when the inner store's is. */
  peek?: (key: string) => BlobMark | null
  sync?: (prefix: string) => Promise<void>
  replace?: (key: string, bytes: Uint8Array, signal?: AbortSignal) => Promise<void>

  constructor(inner: BlobStore) {
    this.name = inner.name
    this.inner = inner
    if (inner.peek !== undefined) this.peek = key => inner.peek!(key)
    if (inner.sync !== undefined) this.sync = prefix => inner.sync!(prefix)
  }

  /** `conditional`: whether the call is a putIfAbsent, whose outcome can be unknown. `key`: of a list, the prefix. */
  protected abstract around<T>(
    call: string,
    conditional: boolean,
    run: () => Promise<T>,
    key: string,
  ): Promise<T>

  get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    return this.around('get', false, () => this.inner.get(key, signal), key)
  }

  getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    return this.around('getRange', false, () => this.inner.getRange(key, offset, length, signal), key)
  }

  readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    return this.around('readInto', false, () => this.inner.readInto(key, offset, target, signal), key)
  }

  readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void> {
    return this.around('readRanges', false, async () => this.inner.readRanges(key, ranges, signal), key)
  }

  put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    return this.around('put', false, () => this.inner.put(key, bytes, signal), key)
  }

  putStream(key: string, chunks: Chunks, signal?: AbortSignal): Promise<void> {
    return this.around('putStream', false, () => this.inner.putStream(key, chunks, signal), key)
  }

  putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    return this.around('putIfAbsent', true, () => this.inner.putIfAbsent(key, bytes, signal), key)
  }

  stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    return this.around('stat', false, () => this.inner.stat(key, signal), key)
  }

  async *list(prefix: string, startAfter?: string, signal?: AbortSignal): AsyncIterable<BlobInfo> {
    yield* await this.around('list', false, async () => this.inner.list(prefix, startAfter, signal), prefix)
  }

  delete(key: string, signal?: AbortSignal): Promise<void> {
    return this.around('delete', false, () => this.inner.delete(key, signal), key)
  }
}

/** How often each fault befalls a call, 0 to 1. What is left out never happens. */
export interface Faults {
  /** The request is lost: nothing happens. */
  readonly dropRequest?: number
  /** The reply is lost: it happened. */
  readonly dropReply?: number
  /** The request is reported lost, and arrives later. */
  readonly late?: number
  /** The request arrives twice; the reply is that of the second. */
  readonly duplicate?: number
  /** The call takes up to 100 ms. */
  readonly delay?: number
  /** A read, listing or plain write fails without having happened. */
  readonly refuse?: number
}

/**
 * A store behind a bad network. Faults and the order in which calls arrive are drawn from the clock, so a seed
 * fixes them. A conditional put whose outcome is lost throws `Ambiguous`. It cannot peek, as a network cannot.
 */
export class FaultyStore extends WrappedStore {
  readonly #clock: Clock
  /** May be changed on the way. */
  faults: Faults

  constructor(inner: BlobStore, clock: Clock, faults: Faults) {
    super(inner)
    delete this.peek
    this.#clock = clock
    this.faults = faults
  }

  protected async around<T>(call: string, conditional: boolean, run: () => Promise<T>): Promise<T> {
    await this.#clock.yield()
    if (this.#falls('delay')) await this.#clock.sleep(100 * this.#clock.random())
    if (!conditional) {
      if (this.#falls('refuse')) throw new SheafError(ErrorCode.ServiceUnavailable, `${call} was refused`)
      return run()
    }
    if (this.#falls('dropRequest')) throw new Ambiguous(`the request of ${call} was lost`)
    if (this.#falls('late')) {
      this.#clock
        .sleep(1000 * this.#clock.random())
        .then(run)
        .catch(() => {})
      throw new Ambiguous(`the request of ${call} is late`)
    }
    let reply = await run()
    if (this.#falls('duplicate')) {
      await this.#clock.yield()
      reply = await run()
    }
    await this.#clock.yield()
    if (this.#falls('dropReply')) throw new Ambiguous(`the reply of ${call} was lost`)
    return reply
  }

  #falls(fault: keyof Faults): boolean {
    const odds = this.faults[fault] ?? 0
    return odds > 0 && this.#clock.random() < odds
  }
}

/** Counts calls and bytes. */
export class CountingStore extends WrappedStore {
  /** Calls by method name, `peek` included. */
  readonly calls = new Map<string, number>()
  /** Blobs and ranges of blobs that were read. */
  reads = 0
  bytesRead = 0
  bytesWritten = 0

  constructor(inner: BlobStore) {
    super(inner)
    if (inner.peek !== undefined) {
      this.peek = key => {
        this.#count('peek')
        return inner.peek!(key)
      }
    }
  }

  reset(): void {
    this.calls.clear()
    this.reads = 0
    this.bytesRead = 0
    this.bytesWritten = 0
  }

  override async get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    const bytes = await super.get(key, signal)
    this.bytesRead += bytes?.length ?? 0
    this.reads++
    return bytes
  }

  override async getRange(key: string, offset: number, length: number, signal?: AbortSignal) {
    const bytes = await super.getRange(key, offset, length, signal)
    this.bytesRead += bytes.length
    this.reads++
    return bytes
  }

  override async readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal) {
    await super.readRanges(key, ranges, signal)
    for (const { target } of ranges) this.bytesRead += target.length
    this.reads += ranges.length
  }

  override async readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal) {
    await super.readInto(key, offset, target, signal)
    this.bytesRead += target.length
    this.reads++
  }

  override put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.bytesWritten += bytes.length
    return super.put(key, bytes, signal)
  }

  override putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    this.bytesWritten += bytes.length
    return super.putIfAbsent(key, bytes, signal)
  }

  override putStream(key: string, chunks: Chunks, signal?: AbortSignal): Promise<void> {
    return super.putStream(key, this.#measured(chunks), signal)
  }

  protected around<T>(call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
    this.#count(call)
    return run()
  }

  async *#measured(chunks: Chunks): AsyncIterable<Uint8Array> {
    for await (const chunk of chunks) {
      this.bytesWritten += chunk.length
      yield chunk
    }
  }

  #count(call: string): void {
    this.calls.set(call, (this.calls.get(call) ?? 0) + 1)
  }
}

/** Deletes nothing whose key `isOpen`, like Windows. */
export class BusyStore extends WrappedStore {
  /** Deletions it refused. */
  refused = 0
  isOpen: (key: string) => boolean

  constructor(inner: BlobStore, isOpen: (key: string) => boolean) {
    super(inner)
    this.isOpen = isOpen
  }

  protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string) {
    if (call !== 'delete' || !this.isOpen(key)) return run()
    this.refused++
    throw new SheafError(ErrorCode.ServiceUnavailable, `EPERM: delete ${key}`)
  }
}

/** The process is gone. */
export class Dead extends Error {
  override readonly name = 'Dead'
}

/**
 * A store whose process dies during operation number `survives + 1`, which takes effect or not as `lastLands`
 * says; from then on every call throws Dead. What it did stays in the inner store, for the next process to open.
 */
export class CrashingStore extends WrappedStore {
  readonly #lastLands: boolean
  #left: number
  /** Operations asked for, those that died included. */
  operations = 0

  constructor(inner: BlobStore, survives: number, lastLands: boolean) {
    super(inner)
    this.#left = survives
    this.#lastLands = lastLands
    if (inner.peek !== undefined) {
      this.peek = key => {
        if (this.#left < 0) throw new Dead('dead')
        return inner.peek!(key)
      }
    }
  }

  get dead(): boolean {
    return this.#left < 0
  }

  protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
    this.operations++
    if (this.#left < 0) throw new Dead(`${call} after death`)
    if (this.#left-- > 0) return run()
    if (this.#lastLands) await run()
    throw new Dead(`died in ${call}`)
  }
}

/** Open a directory in which every slot gets a file of its own, as on a network file system. */
export async function withoutTails(path: string): Promise<FileStore> {
  const store = await FileStore.open(path, { create: true, readOnly: false })
  delete (store as { openInPlace?: unknown }).openInPlace
  return store
}

export async function keysIn(store: BlobStore, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}
