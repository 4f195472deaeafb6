/** Keeps the chunks of a body that were sent, so that the body can be sent again. */

/** Maximum bytes of a body that are kept. */
const keptBytes = 16 << 20

/**
 * A body that can be read several times while it has at most `keptBytes` bytes. Each reading begins with the first
 * chunk.
 */
export class ReplayedBody implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>
  #chunks: Uint8Array[] = []
  #bytes = 0
  #isWhole = true
  #isEnded = false
  /** Number of readings that have begun. Only the last one continues. */
  #readings = 0
  #failure: { readonly cause: unknown } | undefined
  /** The read of the next chunk, if one is in progress. */
  #pulling: Promise<void> | undefined

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Whether the body can be read again. False if its source failed. */
  get canReplay(): boolean {
    return this.#isWhole && this.#failure === undefined
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const reading = ++this.#readings
    for (let at = 0; ; at++) {
      if (at === this.#chunks.length && !this.#isEnded) await this.#pull()
      // Throw, so that an abandoned request does not end as if its body were complete.
      if (reading !== this.#readings) throw new Error('the body is sent again by another request')
      if (this.#failure !== undefined) throw this.#failure.cause
      if (at >= this.#chunks.length) return
      yield this.#chunks[at]!
      // Above the limit, the body cannot be read again, so the chunk is dropped. Its entry stays, because the reading
      // counts chunks.
      if (!this.#isWhole && reading === this.#readings) this.#chunks[at] = nothing
    }
  }

  /** Release the source. Does not wait for a chunk that the source is producing, because it may never come. */
  async close(): Promise<void> {
    this.#chunks = []
    if (this.#isEnded) return
    this.#isEnded = true
    const closed = Promise.resolve(this.#source.return?.()).catch(() => {})
    if (this.#pulling === undefined) await closed
  }

  #pull(): Promise<void> {
    this.#pulling ??= this.#next().finally(() => {
      this.#pulling = undefined
    })
    return this.#pulling
  }

  async #next(): Promise<void> {
    try {
      const { done, value } = await this.#source.next()
      this.#isEnded ||= done === true
      if (done === true) return
      this.#chunks.push(value)
      this.#bytes += value.length
      if (this.#bytes > keptBytes) this.#isWhole = false
    } catch (cause) {
      this.#failure = { cause }
      this.#isEnded = true
    }
  }
}

const nothing = new Uint8Array(0)
