/** Counts the rows that pass a filter. Reads only the columns of the filter. */
import type { Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { streamTask } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { TableReader } from '../table/table-reader.js'
import {
  candidateFragments,
  candidatesIn,
  type PreparedFilter,
  passingRows,
  prepareFilter,
} from './filter.js'
import { RowSource } from './source.js'

/** Count the live rows of a version for which `filter` is true. */
export async function countMatching(
  reader: TableReader,
  filter: BoundExpression,
  pacer: Pacer,
): Promise<number> {
  const source = new RowSource(reader, pacer)
  const prepared = await prepareFilter(source, filter, {}, pacer)
  let count = 0
  for await (const fragment of streamTask(candidateFragments(source, prepared, 0, pacer))) {
    const found = countFound(prepared, fragment)
    if (found !== null) {
      count += found
      continue
    }
    for await (const candidate of streamTask(
      candidatesIn(source, fragment, prepared, { names: [] }, pacer),
    )) {
      const passing = await passingRows(source, candidate, pacer)
      count += passing?.count ?? candidate.part.rows
      await pacer.turn()
    }
  }
  return count
}

/**
 * Count the matches of a fragment from indexes only, without opening its files. Return null if the indexes do not
 * answer the whole filter for all rows of the fragment, or if it has deleted rows.
 */
function countFound({ named, probed, residual }: PreparedFilter, fragment: Fragment): number | null {
  if (named !== null || probed === null || residual !== null || fragment.dead.count > 0) return null
  return probed.isCovered(fragment) ? probed.rowsIn(fragment)!.count : null
}
