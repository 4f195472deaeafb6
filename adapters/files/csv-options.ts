/** Options of `readCsv`. */
import { type SchemaInput, schemaShape } from '../../src/client/schema.js'
import { signalShape } from '../../src/protocol/calls.js'
import { array, boolean, options, record, string } from '../../src/protocol/shape.js'
import type { ReadOptions } from './source.js'

export interface ReadCsvOptions extends ReadOptions {
  /** Delimiter between cells, one character. Default `,`. */
  readonly delimiter?: string | undefined
  /** Column names of a file without a header row. Default: the first row has the names. */
  readonly columns?: readonly string[] | undefined
  /** Types of all columns. Columns of the schema that the file does not have are left out of the rows. */
  readonly schema?: SchemaInput | undefined
  /** Types of some columns by name: `int64`, `float64`, `string`, `bool`, `date`, `timestamp(us, UTC)`, as in `schema`. */
  readonly types?: Readonly<Record<string, string>> | undefined
  /** Whether to infer the types of columns whose type is not given. Default true; otherwise these columns are text. */
  readonly infer?: boolean | undefined
  /** Texts that mean null, quoted or not. Default `['']`. An empty cell of a column that is neither text nor binary is always null. */
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
