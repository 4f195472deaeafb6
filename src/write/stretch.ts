/** Rows of a table that an index is to have. */
import { columnFile, type Fragment } from '../manifest/layout.js'
import type { CoverItem } from '../manifest/table-index.js'

/** Rows `from` to `to - 1` of a fragment. */
export interface Stretch {
  readonly fragment: Fragment
  readonly from: number
  readonly to: number
}

export function rowsIn(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** The stretches in their order, cut so that each list has `most` rows, and the last one what is left. */
export function cutStretches(stretches: readonly Stretch[], most: number): readonly (readonly Stretch[])[] {
  return cutInto(stretches, () => most)
}

/** The stretches in their order, cut into lists of as many rows as `roomFrom` says by the number of the first; at least one. */
export function cutInto(
  stretches: readonly Stretch[],
  roomFrom: (row: number) => number,
): readonly (readonly Stretch[])[] {
  const lists: Stretch[][] = []
  let room = 0
  let row = 0
  for (const { fragment, from, to } of stretches) {
    for (let at = from; at < to; ) {
      if (room === 0) {
        lists.push([])
        room = roomFrom(row)
      }
      const end = Math.min(to, at + room)
      lists.at(-1)!.push({ fragment, from: at, to: end })
      room -= end - at
      row += end - at
      at = end
    }
  }
  return lists
}

/** Where rows of a segment are that are those of stretches, from row `first` on. `column`: id of the indexed column. */
export function coverOf(stretches: readonly Stretch[], column: number, first: number): readonly CoverItem[] {
  const items: CoverItem[] = []
  let row = first
  for (const { fragment, from, to } of stretches) {
    const count = to - from
    const last = items.at(-1)
    if (last !== undefined && last.fragment === fragment.id && last.at + last.count === from) {
      items[items.length - 1] = { ...last, count: last.count + count }
    } else {
      items.push({ first: row, count, fragment: fragment.id, at: from, file: columnFile(fragment, column) })
    }
    row += count
  }
  return items
}
