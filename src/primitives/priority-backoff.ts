/**
 * Lets urgent work run first, for a limited time. Correctness never depends on these waits. Each wait has a time limit,
 * so a cycle of waiting calls does not block forever.
 */
import { within } from './abort.js'
import type { Clock } from './clock.js'
import { deferred } from './deferred.js'

/** Maximum wait in milliseconds: about a hundred times the duration of an urgent call. */
const maxWaitMs = 200

/** Makes ordinary work wait for urgent work under the same key, at most 200 ms. */
export class PriorityBackoff {
  readonly #clock: Clock
  /** By key: a promise that resolves when all urgent calls are done. */
  readonly #busy = new Map<string, Promise<unknown>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Return whether urgent work runs under `key`. */
  isBusy(key: string): boolean {
    return this.#busy.has(key)
  }

  /** Wait until no urgent work runs under `key`, at most 200 ms. Rejects with `signal.reason`. */
  async yield(key: string, signal?: AbortSignal): Promise<void> {
    const busy = this.#busy.get(key)
    if (busy !== undefined) await within(this.#clock, maxWaitMs, busy, signal)
  }

  /**
   * Run `work` as urgent under `key`, after earlier urgent work. Rejects with `signal.reason` while it waits.
   *
   * Ordinary work that passed `yield` before this call may still be running. It may win a race against `work`, so
   * `work` should retry once.
   */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#busy.get(key)
    const done = deferred<void>()
    const busy = before === undefined ? done.promise : Promise.all([before, done.promise])
    this.#busy.set(key, busy)
    try {
      if (before !== undefined) await within(this.#clock, maxWaitMs, before, signal)
      return await work()
    } finally {
      done.resolve()
      // If the wait of this call timed out, it may end before earlier calls. So wait for them before removing the key.
      busy.then(() => {
        if (this.#busy.get(key) === busy) this.#busy.delete(key)
      })
    }
  }
}
