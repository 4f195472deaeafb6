/** Reads a given number of bytes from an Arrow body that arrives in chunks. */
import { invalidInput, quote } from '../errors.js'
import { tooLarge } from './budget.js'
import { concatBytes } from './concat-bytes.js'
import { cutOff } from './decode-ipc.js'
import { asBytes } from './layout.js'

/** A reader of a sequence of chunks, which may have any size. */
export class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array> | Iterator<Uint8Array>
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  /** Number of bytes consumed so far. */
  position = 0

  constructor(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#chunks = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]()
  }

  /** Return the next bytes without consuming them. Returns fewer bytes only at the end of the source. */
  async peek(bytes: number): Promise<Uint8Array> {
    while (this.#pendingBytes < bytes && (await this.#fetch()));
    if (this.#pending.length > 1) this.#pending = [concatBytes(this.#pending)]
    return this.#pending[0]?.subarray(0, bytes) ?? new Uint8Array(0)
  }

  /**
   * Consume exactly `bytes` bytes. Returns a view if one chunk contains all of them, otherwise a new buffer, aligned to
   * 8 bytes. The new buffer is written only when chunks arrive. So a sender that announces a large body, but sends
   * little, uses little physical memory.
   */
  async read(bytes: number): Promise<Uint8Array> {
    if (this.#pendingBytes === 0 && bytes > 0) await this.#fetch()
    const first = this.#pending[0]
    if (first !== undefined && first.length >= bytes) {
      this.#consume(first, bytes)
      return first.subarray(0, bytes)
    }
    const out = new Uint8Array(bytes)
    let filled = 0
    while (filled < bytes) {
      if (this.#pendingBytes === 0 && !(await this.#fetch())) throw cutOff(this.position)
      const chunk = this.#pending[0]!
      const part = Math.min(chunk.length, bytes - filled)
      out.set(chunk.subarray(0, part), filled)
      this.#consume(chunk, part)
      filled += part
    }
    return out
  }

  /** Consume exactly `bytes` bytes. Returns them as views of the chunks. */
  async views(bytes: number): Promise<Uint8Array[]> {
    const views: Uint8Array[] = []
    for (let missing = bytes; missing > 0; ) {
      if (this.#pendingBytes === 0 && !(await this.#fetch())) throw cutOff(this.position)
      const chunk = this.#pending[0]!
      const view = chunk.subarray(0, missing)
      this.#consume(chunk, view.length)
      missing -= view.length
      views.push(view)
    }
    return views
  }

  /** Return all remaining bytes. Throws InvalidInput with status 413 if there are more than `maxBytes`. */
  async rest(maxBytes: number): Promise<Uint8Array> {
    while (await this.#fetch()) {
      if (this.#pendingBytes > maxBytes) throw tooLarge('the arrow file is', maxBytes)
    }
    return this.#pending.length === 1 ? this.#pending[0]! : concatBytes(this.#pending)
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  #consume(chunk: Uint8Array, bytes: number): void {
    if (bytes === chunk.length) this.#pending.shift()
    else this.#pending[0] = chunk.subarray(bytes)
    this.#pendingBytes -= bytes
    this.position += bytes
  }

  /** Wait for the next non-empty chunk. Returns false at the end of the source. */
  async #fetch(): Promise<boolean> {
    for (;;) {
      const next = await this.#chunks.next()
      if (next.done === true) return false
      if (!(next.value instanceof Uint8Array)) {
        throw invalidInput(`the chunks of an arrow body must be Uint8Arrays, got ${quote(typeof next.value)}`)
      }
      if (next.value.length === 0) continue
      this.#pending.push(asBytes(next.value))
      this.#pendingBytes += next.value.length
      return true
    }
  }
}
