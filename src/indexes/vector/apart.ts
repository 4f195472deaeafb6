/** Rows that have a vector, but no place in the segment's space. They are as far as can be, or all at one distance: the first of them stand for all. */
import type { Bitset } from '../../primitives/bitset.js'

/** The first `count` allowed rows that are apart, and behind them the candidates: nobody guessed how far those are, so they are measured first. */
export function withApart(
  found: Uint32Array,
  apart: Uint32Array,
  count: number,
  allowed: Bitset | null,
): Uint32Array {
  if (apart.length === 0) return found
  const added: number[] = []
  for (let i = 0; i < apart.length && added.length < count; i++) {
    if (allowed === null || allowed.has(apart[i]!)) added.push(apart[i]!)
  }
  const all = new Uint32Array(found.length + added.length)
  all.set(added)
  all.set(found, added.length)
  return all
}
