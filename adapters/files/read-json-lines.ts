/** Reads files with one JSON object per line as rows. */
import { type RowsFor, type SchemaInput, schemaShape } from '../../src/client/schema.js'
import type { Row } from '../../src/client/table-data.js'
import { withTypes } from '../../src/client/typed-source.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare } from '../../src/protocol/shape.js'
import { atRow, readJsonRow, typesIn } from './json-rows.js'
import { ReaderTypes } from './reader-types.js'
import { type FileSource, lineOf, type ReadOptions } from './source.js'
import { textBlocks } from './text-blocks.js'

export interface ReadJsonLinesOptions extends ReadOptions {
  /** Column types. Default: values have the types of JSON, so a string is always text. */
  readonly schema?: SchemaInput | undefined
}

export const readJsonLinesShape = declare<ReadJsonLinesOptions>()({
  schema: schemaShape,
  signal: signalShape,
})

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
const blank = /^[ \t\r]*$/

/**
 * Read the rows of a file with one JSON object per line, on demand (UTF-8). Blank lines are skipped. The file is closed
 * when the iteration ends.
 *
 * Integers beyond 2^53 become bigints, so they are not rounded. With a schema, a string in a column of another type is
 * parsed as a value of this type, for example a date, binary data in base64, a decimal, or `"NaN"`. `createTable` without
 * a schema takes the schema of the reader. `table.add` and the other writes to a table with columns parse the strings as
 * the types of these columns.
 *
 * `R` is the type of the rows for TypeScript, as in `readCsv`.
 * @throws InvalidInput for a line that is not a JSON object; ColumnNotFound and SchemaValidation for a line that does
 * not fit the schema. The message contains the line number.
 */
export function readJsonLines<const S extends SchemaInput>(
  source: FileSource,
  options: ReadJsonLinesOptions & { readonly schema: S },
): AsyncGenerator<RowsFor<S>>
export function readJsonLines<R extends object = Row>(
  source: FileSource,
  options?: ReadJsonLinesOptions,
): AsyncGenerator<NoInfer<R>>
export function readJsonLines(
  source: FileSource,
  options: ReadJsonLinesOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<Row> {
  const checked = () => parse(readJsonLinesShape, options, 'readJsonLines')
  const types = new ReaderTypes('readJsonLines', checked)
  return withTypes(jsonLines(source, checked, types, more), types)
}

async function* jsonLines(
  source: FileSource,
  checked: () => ReadJsonLinesOptions,
  types: ReaderTypes,
  more: readonly unknown[],
): AsyncGenerator<Row> {
  refuseMore('readJsonLines', 2, more)
  const { signal } = checked()
  const { schema, isComplete } = types.given()
  const { target } = types
  const read = isComplete ? typesIn(schema) : target && { types: target, isStrict: false }
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
        row = readJsonRow(text, read)
      } catch (error) {
        throw atRow(error, lineOf(source, line), text)
      }
      yield row
    }
    await pacer.turn()
  }
}
