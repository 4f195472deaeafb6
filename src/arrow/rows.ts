/** Rows of JavaScript objects as a batch. What a batch's rows are as objects: `values.ts`. */
import { types } from 'node:util'
import { invalidInput, quote, schemaMismatch } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import { type BuildOptions, buildColumn, checkKeys } from './build-column.js'
import type { Batch } from './column.js'
import { columnNames, inferType, mergeTypes, readColumn, SpreadLimit } from './infer-type.js'
import { Place } from './place.js'
import { runAtOnce, runPaced, type Steps } from './steps.js'
import type { DataType, Field, Schema } from './types.js'

/** Rows of one batch of `rowsToBatches`, and of one step of inference: a few milliseconds of work. */
const stepRows = 1024

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
  const objects = checkRows(rows)
  if (schema === undefined) return buildBatch(objects, runAtOnce(inferSteps(objects)), 0, true)
  checkSchema(schema)
  return buildBatch(objects, schema, 0, false)
}

export interface RowsOptions {
  readonly schema?: Schema | undefined
  readonly signal?: AbortSignal | undefined
}

export interface RowBatches {
  readonly schema: Schema
  /** At most 1024 rows each. */
  readonly batches: readonly Batch[]
}

/**
 * `rowsToBatch` for many rows: in several batches of one schema, letting the event loop turn between them.
 * Types are inferred over all rows, column after column.
 * @throws what `rowsToBatch` throws; `signal.reason`.
 */
export async function rowsToBatches(rows: readonly object[], given: RowsOptions = {}): Promise<RowBatches> {
  const pacer = new Pacer(given.signal)
  const objects = checkRows(rows)
  if (given.schema !== undefined) checkSchema(given.schema)
  const schema = given.schema ?? (await runPaced(inferSteps(objects), pacer))
  const batches: Batch[] = []
  for (let start = 0; start < rows.length; start += stepRows) {
    await pacer.turn()
    const part = objects.slice(start, start + stepRows)
    batches.push(buildBatch(part, schema, start, given.schema === undefined))
  }
  return { schema, batches }
}

type Rows = readonly Readonly<Record<string, unknown>>[]

function checkRows(rows: readonly unknown[]): Rows {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]
    const isObject = typeof row === 'object' && row !== null && !Array.isArray(row)
    if (isObject && !ArrayBuffer.isView(row) && !types.isMap(row)) continue
    throw invalidInput(`row ${i} is not an object of columns: ${quote(row)}`)
  }
  return rows as Rows
}

function checkSchema(schema: Schema): void {
  const names = new Set(schema.fields.map(field => field.name))
  if (names.size < schema.fields.length) throw schemaMismatch('the schema names a column twice')
}

/** Infers some rows at a time and merges what was found. */
function* inferSteps(rows: Rows): Steps<Schema> {
  const types = new Map<string, DataType>()
  for (let start = 0; start < rows.length; start += stepRows) {
    const part = rows.slice(start, start + stepRows)
    const limit = new SpreadLimit()
    for (const name of columnNames(part)) {
      const type = inferType(readColumn(part, name), Place.column(name, start), limit)
      const known = types.get(name)
      // Where the parts do not agree, going over all rows finds the one to name.
      const merged = known === undefined ? type : mergeTypes(known, type)
      types.set(name, merged ?? inferType(readColumn(rows, name), Place.column(name), limit))
    }
    yield
  }
  return { fields: [...types].map(([name, type]): Field => ({ name, type, nullable: true })) }
}

/** `first`: the number of the first row, for messages. */
function buildBatch(rows: Rows, schema: Schema, first: number, inferred: boolean): Batch {
  if (!inferred) {
    const known = new Set(schema.fields.map(field => field.name))
    const names = [...known]
    for (let i = 0; i < rows.length; i++) checkKeys(rows[i]!, names, first + i, null, name => known.has(name))
  }
  const options: BuildOptions = { limit: new SpreadLimit(), inferred }
  const columns = schema.fields.map(field =>
    buildColumn(field, readColumn(rows, field.name), Place.column(field.name, first), options),
  )
  return { schema, length: rows.length, columns }
}
