/** Reads CSV files as rows. */
import { givenSchema } from '../../src/arrow/given-schema.js'
import type { RowsFor, SchemaInput } from '../../src/client/schema.js'
import type { Row } from '../../src/client/table-data.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { CsvColumns } from './csv-columns.js'
import { type ReadCsvOptions, readCsvShape } from './csv-options.js'
import { checkDelimiter, RecordSplitter } from './csv-records.js'
import { type FileSource, lineOf } from './source.js'
import { textBlocks } from './text-blocks.js'

/**
 * Bytes that are parsed without a pause. This takes a quarter of a millisecond, but ten milliseconds for the first
 * piece in a process.
 */
const pieceBytes = 4 * 1024

/**
 * Read the rows of a CSV file on demand (RFC 4180, UTF-8): quoted cells, lines that end with LF, CRLF or CR, a header row. The file is
 * closed when the iteration ends.
 *
 * Without a schema, the types of columns are inferred from the first 10,000 rows:
 *
 * - Integers become bigints, floats numbers, `true` and `false` booleans.
 * - ISO 8601 dates and times up to milliseconds become Dates, JSON arrays of numbers become arrays.
 * - A column is text if not every row plainly has the same one of these types. So are texts that another type would change: 007, integers
 *   beyond int64, numbers of more than 17 digits.
 *
 * With a schema, texts are read as its types require (see read-value.ts).
 *
 * An empty cell is null, quoted or not. With `nulls: []` it is an empty text if the column can hold one. A blank line is a row only if
 * there is one column.
 *
 * ```js
 * await table.add(readCsv('docs.csv', { types: { id: 'int64' } }))
 * ```
 * @throws InvalidInput for a file that is not CSV; SchemaValidation for a cell that does not fit the type of its column, with line and
 *   column.
 */
export function readCsv<const S extends SchemaInput>(
  source: FileSource,
  options: ReadCsvOptions & { readonly schema: S },
): AsyncGenerator<RowsFor<S>>
export function readCsv(source: FileSource, options?: ReadCsvOptions): AsyncGenerator<Row>
export async function* readCsv(
  source: FileSource,
  given: ReadCsvOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<Row> {
  refuseMore('readCsv', 2, more)
  const checked = parse(readCsvShape, given, 'readCsv')
  const { delimiter = ',', nulls = [''], signal } = checked
  const schema = checked.schema === undefined ? undefined : givenSchema(checked.schema)
  checkDelimiter(delimiter)
  const nameOf = (line: number) => lineOf(source, line)
  const splitter = new RecordSplitter(delimiter, nameOf)
  const columns = new CsvColumns({ ...checked, schema }, new Set(nulls), nameOf)
  const pacer = new Pacer(signal)
  for await (const { bytes } of textBlocks(source, signal)) {
    for (let from = 0; from < bytes.length; from += pieceBytes) {
      columns.add(await splitter.push(bytes.subarray(from, from + pieceBytes)))
      await pacer.turn()
      for (const records of columns.take()) {
        for (const row of columns.rows(records)) yield row
        await pacer.turn()
      }
    }
  }
  columns.add(await splitter.end())
  columns.end()
  for (const records of columns.take()) {
    for (const row of columns.rows(records)) yield row
    await pacer.turn()
  }
}
