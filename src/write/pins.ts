/**
 * Pins keep the files of snapshots. Garbage collection of every process keeps all files to which the state at a pinned
 * slot refers (STORAGE S8).
 *
 *     _pins/<uuid>-<counter>      {"slot":4711,"by":<the process, if it can be identified>,"upload":<id of an upload>}
 *
 * - Every minute, the owner process of a pin writes a file with the next counter, and deletes the last file
 *   (storage/heartbeat).
 * - If other processes can check whether the owner process runs, the pin is valid as long as it runs.
 * - Otherwise the pin is valid until its counter has not changed for ten minutes. The times for which different
 *   processes observed the pin are added up (storage/stillness).
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { heartbeatKey, keepHeartbeat, listHeartbeats } from '../storage/heartbeat.js'
import { type Liveness, type ProcessMark, parseMark } from '../storage/processes.js'
import { Stillness } from '../storage/stillness.js'

const directory = '_pins/'
const renewMs = 60_000
const staleAfterMs = 10 * 60_000
const pinBytesMax = 1024

/** A pin on the state at a slot. */
export interface Pin {
  readonly slot: number
  /** Key of the pin's file. Null for a pin of this process. */
  readonly key: string | null
  /** Id of the upload whose files the pin keeps. Null for the pin of a reader. */
  readonly upload: string | null
  /** Id of the owner process. Null if the process does not run on this machine or cannot be identified. */
  readonly process: number | null
  /** Time in milliseconds for which the observed pin was not renewed. */
  readonly stillMs: number
}

/** The content of a pin's file. */
interface PinContent {
  readonly slot: number
  readonly by: ProcessMark | null
  readonly upload: string | null
}

/**
 * Used instead of the content of a pin file that cannot be parsed. It pins slot 0, so garbage collection deletes no
 * file.
 */
const unreadable: PinContent = { slot: 0, by: null, upload: null }

/** The pins of a root: those of this process, and those of other processes that it observes. */
export class Pins {
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #readOnly: boolean
  /** Pins of this process, by the key of their file without the counter. */
  readonly #own = new Map<string, Pick<Pin, 'slot' | 'upload'>>()
  readonly #closing = new AbortController()
  /** For each pin of this process: a promise that resolves when its heartbeat has ended and its file is deleted. */
  readonly #kept = new Set<Promise<void>>()
  /** Contents of pins of other processes, by the key of their file without the counter. */
  #contents: ReadonlyMap<string, PinContent> = new Map()
  readonly #stillness: Stillness
  #watching: Promise<void> | null = null

  /** `readOnly`: whether pins are only in memory. Then other processes do not see them. */
  constructor(store: BlobStore, clock: Clock, readOnly: boolean) {
    this.#store = store
    this.#clock = clock
    this.#readOnly = readOnly
    this.#stillness = new Stillness(store, clock, renewMs)
  }

  /**
   * Pin `slot` until the caller calls the returned function, or until `close`. Resolves when the pin is durable.
   * `upload`: id of the upload whose files the pin keeps; default: null, for a reader.
   */
  async hold(slot: number, signal?: AbortSignal, upload: string | null = null): Promise<() => Promise<void>> {
    const owner = `${directory}${this.#clock.uuid()}`
    const release = new AbortController()
    this.#own.set(owner, { slot, upload })
    let kept = Promise.resolve()
    if (!this.#readOnly) {
      const bytes = encode({ slot, by: this.#store.processes?.own ?? null, upload })
      try {
        await this.#store.put(heartbeatKey(owner, 0), bytes, signal)
      } catch (error) {
        this.#own.delete(owner)
        throw error
      }
      const options = { owner, from: 1, firstMs: renewMs, everyMs: renewMs, content: () => bytes }
      const ended = AbortSignal.any([release.signal, this.#closing.signal])
      kept = keepHeartbeat(this.#store, this.#clock, options, ended)
      this.#kept.add(kept)
    }
    return async () => {
      this.#own.delete(owner)
      release.abort()
      await kept
      this.#kept.delete(kept)
    }
  }

  /** Return the oldest pinned slot, or infinity if no slot is pinned. Deletes pins that are no longer valid. */
  async oldest(): Promise<number> {
    return Math.min(Number.POSITIVE_INFINITY, ...(await this.all()).map(({ slot }) => slot))
  }

  /** Return all valid pins. Deletes pins that are no longer valid. */
  async all(): Promise<readonly Pin[]> {
    const { pins, lost } = await this.#check()
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

  /** Release all pins of this process. Saves for how long this process has observed the pins of other processes. */
  async close(): Promise<void> {
    this.#own.clear()
    this.#closing.abort()
    await Promise.all(this.#kept)
    await this.#watching
    if (!this.#stillness.isWatching || this.#readOnly) return
    await this.#check()
      .then(() => this.#stillness.save())
      .catch(() => {})
  }

  /** Return the valid pins of other processes (`pins`), and the files of pins that are no longer valid (`lost`). */
  async #check(): Promise<{ readonly pins: readonly Pin[]; readonly lost: readonly string[] }> {
    const began = this.#clock.elapsed()
    const { heartbeats, records } = await listHeartbeats(this.#store, directory, pinBytesMax, {
      isSkipped: owner => this.#own.has(owner),
    })
    const contents = new Map<string, PinContent>()
    const liveness = new Map<string, Liveness>()
    const unsure: string[] = []
    for (const { owner, key } of heartbeats) {
      const known = this.#contents.get(owner) ?? (await this.#read(key))
      if (known !== null) contents.set(owner, known)
      const by = known?.by ?? null
      const state = (by !== null && this.#store.processes?.livenessOf(by)) || 'unknown'
      liveness.set(owner, state)
      if (state === 'unknown') unsure.push(key)
    }
    this.#contents = contents
    const still = this.#stillness.look(unsure, records, began)
    const pins: Pin[] = []
    const lost: string[] = []
    for (const { owner, key, keys } of heartbeats) {
      const stillMs = still.get(key) ?? 0
      if (liveness.get(owner) === 'dead' || stillMs >= staleAfterMs) lost.push(...keys)
      else {
        const { slot, by, upload } = contents.get(owner) ?? unreadable
        pins.push({
          slot,
          key,
          upload,
          process: by !== null && this.#isOnThisMachine(by) ? by.pid : null,
          stillMs,
        })
      }
    }
    return { pins, lost }
  }

  /** Return whether a process runs on this machine, so that its process id is meaningful here. */
  #isOnThisMachine({ boot, space }: ProcessMark): boolean {
    const own = this.#store.processes?.own
    return boot === own?.boot && space === own.space
  }

  /**
   * Check the pins at intervals, as long as there are pins whose owner process cannot be checked. The promise never
   * rejects.
   */
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

  /** Read the file of a pin. Returns null if a newer file has replaced it. */
  async #read(key: string): Promise<PinContent | null> {
    const bytes = await this.#store.get(key)
    if (bytes === null) return null
    try {
      const { slot, by, upload } = JSON.parse(Buffer.from(bytes).toString())
      if (!Number.isSafeInteger(slot)) return unreadable
      return { slot, by: parseMark(by), upload: typeof upload === 'string' ? upload : null }
    } catch {
      return unreadable
    }
  }
}

function encode({ slot, by, upload }: PinContent): Uint8Array {
  const contents = { slot, ...(by !== null && { by }), ...(upload !== null && { upload }) }
  return Buffer.from(JSON.stringify(contents))
}
