/**
 * Keeps pins for sessions: multipart uploads and read sessions, which callers continue with a token. While a session is
 * pinned, garbage collection keeps the files of the slot in which the session began (write/pins).
 *
 * If a session had no request for `idleMs`, the process releases its pin. The next request pins the slot again, in this
 * process or in another. Sessions do not have to be ended, because unused pins are released.
 */
import type { Clock } from '../primitives/clock.js'

/** Interval in milliseconds at which the process looks for idle and ended sessions. */
const checkIntervalMs = 60_000

/** A pinned session. */
interface Session {
  /** Resolves when the pin is written, to the function that releases the pin. */
  readonly pinned: Promise<() => Promise<void>>
  /** Time of the first request, in milliseconds of `Clock.elapsed`. */
  readonly since: number
  /** Time at which the last request ended, in milliseconds of `Clock.elapsed`. */
  last: number
  /** Number of running requests. */
  calls: number
  /** Whether the session has ended. If true, the last running request releases the pin. */
  hasEnded: boolean
}

/** Options of `Holds`. */
interface HoldsOptions {
  /** Pins a slot for the session `id`. Resolves to a function that releases the pin. */
  readonly pin: (slot: number, id: string) => Promise<() => Promise<void>>
  readonly clock: Clock
  /** Time in milliseconds after which the pin of a session without requests is released. */
  readonly idleMs: number
  /**
   * Returns whether the session is open, according to the state that this process has read. It is needed if another
   * process may end a session. Undefined: only `end` ends a session.
   */
  readonly isOpen?: (id: string) => boolean
}

/** The pinned sessions of one kind (uploads or read sessions) in this process. */
export class Holds {
  readonly #options: HoldsOptions
  readonly #sessions = new Map<string, Session>()
  readonly #closing = new AbortController()
  #watching: Promise<void> | null = null

  constructor(options: HoldsOptions) {
    this.#options = options
  }

  /** The number of pinned sessions. */
  get size(): number {
    return this.#sessions.size
  }

  /**
   * Run `work`, a request of the session `id`, while the slot of the session is pinned. `slot`: slot in which the
   * session began. Rejects with the error of `pin` if the slot cannot be pinned.
   *
   * Garbage collection may have run before the pin was written. So `pin` or `work` must check that the files still
   * exist.
   */
  async run<T>(id: string, slot: number, work: () => Promise<T>): Promise<T> {
    const { pin, clock } = this.#options
    const now = clock.elapsed()
    const session = this.#sessions.get(id) ?? {
      pinned: pin(slot, id),
      since: now,
      last: now,
      calls: 0,
      hasEnded: false,
    }
    this.#sessions.set(id, session)
    session.calls++
    try {
      await session.pinned
      return await work()
    } catch (error) {
      if (await isBroken(session)) this.#sessions.delete(id)
      throw error
    } finally {
      session.calls--
      session.last = clock.elapsed()
      // An error of the release can be ignored: `Pins.close` releases the pin later, or other processes ignore it after
      // ten minutes without a heartbeat.
      if (session.hasEnded) await this.end(id).catch(() => {})
      if (!this.#closing.signal.aborted) this.#watching ??= this.#watch()
    }
  }

  /** Record that a session is in use, because a caller still reads the result of a request. */
  touch(id: string): void {
    const session = this.#sessions.get(id)
    if (session !== undefined) session.last = this.#options.clock.elapsed()
  }

  /** Return the time in milliseconds since this process pinned a session. Returns 0 if the session is not pinned. */
  pinnedMs(id: string): number {
    const session = this.#sessions.get(id)
    return session === undefined ? 0 : this.#options.clock.elapsed() - session.since
  }

  /** End a session, and release its pin. If requests of the session are running, the last request releases the pin. */
  async end(id: string): Promise<void> {
    const session = this.#sessions.get(id)
    if (session === undefined) return
    session.hasEnded = true
    if (session.calls > 0) return
    this.#sessions.delete(id)
    await (await session.pinned)()
  }

  /** Stop the check for idle sessions. The pins stay until `Pins.close` releases them. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#watching
  }

  /** Release idle and ended sessions at intervals, as long as there are pinned sessions. The promise never rejects. */
  async #watch(): Promise<void> {
    const { clock, idleMs, isOpen } = this.#options
    while (this.#sessions.size > 0) {
      await clock.sleep(Math.min(checkIntervalMs, idleMs), this.#closing.signal).catch(() => {})
      if (this.#closing.signal.aborted) return
      const now = clock.elapsed()
      for (const [id, { last, calls }] of this.#sessions) {
        if ((calls === 0 && now - last >= idleMs) || isOpen?.(id) === false)
          await this.end(id).catch(() => {})
      }
    }
    this.#watching = null
  }
}

/**
 * Return whether the pin could not be written. The session is then removed, so that its next request writes a new pin.
 */
function isBroken({ pinned }: Session): Promise<boolean> {
  return pinned.then(
    () => false,
    () => true,
  )
}
