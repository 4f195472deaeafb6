/** Numbers of 32 bits that are written once and read once, both in their order: memory goes as soon as it was read. */

/** Words of a chunk: few enough that copying none of it matters, many enough that nobody minds the last one's rest. */
const chunkWords = 64 * 1024

interface Chunk {
  readonly words: Uint32Array<ArrayBuffer>
  /** How many were written. */
  used: number
}

export class WordStream {
  /** Where to write or to read next: from `at` on in `words`. Whoever did so moves it. */
  words = new Uint32Array(0)
  at = 0
  readonly #chunks: Chunk[] = []
  #next = 0

  /** Makes room for so many words in a row. */
  reserve(count: number): void {
    if (this.at + count <= this.words.length) return
    this.#close()
    this.words = new Uint32Array(Math.max(count, chunkWords))
    this.at = 0
    this.#chunks.push({ words: this.words, used: 0 })
  }

  /** From now on it is read. */
  rewind(): void {
    this.#close()
    this.words = new Uint32Array(0)
    this.at = 0
  }

  /** Before what was written in a row is read. */
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
