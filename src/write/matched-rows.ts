/**
 * The rows of a table for which a predicate is true, worked out on one version and brought up to date on a newer one.
 *
 * A predicate reads nothing but its own row, so what it says of a row in a fragment stays true as long as the row lives
 * there. On a newer version only fragments that were added are looked at (and those in which rows live again, after a
 * restore), and rows that died since are left out: so a
 * change that lost the race for its slot is decided on exactly the version it will follow, at the cost of what changed.
 */

import { type Fragment, type Layout, onlyLostRows } from '../manifest/layout.js'
import { joinNumbers } from '../primitives/join-numbers.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { streamTask } from '../primitives/task.js'
import { candidatesIn, matchingRows, mayHold, type PreparedFilter, prepareFilter } from '../query/filter.js'
import { noComputedColumns, type RowHits } from '../query/hits.js'
import { RowSource, rowOffsetField } from '../query/source.js'
import type { BoundExpression } from '../sql/bound.js'
import type { TableReader } from '../table/table-reader.js'

/** Living rows by fragment: ascending offsets, none empty; fragments in the order of the layout. */
export type RowSet = ReadonlyMap<Fragment, Uint32Array>

/** Which of some rows of one part stay, by offset in the part. */
export type Narrow = (source: RowSource, hits: RowHits) => Promise<Uint32Array>

/** What was found on a version. */
interface Looked {
  readonly layout: Layout
  readonly found: RowSet
}

const none = new Uint32Array(0)

export class MatchedRows {
  #last: Looked | null = null

  /**
   * The rows of a version for which `filter` is true, all of them for null, and that `narrow` leaves. From one call to the
   * next these say the same of a row; the filter is bound to the schema of the version. Offsets that did not change are
   * the same array as before.
   */
  async find(
    reader: TableReader,
    filter: BoundExpression | null,
    pacer: Pacer,
    narrow: Narrow = async (_, hits) => hits.offsets,
  ): Promise<RowSet> {
    const source = new RowSource(reader, pacer)
    const { layout } = reader
    const { fragments } = layout
    // Where a row stands among all others is not in the row.
    const isOfRow = !filter?.columns.includes(rowOffsetField.name)
    const last = isOfRow && this.#last?.layout.schema.id === layout.schema.id ? this.#last : null
    const before = last === null ? null : new Map(last.layout.fragments.map(each => [each.id, each]))
    const isKnown = (fragment: Fragment) => {
      const known = before?.get(fragment.id)
      return known?.files === fragment.files && onlyLostRows(known, fragment)
    }
    const open = before === null ? fragments : fragments.filter(fragment => !isKnown(fragment))
    const prepared = await prepareFilter(source, filter, { fragments: open }, pacer)
    const found = new Map<Fragment, Uint32Array>()
    for (const fragment of fragments) {
      if (pacer.due()) await pacer.pause()
      let offsets: Uint32Array = none
      if (isKnown(fragment)) {
        const known = before!.get(fragment.id)!
        offsets = last!.found.get(known) ?? none
        if (offsets.length > 0 && known.dead.count !== fragment.dead.count) {
          offsets = await stillLiving(source, fragment, offsets, pacer)
        }
      } else if (mayHold(source, prepared, fragment)) {
        offsets = await matchingIn(source, fragment, prepared, narrow, pacer)
      }
      if (offsets.length > 0) found.set(fragment, offsets)
    }
    this.#last = { layout, found }
    return found
  }
}

export function countIn(rows: RowSet): number {
  let count = 0
  for (const offsets of rows.values()) count += offsets.length
  return count
}

async function matchingIn(
  source: RowSource,
  fragment: Fragment,
  prepared: PreparedFilter,
  narrow: Narrow,
  pacer: Pacer,
): Promise<Uint32Array> {
  const pieces: Uint32Array[] = []
  for await (const candidate of streamTask(candidatesIn(source, fragment, prepared, { names: [] }, pacer))) {
    const { part } = candidate
    for await (const offsets of streamTask(matchingRows(source, candidate, pacer))) {
      const rows = await narrow(source, { parts: [part], partOf: null, offsets, made: noComputedColumns })
      pieces.push(part.first === 0 ? rows : rows.map(row => part.first + row))
    }
  }
  return joinNumbers(Uint32Array, pieces)
}

async function stillLiving(
  { reader }: RowSource,
  fragment: Fragment,
  offsets: Uint32Array,
  pacer: Pacer,
): Promise<Uint32Array> {
  const pieces: Uint32Array[] = []
  for (const part of await reader.partsOf(fragment, pacer.signal)) {
    const { first, rows } = part
    const before = (end: number) => partitionPoint(offsets.length, i => offsets[i]! < end)
    const own = offsets.subarray(before(first), before(first + rows))
    const live = await reader.live(part, pacer.signal)
    pieces.push(live === null ? own : own.filter(offset => live.has(offset - first)))
    await pacer.turn()
  }
  const rest = joinNumbers(Uint32Array, pieces)
  return rest.length === offsets.length ? offsets : rest
}
