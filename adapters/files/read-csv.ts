/** Reads CSV files as rows. */
import type { RowsFor, SchemaInput } from '../../src/client/schema.js'
import type { Row } from '../../src/client/table-data.js'
import { withTypes } from '../../src/client/typed-source.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { CsvColumns } from './csv-columns.js'
import { type ReadCsvOptions, readCsvShape } from './csv-options.js'
import { checkDelimiter, RecordSplitter } from './csv-records.js'
import type { NumberedRows, OnBadRow } from './numbered-rows.js'
import { ReaderTypes } from './reader-types.js'
import { type FileSource, lineOf } from './source.js'
import { textBlocks } from './text-blocks.js'

/**
 * Bytes that are parsed without a pause. This takes a quarter of a millisecond, but ten milliseconds for the first
 * piece in a process.
 */
const pieceBytes = 4 * 1024

/**
 * Read the rows of a CSV file on demand (RFC 4180, UTF-8). Cells may be quoted, lines may end with LF, CRLF or CR, and
 * the first row has the column names. The file is closed when the iteration ends.
 *
 * `table.add` and the other writes to a table with columns read the cells as the types of these columns. Otherwise, the
 * types of columns are inferred from the first 10,000 rows:
 *
 * - Integers become bigints, floats become numbers, and `true` and `false` become booleans.
 * - ISO 8601 dates and times with at most milliseconds become Dates. JSON arrays of numbers become arrays.
 * - A column stays text unless one of these types fits all its cells. A type does not fit if it would change the value:
 *   for example 007, an integer beyond int64, or a number of more than 17 digits.
 *
 * The options `schema` and `types` give types instead. `createTable` without a schema takes these types for its columns.
 * A cell of binary data is base64. A cell of a list, struct or map is JSON.
 *
 * An empty cell is null, with or without quotes. With `nulls: []`, an empty cell of a text or binary column is an empty
 * value. A blank line is a row only if the file has one column.
 *
 * ```ts
 * const docs = await ns.createTable('docs', readCsv('docs.csv', { types: { id: 'int64!', day: 'date' } }))
 * await docs.add(readCsv('more.csv')) // reads the cells as the types of the table
 *
 * const columns = schema({ id: 'int64!', title: 'string' })
 * await typed.add(readCsv<RowOf<typeof columns>>('more.csv')) // TypeScript: a table with typed rows
 * await typed.add(readCsv('more.csv', { schema: columns })) // or with the schema
 * ```
 * @throws InvalidInput for a file that is not CSV; SchemaValidation for a cell that does not fit the type of its
 * column. The message contains the line and the column.
 */
export function readCsv<const S extends SchemaInput>(
  source: FileSource,
  options: ReadCsvOptions & { readonly schema: S },
): AsyncGenerator<RowsFor<S>>
export function readCsv<R extends object = Row>(
  source: FileSource,
  options?: ReadCsvOptions,
): AsyncGenerator<NoInfer<R>>
export function readCsv(
  source: FileSource,
  given: ReadCsvOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<Row> {
  const checked = () => parse(readCsvShape, given, 'readCsv')
  const types = new ReaderTypes('readCsv', checked)
  return withTypes(csvRows(source, checked, types, more), types)
}

async function* csvRows(
  source: FileSource,
  checked: () => ReadCsvOptions,
  types: ReaderTypes,
  more: readonly unknown[],
): AsyncGenerator<Row> {
  refuseMore('readCsv', 2, more)
  for await (const { rows, columns = [] } of csvPieces(source, checked(), types)) {
    types.columns = columns
    for (const row of rows) yield row
  }
}

/** Read the rows of a CSV file with the numbers of their lines. `types`: the types that the options and the table give. */
export async function* csvPieces(
  source: FileSource,
  options: ReadCsvOptions,
  types: Pick<ReaderTypes, 'given' | 'target'>,
  onBadRow?: OnBadRow,
): AsyncGenerator<NumberedRows> {
  const { delimiter = ',', nulls = [''], columns: names, infer, signal } = options
  const { schema, isComplete } = types.given()
  checkDelimiter(delimiter)
  const nameOf = (line: number) => lineOf(source, line)
  const splitter = new RecordSplitter(delimiter, nameOf)
  const columns = new CsvColumns(
    { columns: names, infer, given: schema.fields, isComplete, target: types.target, onBadRow },
    new Set(nulls),
    nameOf,
  )
  const pacer = new Pacer(signal)
  let isEmpty = true
  for await (const { bytes } of textBlocks(source, signal)) {
    for (let from = 0; from < bytes.length; from += pieceBytes) {
      columns.add(await splitter.push(bytes.subarray(from, from + pieceBytes)))
      await pacer.turn()
      for (const records of columns.take()) {
        const piece = columns.rows(records)
        isEmpty &&= piece.rows.length === 0
        yield piece
        await pacer.turn()
      }
    }
  }
  columns.add(await splitter.end())
  columns.end()
  for (const records of columns.take()) {
    const piece = columns.rows(records)
    isEmpty &&= piece.rows.length === 0
    yield piece
    await pacer.turn()
  }
  if (isEmpty) yield { rows: [], lines: [], columns: columns.names }
}
