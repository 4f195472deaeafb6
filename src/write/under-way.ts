/** Writes of this process that are under way: what they began with is not swept away under them. */
export class UnderWay {
  /** The newest slot each of them knew when it began. */
  readonly #births = new Set<{ readonly slot: number }>()

  /** Runs a write that began when `slot` was the newest. */
  async run<T>(slot: number, write: () => Promise<T>): Promise<T> {
    const birth = { slot }
    this.#births.add(birth)
    try {
      return await write()
    } finally {
      this.#births.delete(birth)
    }
  }

  /** The oldest of those slots; infinity when nothing is under way. */
  oldest(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const { slot } of this.#births) oldest = Math.min(oldest, slot)
    return oldest
  }
}
