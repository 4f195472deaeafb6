/**
 * Sessions that callers continue with a token: multipart uploads and read sessions. Each one pins the slot in which it
 * began, so that its files are kept (write/pins).
 *
 * A process releases a session that had no request for a while, by its monotonic clock. The next request pins it again,
 * in this process or another. The end of a session is not recorded anywhere.
 */
import type { Clock } from '../primitives/clock.js'

/** Interval of the check for idle or ended sessions, milliseconds. */
const checkIntervalMs = 60_000

interface Held {
  readonly pinned: Promise<() => Promise<void>>
  /** Time of the first request, by `elapsed`. */
  readonly since: number
  /** End time of the last request. */
  last: number
  /** Number of running requests. */
  calls: number
  /** Whether the session has ended: its last request releases the pin. */
  hasEnded: boolean
}

/** Options of `Holds`. */
interface HoldsOptions {
  /** Pin a slot for the session with that id; the returned function releases the pin. */
  readonly pin: (slot: number, id: string) => Promise<() => Promise<void>>
  readonly clock: Clock
  /** A session without a request is released after this time, milliseconds. */
  readonly idleMs: number
  /** Whether the session is open, as far as this process knows. Default: only this process can end it. */
  readonly isOpen?: (id: string) => boolean
}

/** The open sessions of one kind in this process. */
export class Holds {
  readonly #options: HoldsOptions
  readonly #held = new Map<string, Held>()
  readonly #closing = new AbortController()
  #watching: Promise<void> | null = null

  constructor(options: HoldsOptions) {
    this.#options = options
  }

  /** Number of sessions that this process has pinned. */
  get size(): number {
    return this.#held.size
  }

  /**
   * Run a request of a session that began in `slot`, while a pin keeps the session's files. Rejects as `pin` does if
   * the slot cannot be pinned. `pin` or `work` must check whether the files still exist: garbage collection may have
   * run before the pin was written.
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
      // If the release fails: `close` releases the pin, or other processes ignore it after ten minutes.
      if (held.hasEnded) await this.end(id).catch(() => {})
      if (!this.#closing.signal.aborted) this.#watching ??= this.#watch()
    }
  }

  /** Record activity: a caller still reads the result of a request. */
  touch(id: string): void {
    const held = this.#held.get(id)
    if (held !== undefined) held.last = this.#options.clock.elapsed()
  }

  /** Return for how long this process has pinned a session, milliseconds. */
  pinnedMs(id: string): number {
    const held = this.#held.get(id)
    return held === undefined ? 0 : this.#options.clock.elapsed() - held.since
  }

  /** Release a session that has ended; if requests are running, the last of them releases it. */
  async end(id: string): Promise<void> {
    const held = this.#held.get(id)
    if (held === undefined) return
    held.hasEnded = true
    if (held.calls > 0) return
    this.#held.delete(id)
    await (await held.pinned)()
  }

  /** Stop checking. `Pins.close` releases the pins. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#watching
  }

  /** Never rejects. */
  async #watch(): Promise<void> {
    const { clock, idleMs, isOpen } = this.#options
    while (this.#held.size > 0) {
      await clock.sleep(Math.min(checkIntervalMs, idleMs), this.#closing.signal).catch(() => {})
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

/** Whether the pin could not be written. The next request tries again. */
function isBroken({ pinned }: Held): Promise<boolean> {
  return pinned.then(
    () => false,
    () => true,
  )
}
