/** Writes chunks one after the other while the next ones are made. */

/** Bytes that may wait to be written. */
const waitingBytes = 32 * 1024 * 1024
/** Chunks of at most this many bytes are gathered: a write each would cost more than a copy. */
const smallBytes = 64 * 1024
const gatheredBytes = 256 * 1024

export class WriteBehind {
  readonly #write: (bytes: Uint8Array) => Promise<void>
  /** Writes that wait for those before them, and how many bytes they are. */
  readonly #waiting: { readonly done: Promise<void>; readonly bytes: number }[] = []
  #bytes = 0
  #last: Promise<void> = Promise.resolve()
  #gathered = new Uint8Array(gatheredBytes)
  #used = 0
  #closed = false

  /** `write` is never called before the call before it has settled, and never again once one has failed. */
  constructor(write: (bytes: Uint8Array) => Promise<void>) {
    this.#write = write
  }

  /** Takes a chunk, which must stay as it is; resolves when there is room for another. Throws what a write has thrown. */
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

  /** Gives up what has not begun, and waits for the write that has. */
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
    // Whoever pushes or flushes next is told.
    done.catch(() => {})
    this.#waiting.push({ done, bytes: bytes.length })
    this.#bytes += bytes.length
    this.#last = done
  }
}
