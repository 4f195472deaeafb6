/** Options of `readCsv`. */
import type { Schema } from '../../src/arrow/types.js'
import { schemaShape } from '../../src/client/table-data.js'
import { signalShape } from '../../src/protocol/calls.js'
import { array, boolean, options, record, string } from '../../src/protocol/shape.js'
import type { ReadOptions } from './source.js'

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
  /** Texts that mean null, in quotes or not; default `['']`. An empty cell of a column that is neither text nor binary always does. */
  readonly nulls?: readonly string[] | undefined
}

export const readCsvShape = options<ReadCsvOptions>()({
  delimiter: string(),
  columns: array(string()),
  schema: schemaShape,
  types: record(string()),
  infer: boolean,
  nulls: array(string()),
  signal: signalShape,
})
