/**
 * The store of a connection to a directory of LanceDB. The folders of tables are read from the directory and never
 * written. All other blobs, for example the log of the connection, are in memory.
 */
import { ErrorCode, SheafError } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import { inParallel } from '../primitives/in-parallel.js'
import type { MaybePromise } from '../primitives/task.js'
import type { BlobInfo, BlobMark, BlobStore, ByteRange } from '../storage/blob-store.js'
import { MemoryStore } from '../storage/memory-store.js'
import type { RequestMeter } from '../storage/request-meter.js'

const ending = '.lance'

/** Number of keys on a page of a listing in object storage. */
const pageKeys = 1000
/** Maximum number of requests that run at the same time. */
const requestsAtOnce = 16

/** See the head of this file. */
export class LanceStore extends MemoryStore {
  /** The path of the directory, for callers. */
  readonly location: string
  /** Defined only if the directory is in object storage. So callers know that reads take long. */
  readonly replace?: NonNullable<BlobStore['replace']>
  readonly meter?: RequestMeter
  readonly #files: BlobStore
  readonly #only: string | null

  /**
   * `files`: the directory, or the folder of its only table. `location`: the path of the directory. `only`: the name of
   * the folder of the only table; null: `files` is the directory.
   */
  constructor(files: BlobStore, location: string, only: string | null, clock: Clock) {
    super(files.name, clock)
    this.location = location
    if (files.meter !== undefined) this.meter = files.meter
    if (files.replace !== undefined) this.replace = (key, bytes) => this.#replace(key, bytes)
    this.#files = files
    this.#only = only
  }

  /** List the folders of tables: those that have manifests. */
  async folders(signal?: AbortSignal): Promise<readonly string[]> {
    if (this.#only !== null) return (await this.#hasManifests(this.#only, signal)) ? [this.#only] : []
    const found = new Map<string, boolean>()
    for (let after: string | null = ''; after !== null; ) after = await this.#addFolders(found, after, signal)
    const named = [...found.keys()].filter(folder => this.#isTable(folder))
    const has = await inParallel(
      named,
      requestsAtOnce,
      async folder => found.get(folder)! || this.#hasManifests(folder, signal),
    )
    return named.filter((_, i) => has[i])
  }

  /**
   * Add folders, and whether they are known to have manifests. Lists the keys after `after`. In object storage, a request
   * returns many keys, so the listing goes on through small folders. Returns where the next listing starts; null: this was
   * the last one.
   */
  async #addFolders(
    found: Map<string, boolean>,
    after: string,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    const most = this.replace === undefined ? 1 : pageKeys
    let keys = 0
    let folder = ''
    for await (const { key } of this.#files.list('', after, signal)) {
      const slash = key.indexOf('/')
      if (slash <= 0) continue
      const own = key.slice(0, slash)
      if (own !== folder) keys = 0
      folder = own
      const isManifest = key.startsWith(`${own}/_versions/`) && key.endsWith('.manifest')
      found.set(own, isManifest || found.get(own) === true)
      // '0' follows '/', so the next key is outside of the folder.
      if (++keys === most) return `${own}0`
    }
    return null
  }

  async #hasManifests(folder: string, signal: AbortSignal | undefined): Promise<boolean> {
    for await (const { key } of this.list(`${folder}/_versions/`, undefined, signal))
      if (key.endsWith('.manifest')) return true
    return false
  }

  #isTable(folder: string): boolean {
    return this.#only === null
      ? folder.endsWith(ending) && folder.length > ending.length
      : folder === this.#only
  }

  /** Return the key in the store of the files. Null: the blob is in memory. */
  #fileOf(key: string): string | null {
    const slash = key.indexOf('/')
    if (slash <= 0 || !this.#isTable(key.slice(0, slash))) return null
    return this.#only === null ? key : key.slice(slash + 1)
  }

  async #replace(key: string, bytes: Uint8Array): Promise<void> {
    await this.delete(key)
    await this.putIfAbsent(key, bytes)
  }

  override get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    const file = this.#fileOf(key)
    return file === null ? super.get(key, signal) : this.#files.get(file, signal)
  }

  override getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const file = this.#fileOf(key)
    if (file === null) return super.getRange(key, offset, length, signal)
    return this.#files.getRange(file, offset, length, signal)
  }

  override readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    const file = this.#fileOf(key)
    if (file === null) return super.readInto(key, offset, target, signal)
    return this.#files.readInto(file, offset, target, signal)
  }

  override readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void> {
    const file = this.#fileOf(key)
    if (file === null) return super.readRanges(key, ranges, signal)
    return this.#files.readRanges(file, ranges, signal)
  }

  override async stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    const file = this.#fileOf(key)
    if (file === null) return super.stat(key, signal)
    const info = await this.#files.stat(file, signal)
    return info === null ? null : { ...info, key }
  }

  override peek(key: string): BlobMark | null {
    const file = this.#fileOf(key)
    return file === null ? super.peek(key) : (this.#files.peek?.(file) ?? null)
  }

  override list(prefix: string, startAfter = '', signal?: AbortSignal): AsyncIterable<BlobInfo> {
    const folder = this.#fileOf(prefix)
    if (folder === null) return super.list(prefix, startAfter, signal)
    return this.#list(prefix.slice(0, prefix.length - folder.length), folder, startAfter, signal)
  }

  /** `before`: the part of the keys that the store of the files does not have. */
  async *#list(
    before: string,
    prefix: string,
    startAfter: string,
    signal: AbortSignal | undefined,
  ): AsyncIterable<BlobInfo> {
    const after = startAfter.startsWith(before) ? startAfter.slice(before.length) : ''
    for await (const info of this.#files.list(prefix, after, signal))
      yield { ...info, key: before + info.key }
  }

  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    if (this.#fileOf(key) !== null) throw isReadOnly(key)
    return super.putIfAbsent(key, bytes, signal)
  }

  override async delete(key: string, signal?: AbortSignal): Promise<void> {
    if (this.#fileOf(key) !== null) throw isReadOnly(key)
    return super.delete(key, signal)
  }
}

function isReadOnly(key: string): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, `${key} belongs to LanceDB, so Sheaf does not change it`)
}
