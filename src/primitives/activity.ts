/** Counts foreground calls, so that background tasks can back off. */
import { within } from './abort.js'
import type { Clock } from './clock.js'
import { type Deferred, deferred } from './deferred.js'

/** Counts running foreground calls. */
export class Activity {
  readonly #clock: Clock
  #count = 0
  /** A promise that resolves when the last foreground call ends. Null: no task waits for this. */
  #over: Deferred<void> | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Run `work` as a foreground call. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.begin()
    try {
      return await work()
    } finally {
      this.end()
    }
  }

  /** Count a foreground call that begins. The caller must call `end` when it has ended. */
  begin(): void {
    this.#count++
  }

  end(): void {
    if (--this.#count > 0) return
    this.#over?.resolve()
    this.#over = null
  }

  /** Wait until no foreground call runs, but at most `ms` milliseconds. Rejects with `signal.reason`. */
  async waitUntilIdle(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#count === 0) return
    this.#over ??= deferred()
    await within(this.#clock, ms, this.#over.promise, signal)
  }
}
