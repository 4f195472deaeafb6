/**
 * Slots that are blobs of their own in a blob store, named `_log/<slot, 20 digits>`.
 *
 * Stores that can `replace` blobs keep the names of trimmed slots, with empty blobs. A put that arrives late then never gets
 * the number of a slot that another writer had. So a writer needs one request for each slot, and a reader needs one to
 * find the end of the log.
 */
import { corrupted, quote } from '../errors.js'
import type { BlobMark, BlobStore } from '../storage/blob-store.js'
import { keysOf } from '../storage/keys-of.js'
import type { CommitLog } from './commit-log.js'
import { statedChecksum } from './slot.js'

const directory = '_log/'

export class BlobLog implements CommitLog {
  readonly #store: BlobStore
  #trimmedTo: number | undefined
  /** Defined only if the store has `peek`. */
  readonly peek?: (slot: number) => BlobMark | null
  /** Defined only if the store has `sync`. */
  readonly sync?: () => Promise<void>

  constructor(store: BlobStore) {
    this.#store = store
    if (store.replace !== undefined) this.#trimmedTo = 0
    if (store.peek !== undefined) this.peek = slot => store.peek!(slotKey(slot))
    if (store.sync !== undefined) this.sync = () => store.sync!(directory)
  }

  get trimmedTo(): number | undefined {
    return this.#trimmedTo
  }

  async read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null> {
    const bytes = await this.#store.get(slotKey(slot), signal)
    if (bytes === null || bytes.length > 0 || this.#trimmedTo === undefined) return bytes
    this.#trimmedTo = Math.max(this.#trimmedTo, slot)
    return null
  }

  append(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    return this.#store.putIfAbsent(slotKey(slot), bytes)
  }

  async has(slot: number, crc?: number, signal?: AbortSignal): Promise<boolean> {
    if (crc === undefined) return ((await this.#store.stat(slotKey(slot), signal))?.size ?? 0) > 0
    const bytes = await this.read(slot, signal)
    return bytes !== null && statedChecksum(bytes) === crc
  }

  remove(slot: number): Promise<void> {
    const key = slotKey(slot)
    return this.#store.replace?.(key, new Uint8Array(0)) ?? this.#store.delete(key)
  }

  /**
   * Return the first slot after slot 0 that is not trimmed; 1 if the log does not keep names. Returns `to + 1` if all
   * slots up to `to` are trimmed. Costs few requests, whatever the number of slots.
   */
  async firstKept(to: number, signal?: AbortSignal): Promise<number> {
    if (this.#trimmedTo === undefined) return 1
    let low = 1
    let high = to + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const info = await this.#store.stat(slotKey(middle), signal)
      if (info?.size === 0) low = middle + 1
      else high = middle
    }
    return low
  }

  async last(signal?: AbortSignal, after = -1): Promise<number> {
    const startAfter = after < 0 ? directory : slotKey(after)
    return lastOf(await keysOf(this.#store, directory, startAfter, signal), after, this.#store.name)
  }
}

/**
 * Return the last slot after slot `after` that has a file of its own; `after` if there is none. `keys`: files of the log of
 * `store`, in byte order. Skips the files of tails, and dot files, because file managers create them in folders. Throws
 * Internal ("corrupted") for any other name after the last slot.
 */
export function lastOf(keys: readonly string[], after: number, store: string): number {
  const startAfter = after < 0 ? directory : slotKey(after)
  for (let i = keys.length - 1; i >= 0 && keys[i]! > startAfter; i--) {
    const key = keys[i]!
    if (key.startsWith(`${directory}.`)) continue
    const slot = slotOfKey(key)
    if (slot === null) {
      throw corrupted(`${quote(key)} in the log of ${store} is not a slot`, {
        hint: 'it may be a conflict copy of a synchronised folder: compare it with the slot, then move it away',
      })
    }
    if (key === slotKey(slot)) return slot
  }
  return after
}

/** Return the key of a slot in the blob store. */
export function slotKey(slot: number): string {
  return `${directory}${String(slot).padStart(20, '0')}`
}

/** Return the slot of a file in the folder of the log: of a slot, or of its tail with a seal and an end. Returns null for any other name. */
export function slotOfKey(key: string): number | null {
  const [, digits] = /^_log\/(\d{20})(?:\.tail|\.seal|\.end)?$/.exec(key) ?? []
  return digits !== undefined && Number.isSafeInteger(Number(digits)) ? Number(digits) : null
}
