/** Reads items from an iterable of the caller. An aborted signal ends the wait for an item. */
import { EventEmitter } from 'node:events'

export class Source {
  readonly #iterator: AsyncIterator<unknown> | Iterator<unknown>
  readonly #isAsync: boolean
  readonly #signal: AbortSignal | undefined
  #ended = false
  /** Function that rejects the promise of the item that is being read. Null: no item is being read. */
  #rejectPending: ((reason: unknown) => void) | null = null
  readonly #aborted = () => this.#rejectPending?.(this.#signal!.reason)

  constructor(items: AsyncIterable<unknown> | Iterable<unknown>, signal?: AbortSignal) {
    this.#isAsync = Symbol.asyncIterator in items
    this.#iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
    this.#signal = signal
    // Ignore 'error' events, because without a listener they end the process. The iterator throws the same error.
    if (items instanceof EventEmitter) items.on('error', () => {})
    signal?.addEventListener('abort', this.#aborted, { once: true })
  }

  /**
   * Return the next item, synchronously if the source is synchronous. Throws what the source throws. When the signal
   * aborts, throws `signal.reason` without waiting for the source.
   */
  next(): IteratorResult<unknown> | Promise<IteratorResult<unknown>> {
    this.#signal?.throwIfAborted()
    return this.#isAsync ? this.#wait() : this.#noteEnd(this.#step() as IteratorResult<unknown>)
  }

  /** Close the source, unless it has ended. Waits for the source to close, unless an item is still being read. */
  async close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#aborted)
    if (this.#ended) return
    this.#ended = true
    const pending = this.#rejectPending
    pending?.(new Error('the source is closed'))
    try {
      const closed = this.#iterator.return?.()
      if (pending === null && this.#signal?.aborted !== true) await closed
      else Promise.resolve(closed).catch(() => {})
    } catch {
      // Ignore errors of closing the source: they would hide the error or the result of the call.
    }
  }

  #wait(): Promise<IteratorResult<unknown>> {
    return new Promise((resolve, reject) => {
      this.#rejectPending = reject
      Promise.resolve(this.#step()).then(
        result => {
          this.#rejectPending = null
          resolve(this.#noteEnd(result))
        },
        error => {
          this.#rejectPending = null
          this.#ended = true
          reject(error)
        },
      )
    })
  }

  /** Request the next item. If the source throws, it has ended. */
  #step() {
    try {
      return this.#iterator.next()
    } catch (error) {
      this.#ended = true
      throw error
    }
  }

  #noteEnd(result: IteratorResult<unknown>): IteratorResult<unknown> {
    if (result.done === true) this.#ended = true
    return result
  }
}
