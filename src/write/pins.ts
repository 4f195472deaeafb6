/**
 * What snapshots show stays: files that a state at some slot refers to are not deleted while that slot is pinned, by this
 * process or another (STORAGE S8).
 *
 *     _pins/<uuid>-<counter>      {"slot":4711}
 *
 * - A process that holds a pin writes the next counter every minute and deletes the one before; no name is written twice.
 * - Others honour a pin while they see its counter move: for ten minutes of their own clock since they last did.
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'

const directory = '_pins/'
const pattern = /^_pins\/(.+)-(\d{1,15})$/
const renewMs = 60_000
const honouredMs = 10 * 60_000
const pinBytesMax = 1024

interface Sighting {
  readonly counter: number
  /** When the counter was first seen, by the clock of this process. */
  readonly since: number
  readonly slot: number
}

export class Pins {
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #readOnly: boolean
  /** Pinned by this process: slot by pin. */
  readonly #own = new Map<string, number>()
  readonly #closing = new AbortController()
  readonly #kept = new Set<Promise<void>>()
  #seen = new Map<string, Sighting>()

  /** `readOnly`: pins are not written, so other processes do not know of them. */
  constructor(store: BlobStore, clock: Clock, readOnly: boolean) {
    this.#store = store
    this.#clock = clock
    this.#readOnly = readOnly
  }

  /** Pins `slot`, durably, until the returned function is called or this is closed. */
  async hold(slot: number, signal?: AbortSignal): Promise<() => Promise<void>> {
    const id = this.#clock.uuid()
    const release = new AbortController()
    this.#own.set(id, slot)
    let kept = Promise.resolve()
    if (!this.#readOnly) {
      try {
        await this.#store.put(keyOf(id, 0), encode(slot), signal)
      } catch (error) {
        this.#own.delete(id)
        throw error
      }
      kept = this.#keep(id, slot, AbortSignal.any([release.signal, this.#closing.signal]))
      this.#kept.add(kept)
    }
    return async () => {
      this.#own.delete(id)
      release.abort()
      await kept
      this.#kept.delete(kept)
    }
  }

  /** The oldest slot that somebody pins; infinity when nobody does. Takes away pins that stand still. */
  async oldest(): Promise<number> {
    const newest = new Map<string, number>()
    const keys: { readonly key: string; readonly id: string }[] = []
    for await (const { key, size } of this.#store.list(directory)) {
      const [, id, counter] = pattern.exec(key) ?? []
      if (id === undefined || size > pinBytesMax || this.#own.has(id)) continue
      keys.push({ key, id })
      newest.set(id, Math.max(newest.get(id) ?? 0, Number(counter)))
    }
    const now = this.#clock.elapsed()
    const seen = new Map<string, Sighting>()
    for (const [id, counter] of newest) {
      const before = this.#seen.get(id)
      const slot = before?.slot ?? (await this.#slotOf(keyOf(id, counter)))
      seen.set(id, before?.counter === counter ? before : { counter, since: now, slot })
    }
    this.#seen = seen
    let oldest = Math.min(Number.POSITIVE_INFINITY, ...this.#own.values())
    for (const [id, { since, slot }] of seen) {
      if (now - since < honouredMs) oldest = Math.min(oldest, slot)
      else for (const each of keys) if (each.id === id) await this.#store.delete(each.key)
    }
    return oldest
  }

  /** Lets go of every pin. */
  async close(): Promise<void> {
    this.#own.clear()
    this.#closing.abort()
    await Promise.all(this.#kept)
  }

  /** Never rejects: a sign of life that could not be left is left a minute later. */
  async #keep(id: string, slot: number, signal: AbortSignal): Promise<void> {
    const written = [keyOf(id, 0)]
    for (let counter = 1; ; counter++) {
      await this.#clock.sleep(renewMs, signal).catch(() => {})
      if (signal.aborted) break
      try {
        const key = keyOf(id, counter)
        written.push(key)
        await this.#store.put(key, encode(slot), signal)
        while (written.length > 1) {
          await this.#store.delete(written[0]!, signal)
          written.shift()
        }
      } catch {
        // The next one may fare better.
      }
    }
    for (const key of written) await this.#store.delete(key).catch(() => {})
  }

  /** What a pin that cannot be read pins is unknown: everything. */
  async #slotOf(key: string): Promise<number> {
    const bytes = await this.#store.get(key)
    try {
      const { slot } = JSON.parse(Buffer.from(bytes ?? new Uint8Array()).toString()) as { slot?: unknown }
      return Number.isSafeInteger(slot) ? (slot as number) : 0
    } catch {
      return 0
    }
  }
}

function keyOf(id: string, counter: number): string {
  return `${directory}${id}-${counter}`
}

function encode(slot: number): Uint8Array {
  return Buffer.from(JSON.stringify({ slot }))
}
