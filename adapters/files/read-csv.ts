/** CSV files as rows. */
import { checkSchemaShape } from '../../src/arrow/check-schema.js'
import type { Row } from '../../src/client/table-data.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { CsvColumns } from './csv-columns.js'
import { type ReadCsvOptions, readCsvShape } from './csv-options.js'
import { checkDelimiter, RecordSplitter } from './csv-records.js'
import { type FileSource, lineOf } from './source.js'
import { textBlocks } from './text-blocks.js'

/** Bytes of a step: a quarter of a millisecond, ten where it is the first of the process. */
const pieceBytes = 4 * 1024

/**
 * The rows of a CSV file (RFC 4180, UTF-8): quoted cells, lines that end with LF, CRLF or CR, a header row. Read as they are
 * asked for; the file is closed when no more are.
 *
 * Without a schema the types of columns are inferred from the first 10,000 rows: integers are bigints, floats numbers,
 * `true` and `false` booleans, ISO 8601 dates and times to the millisecond Dates, JSON arrays of numbers arrays. What is not plainly one of these in every row is text, and so are texts that another type would change: 007,
 * integers past int64, numbers of more than 17 digits.
 * With one, texts are read as its types say (see read-value.ts).
 *
 * An empty cell is null, in quotes or not; with `nulls: []` it is an empty text where the column can hold one. A blank line
 * is a row only where there is one column.
 * @throws code 13 for a file that is no CSV, 20 for a cell that is not of its column's type, naming line and column.
 */
export function readCsv(source: FileSource, options?: ReadCsvOptions): AsyncGenerator<Row>
export async function* readCsv(
  source: FileSource,
  given: ReadCsvOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<Row> {
  refuseMore('readCsv', 2, more)
  const checked = parse(readCsvShape, given, 'readCsv')
  const { delimiter = ',', nulls = [''], schema, signal } = checked
  checkDelimiter(delimiter)
  if (schema !== undefined) checkSchemaShape(schema)
  const nameOf = (line: number) => lineOf(source, line)
  const splitter = new RecordSplitter(delimiter, nameOf)
  const columns = new CsvColumns(checked, new Set(nulls), nameOf)
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
