/** Rows of JavaScript objects as a batch. What a batch's rows are as objects: `values.ts`. */
import { types } from 'node:util'
import { invalidInput, quote, schemaMismatch } from '../errors.js'
import { type BuildOptions, buildColumn, checkKeys } from './build-column.js'
import type { Batch } from './column.js'
import { columnNames, inferType, readColumn, SpreadLimit } from './infer-type.js'
import { Place } from './place.js'
import type { Field, Schema } from './types.js'

/**
 * Objects to columns; `undefined` and missing keys are null, only own keys count, rows are numbered from 0 in
 * messages.
 *
 * Without a schema types are inferred over all rows (see `inferType`), every field is nullable, and a vector
 * may hold finite numbers only. No rows give a batch without columns.
 *
 * With one, values are checked and converted where nothing is lost: int from whole numbers in range and from
 * bigint, 64-bit ones from bigint and whole numbers up to 2^53; float from numbers that do not overflow;
 * decimal from bigint, number and string without rounding; timestamp from Date, ISO 8601 text, and counts of
 * its unit as number or bigint; date likewise, whole days only; time from `hh:mm:ss` and counts; map from Map,
 * object and [key, value] pairs; a fixed_size_list from arrays of exactly its size.
 * @throws invalidInput (code 13) for rows that are no objects and types that cannot be inferred;
 *   schemaMismatch (code 20) for rows that do not fit the schema, naming row, column and value.
 */
export function rowsToBatch(rows: readonly object[], schema?: Schema): Batch {
  checkRows(rows)
  const objects = rows as readonly Readonly<Record<string, unknown>>[]
  const options: BuildOptions = { limit: new SpreadLimit(), allowNonFinite: schema !== undefined }
  if (schema === undefined) {
    const limit = new SpreadLimit()
    const fields: Field[] = []
    const columns = columnNames(objects).map(name => {
      const values = readColumn(objects, name)
      const field = { name, type: inferType(values, new Place(name), limit), nullable: true }
      fields.push(field)
      return buildColumn(field, values, new Place(name), options)
    })
    return { schema: { fields }, length: rows.length, columns }
  }
  const known = new Set(schema.fields.map(field => field.name))
  const names = [...known]
  if (known.size < schema.fields.length) throw schemaMismatch('the schema names a column twice')
  for (let i = 0; i < rows.length; i++) checkKeys(rows[i]!, names, i, null, name => known.has(name))
  const columns = schema.fields.map(field =>
    buildColumn(field, readColumn(objects, field.name), new Place(field.name), options),
  )
  return { schema, length: rows.length, columns }
}

function checkRows(rows: readonly unknown[]): void {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]
    const isObject = typeof row === 'object' && row !== null && !Array.isArray(row)
    if (isObject && !ArrayBuffer.isView(row) && !types.isMap(row)) continue
    throw invalidInput(`row ${i} is not an object of columns: ${quote(row)}`)
  }
}
