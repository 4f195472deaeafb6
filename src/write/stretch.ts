/** Stretches: ranges of rows to index. */
import { columnFile, type Fragment } from '../manifest/layout.js'
import type { CoverItem } from '../manifest/table-index.js'

/** The rows `from` to `to - 1` of a fragment. */
export interface Stretch {
  readonly fragment: Fragment
  readonly from: number
  readonly to: number
}

/** Return the total number of rows of stretches. */
export function rowsIn(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** Return the rows `from` to `to - 1` of stretches, counted from 0 over all stretches. */
export function rowsBetween(stretches: readonly Stretch[], from: number, to: number): readonly Stretch[] {
  const found: Stretch[] = []
  let row = 0
  for (const { fragment, from: first, to: end } of stretches) {
    const begin = Math.max(first, first + from - row)
    const stop = Math.min(end, first + to - row)
    if (begin < stop) found.push({ fragment, from: begin, to: stop })
    row += end - first
  }
  return found
}

/** Split stretches, in their order, into lists of `most` rows. The last list has the remaining rows. */
export function cutStretches(stretches: readonly Stretch[], most: number): readonly (readonly Stretch[])[] {
  return cutInto(stretches, () => most)
}

/**
 * Split stretches, in their order, into lists. `rowsFrom` returns the number of rows of the list that begins with row
 * `row`, counted from 0 over all stretches. It must return at least 1.
 */
export function cutInto(
  stretches: readonly Stretch[],
  rowsFrom: (row: number) => number,
): readonly (readonly Stretch[])[] {
  const lists: Stretch[][] = []
  let left = 0
  let row = 0
  for (const { fragment, from, to } of stretches) {
    for (let at = from; at < to; ) {
      if (left === 0) {
        lists.push([])
        left = rowsFrom(row)
      }
      const end = Math.min(to, at + left)
      lists.at(-1)!.push({ fragment, from: at, to: end })
      left -= end - at
      row += end - at
      at = end
    }
  }
  return lists
}

/**
 * Return the row mapping of a segment for the rows of stretches. `column`: field id of the indexed column. `first`:
 * ordinal of the first row in the segment.
 */
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
