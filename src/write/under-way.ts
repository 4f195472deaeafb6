/** A running write. `slot`: the creation slot of its files. */
interface RunningWrite {
  readonly slot: number
}

/** The running writes of this process. Garbage collection must keep the files that they create. */
export class UnderWay {
  readonly #writes = new Set<RunningWrite>()

  /** Run a write whose files have the creation slot `slot`. */
  async run<T>(slot: number, write: () => Promise<T>): Promise<T> {
    const running = this.begin(slot)
    try {
      return await write()
    } finally {
      this.end(running)
    }
  }

  /** Record a write that begins. The caller must pass the result to `end` when the write has ended. */
  begin(slot: number): RunningWrite {
    const write = { slot }
    this.#writes.add(write)
    return write
  }

  end(write: RunningWrite): void {
    this.#writes.delete(write)
  }

  /** Return the oldest creation slot of the running writes. Returns infinity if no write is running. */
  oldest(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const { slot } of this.#writes) oldest = Math.min(oldest, slot)
    return oldest
  }
}
