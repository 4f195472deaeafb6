/** Reads JSON objects as rows. */
import { typeName } from '../../src/arrow/type-name.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import type { Row } from '../../src/client/table-data.js'
import {
  columnNotFound,
  ErrorCode,
  invalidInput,
  quote,
  SheafError,
  schemaMismatch,
} from '../../src/errors.js'
import { parseJson, setOwn } from './json-text.js'
import { readJsonValue } from './read-value.js'

/** Types by column name. */
type ColumnTypes = ReadonlyMap<string, DataType>

/** Return the types of a schema; undefined without a schema: values have the types of JSON. */
export function typesIn(schema: Schema | undefined): ColumnTypes | undefined {
  return schema && new Map(schema.fields.map(field => [field.name, field.type]))
}

/**
 * Read the text of one object. Throws InvalidInput for another text, ColumnNotFound and SchemaValidation for values that do not fit the
 * types. The message is without position, which the caller adds.
 */
export function readJsonRow(text: string, types: ColumnTypes | undefined): Row {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput('is not a JSON object')
  }
  return types === undefined ? (value as Row) : typedRow(value as Row, types)
}

function typedRow(row: Row, types: ColumnTypes): Row {
  const out: Record<string, unknown> = {}
  for (const name of Object.keys(row)) {
    const type = types.get(name)
    if (type === undefined) throw columnNotFound(name, [...types.keys()])
    const value = readJsonValue(row[name], type)
    if (value === undefined) {
      throw schemaMismatch(`column ${quote(name)} is ${typeName(type)}, got ${quote(row[name])}`)
    }
    setOwn(out, name, value)
  }
  return out
}

/** Add the position of a row, `where`, to the message of an error of `readJsonRow`. */
export function atRow(error: unknown, where: string, text: string): unknown {
  if (!(error instanceof SheafError)) return error
  const { code, message, hint, cause } = error
  const isMalformed = code === ErrorCode.InvalidInput
  const what = isMalformed ? `${where} ${message}, in ${quote(text)}` : `${where}: ${message}`
  return new SheafError(code, what, { hint, cause })
}
