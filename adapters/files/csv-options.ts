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
  /**
   * Types of all columns. A schema column that the file does not have is missing in the rows. `createTable` without a
   * schema of its own creates all columns of this schema.
   */
  readonly schema?: SchemaInput | undefined
  /**
   * Types of some columns by column name, for example `int64`, `float64`, `string`, `bool`, `date` or `timestamp(us,
   * UTC)`. The names are those that `schema` accepts. `createTable` without a schema gives the columns these types; a `!`
   * after the type makes a column without nulls.
   */
  readonly types?: Readonly<Record<string, string>> | undefined
  /** Whether to infer the types of columns whose type is not given. Default true. If false, these columns are text. */
  readonly infer?: boolean | undefined
  /**
   * Cell texts that mean null, with or without quotes. Default `['']`. An empty cell is always null if its column is
   * neither text nor binary.
   */
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
