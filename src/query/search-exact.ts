/** Exact nearest neighbours: every allowed row is measured. Baseline and oracle of every approximate way. */
import { searchSegment } from '../kernels/exact.js'
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound.js'
import type { Part } from '../table/table-reader.js'
import { candidates, passingRows } from './filter.js'
import { mergeHits, type PartHits, type RowHits } from './hits.js'
import type { VectorSearch } from './plan.js'
import type { RowSource } from './source.js'

/** The `limit` nearest rows that are alive, pass `filter`, have a vector, and lie within the bounds. */
export async function searchExact(
  search: VectorSearch,
  filter: BoundExpression | null,
  limit: number,
  source: RowSource,
  pacer: Pacer,
): Promise<RowHits> {
  const { field, query, metric, lower, upper } = search
  const { reader } = source
  const parts: Part[] = []
  const lists: PartHits[] = []
  if (limit === 0) return mergeHits(parts, lists, 0, pacer)
  for await (const candidate of candidates(source, { filter, names: [field.name] }, pacer)) {
    const { part } = candidate
    const { segment, present } = await reader.vectors(part, field, pacer.signal)
    const passing = await passingRows(source, candidate, pacer)
    const allowed = present === null ? passing : passing === null ? present : present.clone().and(passing)
    const found = searchSegment(segment, query, {
      metric,
      k: Math.min(limit, part.rows),
      ...(lower === undefined ? {} : { lower }),
      ...(upper === undefined ? {} : { upper }),
      ...(allowed === null ? {} : { allowed }),
    })
    const ids = await reader.rowIds(part.fragment, pacer.signal)
    const number = parts.push(part) - 1
    lists.push({ part: number, ids, first: part.first, offsets: found.ordinals, distances: found.distances })
    await pacer.turn()
  }
  return mergeHits(parts, lists, limit, pacer)
}
