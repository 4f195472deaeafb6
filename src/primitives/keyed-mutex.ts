/** One at a time per key, first come first served: for work that would otherwise race itself within a process. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>()

  /** Runs `work` once everything queued before it under `key` has ended, well or badly. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    let release!: () => void
    const done = new Promise<void>(resolve => {
      release = resolve
    })
    this.#last.set(key, done)
    try {
      await before
      return await work()
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key)
      release()
    }
  }
}
