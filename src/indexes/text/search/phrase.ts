/**
 * Whether the terms of a phrase stand in a row as it says: each at a place of its own, the distances from where it would have them differing by
 * at most `slop`. A term that the phrase has twice needs two places.
 */
import type { PhraseQuery } from '../query.js'
import type { Leaf } from './leaf.js'

export class Phrase {
  readonly #slop: number
  /** By offset. */
  readonly #leaves: readonly Leaf[]
  readonly #offsets: readonly number[]
  /** The one before it that has the same term; -1: none. */
  readonly #twins: readonly number[]
  readonly #positions: Uint32Array[]
  /** How many they are. */
  readonly #counts: Uint32Array
  readonly #at: Uint32Array

  /** `leaves`: of its terms, in their order. */
  constructor({ terms, slop }: PhraseQuery, leaves: readonly Leaf[]) {
    const order = terms.map((_, i) => i).sort((a, b) => terms[a]!.offset - terms[b]!.offset)
    this.#slop = slop
    this.#leaves = order.map(i => leaves[i]!)
    this.#offsets = order.map(i => terms[i]!.offset)
    const seen = new Map<string, number>()
    this.#twins = order.map((i, place) => {
      const { term } = terms[i]!
      const twin = seen.get(term) ?? -1
      seen.set(term, place)
      return twin
    })
    this.#positions = order.map(() => none)
    this.#counts = new Uint32Array(order.length)
    this.#at = new Uint32Array(order.length)
  }

  /** Whether the row matches at which all leaves stand. */
  matches(): boolean {
    const { length } = this.#leaves
    for (let i = 0; i < length; i++) {
      const leaf = this.#leaves[i]!
      this.#counts[i] = leaf.frequency
      this.#positions[i] = leaf.positions()
    }
    return this.#fits()
  }

  /**
   * Goes through the least choices of places that keep each term at `least` or further on from where the phrase would begin. Equal terms take
   * places in the order of their offsets: exchanging two that do not never spreads them more. With a greater `least` no term moves back, so
   * the choice that matches, if there is one, is not passed over by making it more than the nearest or what the furthest allows.
   */
  #fits(): boolean {
    const lists = this.#positions
    const counts = this.#counts
    const offsets = this.#offsets
    const twins = this.#twins
    const at = this.#at
    const slop = this.#slop
    at.fill(0)
    let least = -Infinity
    for (;;) {
      let [nearest, furthest] = [Infinity, -Infinity]
      for (let i = 0; i < lists.length; i++) {
        const list = lists[i]!
        const twin = twins[i]!
        let place = at[i]!
        if (twin >= 0 && place <= at[twin]!) place = at[twin]! + 1
        while (place < counts[i]! && list[place]! - offsets[i]! < least) place++
        if (place >= counts[i]!) return false
        at[i] = place
        const from = list[place]! - offsets[i]!
        if (from < nearest) nearest = from
        if (from > furthest) furthest = from
      }
      if (furthest - nearest <= slop) return true
      least = Math.max(nearest + 1, furthest - slop)
    }
  }
}

const none = new Uint32Array(0)
