/**
 * A least-recently-used cache with a budget in bytes. Values are promises, so that callers who want the same
 * thing at the same moment share one load; a load that fails is forgotten.
 */
export interface CacheStats {
  readonly entries: number
  readonly bytes: number
  readonly hits: number
  readonly misses: number
}

interface Entry<V> {
  readonly value: Promise<V>
  /** 0 until the value has arrived. */
  bytes: number
}

export class ByteCache<V> {
  readonly #entries = new Map<string, Entry<V>>()
  readonly #budget: number
  readonly #sizeOf: (value: V) => number
  #bytes = 0
  #hits = 0
  #misses = 0

  constructor(budget: number, sizeOf: (value: V) => number) {
    this.#budget = budget
    this.#sizeOf = sizeOf
  }

  /** The cached value, or what `load` gives. A value larger than the whole budget is handed out, not kept. */
  get(key: string, load: () => Promise<V>): Promise<V> {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      this.#hits++
      this.#entries.delete(key)
      this.#entries.set(key, known)
      return known.value
    }
    this.#misses++
    const entry: Entry<V> = { value: load(), bytes: 0 }
    this.#entries.set(key, entry)
    entry.value.then(
      value => this.#arrived(key, entry, value),
      () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key)
      },
    )
    return entry.value
  }

  stats(): CacheStats {
    return { entries: this.#entries.size, bytes: this.#bytes, hits: this.#hits, misses: this.#misses }
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  #arrived(key: string, entry: Entry<V>, value: V): void {
    if (this.#entries.get(key) !== entry) return
    entry.bytes = this.#sizeOf(value)
    this.#bytes += entry.bytes
    if (this.#bytes > this.#budget) this.#evict(key)
  }

  /**
   * Lets the least recently used go until the rest fits. A walk of a Map passes the places of all that were deleted
   * since it last grew, so it makes room for some more at once.
   */
  #evict(arrived: string): void {
    const enough = this.#budget - this.#budget / 16
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#bytes <= enough) return
      if (bytes === 0 && oldest !== arrived) continue
      this.#entries.delete(oldest)
      this.#bytes -= bytes
    }
  }
}
