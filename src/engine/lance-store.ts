/**
 * The store of a connection to a directory of LanceDB. The folders of tables are read from the directory and never
 * written. All other blobs, for example the log of the connection, are in memory.
 */
import { ErrorCode, SheafError } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import type { MaybePromise } from '../primitives/task.js'
import type { BlobInfo, BlobMark, BlobStore, ByteRange } from '../storage/blob-store.js'
import { MemoryStore } from '../storage/memory-store.js'

const ending = '.lance'

/** See the head of this file. */
export class LanceStore extends MemoryStore {
  /** The path of the directory, for callers. */
  readonly location: string
  readonly #files: BlobStore
  readonly #only: string | null

  /**
   * `files`: the directory at the path `location`. `only`: the folder of the only table to read; null: all tables.
   */
  constructor(files: BlobStore, location: string, only: string | null, clock: Clock) {
    super(files.name, clock)
    this.location = location
    this.#files = files
    this.#only = only
  }

  /** List the folders of tables: those that have manifests. */
  async folders(signal?: AbortSignal): Promise<readonly string[]> {
    const found: string[] = []
    for (let after = ''; ; ) {
      const folder = await this.#folderAfter(after, signal)
      if (folder === null) return found
      if (this.#isTable(folder) && (await this.#hasManifests(folder, signal))) found.push(folder)
      // '0' follows '/', so the next key is outside of the folder.
      after = `${folder}0`
    }
  }

  /** Return the names and contents of the tags of a table. */
  async *tags(
    folder: string,
    signal?: AbortSignal,
  ): AsyncGenerator<readonly [key: string, bytes: Uint8Array]> {
    for await (const { key } of this.#files.list(`${folder}/_refs/tags/`, undefined, signal)) {
      const bytes = await this.#files.get(key, signal)
      if (bytes !== null) yield [key, bytes]
    }
  }

  async #folderAfter(after: string, signal: AbortSignal | undefined): Promise<string | null> {
    for (let start = after; ; ) {
      let last: string | null = null
      for await (const { key } of this.#files.list('', start, signal)) {
        last = key
        break
      }
      if (last === null) return null
      const slash = last.indexOf('/')
      if (slash > 0) return last.slice(0, slash)
      start = last
    }
  }

  async #hasManifests(folder: string, signal: AbortSignal | undefined): Promise<boolean> {
    for await (const { key } of this.#files.list(`${folder}/_versions/`, undefined, signal))
      if (key.endsWith('.manifest')) return true
    return false
  }

  #isTable(folder: string): boolean {
    return this.#only === null
      ? folder.endsWith(ending) && folder.length > ending.length
      : folder === this.#only
  }

  /** Return whether a key belongs to a table of the directory. */
  #isFile(key: string): boolean {
    const slash = key.indexOf('/')
    return slash > 0 && this.#isTable(key.slice(0, slash))
  }

  override get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    return this.#isFile(key) ? this.#files.get(key, signal) : super.get(key, signal)
  }

  override getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    if (this.#isFile(key)) return this.#files.getRange(key, offset, length, signal)
    return super.getRange(key, offset, length, signal)
  }

  override readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    if (this.#isFile(key)) return this.#files.readInto(key, offset, target, signal)
    return super.readInto(key, offset, target, signal)
  }

  override readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void> {
    if (this.#isFile(key)) return this.#files.readRanges(key, ranges, signal)
    return super.readRanges(key, ranges, signal)
  }

  override stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    return this.#isFile(key) ? this.#files.stat(key, signal) : super.stat(key, signal)
  }

  override peek(key: string): BlobMark | null {
    return this.#isFile(key) ? (this.#files.peek?.(key) ?? null) : super.peek(key)
  }

  override list(prefix: string, startAfter = '', signal?: AbortSignal): AsyncIterable<BlobInfo> {
    if (this.#isFile(prefix)) return this.#files.list(prefix, startAfter, signal)
    return super.list(prefix, startAfter, signal)
  }

  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    if (this.#isFile(key)) throw isReadOnly(key)
    return super.putIfAbsent(key, bytes, signal)
  }

  override async delete(key: string, signal?: AbortSignal): Promise<void> {
    if (this.#isFile(key)) throw isReadOnly(key)
    return super.delete(key, signal)
  }
}

function isReadOnly(key: string): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, `${key} belongs to LanceDB, so Sheaf does not change it`)
}
