/**
 * Checks whether a row contains the terms of a phrase in order. The distance between two consecutive terms in the row
 * must be at least their distance in the phrase, and at most `slop` positions greater. The slop applies to each pair of
 * terms separately, as in LanceDB.
 */
import type { PhraseQuery } from '../query.js'
import type { Leaf } from './leaf.js'

/** A phrase query on opened postings. */
export class Phrase {
  readonly #slop: number
  /** The terms, sorted by offset in the phrase. */
  readonly #leaves: readonly Leaf[]
  readonly #offsets: readonly number[]
  /**
   * Positions at which the phrase may start, according to the terms checked so far, and the buffer for the next term.
   */
  #begins = new Int32Array(16)
  #next = new Int32Array(16)

  /** `leaves`: the leaves of the terms, in query order. */
  constructor({ terms, slop }: PhraseQuery, leaves: readonly Leaf[]) {
    const order = terms.map((_, i) => i).sort((a, b) => terms[a]!.offset - terms[b]!.offset)
    this.#slop = slop
    this.#leaves = order.map(i => leaves[i]!)
    this.#offsets = order.map(i => terms[i]!.offset)
  }

  /** Return whether the row matches. All leaves must be at this row (`Leaf.at`). */
  matches(): boolean {
    let count = 0
    for (let i = 0; i < this.#leaves.length; i++) {
      const leaf = this.#leaves[i]!
      const { frequency } = leaf
      if (this.#next.length < frequency) this.#next = new Int32Array(2 * frequency)
      count = i === 0 ? this.#first(leaf.positions(leaf.at), frequency) : this.#follow(leaf, i, count)
      if (count === 0) return false
      const swapped = this.#begins
      this.#begins = this.#next
      this.#next = swapped
    }
    return true
  }

  #first(positions: Uint32Array, frequency: number): number {
    for (let i = 0; i < frequency; i++) this.#next[i] = positions[i]! - this.#offsets[0]!
    return frequency
  }

  /**
   * Compute the start positions of the phrase that term `i` implies. Keep a position if it equals one of the `count`
   * previous start positions, or is at most `slop` greater. Return the number of kept positions.
   */
  #follow(leaf: Leaf, i: number, count: number): number {
    const positions = leaf.positions(leaf.at)
    const { frequency } = leaf
    const offset = this.#offsets[i]!
    let kept = 0
    let at = 0
    for (let j = 0; j < frequency; j++) {
      const begin = positions[j]! - offset
      while (at < count && this.#begins[at]! < begin - this.#slop) at++
      if (at === count) break
      if (this.#begins[at]! <= begin) this.#next[kept++] = begin
    }
    return kept
  }
}
