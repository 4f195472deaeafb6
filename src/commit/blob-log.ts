/** Slots that are blobs of their own in a blob store, named `_log/<slot, 20 digits>`. */
import { corrupted, quote } from '../errors.js'
import type { BlobMark, BlobStore } from '../storage/blob-store.js'
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
   * List the slots after slot `after`, and return the last one. Skips the files of tails, and dot files, because file
   * managers create them in folders.
   */
  async last(signal?: AbortSignal, after = -1): Promise<number> {
    let last = after
    const startAfter = after < 0 ? directory : slotKey(after)
    for await (const { key } of this.#store.list(directory, startAfter, signal)) {
      const name = key.slice(directory.length)
      if (name.startsWith('.')) continue
      const slot = slotOfKey(key)
      if (slot === null) {
        throw corrupted(`${quote(key)} in the log of ${this.#store.name} is not a slot`, {
          hint: 'it may be a conflict copy of a synchronised folder: compare it with the slot, then move it away',
        })
      }
      if (key === slotKey(slot)) last = slot
    }
    return last
  }
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
