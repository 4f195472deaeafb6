/** Exact nearest neighbours: every allowed row is measured. Baseline and oracle of every approximate way. */
import { searchSegment } from '../kernels/exact.js'
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { passingRows } from './filter.js'
import { mergeHits, type PartHits, type RowHits } from './hits.js'
import type { VectorSearch } from './plan.js'

/** The `limit` nearest rows that are alive, pass `filter`, have a vector, and lie within the bounds. */
export async function searchExact(
  search: VectorSearch,
  filter: BoundExpression | null,
  limit: number,
  reader: TableReader,
  parts: readonly Part[],
  pacer: Pacer,
  signal?: AbortSignal,
): Promise<RowHits> {
  const { field, query, metric, lower, upper } = search
  const lists: PartHits[] = []
  if (limit === 0) return mergeHits(lists, 0, pacer)
  for (const [index, part] of parts.entries()) {
    // The next part comes from disk while this one is searched.
    const next = parts[index + 1]
    if (next !== undefined) reader.column(next, field).catch(() => {})
    const { segment, present } = await reader.vectors(part, field, signal)
    const passing = await passingRows(reader, part, filter, signal)
    const allowed = present === null ? passing : passing === null ? present : present.clone().and(passing)
    const found = searchSegment(segment, query, {
      metric,
      k: Math.min(limit, part.rows),
      ...(lower === undefined ? {} : { lower }),
      ...(upper === undefined ? {} : { upper }),
      ...(allowed === null ? {} : { allowed }),
    })
    const firstRowId = reader.firstRowId(part)
    lists.push({ part: index, firstRowId, offsets: found.ordinals, distances: found.distances })
    await pacer.turn()
  }
  return mergeHits(lists, limit, pacer)
}
