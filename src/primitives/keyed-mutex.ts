/** One at a time per key, first come first served: for work that would otherwise race itself within a process. */
import { orAborted } from './abort.js'

export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>()

  /**
   * Runs `work` once everything queued before it under `key` has ended, well or badly. Rejects with `signal.reason`
   * when aborted while it waits; whoever comes after still waits for whoever came before.
   */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    let release!: () => void
    const done = new Promise<void>(resolve => {
      release = resolve
    })
    this.#last.set(key, done)
    try {
      await orAborted(before, signal)
      return await work()
    } finally {
      before.then(() => {
        if (this.#last.get(key) === done) this.#last.delete(key)
        release()
      })
    }
  }

  /** As `run`, under several keys, which may repeat. */
  async runAll<T>(keys: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // Everybody queues for keys in the same order: nobody waits in a circle.
    const ordered = [...new Set(keys)].sort()
    const next = (i: number): Promise<T> =>
      i === ordered.length ? work() : this.run(ordered[i]!, () => next(i + 1), signal)
    return next(0)
  }
}
