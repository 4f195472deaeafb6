/** Selects columns of a batch by name. */
import { columnNotFound } from '../errors.js'
import type { Batch } from './column.js'

/** Return a batch with only the named columns, in the order of `names`. @throws ColumnNotFound for an unknown name. */
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
