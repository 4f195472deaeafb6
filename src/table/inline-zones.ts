/**
 * Min/max statistics of inline rows, computed in memory.
 *
 * The log records no statistics of inline rows, because they would make every commit longer. But without compaction,
 * thousands of commits may each have added one row. Evaluating a filter on such a row takes ten times as long as
 * testing its statistics. So the first filter that finds the column in the cache computes its statistics. They are kept
 * as long as the manifests in memory that name the blob: a few hundred bytes per column.
 */
import type { Column } from '../arrow/column.js'
import type { InlineFile } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import { type Zone, zoneOf } from '../sql/zones/zone.js'

/** By field id. The versions in memory share the `InlineFile` objects. */
const zones = new WeakMap<InlineFile, Map<number, Zone | null>>()

/** Return the statistics of an inline column. Null if `inMemory` returns undefined, or if the type has no statistics. */
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
  const computed = zoneOf(column)
  known.set(id, computed)
  return computed
}
