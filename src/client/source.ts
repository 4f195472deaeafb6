/** Whatever a caller can iterate, pulled item by item. Nobody waits for it longer than the caller wants to. */
import { EventEmitter } from 'node:events'

export class Source {
  readonly #iterator: AsyncIterator<unknown> | Iterator<unknown>
  readonly #isAsync: boolean
  readonly #signal: AbortSignal | undefined
  #ended = false
  /** Ends the wait for the item that is on its way. */
  #giveUp: ((reason: unknown) => void) | null = null
  readonly #aborted = () => this.#giveUp?.(this.#signal!.reason)

  constructor(items: AsyncIterable<unknown> | Iterable<unknown>, signal?: AbortSignal) {
    this.#isAsync = Symbol.asyncIterator in items
    this.#iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
    this.#signal = signal
    // A stream that fails while nobody listens ends the process; whoever pulls it is told of it even so.
    if (items instanceof EventEmitter) items.on('error', () => {})
    signal?.addEventListener('abort', this.#aborted, { once: true })
  }

  /**
   * The next item: at once where the source has it at once. Throws what the source throws, and `signal.reason` without
   * waiting for the source.
   */
  next(): IteratorResult<unknown> | Promise<IteratorResult<unknown>> {
    this.#signal?.throwIfAborted()
    return this.#isAsync ? this.#wait() : this.#noted(this.#step() as IteratorResult<unknown>)
  }

  /** Tells the source that no more is wanted, if it has more. A source that is busy with an item is not waited for. */
  async close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#aborted)
    if (this.#ended) return
    this.#ended = true
    const busy = this.#giveUp
    busy?.(new Error('the source is closed'))
    try {
      const closed = this.#iterator.return?.()
      if (busy === null && this.#signal?.aborted !== true) await closed
      else Promise.resolve(closed).catch(() => {})
    } catch {
      // Why the call ends is more than how its source took it.
    }
  }

  #wait(): Promise<IteratorResult<unknown>> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject
      Promise.resolve(this.#step()).then(
        result => {
          this.#giveUp = null
          resolve(this.#noted(result))
        },
        error => {
          this.#giveUp = null
          this.#ended = true
          reject(error)
        },
      )
    })
  }

  /** A source that throws has ended. */
  #step() {
    try {
      return this.#iterator.next()
    } catch (error) {
      this.#ended = true
      throw error
    }
  }

  #noted(result: IteratorResult<unknown>): IteratorResult<unknown> {
    if (result.done === true) this.#ended = true
    return result
  }
}
