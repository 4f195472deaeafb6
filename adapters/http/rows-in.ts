/**
 * Converts uploads of rows in JSON, JSON lines or CSV to an Arrow IPC stream. So the limits on Arrow bodies apply to
 * these uploads, too.
 */
import { schemaFromJson } from '../../src/arrow/schema-from-json.js'
import type { Schema } from '../../src/arrow/types.js'
import type { Row } from '../../src/client/table-data.js'
import { tableRows } from '../../src/client/table-rows.js'
import { invalidInput, quote } from '../../src/errors.js'
import type { Operations } from '../../src/protocol/calls.js'
import { withNulls } from '../../src/write/definitions.js'
import type { Call } from '../calls.js'
import { readCsv } from '../files/read-csv.js'
import { readJsonArray } from '../files/read-json-array.js'
import { readJsonLines } from '../files/read-json-lines.js'
import type { UploadForm } from './upload-form.js'

/**
 * Return an upload as an Arrow IPC stream, which is produced on demand. Rows for an existing table get the types of the
 * table. The types of a new table are inferred. `target`: the operations of the namespace with the table.
 */
export async function* arrowOf(
  target: Operations,
  form: Exclude<UploadForm, 'arrow'>,
  upload: AsyncIterable<Uint8Array>,
  { name, request, options }: Pick<Call, 'name' | 'request' | 'options'>,
): AsyncGenerator<Uint8Array> {
  const { signal } = options
  const known = name === 'createTable' ? undefined : await schemaOf(target, request, options)
  const read = readRows(form, upload, known, signal)
  const given =
    known !== undefined && name === 'mergeInsertIntoTable'
      ? await columnsOfFirst(read, known)
      : { rows: read, schema: known && withNulls(known) }
  const rows = await tableRows(given.rows, { schema: given.schema, signal })
  try {
    yield* rows
  } finally {
    await rows.close()
  }
}

function readRows(
  form: Exclude<UploadForm, 'arrow'>,
  upload: AsyncIterable<Uint8Array>,
  schema: Schema | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Row> {
  switch (form) {
    case 'json':
      return readJsonArray(upload, { schema, signal })
    case 'ndjson':
      return readJsonLines(upload, { schema, signal })
    case 'csv':
      return readCsv(upload, { schema, signal })
  }
}

/**
 * Return the schema for the rows. For a part of an upload, it is the schema that the table had when the upload began.
 */
async function schemaOf(
  target: Operations,
  request: Call['request'],
  { signal, table }: Call['options'],
): Promise<Schema> {
  const { id, upload_id } = request as { readonly id: readonly string[]; readonly upload_id?: string }
  const call = { signal, table, dialect: 'lance' } as const
  const { schema } =
    upload_id === undefined
      ? await target.describeTable({ id }, call)
      : await target.describeTableUpload({ id, upload_id }, call)
  if (schema === undefined) {
    throw invalidInput(`the table ${quote(id.join('$'))} has no schema yet`, {
      hint: 'send its first rows as Arrow',
    })
  }
  return schemaFromJson(schema)
}

/**
 * Limit the schema of a merge to the columns of the first row, because a merge does not change columns that its rows do
 * not have. Reading more rows to find their columns would take too long.
 */
async function columnsOfFirst(
  read: AsyncGenerator<Row>,
  schema: Schema,
): Promise<{ readonly rows: AsyncGenerator<Row>; readonly schema: Schema }> {
  const first = await read.next()
  if (first.done === true) return { rows: read, schema }
  const fields = schema.fields.filter(({ name }) => Object.hasOwn(first.value, name))
  async function* all(): AsyncGenerator<Row> {
    yield first.value
    yield* read
  }
  return { rows: all(), schema: { ...schema, fields } }
}
