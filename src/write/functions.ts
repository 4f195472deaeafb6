import { invalidInput, quote } from '../errors.js'
import type { CallOptions } from '../protocol/calls.js'

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
