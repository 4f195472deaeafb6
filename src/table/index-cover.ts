/** Which rows of a version an index numbers, and which segment of it. */
import { type CoveredSegment, coverAt } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import { type CoverItem, rowsOfItem, type TableIndex } from '../manifest/table-index.js'
import { Bitset } from '../primitives/bitset.js'
import { RowSet } from '../primitives/row-set.js'

/** What of an index says which rows it covers. */
export type Covering = Pick<TableIndex, 'segments' | 'field'>

export class IndexCover {
  /** Those that cover rows of the version. */
  readonly segments: readonly CoveredSegment[]
  readonly #items: ReadonlyMap<number, readonly CoverItem[]>

  /** `fragments`: those of the version, by id. */
  constructor(index: Covering, layout: Layout, fragments: ReadonlyMap<number, Fragment>) {
    this.segments = coverAt(index, layout, fragments).filter(({ items }) => items.length > 0)
    this.#items = itemsByFragment(this.segments.flatMap(({ items }) => items))
  }

  /** The rows of a fragment of the version that any segment covers. Reads nothing. */
  covered({ id, rows }: Fragment): RowSet {
    return rowsOfItems(this.#items.get(id) ?? [], rows)
  }
}

/** The items of each fragment, by its id. */
export function itemsByFragment(items: readonly CoverItem[]): ReadonlyMap<number, readonly CoverItem[]> {
  const byId = new Map<number, CoverItem[]>()
  for (const item of items) {
    const known = byId.get(item.fragment)
    if (known === undefined) byId.set(item.fragment, [item])
    else known.push(item)
  }
  return byId
}

/** The rows that items have of their fragment, which has `rows` of them. */
export function rowsOfItems(items: readonly CoverItem[], rows: number): RowSet {
  if (items.length === 0) return RowSet.none(rows)
  const bits = new Bitset(rows)
  for (const item of items) {
    const count = rowsOfItem(item)
    if (count === rows) return RowSet.all(rows)
    bits.addRange(item.at, item.at + count)
  }
  return RowSet.ofBits(bits)
}
