/**
 * Finds the rows of one version for which a predicate is true. A retry can update the result to a newer version at low
 * cost.
 *
 * The value of a predicate depends only on its row. So it stays valid as long as the row is live in the same fragment.
 * For a newer version, only new fragments are searched, and fragments in which a restore made rows live again. Rows
 * that were deleted in the meantime are removed from the result. So a retried change gets the exact result for the
 * newest version, and the work depends only on the size of the difference.
 */

import { FragmentsById } from '../manifest/fragments-by-id.js'
import { type Fragment, type Layout, onlyLostRows } from '../manifest/layout.js'
import { joinNumbers } from '../primitives/join-numbers.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { streamTask } from '../primitives/task.js'
import {
  candidateFragments,
  candidatesIn,
  matchingRows,
  mayHold,
  type PreparedFilter,
  prepareFilter,
} from '../query/filter.js'
import { noComputedColumns, type RowHits } from '../query/hits.js'
import { RowSource, rowOffsetField } from '../query/source.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { TableReader } from '../table/table-reader.js'

/**
 * By fragment, in the order of the manifest: ascending offsets of live rows. A fragment without rows is not in the map.
 */
export type RowSet = ReadonlyMap<Fragment, Uint32Array>

/** A function that selects some of the given rows of one part. Resolves to their offsets in the part. */
export type Narrow = (source: RowSource, hits: RowHits) => Promise<Uint32Array>

/** The matching rows of a version. */
interface Result {
  readonly layout: Layout
  readonly found: RowSet
}

const none = new Uint32Array(0)

/** A search for the rows of one predicate. It keeps the result of the last call, from which the next call starts. */
export class MatchedRows {
  #last: Result | null = null

  /**
   * Return the rows of a version that match `filter` and that `narrow` selects.
   *
   * `filter`: bound to the schema of the version; null: all rows match. `narrow`: default: selects all matching rows.
   * Both must give the same result for a row in all calls. If the rows of a fragment are the same as in the last call,
   * the result has the same array of offsets.
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
    // A filter over the offset of rows in the table also depends on other rows, so its last result cannot be used.
    const isOfRow = !filter?.columns.includes(rowOffsetField.name)
    const last = isOfRow && this.#last?.layout.schema.id === layout.schema.id ? this.#last : null
    const before = last === null ? null : FragmentsById.of(last.layout.fragments)
    const isKnown = (fragment: Fragment) => {
      const known = before?.get(fragment.id)
      return known?.files === fragment.files && onlyLostRows(known, fragment)
    }
    const open = before === null ? fragments : fragments.filter(fragment => !isKnown(fragment))
    const prepared = await prepareFilter(source, filter, { fragments: open }, pacer)
    const found = new Map<Fragment, Uint32Array>()
    if (before === null) {
      for await (const fragment of streamTask(candidateFragments(source, prepared, 0, pacer))) {
        const offsets = await matchingIn(source, fragment, prepared, narrow, pacer)
        if (offsets.length > 0) found.set(fragment, offsets)
      }
      this.#last = { layout, found }
      return found
    }
    for (const fragment of fragments) {
      if (pacer.due()) await pacer.pause()
      let offsets: Uint32Array = none
      if (isKnown(fragment)) {
        const known = before.get(fragment.id)!
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

/** Return the number of rows of a set. */
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
