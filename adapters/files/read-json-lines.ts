/** Reads files of JSON lines as rows. */
import { givenSchema } from '../../src/arrow/given-schema.js'
import { typeName } from '../../src/arrow/type-name.js'
import type { DataType } from '../../src/arrow/types.js'
import { type RowsFor, type SchemaInput, schemaShape } from '../../src/client/schema.js'
import type { Row } from '../../src/client/table-data.js'
import {
  columnNotFound,
  ErrorCode,
  invalidInput,
  quote,
  SheafError,
  schemaMismatch,
} from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare } from '../../src/protocol/shape.js'
import { parseJson, setOwn } from './json-text.js'
import { readJsonValue } from './read-value.js'
import { type FileSource, lineOf, type ReadOptions } from './source.js'
import { textBlocks } from './text-blocks.js'

export interface ReadJsonLinesOptions extends ReadOptions {
  /** Types of the columns. Default: values have the types of JSON; a string is text, whatever it looks like. */
  readonly schema?: SchemaInput | undefined
}

export const readJsonLinesShape = declare<ReadJsonLinesOptions>()({
  schema: schemaShape,
  signal: signalShape,
})

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
const blank = /^[ \t\r]*$/

/**
 * Read the rows of a file of JSON objects on demand, one object per line (UTF-8; blank lines are skipped). The file is closed when the
 * iteration ends.
 *
 * Integers beyond 2^53 are bigints, never rounded. With a schema, strings in columns of other types are read as values of these types
 * (dates, base64, decimals, `"NaN"`; see read-value.ts).
 * @throws InvalidInput for a line that is not a JSON object; ColumnNotFound and SchemaValidation for a line that does not fit the schema.
 *   The message names the line.
 */
export function readJsonLines<const S extends SchemaInput>(
  source: FileSource,
  options: ReadJsonLinesOptions & { readonly schema: S },
): AsyncGenerator<RowsFor<S>>
export function readJsonLines(source: FileSource, options?: ReadJsonLinesOptions): AsyncGenerator<Row>
export async function* readJsonLines(
  source: FileSource,
  options: ReadJsonLinesOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<Row> {
  refuseMore('readJsonLines', 2, more)
  const { schema: given, signal } = parse(readJsonLinesShape, options, 'readJsonLines')
  const schema = given === undefined ? undefined : givenSchema(given)
  const types = schema && new Map(schema.fields.map(field => [field.name, field.type]))
  const pacer = new Pacer(signal)
  for await (const block of textBlocks(source, signal)) {
    const lines = utf8.decode(block.bytes)
    let line = block.line
    for (let from = 0; from < lines.length; line++) {
      const feed = lines.indexOf('\n', from)
      const end = feed === -1 ? lines.length : feed
      const text = lines.slice(from, end)
      from = end + 1
      if (blank.test(text)) continue
      let row: Row
      try {
        row = types === undefined ? readRow(text) : typedRow(readRow(text), types)
      } catch (error) {
        throw atLine(error, lineOf(source, line), text)
      }
      yield row
    }
    await pacer.turn()
  }
}

function readRow(text: string): Row {
  const value = parseJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Row
  throw invalidInput('is not a JSON object')
}

function typedRow(row: Row, types: ReadonlyMap<string, DataType>): Row {
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

/** Add the line to the message of an error. */
function atLine(error: unknown, where: string, text: string): unknown {
  if (!(error instanceof SheafError)) return error
  const { code, message, hint, cause } = error
  const isMalformed = code === ErrorCode.InvalidInput
  const what = isMalformed ? `${where} ${message}, in ${quote(text)}` : `${where}: ${message}`
  return new SheafError(code, what, { hint, cause })
}
