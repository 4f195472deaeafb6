/** Slots that are blobs of their own in a blob store, named `_log/<slot, 20 digits>`. */
import { corrupted, quote } from '../errors.js'
import type { BlobMark, BlobStore } from '../storage/blob-store.js'
import { keysOf } from '../storage/keys-of.js'
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
