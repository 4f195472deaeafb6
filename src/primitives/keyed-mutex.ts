/** A mutex per key. It prevents races between calls of one process. */
import { orAborted } from './abort.js'
import { deferred } from './deferred.js'

/** A mutex per key. Calls with the same key run one after the other, in the order in which they were made. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>()

  /**
   * Run `work` after all work that was queued earlier under `key` has ended, successfully or not. Rejects with
   * `signal.reason` if the signal aborts while this call waits. Later calls still wait for the calls before an aborted
   * call.
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

  /** Like `run`, but lock several keys. `keys` may have duplicates. */
  async runAll<T>(keys: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // Lock the keys in sorted order. Because all callers use the same order, there is no deadlock.
    const ordered = [...new Set(keys)].sort()
    const next = (i: number): Promise<T> =>
      i === ordered.length ? work() : this.run(ordered[i]!, () => next(i + 1), signal)
    return next(0)
  }
}
