/** Counts foreground calls, so that background tasks can back off. */
import { orAborted } from './abort.js'
import type { Clock } from './clock.js'

/** Counts running calls. */
export class Activity {
  readonly #clock: Clock
  #count = 0
  /** Resolves when the last foreground call ends. */
  #over: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Run `work` as a foreground call. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#count++
    try {
      return await work()
    } finally {
      if (--this.#count === 0) {
        this.#over?.resolve()
        this.#over = null
      }
    }
  }

  /** Wait until no foreground call runs, but at most `ms` milliseconds. Rejects with `signal.reason`. */
  async waitUntilIdle(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#count === 0) return
    this.#over ??= resolvable()
    const timer = new AbortController()
    const timeout = this.#clock.sleep(ms, timer.signal, true).catch(() => {})
    try {
      await orAborted(Promise.race([this.#over.promise, timeout]), signal)
    } finally {
      // Pass a reason: creating the default AbortError takes longer than everything else here.
      timer.abort(null)
    }
  }
}

function resolvable(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve!: () => void
  const promise = new Promise<void>(resolved => {
    resolve = resolved
  })
  return { promise, resolve }
}
