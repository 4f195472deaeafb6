/** Columns of a batch by name. */
import { columnNotFound } from '../errors.js'
import type { Batch } from './column.js'

/** A batch of just these columns, in this order. @throws columnNotFound (code 12) for an unknown name. */
export function selectColumns(batch: Batch, names: readonly string[]): Batch {
  const known = batch.schema.fields.map(field => field.name)
  const chosen = names.map(name => {
    const index = known.indexOf(name)
    if (index < 0) throw columnNotFound(name, known)
    return index
  })
  return {
    schema: { ...batch.schema, fields: chosen.map(index => batch.schema.fields[index]!) },
    length: batch.length,
    columns: chosen.map(index => batch.columns[index]!),
  }
}
