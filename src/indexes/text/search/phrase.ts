/**
 * Whether the terms of a phrase stand in a row in their order: each term at least as far behind the one before it as in the phrase, and at most
 * `slop` places further. The slop is counted anew between each term and the next, as in LanceDB.
 */
import type { PhraseQuery } from '../query.js'
import type { Leaf } from './leaf.js'

export class Phrase {
  readonly #slop: number
  /** By offset. */
  readonly #leaves: readonly Leaf[]
  readonly #offsets: readonly number[]
  /** Where the phrase may begin, as far as the terms looked at allow it; and the same for one more term. */
  #begins = new Int32Array(16)
  #next = new Int32Array(16)

  /** `leaves`: of its terms, in their order. */
  constructor({ terms, slop }: PhraseQuery, leaves: readonly Leaf[]) {
    const order = terms.map((_, i) => i).sort((a, b) => terms[a]!.offset - terms[b]!.offset)
    this.#slop = slop
    this.#leaves = order.map(i => leaves[i]!)
    this.#offsets = order.map(i => terms[i]!.offset)
  }

  /** Whether the row matches at which all leaves stand. */
  matches(): boolean {
    let count = 0
    for (let i = 0; i < this.#leaves.length; i++) {
      const leaf = this.#leaves[i]!
      const { frequency } = leaf
      if (this.#next.length < frequency) this.#next = new Int32Array(2 * frequency)
      count = i === 0 ? this.#first(leaf.positions(), frequency) : this.#follow(leaf, i, count)
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

  /** Of the places of term `i`, keeps those that follow one of the `count` begins: from there on, up to `slop` further. */
  #follow(leaf: Leaf, i: number, count: number): number {
    const positions = leaf.positions()
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
