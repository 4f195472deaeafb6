/** Which rows of a part a filter lets through. */
import type { Batch, Column } from '../arrow/column.js'
import type { Field } from '../arrow/types.js'
import { assert } from '../errors.js'
import type { TableField } from '../manifest/table-schema.js'
import type { Bitset } from '../primitives/bitset.js'
import type { BoundExpression } from '../sql/bound.js'
import { selectRows } from '../sql/evaluate.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { rowIdColumn, rowIdField } from './system-columns.js'

/** Live rows of a part for which `filter` is true; null when that is all of them. */
export async function passingRows(
  reader: TableReader,
  part: Part,
  filter: BoundExpression | null,
  signal?: AbortSignal,
): Promise<Bitset | null> {
  const live = await reader.live(part, signal)
  if (filter === null) return live
  // Dead rows are no rows: what they hold must not make the filter fail.
  return selectRows(filter, await filterBatch(reader, part, filter, signal), live ?? undefined)
}

/** The columns of a part that a filter reads. */
async function filterBatch(
  reader: TableReader,
  part: Part,
  filter: BoundExpression,
  signal?: AbortSignal,
): Promise<Batch> {
  const fields: Field[] = []
  const columns: Column[] = []
  for (const name of filter.columns) {
    if (name === rowIdField.name) {
      fields.push(rowIdField)
      columns.push(rowIdColumn(part.rows, row => reader.firstRowId(part) + row))
    } else {
      const field: TableField | undefined = reader.schema.fields.find(known => known.name === name)
      assert(field !== undefined, `filter reads ${name}, which is not in the schema`)
      fields.push(field)
      columns.push((await reader.column(part, field, signal)).column)
    }
  }
  return { schema: { fields }, length: part.rows, columns }
}
