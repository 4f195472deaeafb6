/**
 * Candidates among apart rows: rows whose vector lies outside the segment's space (space.ts). All apart rows are equally distant from a
 * query, or farther than all other rows, so the first of them stand for all.
 */
import type { Bitset } from '../../primitives/bitset.js'

/**
 * Return the first `count` allowed apart rows, followed by the candidates `found`. Apart rows come first because they have no
 * approximate distance and must be measured.
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
