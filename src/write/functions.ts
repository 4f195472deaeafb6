/** Functions of the application that fill columns: which there are, and calling them. */
import type { Batch, Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { rowsToBatches } from '../arrow/rows.js'
import type { Field } from '../arrow/types.js'
import { valueAt } from '../arrow/values.js'
import { invalidInput, quote, SheafError, schemaMismatch } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { inParallel } from '../primitives/in-parallel.js'
import { Pacer } from '../primitives/pacer.js'
import type { CallOptions } from '../protocol/calls.js'
import { columnAt } from '../sql/kernels/batch-columns.js'

/** The input columns of a row by their paths; values as `Search.toArray` gives them. */
export type FunctionInput = Readonly<Record<string, unknown>>

/** Who wrote the rows, as far as the caller said; a job that fills columns has nobody to ask. */
export interface FunctionCaller {
  readonly context?: CallOptions['context']
  readonly identity?: CallOptions['identity']
}

export interface FunctionCall extends FunctionCaller {
  /** Fires when the values are not wanted any more. */
  readonly signal: AbortSignal | undefined
}

interface NamedFunction {
  /** The `udf_name` of the columns it fills. */
  readonly name: string
  /** Columns that name another version are not filled by it. */
  readonly version?: string
}

/** Gives the value for one row; null and undefined are null. What it throws ends the call or the job, naming the row. */
export interface RowFunction extends NamedFunction {
  readonly batch?: undefined
  readonly call: (row: FunctionInput, call: FunctionCall) => unknown
}

/** Gives the values of several rows at once, as many as it got: for functions that ask a model, or a service. */
export interface BatchFunction extends NamedFunction {
  /** Rows of one call at most. */
  readonly batch: number
  readonly call: (
    rows: readonly FunctionInput[],
    call: FunctionCall,
  ) => readonly unknown[] | Promise<readonly unknown[]>
}

/** The same row must get the same value: rows are computed again when a commit loses its race. */
export type ColumnFunction = RowFunction | BatchFunction

/** Throws code 13 for what is no list of functions. */
export function checkFunctions(functions: readonly ColumnFunction[]): readonly ColumnFunction[] {
  if (!Array.isArray(functions)) throw invalidInput(`functions must be an array, got ${quote(functions)}`)
  const seen = new Set<string>()
  for (const each of functions as readonly Partial<ColumnFunction>[]) {
    const { name, version, batch, call } = each ?? {}
    if (typeof name !== 'string' || name === '') throw invalidInput(`a function has the name ${quote(name)}`)
    if (version !== undefined && typeof version !== 'string') {
      throw invalidInput(`version of function ${quote(name)} must be a text, got ${quote(version)}`)
    }
    if (batch !== undefined && !(Number.isInteger(batch) && batch > 0)) {
      throw invalidInput(`batch of function ${quote(name)} must be a whole number > 0, got ${quote(batch)}`)
    }
    if (typeof call !== 'function') throw invalidInput(`call of function ${quote(name)} must be a function`)
    const key = functionKey({ name, ...(version !== undefined && { version }) })
    if (seen.has(key)) throw invalidInput(`two functions are named ${quote(key)}`)
    seen.add(key)
  }
  return functions
}

/** Names a function and its version. */
export function functionKey({ name, version }: Pick<ColumnFunction, 'name' | 'version'>): string {
  return version === undefined ? name : `${name}@${version}`
}

/** The function of that name; where a version is asked for, of that version. */
export function findFunction(
  functions: readonly ColumnFunction[],
  name: string | undefined,
  version: string | undefined,
): ColumnFunction | undefined {
  return functions.find(known => known.name === name && (version === undefined || known.version === version))
}

/** An input column: what the function knows it as, and the names that lead to it. */
export interface InputColumn {
  readonly path: string
  readonly names: readonly string[]
}

/** A column that gets the result, or a field of it. */
export interface OutputColumn {
  readonly field: Field
  readonly structField: string | null
}

export interface CallingOptions {
  /** What the first row is called in messages. */
  readonly firstRow: number
  /** Calls under way at the same time, of a function that is asynchronous. */
  readonly concurrency: number
  /** What the function is told beside the rows. */
  readonly call: FunctionCall
}

/** The columns a function gives for some rows. Throws code 13 naming the row it failed for, 20 for a value of another type. */
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
    `it gave ${Array.isArray(values) ? `${values.length} values` : quote(values)} for ${rows.length} rows`,
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
      `column ${quote(field.name)} cannot take what function ${quote(functionKey(called))} gave, counted from row ${firstRow}: ${error.message}`,
      { cause: error },
    )
  }
}

/** Rows converted between two turns of others. */
const pieceRows = 1024

async function* inPieces<T>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let from = 0; from < rows.length; from += pieceRows) yield rows.slice(from, from + pieceRows)
}
