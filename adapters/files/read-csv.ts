/** CSV files as rows. */
import { checkSchemaShape } from '../../src/arrow/check-schema.js'
import type { Schema } from '../../src/arrow/types.js'
import { invalidInput, quote } from '../../src/errors.js'
import type { Row } from '../../src/namespace/table-data.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { CsvColumns } from './csv-columns.js'
import { checkDelimiter, RecordSplitter } from './csv-records.js'
import { type FileSource, lineOf, type ReadOptions } from './source.js'
import { textBlocks } from './text-blocks.js'

export interface ReadCsvOptions extends ReadOptions {
  /** What stands between cells, one character; default `,`. */
  readonly delimiter?: string | undefined
  /** Names of the columns of a file without a header row; absent: the first row has them. */
  readonly columns?: readonly string[] | undefined
  /** Types of all columns; columns of it that the file does not have are left out of the rows. */
  readonly schema?: Schema | undefined
  /** Types of some columns, by the names `int64`, `float64`, `utf8`, `bool`, `date32`, `timestamp:us:UTC` ... */
  readonly types?: Readonly<Record<string, string>> | undefined
  /** Whether to infer the types of columns of which none is said; default true. Else they are text. */
  readonly infer?: boolean | undefined
  /** Texts that mean null where they stand without quotes; default `['']`. */
  readonly nulls?: readonly string[] | undefined
}

/**
 * The rows of a CSV file (RFC 4180, UTF-8): quoted cells, LF or CRLF, a header row. Read as they are asked for; the file is
 * closed when no more are.
 *
 * Without a schema the types of columns are inferred from the first 10,000 rows: integers are bigints, floats numbers,
 * `true` and `false` booleans, ISO 8601 dates and times to the millisecond Dates, JSON arrays of equally many numbers
 * arrays. What is not plainly one of these in every row is text, and so are texts that another type would change: 007,
 * integers past int64, numbers of more than 17 digits.
 * With one, texts are read as its types say (see read-value.ts).
 *
 * An empty cell without quotes is null, one with quotes an empty text; of a column that is neither text nor binary both
 * are null. A blank line is a row only where there is one column.
 * @throws code 13 for a file that is no CSV, 20 for a cell that is not of its column's type, naming line and column.
 */
export async function* readCsv(source: FileSource, options: ReadCsvOptions = {}): AsyncGenerator<Row> {
  const { delimiter = ',', nulls = [''], schema, signal } = options
  checkDelimiter(delimiter)
  checkTexts('nulls', nulls)
  if (options.columns !== undefined) checkTexts('columns', options.columns)
  if (schema !== undefined) checkSchemaShape(schema)
  const nameOf = (line: number) => lineOf(source, line)
  const splitter = new RecordSplitter(delimiter, new Set(nulls), nameOf)
  const columns = new CsvColumns(options, nulls.includes(''), nameOf)
  const pacer = new Pacer(signal)
  for await (const { text } of textBlocks(source, signal)) {
    splitter.push(text)
    columns.add(splitter.take())
    for (const records of columns.take()) {
      for (const row of columns.rows(records)) yield row
      await pacer.turn()
    }
    await pacer.turn()
  }
  splitter.end()
  columns.end()
  for (const records of columns.take()) {
    for (const row of columns.rows(records)) yield row
    await pacer.turn()
  }
}

function checkTexts(option: string, texts: readonly string[]): void {
  if (Array.isArray(texts) && texts.every(each => typeof each === 'string')) return
  throw invalidInput(`${option} is an array of texts, got ${quote(texts)}`)
}
