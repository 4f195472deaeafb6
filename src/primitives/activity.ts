/** What is going on in the foreground, so that the background can give way to it. */
import { orAborted } from './abort.js'
import type { Clock } from './clock.js'

export class Activity {
  readonly #clock: Clock
  #count = 0
  /** Resolves when nothing goes on any more. */
  #over: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

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

  /** Until nothing goes on, but no longer than `ms`. Rejects with `signal.reason`. */
  async giveWay(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#count === 0) return
    this.#over ??= resolvable()
    const enough = new AbortController()
    const patience = this.#clock.sleep(ms, enough.signal, true).catch(() => {})
    try {
      await orAborted(Promise.race([this.#over.promise, patience]), signal)
    } finally {
      // With a reason: making an AbortError takes longer than all the rest.
      enough.abort(null)
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
