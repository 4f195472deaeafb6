/**
 * Measures for how long all processes together saw a blob unchanged. The owner of a blob replaces it now and then, as a
 * heartbeat. If the blob stays unchanged for long, the process of its owner is gone.
 *
 *     <key>.<milliseconds>      empty: the blob `key` was seen unchanged for this long
 *
 * - No process compares its clock with that of another process. An observer adds the time that passes on its own
 *   monotonic clock to the recorded time. So time adds up over observers that follow each other, and counts once if
 *   several observe at the same time.
 * - Between two observations at most a limited time counts. An observer that was suspended knows nothing about that
 *   time, in which the owner may have been suspended, too.
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from './blob-store.js'

const pattern = /^(.+)\.(\d{1,15})$/
const firstMs = 1000

interface Seen {
  readonly ms: number
  written: number
}

/** Observes the blobs of one folder. Call `look` periodically, then `save`. */
export class Stillness {
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #maxStepMs: number
  #seen = new Map<string, Seen>()
  /** Records that are superseded by others, or whose blob is gone. */
  #spare: string[] = []
  #lookedAt = 0
  #pauseMs = 0

  /** `maxStepMs`: the most that counts between two observations, in milliseconds. */
  constructor(store: BlobStore, clock: Clock, maxStepMs: number) {
    this.#store = store
    this.#clock = clock
    this.#maxStepMs = maxStepMs
  }

  /** Whether the last observation saw any blob, or records are left to delete. */
  get isWatching(): boolean {
    return this.#seen.size > 0 || this.#spare.length > 0
  }

  /**
   * How long to wait until the next observation, in milliseconds. Short at first, because this process may end at any
   * time.
   */
  get pauseMs(): number {
    return Math.min(this.#maxStepMs, Math.max(firstMs, this.#pauseMs))
  }

  /**
   * Observe: return how long each of `keys` was seen unchanged, in milliseconds. `records`: all keys of the folder that
   * are records (`isStillnessRecord`). `began`: the clock's `elapsed()` before the folder was listed.
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

  /** Write records of the observed times, for other processes. */
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

  /** Forget a blob that was deleted, and delete its records. */
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

/** Return whether a key is that of a record. */
export function isStillnessRecord(key: string): boolean {
  return pattern.test(key)
}
