/**
 * Finds the rows of a table for which a predicate is true, on one version, and updates the result for newer versions.
 *
 * A predicate depends only on its own row. So its value stays valid as long as the row is live in the same fragment. On
 * a newer version, only added fragments are searched (and fragments with rows that a restore made live again). Rows
 * deleted since are removed. So a change that lost a race is decided exactly on the version that it follows, at the
 * cost of what changed.
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

/** Live rows by fragment: ascending offsets, never empty; fragments in the order of the manifest. */
export type RowSet = ReadonlyMap<Fragment, Uint32Array>

/** Select some rows of one part; return their offsets in the part. */
export type Narrow = (source: RowSource, hits: RowHits) => Promise<Uint32Array>

/** The result for a version. */
interface Result {
  readonly layout: Layout
  readonly found: RowSet
}

const none = new Uint32Array(0)

/** The matches of one predicate. Keeps the result of the last call for the next one. */
export class MatchedRows {
  #last: Result | null = null

  /**
   * Return the rows of a version for which `filter` is true (null: all) and that `narrow` selects. Both must be
   * consistent between calls. The filter is bound to the schema of the version. Unchanged offsets are the same array as
   * in the last call.
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
    // The offset of a row in the table depends on other rows.
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
          offsets = await stillLive(source, fragment, offsets, pacer)
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

/** Count the rows of a set. */
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
      const rows = await narrow(source, { parts: [part], partOf: null, offsets, computed: noComputedColumns })
      pieces.push(part.first === 0 ? rows : rows.map(row => part.first + row))
    }
  }
  return joinNumbers(Uint32Array, pieces)
}

async function stillLive(
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
