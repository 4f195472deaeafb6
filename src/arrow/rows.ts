/** Converts rows (JavaScript objects) to batches. `values.ts` does the reverse. */
import { columnNotFound, invalidInput, quote, SheafError, schemaMismatch } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import { type BadVectors, commonVectors, type NumberedRows, soundRows, vectorsIn } from './bad-vectors.js'
import { type BuildOptions, buildColumn, checkKeys } from './build-column.js'
import type { Batch } from './column.js'
import {
  columnNames,
  inferType,
  kindOf,
  mergeTypes,
  namesVectors,
  readColumn,
  SpreadLimit,
  vectorType,
} from './infer-type.js'
import { Place } from './place.js'
import { runAtOnce, runPaced, type Steps } from './steps.js'
import { typeName } from './type-name.js'
import type { DataType, Field, Schema } from './types.js'

/** Rows from which one step infers types. A step takes a few milliseconds. */
const stepRows = 1024

/**
 * Convert objects to a batch. A missing key and `undefined` mean null. Inherited keys are ignored. Messages number the
 * rows from 0.
 *
 * Without a schema, types are inferred from all rows (see `inferType`), every field is nullable, and vectors must
 * contain only finite numbers. Arrays of numbers are vectors if the name of the column indicates vectors
 * (`namesVectors`). Without rows, the batch has no columns.
 *
 * With a schema, each type accepts these values, and converts them without loss:
 *
 * - int: bigints and whole numbers in the range of the type; for 64 bits, whole numbers only up to 2^53 - 1
 * - float: numbers that do not overflow, and bigints that a double represents exactly
 * - decimal: bigint, number and string without rounding
 * - timestamp: Date, ISO 8601 text, or a number of units as number or bigint; date: the same, but only whole days
 * - time: `hh:mm:ss`, or a number of units as number or bigint
 * - map: Map, object, or an array of [key, value] pairs
 * - fixed_size_list: arrays with exactly the size of the type
 *
 * @throws InvalidInput if a row is not an object, or a type cannot be inferred. SchemaValidation if a row does not fit
 * the schema. The message names the row, the column and the value.
 */
export function rowsToBatch(rows: readonly object[], schema?: Schema): Batch {
  checkRows(rows, 0)
  if (schema === undefined)
    return buildBatch({ rows, numbers: 0 }, runAtOnce(inferSteps(rows, namesVectors)), true)
  checkSchema(schema)
  checkAllKeys({ rows, numbers: 0 }, schema)
  return buildBatch({ rows, numbers: 0 }, schema, false)
}

/**
 * Limit of the rows from which types are inferred: the first `rows` rows, or fewer rows if they reach `bytes` bytes.
 */
interface InferenceWindow {
  readonly rows: number
  readonly bytes: number
}

/** Options of `rowsToBatches`. */
export interface RowsOptions {
  readonly schema?: Schema | undefined
  /** Columns with given types. The types of other columns are inferred. Not together with `schema`. */
  readonly columns?: readonly Field[] | undefined
  /**
   * Names of columns in which arrays of numbers are vectors, in addition to columns whose names indicate vectors. A
   * name without a column throws `ColumnNotFound`. A column without vectors throws `InvalidInput`.
   */
  readonly vectorColumns?: readonly string[] | undefined
  /** Rows from which types are inferred. Default: all rows. */
  readonly window?: InferenceWindow | undefined
  /** Treatment of bad vectors. Default: `error`. */
  readonly badVectors?: BadVectors | undefined
  readonly signal?: AbortSignal | undefined
}

/** The result of `rowsToBatches`. */
interface RowBatches {
  readonly schema: Schema
  /** The batches. The caller can iterate only once. Each batch is built when the caller asks for it. */
  readonly batches: AsyncIterable<Batch>
}

/** Rows in pieces. The conversion of a piece should take at most a few milliseconds, because it is not interrupted. */
type RowPieces = AsyncIterator<readonly object[]>

/**
 * Convert rows like `rowsToBatch`, but in pieces. Returns one batch per piece, all with the same schema. Yields to the
 * event loop between pieces.
 *
 * With `schema`, resolves immediately. Otherwise resolves when the window is full or the rows end, because then the
 * types are inferred. Rows after the window must fit the inferred types.
 *
 * If `badVectors` is not `error`, the length of a column's vectors is their most frequent length (`commonVectors`).
 * @throws the errors of `rowsToBatch`, and `signal.reason`.
 */
export async function rowsToBatches(pieces: RowPieces, options: RowsOptions = {}): Promise<RowBatches> {
  const { schema, columns = [], signal, badVectors = 'error', vectorColumns = [] } = options
  const pacer = new Pacer(signal)
  if (schema !== undefined) {
    checkSchema(schema)
    return { schema, batches: laterBatches(pieces, schema, 0, badVectors, pacer) }
  }
  const { first, rows } = await fillWindow(pieces, options.window, pacer)
  const vectorNames = new Set(vectorColumns)
  const holdsVectors = (column: string) => vectorNames.has(column) || namesVectors(column)
  const given = new Map(columns.map(field => [field.name, field]))
  const inferred = await runPaced(inferVectorSteps(rows, badVectors, holdsVectors, given), pacer)
  checkVectorColumns(vectorColumns, inferred)
  return { schema: inferred, batches: inferredBatches(first, pieces, inferred, badVectors, pacer) }
}

async function* inferredBatches(
  first: (readonly Row[])[],
  rest: RowPieces,
  schema: Schema,
  badVectors: BadVectors,
  pacer: Pacer,
): AsyncGenerator<Batch> {
  const vectors = vectorsIn(schema)
  let start = 0
  for (let piece = first.shift(); piece !== undefined; piece = first.shift()) {
    yield buildBatch(soundRows(piece, start, vectors, badVectors), schema, true)
    start += piece.length
    await pacer.turn()
  }
  yield* laterBatches(rest, schema, start, badVectors, pacer)
}

/**
 * Yield batches of rows that must fit a schema. `inferred`: number of earlier rows from which the schema was inferred;
 * 0 if the caller gave the schema.
 */
async function* laterBatches(
  pieces: RowPieces,
  schema: Schema,
  inferred: number,
  badVectors: BadVectors,
  pacer: Pacer,
): AsyncGenerator<Batch> {
  const vectors = vectorsIn(schema)
  let start = inferred
  for (;;) {
    await pacer.turn()
    const piece = await pieces.next()
    if (piece.done === true) return
    checkRows(piece.value, start)
    const rows = soundRows(piece.value, start, vectors, badVectors)
    yield buildLater(rows, schema, inferred)
    start += piece.value.length
  }
}

function buildLater(rows: NumberedRows, schema: Schema, inferred: number): Batch {
  try {
    checkAllKeys(rows, schema)
    return buildBatch(rows, schema, false)
  } catch (error) {
    if (inferred === 0 || !(error instanceof SheafError)) throw error
    const hint = `types were inferred from the first ${inferred} rows; pass a schema if later rows differ`
    throw new SheafError(error.code, error.message, { hint, cause: error })
  }
}

/** Read pieces until the window is full or the rows end. Returns the pieces, and the rows of all pieces. */
async function fillWindow(pieces: RowPieces, window: InferenceWindow | undefined, pacer: Pacer) {
  const first: (readonly Row[])[] = []
  const rows: Row[] = []
  let bytes = 0
  while (window === undefined || (rows.length < window.rows && bytes < window.bytes)) {
    await pacer.turn()
    const piece = await pieces.next()
    if (piece.done === true) break
    checkRows(piece.value, rows.length)
    first.push(piece.value)
    for (const row of piece.value) {
      rows.push(row)
      if (window !== undefined) bytes += roughBytes(row)
    }
  }
  return { first, rows }
}

/** Maximum depth of nested values that `roughBytes` counts. */
const maxCountedDepth = 4

/** Return the approximate memory of a value, in bytes. */
export function roughBytes(value: unknown, depth = 0): number {
  if (typeof value === 'string') return 2 * value.length
  if (typeof value !== 'object' || value === null) return 8
  if (ArrayBuffer.isView(value)) return value.byteLength
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  if ((parts === value && typeof parts[0] === 'number') || depth === maxCountedDepth) return 8 * parts.length
  let bytes = 8 * parts.length
  for (const part of parts) bytes += roughBytes(part, depth + 1)
  return bytes
}

type Row = Readonly<Record<string, unknown>>

function checkRows(rows: readonly unknown[], first: number): asserts rows is readonly Row[] {
  for (let i = 0; i < rows.length; i++) {
    if (isRow(rows[i])) continue
    throw invalidInput(`row ${first + i} is not an object of columns: ${quote(rows[i])}`)
  }
}

/** Return whether a value can be a row: an object that is not a list, map or promise. */
export function isRow(value: unknown): value is Row {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || kindOf(value) === 'object'
}

function checkSchema(schema: Schema): void {
  const names = new Set(schema.fields.map(field => field.name))
  if (names.size < schema.fields.length) throw schemaMismatch('the schema has two columns with the same name')
}

/** Check that each column of `vectorColumns` exists and contains vectors or lists of vectors. */
function checkVectorColumns(columns: readonly string[], { fields }: Schema): void {
  for (const name of columns) {
    const field = fields.find(field => field.name === name)
    const names = fields.map(field => field.name)
    if (field === undefined) throw columnNotFound(name, names)
    let { type } = field
    while (type.kind === 'list') type = type.child.type
    if (type.kind === 'fixed_size_list') continue
    throw invalidInput(
      `vectorColumns names ${quote(name)}, which does not hold vectors: its values are ${typeName(field.type)}`,
      { hint: 'vectors are arrays of finite numbers, all with the same length' },
    )
  }
}

/** Infer the types of rows. If `badVectors` is not `error`, vectors of the wrong length are replaced by null before. */
function* inferVectorSteps(
  rows: readonly Row[],
  badVectors: BadVectors,
  holdsVectors: (column: string) => boolean,
  given: GivenFields,
): Steps<Schema> {
  if (badVectors === 'error') return yield* inferSteps(rows, holdsVectors, given)
  const common = yield* commonVectors(rows, holdsVectors)
  const vectors = [...common].map(([name, { size, bits }]) => ({ name, size, bits, nullable: true }))
  const sound: Row[] = []
  for (let start = 0; start < rows.length; start += stepRows) {
    for (const row of soundRows(rows.slice(start, start + stepRows), start, vectors, 'null').rows)
      sound.push(row)
    yield
  }
  const { fields } = yield* inferSteps(sound, holdsVectors, given)
  // If all vectors of a column are bad, only nulls remain, and the inferred type is null. Then use the common vector
  // type.
  return {
    fields: fields.map(field => {
      const vector = common.get(field.name)
      const hasOnlyNulls = vector !== undefined && field.type.kind === 'null'
      return hasOnlyNulls ? { ...field, type: vectorType(vector.size) } : field
    }),
  }
}

/** Fields with given types, by name. */
type GivenFields = ReadonlyMap<string, Field>

/** Infer the types of rows: infer the types of each part of `stepRows` rows, and merge them. */
function* inferSteps(
  rows: readonly Row[],
  holdsVectors: (column: string) => boolean,
  given: GivenFields = new Map(),
): Steps<Schema> {
  const types = new Map<string, DataType>()
  /** Names of the columns whose types are given, or were already inferred from all rows. */
  const known = new Set<string>()
  for (let start = 0; start < rows.length; start += stepRows) {
    const part = rows.slice(start, start + stepRows)
    const limit = new SpreadLimit()
    for (const name of columnNames(part)) {
      if (known.has(name)) continue
      const field = given.get(name)
      if (field !== undefined) {
        types.set(name, field.type)
        known.add(name)
        continue
      }
      const areVectors = holdsVectors(name)
      const type = inferType(readColumn(part, name), Place.column(name, start), limit, areVectors)
      const earlier = types.get(name)
      const merged = earlier === undefined ? type : mergeTypes(earlier, type)
      if (merged === null) known.add(name)
      // If the types of two parts cannot be merged, infer the type from all rows. This finds a common type, or throws
      // an error that names the row.
      types.set(name, merged ?? inferType(readColumn(rows, name), Place.column(name), limit, areVectors))
    }
    yield
  }
  const fields = [...types].map(([name, type]): Field => given.get(name) ?? { name, type, nullable: true })
  // If there are no rows, no row has the given columns.
  return { fields: [...fields, ...[...given.values()].filter(({ name }) => !types.has(name))] }
}

function checkAllKeys({ rows, numbers }: NumberedRows, schema: Schema): void {
  const names = schema.fields.map(field => field.name)
  const known = new Set(names)
  for (let i = 0; i < rows.length; i++) {
    const number = typeof numbers === 'number' ? numbers + i : numbers[i]!
    checkKeys(rows[i]!, names, number, null, name => known.has(name))
  }
}

function buildBatch({ rows, numbers }: NumberedRows, schema: Schema, inferred: boolean): Batch {
  const options: BuildOptions = { limit: new SpreadLimit(), inferred }
  const columns = schema.fields.map(field =>
    buildColumn(field, readColumn(rows, field.name), Place.column(field.name, numbers), options),
  )
  return { schema, length: rows.length, columns }
}
