/** A commit log in a blob store: one blob per slot, named `_log/<slot, 20 digits>`. */
import { corrupted, quote } from '../errors.js'
import type { BlobMark, BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'
import type { CommitLog } from './commit-log.js'
import { statedChecksum } from './slot.js'

const directory = '_log/'

export class BlobLog implements CommitLog {
  readonly #store: BlobStore
  /** Defined only if the store has `peek`. */
  readonly peek?: (slot: number) => BlobMark | null
  /** Defined only if the store has `sync`. */
  readonly sync?: () => Promise<void>

  constructor(store: BlobStore) {
    this.#store = store
    if (store.peek !== undefined) this.peek = slot => store.peek!(slotKey(slot))
    if (store.sync !== undefined) this.sync = () => store.sync!(directory)
  }

  read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null> {
    return this.#store.get(slotKey(slot), signal)
  }

  append(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    return this.#store.putIfAbsent(slotKey(slot), bytes)
  }

  async has(slot: number, crc?: number, signal?: AbortSignal): Promise<boolean> {
    if (crc === undefined) return (await this.#store.stat(slotKey(slot), signal)) !== null
    const bytes = await this.read(slot, signal)
    return bytes !== null && statedChecksum(bytes) === crc
  }

  remove(slot: number): Promise<void> {
    return this.#store.delete(slotKey(slot))
  }

  /**
   * Delete slots 1 to `to` in ascending order. Stop at the first slot that cannot be deleted at the moment. Returns the
   * number of deleted slots.
   */
  async trim(to: number, signal?: AbortSignal): Promise<number> {
    const keys: string[] = []
    for await (const { key } of this.#store.list(directory, slotKey(0), signal)) {
      if (key > slotKey(to)) break
      if (/^\d{20}$/.test(key.slice(directory.length))) keys.push(key)
    }
    for (const [count, key] of keys.entries()) {
      if (!(await deleteIfPossible(this.#store, key, signal))) return count
    }
    return keys.length
  }

  /**
   * List the slots after slot `after`, and return the last one. Skips dot files, because file managers create them in
   * folders.
   */
  async last(signal?: AbortSignal, after = -1): Promise<number> {
    let last = after
    const startAfter = after < 0 ? directory : slotKey(after)
    for await (const { key } of this.#store.list(directory, startAfter, signal)) {
      const name = key.slice(directory.length)
      if (name.startsWith('.')) continue
      const slot = /^\d{20}$/.test(name) ? Number(name) : Number.NaN
      if (!Number.isSafeInteger(slot)) {
        throw corrupted(`${quote(key)} in the log of ${this.#store.name} is not a slot`, {
          hint: 'it may be a conflict copy of a synchronised folder: compare it with the slot, then move it away',
        })
      }
      last = slot
    }
    return last
  }
}

/** Return the key of a slot in the blob store. */
export function slotKey(slot: number): string {
  return `${directory}${String(slot).padStart(20, '0')}`
}
