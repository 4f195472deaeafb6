/** An immutable queue. The cost of adding and of removing an item does not depend on the length of the queue. */
import { PersistentMap } from './persistent-map.js'

/** An immutable first-in, first-out queue. */
export class PersistentQueue<V> {
  /** Items by position, in insertion order. */
  readonly #items: PersistentMap<V>
  readonly #first: number
  readonly #next: number

  private constructor(items: PersistentMap<V>, first: number, next: number) {
    this.#items = items
    this.#first = first
    this.#next = next
  }

  static empty<V>(): PersistentQueue<V> {
    return new PersistentQueue(PersistentMap.empty<V>(), 0, 0)
  }

  get size(): number {
    return this.#next - this.#first
  }

  push(value: V): PersistentQueue<V> {
    return new PersistentQueue(this.#items.set(String(this.#next), value), this.#first, this.#next + 1)
  }

  /** Return the queue without the leading items for which `test` is true. */
  dropWhile(test: (value: V) => boolean): PersistentQueue<V> {
    let [items, first] = [this.#items, this.#first]
    while (first < this.#next && test(items.get(String(first))!)) items = items.delete(String(first++))
    return first === this.#first ? this : new PersistentQueue(items, first, this.#next)
  }

  /** Return the newest items for which `test` is true, up to the first one for which it is false. Oldest item first. */
  newestWhile(test: (value: V) => boolean): V[] {
    const found: V[] = []
    for (let position = this.#next - 1; position >= this.#first; position--) {
      const value = this.#items.get(String(position))!
      if (!test(value)) break
      found.push(value)
    }
    return found.reverse()
  }

  /** Iterate over the items, oldest item first. */
  *[Symbol.iterator](): Iterator<V> {
    for (let position = this.#first; position < this.#next; position++)
      yield this.#items.get(String(position))!
  }
}
