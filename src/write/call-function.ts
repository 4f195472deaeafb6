/** Calls functions of the application, which compute the values of virtual columns. */
import type { Batch, Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { rowsToBatches } from '../arrow/rows.js'
import type { Field } from '../arrow/types.js'
import { valueAt } from '../arrow/values.js'
import { invalidInput, quote, SheafError, schemaMismatch } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { inParallel } from '../primitives/in-parallel.js'
import { Pacer } from '../primitives/pacer.js'
import { columnAt } from '../sql/batch-columns.js'
import { type ColumnFunction, type FunctionCall, type FunctionInput, functionKey } from './functions.js'

/** An input column of a function. `path`: its key in the function's argument. `names`: the field names of the path. */
interface InputColumn {
  readonly path: string
  readonly names: readonly string[]
}

/** A column that the function fills. `structField`: the field of the result to store; null: the whole result. */
interface OutputColumn {
  readonly field: Field
  readonly structField: string | null
}

/** Options of `callFunction`. */
interface CallingOptions {
  /** Number of the first row in error messages. */
  readonly firstRow: number
  /** Maximum number of parallel calls of an asynchronous function. */
  readonly concurrency: number
  /** The second argument of the function. */
  readonly call: FunctionCall
}

/**
 * Call a function for rows. Returns the values of `outputs`. Throws `InvalidInput` if a call fails, and
 * `SchemaValidation` if a result does not fit the type of its column.
 */
export async function callFunction(
  called: ColumnFunction,
  inputs: readonly InputColumn[],
  outputs: readonly OutputColumn[],
  rows: Batch,
  { firstRow, concurrency, call }: CallingOptions,
): Promise<readonly Column[]> {
  const { signal } = call
  const pacer = new Pacer(signal)
  const columns = inputs.map(({ path, names }) => ({ path, column: columnAt(rows, names) }))
  const inputAt = (row: number): FunctionInput =>
    Object.fromEntries(columns.map(({ path, column }) => [path, valueAt(column, row, { name: path })]))
  const size = called.batch ?? 1
  const starts = Array.from({ length: Math.ceil(rows.length / size) }, (_, i) => i * size)
  const results = await inParallel(starts, concurrency, async from => {
    await pacer.turn()
    const to = Math.min(rows.length, from + size)
    try {
      return await orAborted(valuesOf(called, from, to, inputAt, call), signal)
    } catch (error) {
      signal?.throwIfAborted()
      throw failed(called, firstRow + from, firstRow + to, error)
    }
  })
  const values = results.flat(1)
  return Promise.all(outputs.map(output => columnOf(values, output, firstRow, called, signal)))
}

async function valuesOf(
  called: ColumnFunction,
  from: number,
  to: number,
  inputAt: (row: number) => FunctionInput,
  call: FunctionCall,
): Promise<readonly unknown[]> {
  if (called.batch === undefined) return [await called.call(inputAt(from), call)]
  const rows = Array.from({ length: to - from }, (_, i) => inputAt(from + i))
  const values = await called.call(rows, call)
  if (Array.isArray(values) && values.length === rows.length) return values
  throw invalidInput(
    `it must return an array with one value per row, but returned ${Array.isArray(values) ? `${values.length} values` : quote(values)} for ${rows.length} rows`,
  )
}

function failed(called: ColumnFunction, from: number, to: number, cause: unknown): SheafError {
  const rows = to - from === 1 ? `row ${from}` : `rows ${from} to ${to - 1}`
  const message = cause instanceof Error ? cause.message : quote(cause)
  return invalidInput(`function ${quote(functionKey(called))} failed for ${rows}: ${message}`, { cause })
}

async function columnOf(
  values: readonly unknown[],
  { field, structField }: OutputColumn,
  firstRow: number,
  called: ColumnFunction,
  signal: AbortSignal | undefined,
): Promise<Column> {
  const rows = values.map(value => {
    return { value: structField === null ? value : (value as Record<string, unknown> | null)?.[structField] }
  })
  const schema = { fields: [{ name: 'value', type: field.type, nullable: true }] }
  try {
    const { batches } = await rowsToBatches(inPieces(rows), { schema, ...(signal && { signal }) })
    const columns: Column[] = []
    for await (const batch of batches) columns.push(batch.columns[0]!)
    return concatColumns(columns)
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
    throw schemaMismatch(
      `column ${quote(field.name)} cannot store a value that function ${quote(functionKey(called))} returned for the rows from ${firstRow} on: ${error.message}`,
      { cause: error },
    )
  }
}

/** Maximum number of rows that are converted before the event loop continues. */
const pieceRows = 1024

async function* inPieces<T>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let from = 0; from < rows.length; from += pieceRows) yield rows.slice(from, from + pieceRows)
}
