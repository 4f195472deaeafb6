/** How many rows a filter lets through; no row is materialised. */
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound.js'
import type { TableReader } from '../table/table-reader.js'
import { candidates, passingRows } from './filter.js'
import { RowSource } from './source.js'

export async function countMatching(
  reader: TableReader,
  filter: BoundExpression,
  pacer: Pacer,
): Promise<number> {
  const source = new RowSource(reader, pacer)
  let count = 0
  for await (const candidate of candidates(source, { filter, names: [] }, pacer)) {
    const passing = await passingRows(source, candidate, pacer)
    count += passing === null ? candidate.part.rows : passing.count()
    await pacer.turn()
  }
  return count
}
