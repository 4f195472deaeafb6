/** Finds the rows of a version that an index covers, and the segment that covers them. */
import type { FragmentsById } from '../manifest/fragments-by-id.js'
import { type CoveredSegment, coverAt } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import { type CoverItem, rowsOfItem, type TableIndex } from '../manifest/table-index.js'
import { Bitset } from '../primitives/bitset.js'
import { RowSet } from '../primitives/row-set.js'

/** The fields of an index that determine its coverage. */
type Covering = Pick<TableIndex, 'segments' | 'field'>

export class IndexCover {
  /** The segments that cover rows of the version. */
  readonly segments: readonly CoveredSegment[]
  readonly #items: ReadonlyMap<number, readonly CoverItem[]>

  /** `fragments`: the fragments of the version, by id. */
  constructor(index: Covering, layout: Layout, fragments: Pick<FragmentsById, 'get'>) {
    this.segments = coverAt(index, layout, fragments).filter(({ items }) => items.length > 0)
    this.#items = itemsByFragment(this.segments.flatMap(({ items }) => items))
  }

  /** Return the rows of a fragment that the segments cover. Reads nothing. */
  covered({ id, rows }: Fragment): RowSet {
    return rowsOfItems(this.#items.get(id) ?? [], rows)
  }
}

/** Group items of a row mapping by fragment id. */
export function itemsByFragment(items: readonly CoverItem[]): ReadonlyMap<number, readonly CoverItem[]> {
  const byId = new Map<number, CoverItem[]>()
  for (const item of items) {
    const known = byId.get(item.fragment)
    if (known === undefined) byId.set(item.fragment, [item])
    else known.push(item)
  }
  return byId
}

/**
 * Return the rows of one fragment that items of a row mapping contain. `items`: the items of this fragment. `rows`: the
 * number of rows in the fragment.
 */
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
