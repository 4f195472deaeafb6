/** Compares the values that rows have in two versions. */
import type { Batch, Column } from '../arrow/column.js'
import { differingRows } from '../arrow/differing-rows.js'
import { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import { castable, castColumn } from '../sql/kernels/cast.js'
import { decoded } from '../sql/kernels/dictionary.js'
import type { SharedColumn } from './schema-difference.js'

/**
 * Return the set of rows whose values in two batches differ in a shared column. Both batches must have the same rows in
 * the same order.
 */
export async function differing(
  before: Batch,
  after: Batch,
  shared: readonly SharedColumn[],
  pacer: Pacer,
): Promise<Bitset> {
  const [old, now] = [columnsByName(before), columnsByName(after)]
  const all = new Bitset(after.length)
  for (const { from, to } of shared) {
    const [was, is] = [decoded(old.get(from.name)!), decoded(now.get(to.name)!)]
    // If the type of a column changed, a value is equal if a cast of the old value gives the new value.
    const cast = castable(was.type, is.type)
      ? castColumn(was, is.type, true, null, () => from.name, 'refuse')
      : null
    all.or(cast === null ? Bitset.full(is.length) : differingRows(cast, is))
    await pacer.turn()
  }
  return all
}

function columnsByName({ schema, columns }: Batch): ReadonlyMap<string, Column> {
  return new Map(schema.fields.map(({ name }, i) => [name, columns[i]!]))
}
