/**
 * Makes incoming batches fit a table: columns by name and in its order, the very types of its schema, no null
 * where none may be, no NaN or infinity inside a vector.
 */
import { type Batch, type Column, isValid } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { equalTypes } from '../arrow/same-type.js'
import { sliceBatch } from '../arrow/slice.js'
import { typeName } from '../arrow/type-name.js'
import type { Field, Schema } from '../arrow/types.js'
import { columnNotFound, quote, schemaMismatch } from '../errors.js'

/**
 * `batch` with exactly the fields of `schema`; a nullable field that is missing is null.
 * `firstRow` is what row 0 of the batch is called in messages. Throws code 12 or 20.
 */
export function conformBatch(batch: Batch, schema: Schema, firstRow: number): Batch {
  for (const field of batch.schema.fields) {
    if (schema.fields.some(known => known.name === field.name)) continue
    throw columnNotFound(
      field.name,
      schema.fields.map(known => known.name),
    )
  }
  const columns = schema.fields.map(field => conformColumn(batch, field, firstRow))
  return { schema, length: batch.length, columns }
}

/** Rows looked at in one go, between two turns of whoever reads the batches. */
const rowsAtOnce = 8 * 1024

/** `conformBatch` over a whole source; rows count on from batch to batch. */
export async function* conformBatches(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  schema: Schema,
): AsyncGenerator<Batch> {
  let firstRow = 0
  for await (const batch of batches) {
    for (let from = 0; from < batch.length; from += rowsAtOnce) {
      const piece = sliceBatch(batch, from, Math.min(rowsAtOnce, batch.length - from))
      yield conformBatch(piece, schema, firstRow)
      firstRow += piece.length
    }
  }
}

/** Names in a table are unique and not empty, and its own columns keep clear of ours. Throws code 20. */
export function checkSchema(schema: Schema): void {
  const seen = new Set<string>()
  for (const { name } of schema.fields) {
    if (name === '') throw schemaMismatch('a column has an empty name')
    if (seen.has(name)) throw schemaMismatch(`two columns are named ${quote(name)}`)
    if (reservedNames.has(name)) {
      throw schemaMismatch(`column name ${quote(name)} is reserved`, { hint: 'rename the column' })
    }
    seen.add(name)
  }
}

/** Names of the columns that queries compute. */
const reservedNames = new Set(['_rowid', '_rowoffset', '_distance', '_score', '_relevance_score'])

function conformColumn(batch: Batch, field: Field, firstRow: number): Column {
  const index = batch.schema.fields.findIndex(known => known.name === field.name)
  const column = batch.columns[index] ?? nullColumn(field.type, batch.length)
  const fits = equalTypes(column.type, field.type)
  if (!fits && column.type.kind !== 'null') {
    throw schemaMismatch(
      `column ${quote(field.name)} is ${typeName(field.type)}, the rows bring ${typeName(column.type)}`,
    )
  }
  const conformed = fits ? column : nullColumn(field.type, batch.length)
  if (!field.nullable && conformed.nullCount > 0) {
    throw schemaMismatch(
      `column ${quote(field.name)} may not be null, row ${firstRow + firstNull(conformed)} is`,
    )
  }
  if (field.type.kind === 'fixed_size_list') checkFinite(conformed, field.type.size, field.name, firstRow)
  return conformed
}

function firstNull(column: Column): number {
  for (let row = 0; row < column.length; row++) if (!isValid(column, row)) return row
  return column.length
}

/** A vector that holds NaN or infinity has no distance to anything. */
function checkFinite(vectors: Column, size: number, name: string, firstRow: number): void {
  const child = vectors.children[0]!
  const values = child.values
  if (!(values instanceof Float32Array || values instanceof Float64Array)) return
  const used = vectors.length * size
  for (let i = 0; i < used; i++) {
    const value = values[i]!
    if (value - value === 0) continue
    const row = Math.floor(i / size)
    if (!isValid(vectors, row) || !isValid(child, i)) continue
    throw schemaMismatch(
      `column ${quote(name)} holds ${value} in row ${firstRow + row}, element ${i % size}`,
      {
        hint: 'drop or repair rows whose vector is not finite',
      },
    )
  }
}
