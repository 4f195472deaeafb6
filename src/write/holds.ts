/**
 * What callers come back to by a token, and this process serves: uploads in parts, and read sessions. Each is a pin on the slot it began
 * in, so that its files are kept (write/pins).
 *
 * A process lets go of one that saw no request for a while, by its own clock that never goes back; the next request
 * takes it up again, here or in another process. No end is written down anywhere.
 */
import type { Clock } from '../primitives/clock.js'

/** How often it is looked whether they are still open, and asked for. */
const lookMs = 60_000

interface Held {
  readonly pinned: Promise<() => Promise<void>>
  /** When the first request came, by `elapsed`. */
  readonly since: number
  /** When the last one ended. */
  last: number
  /** Requests under way. */
  calls: number
  /** Whether it has ended, and the last request lets go of it. */
  hasEnded: boolean
}

export interface HoldsOptions {
  /** Pins a slot for the one with that id; what it gives lets go of it. */
  readonly pin: (slot: number, id: string) => Promise<() => Promise<void>>
  readonly clock: Clock
  /** How long one without a request stays held, milliseconds. */
  readonly idleMs: number
  /** Whether it has not ended, as far as this process knows. Default: nobody else ends it. */
  readonly isOpen?: (id: string) => boolean
}

export class Holds {
  readonly #options: HoldsOptions
  readonly #held = new Map<string, Held>()
  readonly #closing = new AbortController()
  #watching: Promise<void> | null = null

  constructor(options: HoldsOptions) {
    this.#options = options
  }

  /** How many are held. */
  get size(): number {
    return this.#held.size
  }

  /**
   * Runs a request for the one with that id, which began in `slot`, while a pin keeps its files. Rejects as `pin` does where the slot cannot be
   * pinned; else whether the files are still there is for `pin` or for `work` to ask: a sweep may have been faster than the pin.
   */
  async run<T>(id: string, slot: number, work: () => Promise<T>): Promise<T> {
    const { pin, clock } = this.#options
    const now = clock.elapsed()
    const held = this.#held.get(id) ?? {
      pinned: pin(slot, id),
      since: now,
      last: now,
      calls: 0,
      hasEnded: false,
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
      held.last = clock.elapsed()
      // A pin that stays is let go of by `close`, or after ten minutes by the others.
      if (held.hasEnded) await this.end(id).catch(() => {})
      if (!this.#closing.signal.aborted) this.#watching ??= this.#watch()
    }
  }

  /** Notes that somebody still reads what a request gave. */
  touch(id: string): void {
    const held = this.#held.get(id)
    if (held !== undefined) held.last = this.#options.clock.elapsed()
  }

  /** For how long this process has held one, milliseconds. */
  heldMs(id: string): number {
    const held = this.#held.get(id)
    return held === undefined ? 0 : this.#options.clock.elapsed() - held.since
  }

  /** Lets go of one that has ended; where requests of it are under way the last of them does. */
  async end(id: string): Promise<void> {
    const held = this.#held.get(id)
    if (held === undefined) return
    held.hasEnded = true
    if (held.calls > 0) return
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
    const { clock, idleMs, isOpen } = this.#options
    while (this.#held.size > 0) {
      await clock.sleep(Math.min(lookMs, idleMs), this.#closing.signal).catch(() => {})
      if (this.#closing.signal.aborted) return
      const now = clock.elapsed()
      for (const [id, { last, calls }] of this.#held) {
        if ((calls === 0 && now - last >= idleMs) || isOpen?.(id) === false)
          await this.end(id).catch(() => {})
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
