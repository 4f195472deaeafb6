/**
 * A map that drops old keys. A key is dropped if it was set more than a day ago and if ten thousand newer keys follow.
 * The age is measured with the times of slots, so every process drops the same keys.
 */
import { PersistentMap } from '../primitives/persistent-map.js'

const keptCount = 10_000
const keptMs = 24 * 60 * 60 * 1000

interface Item<V> {
  readonly value: V
  readonly ts: number
  readonly position: number
}

export class Window<V> {
  readonly #items: PersistentMap<Item<V>>
  /** By position: the key. Positions are in the order in which the keys were first set. */
  readonly #positions: PersistentMap<string>
  readonly #first: number
  readonly #next: number

  private constructor(
    items: PersistentMap<Item<V>>,
    positions: PersistentMap<string>,
    first: number,
    next: number,
  ) {
    this.#items = items
    this.#positions = positions
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

  /** Set a key at time `ts`, in milliseconds since 1970. A key that exists keeps its first time. */
  set(key: string, value: V, ts: number): Window<V> {
    const known = this.#items.get(key)
    if (known !== undefined) {
      return new Window(this.#items.set(key, { ...known, value }), this.#positions, this.#first, this.#next)
    }
    const position = this.#next
    let items = this.#items.set(key, { value, ts, position })
    let positions = this.#positions.set(String(position), key)
    let first = this.#first
    while (items.size > keptCount) {
      const oldest = positions.get(String(first))!
      if (ts - items.get(oldest)!.ts < keptMs) break
      items = items.delete(oldest)
      positions = positions.delete(String(first++))
    }
    return new Window(items, positions, first, position + 1)
  }

  /** Yield key, value and time of each item. The key that was set first comes first. */
  *[Symbol.iterator](): Iterator<readonly [key: string, value: V, ts: number]> {
    for (let position = this.#first; position < this.#next; position++) {
      const key = this.#positions.get(String(position))!
      const { value, ts } = this.#items.get(key)!
      yield [key, value, ts]
    }
  }
}
