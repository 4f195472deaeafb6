/**
 * Adds apart rows to the candidates of a search. An apart row has a vector outside the segment's space (space.ts). All
 * apart rows are equally far from a query, or farther than all other rows. So it is enough to propose the apart rows
 * with the lowest ordinals.
 */
import type { Bitset } from '../../primitives/bitset.js'

/**
 * Return the first `count` allowed apart rows, followed by the candidates `found`. The apart rows come first, so that
 * the caller measures them: the segment has no approximate distance of them. `allowed`: null allows all rows.
 */
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
