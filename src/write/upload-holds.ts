/**
 * Uploads that this process serves: each is a pin on the slot it began in, so that its files are kept (write/pins).
 *
 * A process lets go of an upload that saw no request for a while, by its own clock that never goes back; the next request
 * takes it up again, here or in another process. No end of an upload is written down anywhere.
 */
import type { Clock } from '../primitives/clock.js'
import type { Pins } from './pins.js'

/** How often it is looked whether uploads are still open, and asked for. */
const lookMs = 60_000

interface Held {
  readonly pinned: Promise<() => Promise<void>>
  /** When the first request came, by `elapsed`. */
  readonly since: number
  /** When the last one ended. */
  last: number
  /** Requests under way. */
  calls: number
}

export class UploadHolds {
  readonly #pins: Pins
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #isOpen: (id: string) => boolean
  readonly #held = new Map<string, Held>()
  readonly #closing = new AbortController()
  #watching: Promise<void> | null = null

  /** `idleMs`: how long an upload without a request stays held. `isOpen`: whether an upload has not ended, as far as this process knows. */
  constructor(pins: Pins, clock: Clock, idleMs: number, isOpen: (id: string) => boolean) {
    this.#pins = pins
    this.#clock = clock
    this.#idleMs = idleMs
    this.#isOpen = isOpen
  }

  /**
   * Runs a request for the upload `id`, which began in `slot`, while a pin keeps its files. Whether it is still open is to be asked in
   * `work`: a sweep may have been faster than the pin.
   */
  async run<T>(id: string, slot: number, work: () => Promise<T>): Promise<T> {
    const now = this.#clock.elapsed()
    const held = this.#held.get(id) ?? {
      pinned: this.#pins.hold(slot, undefined, id),
      since: now,
      last: now,
      calls: 0,
    }
    this.#held.set(id, held)
    held.calls++
    try {
      await held.pinned
      return await work()
    } catch (error) {
      if (await isBroken(held)) this.#held.delete(id)
      throw error
    } finally {
      held.calls--
      held.last = this.#clock.elapsed()
      if (!this.#closing.signal.aborted) this.#watching ??= this.#watch()
    }
  }

  /** For how long this process has held an upload, milliseconds. */
  heldMs(id: string): number {
    const held = this.#held.get(id)
    return held === undefined ? 0 : this.#clock.elapsed() - held.since
  }

  /** Lets go of an upload that has ended, once no request of it is under way. */
  async end(id: string): Promise<void> {
    const held = this.#held.get(id)
    if (held === undefined || held.calls > 0) return
    this.#held.delete(id)
    await (await held.pinned)()
  }

  /** Stops looking. The pins themselves go with `Pins.close`. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#watching
  }

  /** Never rejects. */
  async #watch(): Promise<void> {
    while (this.#held.size > 0) {
      await this.#clock.sleep(Math.min(lookMs, this.#idleMs), this.#closing.signal).catch(() => {})
      if (this.#closing.signal.aborted) return
      const now = this.#clock.elapsed()
      for (const [id, { last }] of this.#held) {
        if (now - last >= this.#idleMs || !this.#isOpen(id)) await this.end(id).catch(() => {})
      }
    }
    this.#watching = null
  }
}

/** Whether the pin could not be written: the next request tries again. */
function isBroken({ pinned }: Held): Promise<boolean> {
  return pinned.then(
    () => false,
    () => true,
  )
}
