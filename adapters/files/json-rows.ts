/** Reads a JSON object as a row. */
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

/** Column types by column name. */
type ColumnTypes = ReadonlyMap<string, DataType>

/** The types as which the values of rows are read. */
interface RowTypes {
  readonly types: ColumnTypes
  /** Whether other columns, and values that do not fit the types, are errors. If false, they keep their JSON types. */
  readonly isStrict: boolean
}

/** Return the types of a schema. Returns undefined if there is no schema; values then keep their JSON types. */
export function typesIn(schema: Schema | undefined): RowTypes | undefined {
  return schema && { types: new Map(schema.fields.map(field => [field.name, field.type])), isStrict: true }
}

/**
 * Parse the text of one row. Throws InvalidInput if the text is not a JSON object. Throws ColumnNotFound or
 * SchemaValidation if a value does not fit strict types. The caller adds the position of the row to the message
 * (`atRow`).
 */
export function readJsonRow(text: string, types: RowTypes | undefined): Row {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput('is not a JSON object', {
      hint: 'write one object per line, without an array around them',
    })
  }
  return types === undefined ? (value as Row) : typedRow(value as Row, types)
}

function typedRow(row: Row, { types, isStrict }: RowTypes): Row {
  const out: Record<string, unknown> = {}
  for (const name of Object.keys(row)) {
    const type = types.get(name)
    if (type === undefined && isStrict) throw columnNotFound(name, [...types.keys()])
    const value = type === undefined ? row[name] : readJsonValue(row[name], type)
    if (value === undefined && isStrict) {
      throw schemaMismatch(`column ${quote(name)} has the type ${typeName(type!)}, got ${quote(row[name])}`)
    }
    setOwn(out, name, value === undefined ? row[name] : value)
  }
  return out
}

/**
 * Return an error of `readJsonRow` with the position of the row in its message. `where`: the position, for example
 * `line 3`. `text`: the row.
 */
export function atRow(error: unknown, where: string, text: string): unknown {
  if (!(error instanceof SheafError)) return error
  const { code, message, hint, cause } = error
  const isMalformed = code === ErrorCode.InvalidInput
  const what = isMalformed ? `${where} ${message}, in ${quote(text)}` : `${where}: ${message}`
  return new SheafError(code, what, { hint, cause })
}
