/** Sorts rows by their group with a counting sort, which is stable. */
import type { Pacer } from '../primitives/pacer.js'

/** The positions of rows that are sorted by group. */
interface GroupOrder {
  /** By group: the position after its last row. */
  readonly ends: Uint32Array
  /** By piece, by row: the position of the row. */
  readonly positions: readonly Uint32Array[]
}

/**
 * Return the positions of rows in an order by group. Rows of the same group keep their order. `pieces`: the group of
 * every row. `count`: number of groups.
 */
export async function sortedPositions(
  pieces: readonly Uint32Array[],
  count: number,
  pacer: Pacer,
): Promise<GroupOrder> {
  const next = new Uint32Array(count)
  for (const groups of pieces) {
    for (let i = 0; i < groups.length; i++) next[groups[i]!]! += 1
    await pacer.turn()
  }
  for (let group = 0, start = 0; group < count; group++) {
    const size = next[group]!
    next[group] = start
    start += size
  }
  const positions: Uint32Array[] = []
  for (const groups of pieces) {
    const own = new Uint32Array(groups.length)
    for (let i = 0; i < groups.length; i++) own[i] = next[groups[i]!]!++
    positions.push(own)
    await pacer.turn()
  }
  return { ends: next, positions }
}
