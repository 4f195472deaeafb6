/** A mutex per key, first come, first served. Prevents races between calls of one process. */
import { orAborted } from './abort.js'
import { deferred } from './deferred.js'

/** Runs work one at a time per key, in the order of the calls. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>()

  /**
   * Run `work` after all work queued earlier under `key` has ended, successfully or not. Rejects with `signal.reason`
   * when aborted while it waits. Callers behind an aborted one still wait for the callers before it.
   */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const done = deferred<void>()
    this.#last.set(key, done.promise)
    try {
      await orAborted(before, signal)
      return await work()
    } finally {
      before.then(() => {
        if (this.#last.get(key) === done.promise) this.#last.delete(key)
        done.resolve()
      })
    }
  }

  /** Like `run`, but hold several keys at once. Keys may repeat. */
  async runAll<T>(keys: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // All callers queue for keys in the same order, so there is no deadlock.
    const ordered = [...new Set(keys)].sort()
    const next = (i: number): Promise<T> =>
      i === ordered.length ? work() : this.run(ordered[i]!, () => next(i + 1), signal)
    return next(0)
  }
}
