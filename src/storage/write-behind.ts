/** Writes chunks in order while the caller produces the next ones. */

/** The most bytes that may wait to be written. */
const waitingBytes = 32 * 1024 * 1024
/** Chunks of at most this many bytes are collected in a buffer: a write per chunk would cost more than a copy. */
const smallBytes = 64 * 1024
const gatheredBytes = 256 * 1024

/** A bounded queue of writes that run one after the other. */
export class WriteBehind {
  readonly #write: (bytes: Uint8Array) => Promise<void>
  /** Queued writes, with the number of bytes of each. */
  readonly #waiting: { readonly done: Promise<void>; readonly bytes: number }[] = []
  #bytes = 0
  #last: Promise<void> = Promise.resolve()
  #gathered = new Uint8Array(gatheredBytes)
  #used = 0
  #closed = false

  /** The next call of `write` starts after the previous one has ended. After a failure `write` is not called again. */
  constructor(write: (bytes: Uint8Array) => Promise<void>) {
    this.#write = write
  }

  /**
   * Queue a chunk, which must not change afterwards. Resolves when there is room for another chunk. Throws the error of
   * a failed write.
   */
  async push(chunk: Uint8Array): Promise<void> {
    if (chunk.length > smallBytes) {
      this.#enqueueGathered()
      this.#enqueue(chunk)
    } else {
      if (this.#used + chunk.length > gatheredBytes) this.#enqueueGathered()
      this.#gathered.set(chunk, this.#used)
      this.#used += chunk.length
    }
    while (this.#bytes > waitingBytes) await this.#waiting[0]!.done
  }

  /** Resolves when all chunks are written. */
  async flush(): Promise<void> {
    this.#enqueueGathered()
    await this.#last
  }

  /** Drop the writes that have not started, and wait for the running one. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#last.catch(() => {})
  }

  #enqueueGathered(): void {
    if (this.#used === 0) return
    this.#enqueue(this.#gathered.subarray(0, this.#used))
    this.#gathered = new Uint8Array(gatheredBytes)
    this.#used = 0
  }

  #enqueue(bytes: Uint8Array): void {
    const done = this.#last.then(async () => {
      if (!this.#closed) await this.#write(bytes)
      this.#waiting.shift()
      this.#bytes -= bytes.length
    })
    // The next `push` or `flush` throws the error.
    done.catch(() => {})
    this.#waiting.push({ done, bytes: bytes.length })
    this.#bytes += bytes.length
    this.#last = done
  }
}
