/**
 * A map that forgets its oldest keys: those that are older than a day and behind ten thousand newer ones, both. Which
 * they are depends on what was set and when, by the log's own time, so every process forgets the same.
 */
import { PersistentMap } from '../primitives/persistent-map.js'

const keptCount = 10_000
const keptMs = 24 * 60 * 60 * 1000

interface Item<V> {
  readonly value: V
  readonly ts: number
  readonly place: number
}

export class Window<V> {
  readonly #items: PersistentMap<Item<V>>
  /** Keys by place, in the order they were first set. */
  readonly #places: PersistentMap<string>
  readonly #first: number
  readonly #next: number

  private constructor(
    items: PersistentMap<Item<V>>,
    places: PersistentMap<string>,
    first: number,
    next: number,
  ) {
    this.#items = items
    this.#places = places
    this.#first = first
    this.#next = next
  }

  static empty<V>(): Window<V> {
    return new Window(PersistentMap.empty<Item<V>>(), PersistentMap.empty<string>(), 0, 0)
  }

  get size(): number {
    return this.#items.size
  }

  get(key: string): V | undefined {
    return this.#items.get(key)?.value
  }

  /** Sets a key at time `ts`. One that is there keeps its age. */
  set(key: string, value: V, ts: number): Window<V> {
    const known = this.#items.get(key)
    if (known !== undefined) {
      return new Window(this.#items.set(key, { ...known, value }), this.#places, this.#first, this.#next)
    }
    const place = this.#next
    let items = this.#items.set(key, { value, ts, place })
    let places = this.#places.set(String(place), key)
    let first = this.#first
    while (items.size > keptCount) {
      const oldest = places.get(String(first))!
      if (ts - items.get(oldest)!.ts < keptMs) break
      items = items.delete(oldest)
      places = places.delete(String(first++))
    }
    return new Window(items, places, first, place + 1)
  }

  /** Key, value and time of each, oldest first. */
  *[Symbol.iterator](): Iterator<readonly [key: string, value: V, ts: number]> {
    for (let place = this.#first; place < this.#next; place++) {
      const key = this.#places.get(String(place))!
      const { value, ts } = this.#items.get(key)!
      yield [key, value, ts]
    }
  }
}
