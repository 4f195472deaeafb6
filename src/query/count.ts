/** How many rows a filter lets through; no row is materialised. */
import { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound.js'
import type { TableReader } from '../table/table-reader.js'
import { passingRows } from './filter.js'

export async function countMatching(
  reader: TableReader,
  filter: BoundExpression,
  signal?: AbortSignal,
): Promise<number> {
  const pacer = new Pacer(signal)
  let count = 0
  for (const part of await reader.parts(signal)) {
    const passing = await passingRows(reader, part, filter, signal)
    count += passing === null ? part.rows : passing.count()
    await pacer.turn()
  }
  return count
}
