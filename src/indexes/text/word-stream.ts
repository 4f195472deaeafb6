/**
 * Provides a stream of 32-bit numbers that is written once and then read once, in order. Reading releases its memory.
 */

/** Number of words in a chunk. Chunks are never copied, so a stream grows without moving its words. */
const chunkWords = 64 * 1024

interface Chunk {
  readonly words: Uint32Array<ArrayBuffer>
  /** Number of words written. */
  used: number
}

/** A stream of u32s. Write first, then call `rewind` and read. */
export class WordStream {
  /** The next word to write or read is `words[at]`. The caller advances `at`. */
  words = new Uint32Array(0)
  at = 0
  readonly #chunks: Chunk[] = []
  #next = 0

  /** Reserve space for `count` contiguous words. */
  reserve(count: number): void {
    if (this.at + count <= this.words.length) return
    this.#close()
    this.words = new Uint32Array(Math.max(count, chunkWords))
    this.at = 0
    this.#chunks.push({ words: this.words, used: 0 })
  }

  /** Switch from writing to reading. */
  rewind(): void {
    this.#close()
    this.words = new Uint32Array(0)
    this.at = 0
  }

  /** Move to the next contiguous words. Call this before reading the words that were reserved together. */
  advance(): void {
    if (this.#next > 0 && this.at < this.#chunks[this.#next - 1]!.used) return
    this.words = this.#chunks[this.#next]!.words
    this.at = 0
    if (this.#next > 0) this.#chunks[this.#next - 1] = { words: new Uint32Array(0), used: 0 }
    this.#next++
  }

  #close(): void {
    const last = this.#chunks.at(-1)
    if (last !== undefined) last.used = this.at
  }
}
