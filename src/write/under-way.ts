/** Running writes of this process: garbage collection must keep files that they created. */
export class UnderWay {
  /** For each write, the newest slot that it knew when it began. */
  readonly #births = new Set<{ readonly slot: number }>()

  /** Run a write that began when `slot` was the newest. */
  async run<T>(slot: number, write: () => Promise<T>): Promise<T> {
    const birth = { slot }
    this.#births.add(birth)
    try {
      return await write()
    } finally {
      this.#births.delete(birth)
    }
  }

  /** Return the oldest of these slots; infinity if no write is running. */
  oldest(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const { slot } of this.#births) oldest = Math.min(oldest, slot)
    return oldest
  }
}
