/** What callers may hand in as rows, and how it becomes Arrow. */
import { checkSchemaShape } from '../arrow/check-schema.js'
import { decodeIpc } from '../arrow/decode-ipc.js'
import { fromForeignArrow } from '../arrow/foreign.js'
import { rowsToBatches } from '../arrow/rows.js'
import type { Schema } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import { ArrowRows } from './arrow-rows.js'

export type Row = Readonly<Record<string, unknown>>

/**
 * Rows as plain objects (an array, iterable or async iterable of them), an Arrow table or record batches of any
 * version of apache-arrow, or the bytes of an Arrow IPC file or stream.
 */
export type TableData = Iterable<Row> | AsyncIterable<Row> | Uint8Array | object

/**
 * The rows as Arrow. `schema` gives the types of plain objects; without it they are inferred over all rows.
 * Throws code 13 for what is no rows, 20 for rows that do not fit the schema or each other.
 */
export async function tableRows(data: TableData, schema?: Schema, signal?: AbortSignal): Promise<ArrowRows> {
  if (schema !== undefined) checkSchemaShape(schema)
  if (data instanceof Uint8Array) {
    const decoded = decodeIpc(data)
    return new ArrowRows(decoded.schema, decoded.batches)
  }
  if (typeof data !== 'object' || data === null) throw noRows(data)
  const foreign = fromForeignArrow(data)
  if (foreign !== null) return new ArrowRows(foreign.schema, foreign.batches)
  if (!(Symbol.iterator in data) && !(Symbol.asyncIterator in data)) throw noRows(data)
  const rows: Row[] = Array.isArray(data) ? data : []
  if (!Array.isArray(data)) for await (const row of data as AsyncIterable<Row>) rows.push(row)
  const converted = await rowsToBatches(rows, { ...(schema && { schema }), ...(signal && { signal }) })
  return new ArrowRows(converted.schema, converted.batches)
}

function noRows(data: unknown) {
  return invalidInput(
    `rows must be an iterable of objects, an Arrow table, or Arrow IPC bytes, got ${quote(data)}`,
  )
}
