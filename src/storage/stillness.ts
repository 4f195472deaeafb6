/**
 * Measures how long a blob was unchanged, with observations of all processes together. The owner of a blob regularly
 * replaces it by a new blob, as a heartbeat. If a blob stays for a long time, the process of its owner has ended.
 * Processes share their observations in records, which are empty blobs:
 *
 *     <key>.<milliseconds>      the blob `key` was seen unchanged for this many milliseconds
 *
 * - Clocks of different processes are never compared. An observer adds the time that passed on its own monotonic clock
 *   to the recorded time. So the times of processes that observe one after the other are added. If several processes
 *   observe at the same time, the time counts once.
 * - At most `maxStepMs` counts between two observations. If more time passed, the observer was probably suspended, and
 *   the owner may have been suspended, too.
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from './blob-store.js'

const pattern = /^(.+)\.(\d{1,15})$/
const firstMs = 1000

interface Seen {
  readonly ms: number
  written: number
}

/** Observes the blobs of one folder. Call `look` and then `save` at intervals. */
export class Stillness {
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #maxStepMs: number
  #seen = new Map<string, Seen>()
  /** Keys of records to delete, because a newer record replaces them or because their blob no longer exists. */
  #spare: string[] = []
  #lookedAt = 0
  #pauseMs = 0

  /** `maxStepMs`: maximum time that counts between two observations, in milliseconds. */
  constructor(store: BlobStore, clock: Clock, maxStepMs: number) {
    this.#store = store
    this.#clock = clock
    this.#maxStepMs = maxStepMs
  }

  /** Whether there is still something to do: the last observation saw a blob, or records must be deleted. */
  get isWatching(): boolean {
    return this.#seen.size > 0 || this.#spare.length > 0
  }

  /**
   * Time to wait before the next observation, in milliseconds. It is short at first, because this process may be
   * short-lived.
   */
  get pauseMs(): number {
    return Math.min(this.#maxStepMs, Math.max(firstMs, this.#pauseMs))
  }

  /**
   * Observe the folder. Returns for each of `keys` how long it was seen unchanged, in milliseconds. `records`: all keys
   * of the folder that are records (`isStillnessRecord`). `began`: the time on the monotonic clock before the folder
   * was listed.
   */
  look(keys: Iterable<string>, records: Iterable<string>, began: number): ReadonlyMap<string, number> {
    const passed = Math.max(0, Math.min(began - this.#lookedAt, this.#maxStepMs))
    const written = new Map<string, number>()
    for (const record of records) {
      const [, key, ms] = pattern.exec(record)!
      written.set(key!, Math.max(Number(ms), written.get(key!) ?? 0))
    }
    const seen = new Map<string, Seen>()
    for (const key of keys) {
      const before = this.#seen.get(key)
      const recorded = written.get(key) ?? 0
      seen.set(key, {
        ms: Math.max(recorded, before === undefined ? 0 : before.ms + passed),
        written: Math.max(recorded, before?.written ?? 0),
      })
    }
    this.#spare = [...records].filter(record => {
      const [, key, ms] = pattern.exec(record)!
      return !seen.has(key!) || Number(ms) < written.get(key!)!
    })
    this.#pauseMs = this.#seen.size === 0 ? firstMs : 2 * this.#pauseMs
    this.#seen = seen
    this.#lookedAt = this.#clock.elapsed()
    return new Map([...seen].map(([key, { ms }]) => [key, ms]))
  }

  /** Write records of the observed times for other processes, and delete records that are no longer needed. */
  async save(signal?: AbortSignal): Promise<void> {
    for (const [key, seen] of this.#seen) {
      const ms = Math.floor(seen.ms)
      if (ms <= seen.written) continue
      await this.#store.putIfAbsent(recordKey(key, ms), new Uint8Array(), signal)
      if (seen.written > 0) this.#spare.push(recordKey(key, seen.written))
      seen.written = ms
    }
    await this.#clear(signal)
  }

  /** Stop observing a blob, because it was deleted. Deletes its records. */
  async forget(key: string, signal?: AbortSignal): Promise<void> {
    const { written = 0 } = this.#seen.get(key) ?? {}
    this.#seen.delete(key)
    if (written > 0) this.#spare.push(recordKey(key, written))
    await this.#clear(signal)
  }

  async #clear(signal: AbortSignal | undefined): Promise<void> {
    for (const key of this.#spare) await this.#store.delete(key, signal)
    this.#spare = []
  }
}

function recordKey(key: string, ms: number): string {
  return `${key}.${ms}`
}

/** Return whether a key is the key of a record. */
export function isStillnessRecord(key: string): boolean {
  return pattern.test(key)
}
