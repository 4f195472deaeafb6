/** Reads tables and queries of SQLite files as record batches. */
import { vectorType } from '../../src/arrow/infer-type.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { type ArrowBatch, toArrowTable } from '../../src/arrow/to-arrow.js'
import { typeFromText } from '../../src/arrow/type-text.js'
import type { Field, Schema } from '../../src/arrow/types.js'
import { columnNotFound, invalidInput, quote } from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { array, integer, record, options as shape, string } from '../../src/protocol/shape.js'
import { setOwn } from './json-text.js'
import type { ReadOptions } from './source.js'
import {
  openSqlite,
  type SqliteColumn,
  type SqliteRows,
  type SqliteValue,
  sqliteError,
} from './sqlite-driver.js'
import { convertValue, declaredType, typeOfValues } from './sqlite-values.js'

export interface ReadSqliteOptions extends ReadOptions {
  /** The table or view to read. Either `table` or `query` is required. */
  readonly table?: string | undefined
  /** A SELECT statement of SQLite. */
  readonly query?: string | undefined
  /** Dimensions of columns whose blobs are vectors of float32, as sqlite-vec stores them: `{ embedding: 384 }`. */
  readonly vectors?: Readonly<Record<string, number>> | undefined
  /** Types of some columns: `{ day: 'date', flag: 'bool' }`. Default: see `readSqlite`. */
  readonly types?: Readonly<Record<string, string>> | undefined
  /** Paths of extensions of SQLite to load, for example `[sqliteVec.getLoadablePath()]` for a table of sqlite-vec. */
  readonly extensions?: readonly string[] | undefined
}

export const readSqliteShape = shape<ReadSqliteOptions>()({
  table: string('nonEmpty'),
  query: string('nonEmpty'),
  vectors: record(integer(1, 65_536)),
  types: record(string()),
  extensions: array(string('nonEmpty')),
  signal: signalShape,
})

/** Rows of a batch. The values of the first batch give the types that the declarations do not give. */
const batchRows = 1024
/** Approximate bytes of text and blobs after which a batch ends. */
const batchBytes = 4 * 1024 * 1024

/**
 * Read the rows of a table or query of a SQLite file on demand, with the package `better-sqlite3`, or with `node:sqlite`
 * if the package is not installed and Node has a recent one. The file is opened for reading only, and closed when the
 * iteration ends. All rows are from one state of the file.
 *
 * Types of columns:
 *
 * - The options `vectors` and `types` come first.
 * - The declared type: its affinity gives int64, text, binary or float64. BOOLEAN gives bool; DECIMAL and NUMERIC give
 *   float64.
 * - Other columns (expressions, dates, columns without a type) get the type of the values of the first 1,024 rows.
 *
 * ```js
 * const docs = await ns.createTable('docs', readSqlite('app.db', { table: 'docs', vectors: { embedding: 384 } }))
 * ```
 * @throws InvalidInput if no driver is installed, for a file that is not a database, and for a statement that SQLite
 * refuses; SchemaValidation for a value that does not fit its column. The message contains the row and the column.
 */
export function readSqlite(path: string, options: ReadSqliteOptions): AsyncGenerator<ArrowBatch>
export async function* readSqlite(
  path: string,
  options: ReadSqliteOptions,
  ...more: readonly unknown[]
): AsyncGenerator<ArrowBatch> {
  refuseMore('readSqlite', 2, more)
  const checked = parse(readSqliteShape, options, 'readSqlite')
  if (typeof path !== 'string' || path === '') {
    throw invalidInput(`path must be the path of a file, got ${quote(path)}`)
  }
  const { extensions, signal } = checked
  yield* sqliteBatches(path, statementOf(checked), {
    fieldsOf: names => givenFields(names, checked),
    ...(extensions !== undefined && { extensions }),
    signal,
  })
}

interface SqliteScan {
  /** Returns the types of columns that are known, by name. The declarations and the values give the other types. */
  readonly fieldsOf: (names: readonly string[]) => ReadonlyMap<string, Field>
  readonly extensions?: readonly string[]
  readonly signal: AbortSignal | undefined
}

/** Yield the rows of a statement as record batches. The same rows give the same batches. */
export async function* sqliteBatches(
  path: string,
  sql: string,
  { fieldsOf, extensions = [], signal }: SqliteScan,
): AsyncGenerator<ArrowBatch> {
  const pacer = new Pacer(signal)
  const source = await openSqlite(path, sql, extensions)
  try {
    const known = fieldsOf(namesOf(source.columns))
    let schema: Schema | undefined
    for (let first = 1; ; ) {
      signal?.throwIfAborted()
      const records = await takeRows(path, source, pacer)
      if (records.length === 0 && schema !== undefined) return
      schema ??= schemaOf(source.columns, records, known)
      const batch = rowsToBatch(objectsOf(records, schema, first), schema)
      yield* (await toArrowTable(schema, [batch])).batches
      first += records.length
    }
  } finally {
    source.close()
  }
}

/** Return the names of the tables of a file, without those of SQLite itself. */
export async function sqliteTables(path: string): Promise<readonly string[]> {
  const sql =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
  const { rows, close } = await openSqlite(path, sql, [])
  try {
    const names: string[] = []
    for (let next = rows.next(); next.done !== true; next = rows.next()) names.push(String(next.value[0]))
    return names
  } catch (cause) {
    throw sqliteError(path, cause)
  } finally {
    close()
  }
}

/** Return the statement that reads all rows of a table or view. */
export function selectAllFrom(table: string): string {
  return `SELECT * FROM "${table.replaceAll('"', '""')}"`
}

function statementOf({ table, query }: ReadSqliteOptions): string {
  if ((table === undefined) === (query === undefined)) {
    throw invalidInput('readSqlite needs either table or query', {
      hint: "pass { table: 'name' } or { query: 'SELECT …' }",
    })
  }
  return query ?? selectAllFrom(table!)
}

function namesOf(columns: readonly SqliteColumn[]): readonly string[] {
  const names = columns.map(({ name }) => name)
  const repeated = names.find((name, i) => names.indexOf(name) !== i)
  if (repeated === undefined) return names
  throw invalidInput(`the query returns two columns named ${quote(repeated)}`, {
    hint: 'name the columns in the query: SELECT a.id AS a_id, b.id AS b_id',
  })
}

/** Return the types that the options give. */
function givenFields(
  names: readonly string[],
  { vectors = {}, types = {} }: ReadSqliteOptions,
): ReadonlyMap<string, Field> {
  for (const name of [...Object.keys(vectors), ...Object.keys(types)]) {
    if (!names.includes(name)) throw columnNotFound(name, names)
  }
  const both = Object.keys(vectors).find(name => Object.hasOwn(types, name))
  if (both !== undefined) throw invalidInput(`column ${quote(both)} is in vectors and in types; remove one`)
  const fields = new Map<string, Field>()
  for (const [name, size] of Object.entries(vectors))
    fields.set(name, { name, type: vectorType(size), nullable: true })
  for (const [name, text] of Object.entries(types))
    fields.set(name, { name, ...typeFromText(text, `readSqlite: types: column ${quote(name)}`) })
  return fields
}

/** Return the next rows, at most a batch. */
async function takeRows(
  path: string,
  { rows }: SqliteRows,
  pacer: Pacer,
): Promise<(readonly SqliteValue[])[]> {
  const taken: (readonly SqliteValue[])[] = []
  for (let bytes = 0; taken.length < batchRows && bytes < batchBytes; ) {
    let next: IteratorResult<readonly SqliteValue[]>
    try {
      next = rows.next()
    } catch (cause) {
      throw sqliteError(path, cause)
    }
    if (next.done === true) break
    taken.push(next.value)
    for (const value of next.value) {
      if (typeof value === 'string' || value instanceof Uint8Array) bytes += value.length
    }
    await pacer.turn()
  }
  return taken
}

function schemaOf(
  columns: readonly SqliteColumn[],
  records: readonly (readonly SqliteValue[])[],
  known: ReadonlyMap<string, Field>,
): Schema {
  const fields = columns.map(({ name, declared }, i): Field => {
    const given = known.get(name)
    if (given !== undefined) return given
    const type = declaredType(declared) ?? typeOfValues(records.map(record => record[i]!))
    if (type !== null) return { name, type, nullable: true }
    throw invalidInput(`column ${quote(name)} has values of several types, and no declared type`, {
      hint: `pass types: { ${JSON.stringify(name)}: 'string' }, or convert the values in the query with CAST`,
    })
  })
  return { fields }
}

/** Return rows as objects. `first`: the number of the first row, from 1, for errors. */
function objectsOf(
  records: readonly (readonly SqliteValue[])[],
  { fields }: Schema,
  first: number,
): Record<string, unknown>[] {
  return records.map((record, i) => {
    const row: Record<string, unknown> = {}
    for (const [column, field] of fields.entries()) {
      const { name } = field
      setOwn(row, name, convertValue(record[column]!, field, `row ${first + i}, column ${quote(name)}`))
    }
    return row
  })
}
