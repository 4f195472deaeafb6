/**
 * A map that drops old keys. A key is dropped if it was set more than a day ago and if ten thousand newer keys follow.
 * The age is measured with the times of slots, so every process drops the same keys.
 */
import { assert } from '../errors.js'
import { PersistentMap } from '../primitives/persistent-map.js'

const keptCount = 10_000
const keptMs = 24 * 60 * 60 * 1000

interface Item<V> {
  readonly value: V
  readonly ts: number
  readonly position: number
}

const noItems = PersistentMap.empty<never>()
const noPositions = PersistentMap.empty<string>()

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

  /** Add a key that does not exist. Drops no other key. */
  append(key: string, value: V, ts: number): Window<V> {
    const position = this.#next
    const items = this.#items.set(key, { value, ts, position })
    return new Window(items, this.#positions.set(String(position), key), this.#first, position + 1)
  }

  /** Drop the keys before `oldest`; null: drop all keys. */
  dropBefore(oldest: string | null): Window<V> {
    if (oldest === null) return new Window(noItems, noPositions, this.#next, this.#next)
    const stop = this.#items.get(oldest)?.position
    assert(stop !== undefined, `the window has no key ${oldest}`)
    let items = this.#items
    let positions = this.#positions
    for (let position = this.#first; position < stop; position++) {
      items = items.delete(positions.get(String(position))!)
      positions = positions.delete(String(position))
    }
    return new Window(items, positions, stop, this.#next)
  }

  /** Return the key that was set first; undefined if the window is empty. */
  oldest(): string | undefined {
    return this.#positions.get(String(this.#first))
  }

  /** Whether keys were dropped after `before`, an earlier state of this window. */
  droppedSince(before: Window<V>): boolean {
    return this.#first !== before.#first
  }

  /** Yield the items that were added after `before`, an earlier state of this window. */
  *addedSince(before: Window<V>): Generator<readonly [key: string, value: V, ts: number]> {
    yield* this.#from(Math.max(this.#first, before.#next))
  }

  /** Yield the items that `before`, an earlier state of this window, has with another value. */
  *updatedSince(before: Window<V>): Generator<readonly [key: string, value: V]> {
    for (const [key, item] of this.#items.changesSince(before.#items)) {
      if (item !== undefined && item.position < before.#next) yield [key, item.value]
    }
  }

  *#from(start: number): Generator<readonly [key: string, value: V, ts: number]> {
    for (let position = start; position < this.#next; position++) {
      const key = this.#positions.get(String(position))!
      const { value, ts } = this.#items.get(key)!
      yield [key, value, ts]
    }
  }

  /** Yield key, value and time of each item. The key that was set first comes first. */
  *[Symbol.iterator](): Iterator<readonly [key: string, value: V, ts: number]> {
    yield* this.#from(this.#first)
  }
}
