/** Writes chunks in order. While a chunk is written, the caller can produce the next one. */

/** Maximum number of bytes that may wait to be written. */
const waitingBytes = 32 * 1024 * 1024
/**
 * Chunks of at most this many bytes are copied to a buffer and written together, because a copy is cheaper than a
 * write. `gatheredBytes`: the size of this buffer.
 */
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

  /**
   * `write`: writes bytes. It is called again only when the previous call has resolved. If a call rejects, it is not
   * called again.
   */
  constructor(write: (bytes: Uint8Array) => Promise<void>) {
    this.#write = write
  }

  /**
   * Queue a chunk. The caller must not change the chunk afterwards. Resolves when the queue can take another chunk.
   * Throws the error of a failed write.
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

  /** Wait until all chunks are written. Throws the error of a failed write. */
  async flush(): Promise<void> {
    this.#enqueueGathered()
    await this.#last
  }

  /** Drop the writes that have not started yet, and wait for the running write. */
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
    // Prevent an unhandled rejection. The next `push` or `flush` throws the error.
    done.catch(() => {})
    this.#waiting.push({ done, bytes: bytes.length })
    this.#bytes += bytes.length
    this.#last = done
  }
}
