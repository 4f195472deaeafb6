/** Keeps what was sent of a body, so that it can be sent again. */

/** The most bytes that are kept of a body. */
const keptBytes = 16 << 20

/** A body that can be read several times, as long as its kept bytes are few. Each reading begins at the first chunk. */
export class ReplayedBody implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>
  #chunks: Uint8Array[] = []
  #bytes = 0
  #isWhole = true
  #isEnded = false
  /** The number of readings that have begun. Only the last one continues. */
  #readings = 0
  #failure: { readonly cause: unknown } | undefined
  /** The next chunk is on its way. */
  #pulling: Promise<void> | undefined

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Whether the body can be read again. The body of a caller that failed cannot. */
  get canReplay(): boolean {
    return this.#isWhole && this.#failure === undefined
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const reading = ++this.#readings
    for (let at = 0; ; at++) {
      if (at === this.#chunks.length && !this.#isEnded) await this.#pull()
      // A request that was given up must not end as if its body were complete.
      if (reading !== this.#readings) throw new Error('the body is sent again by another request')
      if (this.#failure !== undefined) throw this.#failure.cause
      if (at >= this.#chunks.length) return
      yield this.#chunks[at]!
      // Beyond the limit, only one reading is left. It needs no earlier chunks, but their number.
      if (!this.#isWhole && reading === this.#readings) this.#chunks[at] = nothing
    }
  }

  /** Release the source. Does not wait for a source that is busy with a chunk: it may never end. */
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
