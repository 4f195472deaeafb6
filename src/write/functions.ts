import { invalidInput, quote } from '../errors.js'
import type { CallOptions } from '../protocol/calls.js'
import { callback, either, integer, kept, options, type Shape, string } from '../protocol/shape.js'

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

export const functionShape = either<ColumnFunction>(
  {
    is: value => typeof value === 'object' && value !== null && 'batch' in value && value.batch !== undefined,
    shape: kept(
      options<BatchFunction>()(
        {
          name: string('nonEmpty'),
          version: string(),
          batch: integer(1),
          call: callback<BatchFunction['call']>(),
        },
        { name: true, batch: true, call: true },
      ),
    ),
  },
  {
    is: () => true,
    shape: kept(
      options<RowFunction>()(
        {
          name: string('nonEmpty'),
          version: string(),
          batch: integer(1) as Shape<never>,
          call: callback<RowFunction['call']>(),
        },
        { name: true, call: true },
      ),
    ),
  },
)

/** Throws code 13 where two have one name. */
export function checkFunctions(functions: readonly ColumnFunction[]): readonly ColumnFunction[] {
  const seen = new Set<string>()
  for (const each of functions) {
    const key = functionKey(each)
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
