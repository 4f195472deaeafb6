/**
 * Between which values the rows lie that ride in one blob of a slot. A record of that would make every commit longer; but where nobody
 * compacts, thousands of commits brought a row each, and to evaluate a filter for one of them takes ten times as long as to
 * ask what is known of it. So it is learnt of columns that lie in memory, by the next filter that asks for them. What is known goes with the
 * layouts that name the blob: a few hundred bytes for each column.
 */
import type { Column } from '../arrow/column.js'
import type { InlineFile } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import { type Zone, zoneOf } from '../sql/zones/zone.js'

/** By field id. Files of layouts that are in memory are the same objects from version to version. */
const zones = new WeakMap<InlineFile, Map<number, Zone | null>>()

/** Null where nothing is known: `inMemory` gives undefined then, or the type has no zones. */
export function inlineZone(
  file: InlineFile,
  { id }: TableField,
  inMemory: () => Column | undefined,
): Zone | null {
  let known = zones.get(file)
  const zone = known?.get(id)
  if (zone !== undefined) return zone
  const column = inMemory()
  if (column === undefined) return null
  if (known === undefined) {
    known = new Map()
    zones.set(file, known)
  }
  const learnt = zoneOf(column)
  known.set(id, learnt)
  return learnt
}
