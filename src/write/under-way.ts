/** The running writes of this process. Garbage collection must keep the files that they create. */
export class UnderWay {
  /** For each running write: the creation slot of its files. */
  readonly #births = new Set<{ readonly slot: number }>()

  /** Run a write whose files have the creation slot `slot`. */
  async run<T>(slot: number, write: () => Promise<T>): Promise<T> {
    const birth = { slot }
    this.#births.add(birth)
    try {
      return await write()
    } finally {
      this.#births.delete(birth)
    }
  }

  /** Return the oldest creation slot of the running writes. Returns infinity if no write is running. */
  oldest(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const { slot } of this.#births) oldest = Math.min(oldest, slot)
    return oldest
  }
}
