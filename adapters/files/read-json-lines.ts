/** Reads files with one JSON object per line as rows. */
import { type RowsFor, type SchemaInput, schemaShape } from '../../src/client/schema.js'
import type { Row } from '../../src/client/table-data.js'
import { withTypes } from '../../src/client/typed-source.js'
import { SheafError } from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare } from '../../src/protocol/shape.js'
import { atRow, readJsonRow, typesIn } from './json-rows.js'
import type { BadRow, NumberedRows, OnBadRow } from './numbered-rows.js'
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
  // A row before a bad line is yielded before the error of this line.
  let bad: BadRow | undefined
  const onBadRow = (found: BadRow) => {
    bad ??= found
  }
  for await (const { rows, lines } of jsonLinePieces(source, checked(), types, onBadRow)) {
    for (let i = 0; i < rows.length; i++) {
      if (bad !== undefined && lines[i]! > bad.line) break
      yield rows[i]!
    }
    if (bad !== undefined) throw bad.error
  }
}

/** Read the rows of JSON lines with the numbers of their lines. `types`: the types that the options and the table give. */
export async function* jsonLinePieces(
  source: FileSource,
  { signal }: ReadJsonLinesOptions,
  types: Pick<ReaderTypes, 'given' | 'target'>,
  onBadRow?: OnBadRow,
): AsyncGenerator<NumberedRows> {
  const { schema, isComplete } = types.given()
  const { target } = types
  const read = isComplete ? typesIn(schema) : target && { types: target, isStrict: false }
  const pacer = new Pacer(signal)
  for await (const block of textBlocks(source, signal)) {
    const text = utf8.decode(block.bytes)
    const rows: Row[] = []
    const lines: number[] = []
    let line = block.line
    for (let from = 0; from < text.length; line++) {
      const feed = text.indexOf('\n', from)
      const end = feed === -1 ? text.length : feed
      const data = text.slice(from, end)
      from = end + 1
      if (blank.test(data)) continue
      try {
        rows.push(readJsonRow(data, read))
        lines.push(line)
      } catch (error) {
        const placed = atRow(error, lineOf(source, line), data)
        if (onBadRow === undefined || !(placed instanceof SheafError)) throw placed
        onBadRow({ line, error: placed, data })
      }
    }
    yield { rows, lines }
    await pacer.turn()
  }
}
