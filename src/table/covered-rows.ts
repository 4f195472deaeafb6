/** Counts the rows that an index covers. */
import type { Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import type { IndexReader } from './table-index.js'
import type { TableReader } from './table-reader.js'

/** Count the live rows that an index covers. Reads deletion vectors only of fragments that the index covers in part. */
export async function countCovered(
  reader: TableReader,
  index: Pick<IndexReader, 'covered'>,
  pacer: Pacer,
): Promise<number> {
  let count = 0
  for (const fragment of reader.layout.fragments) {
    count += await countIn(fragment, reader, index, pacer)
    await pacer.turn()
  }
  return count
}

async function countIn(
  fragment: Fragment,
  reader: TableReader,
  index: Pick<IndexReader, 'covered'>,
  pacer: Pacer,
): Promise<number> {
  const { rows, dead } = fragment
  const covered = index.covered(fragment)
  if (covered.isAll) return rows - dead.count
  if (covered.count === 0 || dead.count === 0) return covered.count
  let count = 0
  for (const part of await reader.partsOf(fragment, pacer.signal)) {
    const own = covered.slice(part.first, part.first + part.rows)
    const live = await reader.live(part, pacer.signal)
    count += live === null ? own.count : own.toBits().and(live).count()
    await pacer.turn()
  }
  return count
}
