/** Reads files with one JSON object per line as rows. */
import { givenSchema } from '../../src/arrow/given-schema.js'
import { type RowsFor, type SchemaInput, schemaShape } from '../../src/client/schema.js'
import type { Row } from '../../src/client/table-data.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare } from '../../src/protocol/shape.js'
import { atRow, readJsonRow, typesIn } from './json-rows.js'
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
 * parsed as a value of this type, for example a date, base64, a decimal, or `"NaN"` (see read-value.ts).
 * @throws InvalidInput for a line that is not a JSON object; ColumnNotFound and SchemaValidation for a line that does
 * not fit the schema. The message contains the line number.
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
  const types = typesIn(schema)
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
        row = readJsonRow(text, types)
      } catch (error) {
        throw atRow(error, lineOf(source, line), text)
      }
      yield row
    }
    await pacer.turn()
  }
}
