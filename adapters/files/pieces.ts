/** Divides rows into pieces before they are written to a file. */
import { types } from 'node:util'
import { checkKeys } from '../../src/arrow/build-column.js'
import type { Batch, Column } from '../../src/arrow/column.js'
import { fromForeignArrow } from '../../src/arrow/foreign.js'
import { readColumn } from '../../src/arrow/infer-type.js'
import { batchBytes } from '../../src/arrow/layout.js'
import { roughBytes } from '../../src/arrow/rows.js'
import { equalSchemas } from '../../src/arrow/same-type.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { ArrowBatch } from '../../src/arrow/to-arrow.js'
import type { Schema } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { isQuery, queryBatches, rowsHint } from '../../src/client/query-batches.js'
import type { Row } from '../../src/client/table-data.js'
import { invalidInput, quote, SheafError, schemaMismatch } from '../../src/errors.js'
import { eachOrAborted } from '../../src/primitives/abort.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { isPlain, plainOf, plainValue } from './write-value.js'

/**
 * The rows to write: a query, record batches, row objects, or a table of apache-arrow. A query gives the columns the types
 * of the table.
 *
 * The items are either all record batches with one schema, or all row objects. Row objects have the columns of the
 * first row.
 */
export type FileRows = AsyncIterable<ArrowBatch | Row> | Iterable<ArrowBatch | Row>

/** Maximum rows of a piece. */
const pieceRows = 1024

/** Approximate bytes at which a piece of row objects ends, so that few large rows are in memory. */
const pieceBytes = 32 * 1024 * 1024

/**
 * Approximate number of values in a piece of a text file. Elements of lists are counted. A piece is a few milliseconds
 * of work.
 */
const textCells = 8 * 1024

/** A piece of the rows: a record batch, or row objects. */
export type RowPiece = { readonly batch: Batch } | { readonly rows: readonly Row[] }

/**
 * Group or split the rows into pieces of at most 1024 rows and about `mostCells` values. A piece of row objects ends at
 * about 32 MiB. Throws InvalidInput for values that are not rows, and SchemaValidation for batches with different schemas.
 */
export async function* rowPieces(
  source: FileRows,
  signal?: AbortSignal,
  mostCells = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<RowPiece> {
  if (typeof source !== 'object' || source === null) throw notRows(source)
  const whole = fromForeignArrow(source)
  const rowsOrBatches: FileRows = isQuery(source) ? queryBatches(source, signal) : source
  if (whole === null && !(Symbol.iterator in source) && !(Symbol.asyncIterator in source))
    throw notRows(source)
  const pacer = new Pacer(signal)
  if (whole !== null) {
    for (const batch of whole.batches) yield* batchPieces(batch, mostCells, pacer)
    return
  }
  let schema: Schema | null = null
  let count = 0
  let cells = 0
  let bytes = 0
  let rows: Row[] = []
  for await (const item of eachOrAborted(rowsOrBatches, signal)) {
    const arrow = fromForeignArrow(item)
    if ((arrow !== null && count > 0) || (arrow === null && schema !== null)) {
      throw invalidInput('the rows must be all record batches or all objects, not both')
    }
    if (arrow === null) {
      checkRow(item, count++)
      rows.push(item as Row)
      cells += cellsOf(item as Row)
      for (const value of Object.values(item as Row)) bytes += roughBytes(value)
      if (rows.length < pieceRows && cells < mostCells && bytes < pieceBytes) continue
      yield { rows }
      rows = []
      cells = 0
      bytes = 0
      await pacer.turn()
      continue
    }
    schema ??= arrow.schema
    if (!equalSchemas(schema, arrow.schema)) {
      throw schemaMismatch('all record batches of a file must have the same schema')
    }
    for (const batch of arrow.batches) yield* batchPieces(batch, mostCells, pacer)
  }
  if (rows.length > 0) yield { rows }
}

/** Split a batch into pieces. A batch without rows gives one empty piece, which has the columns. */
async function* batchPieces(
  batch: Batch,
  mostCells: number,
  pacer: Pacer,
): AsyncGenerator<{ readonly batch: Batch }> {
  const cells = batch.columns.reduce((sum, column) => sum + leavesOf(column), 0)
  const rows = Math.max(1, Math.min(pieceRows, Math.floor((mostCells / Math.max(1, cells)) * batch.length)))
  for (let from = 0; from < Math.max(1, batch.length); from += rows) {
    yield { batch: sliceBatch(batch, from, Math.min(rows, batch.length - from)) }
    await pacer.turn()
  }
}

/** Split a batch into batches of at most `mostBytes`, or single rows. */
export function* cutBatch(batch: Batch, mostBytes: number): Generator<Batch> {
  if (batch.length <= 1 || batchBytes(batch) <= mostBytes) {
    yield batch
    return
  }
  const half = batch.length >>> 1
  yield* cutBatch(sliceBatch(batch, 0, half), mostBytes)
  yield* cutBatch(sliceBatch(batch, half, batch.length - half), mostBytes)
}

/** Count the values of a column. For a nested column, only the innermost values are counted. */
function leavesOf(column: Column): number {
  if (column.children.length === 0) return column.length
  return column.children.reduce((sum, child) => sum + leavesOf(child), 0)
}

function cellsOf(row: Row): number {
  let cells = 0
  for (const value of Object.values(row)) {
    cells += Array.isArray(value) || types.isTypedArray(value) ? Math.max(1, value.length) : 1
  }
  return cells
}

function checkRow(row: unknown, index: number): void {
  if (typeof row === 'object' && row !== null && !Array.isArray(row) && !ArrayBuffer.isView(row)) return
  throw invalidInput(`row ${index} is not an object of columns: ${quote(row)}`)
}

function notRows(source: unknown): SheafError {
  return invalidInput(`rows must be an iterable of record batches or of objects, got ${quote(source)}`, {
    hint: rowsHint(source),
  })
}

/** Some rows, as columns of plain values: values that JSON and CSV can represent, and bigints. */
export interface PlainPiece {
  readonly names: readonly string[]
  readonly length: number
  readonly columns: readonly (readonly unknown[])[]
}

/**
 * Convert rows to plain values for a text file. Row objects have the columns of the first row; a missing value is null.
 * Throws InvalidInput for a value that has no text form, and SchemaValidation for a row with other columns.
 */
export async function* plainPieces(source: FileRows, signal?: AbortSignal): AsyncGenerator<PlainPiece> {
  let names: string[] | null = null
  let first = 0
  for await (const piece of rowPieces(source, signal, textCells)) {
    if ('batch' in piece) {
      yield plainBatch(piece.batch, first)
      first += piece.batch.length
      continue
    }
    const { rows } = piece
    names ??= Object.keys(rows[0]!)
    const known = new Set(names)
    for (let i = 0; i < rows.length; i++) {
      checkKeys(rows[i]!, names, first + i, null, name => known.has(name))
    }
    const columns = names.map(name =>
      plainCells(readColumn(rows, name), name, first, value => plainOf(value)),
    )
    yield { names, length: rows.length, columns }
    first += rows.length
  }
}

/** Convert record batches to plain values for a text file, like `plainPieces`. */
export async function* plainBatches(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  signal: AbortSignal | undefined,
): AsyncGenerator<PlainPiece> {
  const pacer = new Pacer(signal)
  let first = 0
  for await (const batch of batches) {
    for await (const piece of batchPieces(batch, textCells, pacer)) {
      yield plainBatch(piece.batch, first)
      first += piece.batch.length
    }
  }
}

function plainBatch({ schema, length, columns }: Batch, first: number): PlainPiece {
  return {
    names: schema.fields.map(field => field.name),
    length,
    columns: columns.map((column, i) => plainColumn(column, schema.fields[i]!.name, first)),
  }
}

function plainColumn(column: Column, name: string, first: number): readonly unknown[] {
  const values = columnValues(column, { int64: 'bigint' })
  const { type } = column
  return isPlain(type) ? values : plainCells(values, name, first, value => plainValue(value, type))
}

function plainCells(
  values: unknown[],
  name: string,
  first: number,
  toPlain: (value: unknown) => unknown,
): readonly unknown[] {
  for (let i = 0; i < values.length; i++) {
    try {
      values[i] = toPlain(values[i])
    } catch (error) {
      if (!(error instanceof SheafError)) throw error
      throw invalidInput(`row ${first + i}: column ${quote(name)} ${error.message}`, { cause: error })
    }
  }
  return values
}

/** Number of characters that are encoded together. */
const textAtOnce = 64 * 1024

/** Encode rows as UTF-8. `rowText` returns the text of a row of a piece; `length` is the number of rows. */
export function* encodeRows(length: number, rowText: (row: number) => string): Generator<Uint8Array> {
  let text = ''
  for (let row = 0; row < length; row++) {
    text += rowText(row)
    if (text.length < textAtOnce) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}
