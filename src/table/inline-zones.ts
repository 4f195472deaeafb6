/**
 * Computes min/max statistics of inline rows, and keeps them in memory.
 *
 * The log records no statistics of inline rows, because they would make every commit longer. But before a compaction, a
 * table may have thousands of commits that each added one row. Evaluating a filter on such a row takes ten times as
 * long as testing statistics of the row. Therefore the first filter that finds the column in the cache computes its
 * statistics. They take a few hundred bytes per column, and are freed together with the manifests that list the rows.
 */
import type { Column } from '../arrow/column.js'
import type { InlineFile } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import { type Zone, zoneOf } from '../sql/zones/zone.js'

/** Statistics by inline blob and field id. The manifests of all versions in memory share the `InlineFile` objects. */
const zones = new WeakMap<InlineFile, Map<number, Zone | null>>()

/**
 * Return the statistics of an inline column. `inMemory` returns the column if it is in the cache. Return null if the
 * column is not in the cache, or if its type has no statistics.
 */
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
