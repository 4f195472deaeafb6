/**
 * How long all processes together saw a blob stay unchanged. A holder leaves a blob, and replaces it by another now and then:
 * the process of a blob that stays for long is gone.
 *
 *     <key>.<milliseconds>      empty: the blob `key` was seen to stay for so long
 *
 * - No clock is compared with that of another process: an observer adds what passes on its own clock, which never goes back, to what
 *   was written down when it began. So time adds up over observers that follow each other, and counts once where several look.
 * - Between two looks a part counts at most: an observer that was suspended knows nothing of that time, in which the holder may have been
 *   suspended too.
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from './blob-store.js'

const pattern = /^(.+)\.(\d{1,15})$/
const firstMs = 1000

interface Seen {
  readonly ms: number
  written: number
}

export class Stillness {
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #mostMs: number
  #seen = new Map<string, Seen>()
  /** Records that say less than others, or are of blobs that are gone. */
  #spare: string[] = []
  #lookedAt = 0
  #pauseMs = 0

  /** `mostMs`: what counts between two looks at most. */
  constructor(store: BlobStore, clock: Clock, mostMs: number) {
    this.#store = store
    this.#clock = clock
    this.#mostMs = mostMs
  }

  /** Whether anything was there at the last look, or is left to be cleared away. */
  get isWatching(): boolean {
    return this.#seen.size > 0 || this.#spare.length > 0
  }

  /** How long to wait for the next look: at first not long, since this process may end at any time. */
  get pauseMs(): number {
    return Math.min(this.#mostMs, Math.max(firstMs, this.#pauseMs))
  }

  /**
   * A look: how long each of `keys` was seen to stay, milliseconds. `records`: all that `isRecord` of the folder; `began`: by `elapsed`, before it
   * was listed.
   */
  look(keys: Iterable<string>, records: Iterable<string>, began: number): ReadonlyMap<string, number> {
    const passed = Math.max(0, Math.min(began - this.#lookedAt, this.#mostMs))
    const written = new Map<string, number>()
    for (const record of records) {
      const [, key, ms] = pattern.exec(record)!
      written.set(key!, Math.max(Number(ms), written.get(key!) ?? 0))
    }
    const seen = new Map<string, Seen>()
    for (const key of keys) {
      const before = this.#seen.get(key)
      const told = written.get(key) ?? 0
      seen.set(key, {
        ms: Math.max(told, before === undefined ? 0 : before.ms + passed),
        written: Math.max(told, before?.written ?? 0),
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

  /** Writes down what was seen, for others. */
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

  /** Forgets a blob that was taken away, and what was written down of it. */
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

/** Whether a key is that of a record. */
export function isStillnessRecord(key: string): boolean {
  return pattern.test(key)
}
