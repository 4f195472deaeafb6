/** An immutable queue: what is pushed and dropped costs the same however long it is. */
import { PersistentMap } from './persistent-map.js'

export class PersistentQueue<V> {
  /** By place, in the order in which they came. */
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

  /** Without the first ones for which `test` holds. */
  dropWhile(test: (value: V) => boolean): PersistentQueue<V> {
    let [items, first] = [this.#items, this.#first]
    while (first < this.#next && test(items.get(String(first))!)) items = items.delete(String(first++))
    return first === this.#first ? this : new PersistentQueue(items, first, this.#next)
  }

  /** Oldest first. */
  *[Symbol.iterator](): Iterator<V> {
    for (let place = this.#first; place < this.#next; place++) yield this.#items.get(String(place))!
  }
}
