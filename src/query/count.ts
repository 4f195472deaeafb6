/** How many rows a filter lets through; no row is materialised. */
import type { Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { streamTask } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound.js'
import type { TableReader } from '../table/table-reader.js'
import { candidateFragments, candidatesIn, passingRows, type Sieve, sieveFor } from './filter.js'
import { RowSource } from './source.js'

export async function countMatching(
  reader: TableReader,
  filter: BoundExpression,
  pacer: Pacer,
): Promise<number> {
  const source = new RowSource(reader, pacer)
  const sieve = await sieveFor(source, filter, {}, pacer)
  let count = 0
  for await (const fragment of streamTask(candidateFragments(source, sieve, 0, pacer))) {
    const found = countFound(sieve, fragment)
    if (found !== null) {
      count += found
      continue
    }
    for await (const candidate of streamTask(candidatesIn(source, fragment, sieve, { names: [] }, pacer))) {
      const passing = await passingRows(source, candidate, pacer)
      count += passing?.count ?? candidate.part.rows
      await pacer.turn()
    }
  }
  return count
}

/** Rows of a fragment that pass, where indexes alone know: then the fragment is not opened. Null where they do not. */
function countFound({ named, probed, residual }: Sieve, fragment: Fragment): number | null {
  if (named !== null || probed === null || residual !== null || fragment.dead.count > 0) return null
  return probed.isCovered(fragment) ? probed.rowsIn(fragment)!.count : null
}
