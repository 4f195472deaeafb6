/**
 * Checks whether a row contains the terms of a phrase in order. The distance between two consecutive terms in the row
 * must be at least their distance in the phrase, and at most `slop` positions greater. The slop applies to each pair of
 * terms separately, as in LanceDB.
 */
import type { PhraseQuery } from '../query.js'
import type { Leaf } from './leaf.js'

/**
 * Positions at which the phrase may start, according to the terms checked so far, and the buffer for the next term. All
 * phrases can share them, because `matches` never pauses.
 */
let begins = new Int32Array(64)
let next = new Int32Array(64)

/** A phrase query on opened postings. */
export class Phrase {
  readonly #slop: number
  /** The terms, sorted by offset in the phrase. */
  readonly #leaves: readonly Leaf[]
  readonly #offsets: readonly number[]

  /** `leaves`: the leaves of the terms, in query order. */
  constructor({ terms, slop }: PhraseQuery, leaves: readonly Leaf[]) {
    const offsets = terms.map(({ offset }) => offset)
    const isSorted = offsets.every((offset, i) => i === 0 || offsets[i - 1]! <= offset)
    const order = isSorted ? null : [...offsets.keys()].sort((a, b) => offsets[a]! - offsets[b]!)
    this.#slop = slop
    this.#leaves = order?.map(i => leaves[i]!) ?? leaves
    this.#offsets = order?.map(i => offsets[i]!) ?? offsets
  }

  /** Return whether the row matches. All leaves must be at this row (`Leaf.at`). */
  matches(): boolean {
    const leaves = this.#leaves
    let count = 0
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i]!
      const { frequency } = leaf
      if (next.length < frequency) next = new Int32Array(2 * frequency)
      const positions = leaf.positions(leaf.at)
      count = i === 0 ? this.#first(positions, frequency) : this.#follow(positions, frequency, i, count)
      if (count === 0) return false
      const swapped = begins
      begins = next
      next = swapped
    }
    return true
  }

  #first(positions: Uint32Array, frequency: number): number {
    for (let i = 0; i < frequency; i++) next[i] = positions[i]! - this.#offsets[0]!
    return frequency
  }

  /**
   * Compute the start positions of the phrase that term `i` implies. Keep a position if it equals one of the `count`
   * previous start positions, or is at most `slop` greater. Return the number of kept positions.
   */
  #follow(positions: Uint32Array, frequency: number, i: number, count: number): number {
    const slop = this.#slop
    const offset = this.#offsets[i]!
    let kept = 0
    let at = 0
    for (let j = 0; j < frequency; j++) {
      const begin = positions[j]! - offset
      while (at < count && begins[at]! < begin - slop) at++
      if (at === count) break
      if (begins[at]! <= begin) next[kept++] = begin
    }
    return kept
  }
}
