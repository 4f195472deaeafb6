/**
 * What snapshots show stays: files that a state at some slot refers to are not deleted while that slot is pinned, by this
 * process or another (STORAGE S8).
 *
 *     _pins/<uuid>-<counter>      {"slot":4711,"by":<the process, where that can be told>,"upload":<of an upload: its id>}
 *
 * - A process that holds a pin writes the next counter every minute and deletes the one before; no name is written twice.
 * - Others honour a pin for as long as its process is alive, where they can tell.
 * - Where they cannot they honour it until its counter was seen to stand still for ten minutes, by all of them together (storage/stillness).
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { type Liveness, type ProcessMark, parseMark } from '../storage/processes.js'
import { isStillnessRecord, Stillness } from '../storage/stillness.js'

const directory = '_pins/'
const pattern = /^_pins\/(.+)-(\d{1,15})$/
const renewMs = 60_000
const honouredMs = 10 * 60_000
const pinBytesMax = 1024

/** Somebody keeps the state at a slot from being collected. */
export interface Pin {
  readonly slot: number
  /** The file that says so; null for a pin of this process. */
  readonly key: string | null
  /** The id of the upload whose files it keeps; null for a reader. */
  readonly upload: string | null
  /** The id of the process, where that is one of this machine. */
  readonly process: number | null
  /** For how long it was seen to stand still, milliseconds. */
  readonly stillMs: number
}

/** What the file of a pin says. */
interface Said {
  readonly slot: number
  readonly by: ProcessMark | null
  readonly upload: string | null
}

/** What is pinned by who cannot be understood. */
const everything: Said = { slot: 0, by: null, upload: null }

/** A pin of another process, as it was listed. */
interface Listed {
  readonly counter: number
  readonly keys: readonly string[]
}

export class Pins {
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #readOnly: boolean
  /** Pinned by this process, by pin. */
  readonly #own = new Map<string, Pick<Pin, 'slot' | 'upload'>>()
  readonly #closing = new AbortController()
  readonly #kept = new Set<Promise<void>>()
  /** By pin of another. */
  #said: ReadonlyMap<string, Said> = new Map()
  readonly #stillness: Stillness
  #watching: Promise<void> | null = null

  /** `readOnly`: pins are not written, so other processes do not know of them. */
  constructor(store: BlobStore, clock: Clock, readOnly: boolean) {
    this.#store = store
    this.#clock = clock
    this.#readOnly = readOnly
    this.#stillness = new Stillness(store, clock, renewMs)
  }

  /** Pins `slot`, durably, until the returned function is called or this is closed. `upload`: the one for which it is held. */
  async hold(slot: number, signal?: AbortSignal, upload: string | null = null): Promise<() => Promise<void>> {
    const id = this.#clock.uuid()
    const release = new AbortController()
    this.#own.set(id, { slot, upload })
    let kept = Promise.resolve()
    if (!this.#readOnly) {
      const bytes = encode({ slot, by: this.#store.processes?.own ?? null, upload })
      try {
        await this.#store.put(keyOf(id, 0), bytes, signal)
      } catch (error) {
        this.#own.delete(id)
        throw error
      }
      kept = this.#keep(id, bytes, AbortSignal.any([release.signal, this.#closing.signal]))
      this.#kept.add(kept)
    }
    return async () => {
      this.#own.delete(id)
      release.abort()
      await kept
      this.#kept.delete(kept)
    }
  }

  /** The oldest slot that somebody pins; infinity when nobody does. Takes away pins whose processes are gone. */
  async oldest(): Promise<number> {
    return Math.min(Number.POSITIVE_INFINITY, ...(await this.all()).map(({ slot }) => slot))
  }

  /** All pins that are honoured. Takes away those whose processes are gone. */
  async all(): Promise<readonly Pin[]> {
    const { pins, lost } = await this.#look()
    for (const key of lost) {
      await this.#store.delete(key)
      await this.#stillness.forget(key)
    }
    const isWatched = this.#stillness.isWatching && !this.#readOnly && !this.#closing.signal.aborted
    if (isWatched) this.#watching ??= this.#watch()
    const process = this.#store.processes?.own?.pid ?? null
    const own = [...this.#own.values()].map(pin => ({ ...pin, key: null, process, stillMs: 0 }))
    return [...own, ...pins]
  }

  /** Lets go of every pin, and writes down what was seen of those of others. */
  async close(): Promise<void> {
    this.#own.clear()
    this.#closing.abort()
    await Promise.all(this.#kept)
    await this.#watching
    if (!this.#stillness.isWatching || this.#readOnly) return
    await this.#look()
      .then(() => this.#stillness.save())
      .catch(() => {})
  }

  /** Pins of others that are honoured, and the keys of those that are not. */
  async #look(): Promise<{ readonly pins: readonly Pin[]; readonly lost: readonly string[] }> {
    const began = this.#clock.elapsed()
    const { listed, records } = await this.#list()
    const said = new Map<string, Said>()
    const liveness = new Map<string, Liveness>()
    const unsure: string[] = []
    for (const [id, { counter }] of listed) {
      const key = keyOf(id, counter)
      const known = this.#said.get(id) ?? (await this.#read(key))
      if (known !== null) said.set(id, known)
      const by = known?.by ?? null
      const state = (by !== null && this.#store.processes?.livenessOf(by)) || 'unknown'
      liveness.set(id, state)
      if (state === 'unknown') unsure.push(key)
    }
    this.#said = said
    const still = this.#stillness.look(unsure, records, began)
    const pins: Pin[] = []
    const lost: string[] = []
    for (const [id, { counter, keys }] of listed) {
      const key = keyOf(id, counter)
      const stillMs = still.get(key) ?? 0
      if (liveness.get(id) === 'dead' || stillMs >= honouredMs) lost.push(...keys)
      else {
        const { slot, by, upload } = said.get(id) ?? everything
        pins.push({ slot, key, upload, process: by !== null && this.#isNear(by) ? by.pid : null, stillMs })
      }
    }
    return { pins, lost }
  }

  /** Whether the id of a process means that process here, too. */
  #isNear({ boot, space }: ProcessMark): boolean {
    const own = this.#store.processes?.own
    return boot === own?.boot && space === own.space
  }

  async #list(): Promise<{ readonly listed: ReadonlyMap<string, Listed>; readonly records: string[] }> {
    const listed = new Map<string, Listed>()
    const records: string[] = []
    for await (const { key, size } of this.#store.list(directory)) {
      const [, id, digits] = pattern.exec(key) ?? []
      if (id === undefined) {
        if (isStillnessRecord(key)) records.push(key)
        continue
      }
      if (size > pinBytesMax || this.#own.has(id)) continue
      const before = listed.get(id)
      const counter = Math.max(before?.counter ?? 0, Number(digits))
      listed.set(id, { counter, keys: [...(before?.keys ?? []), key] })
    }
    return { listed, records }
  }

  /** Looks now and then, for as long as nobody can tell whether all processes are alive that hold pins. Never rejects. */
  async #watch(): Promise<void> {
    while (this.#stillness.isWatching) {
      await this.#clock.sleep(this.#stillness.pauseMs, this.#closing.signal).catch(() => {})
      if (this.#closing.signal.aborted) break
      await this.all()
        .then(() => this.#stillness.save())
        .catch(() => {})
    }
    this.#watching = null
  }

  /** Never rejects: a sign of life that could not be left is left a minute later. */
  async #keep(id: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const written = [keyOf(id, 0)]
    for (let counter = 1; ; counter++) {
      await this.#clock.sleep(renewMs, signal).catch(() => {})
      if (signal.aborted) break
      try {
        const key = keyOf(id, counter)
        written.push(key)
        await this.#store.put(key, bytes, signal)
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

  /** What a pin says; null when another one has taken its place. */
  async #read(key: string): Promise<Said | null> {
    const bytes = await this.#store.get(key)
    if (bytes === null) return null
    try {
      const { slot, by, upload } = JSON.parse(Buffer.from(bytes).toString())
      if (!Number.isSafeInteger(slot)) return everything
      return { slot, by: parseMark(by), upload: typeof upload === 'string' ? upload : null }
    } catch {
      return everything
    }
  }
}

function keyOf(id: string, counter: number): string {
  return `${directory}${id}-${counter}`
}

function encode({ slot, by, upload }: Said): Uint8Array {
  const said = { slot, ...(by !== null && { by }), ...(upload !== null && { upload }) }
  return Buffer.from(JSON.stringify(said))
}
