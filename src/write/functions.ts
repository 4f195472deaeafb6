import { invalidInput, quote } from '../errors.js'
import type { CallOptions } from '../protocol/calls.js'
import { callback, either, integer, kept, options, type Shape, string } from '../protocol/shape.js'

/** The input columns of one row, by path. Values as `Search.toArray` returns them. */
export type FunctionInput = Readonly<Record<string, unknown>>

/** The caller that writes the rows, as far as known. A job that fills columns has no caller. */
export interface FunctionCaller {
  readonly context?: CallOptions['context']
  readonly identity?: CallOptions['identity']
}

export interface FunctionCall extends FunctionCaller {
  /** Aborts when the values are no longer needed. */
  readonly signal: AbortSignal | undefined
}

interface NamedFunction {
  /** The `udf_name` of the columns that the function fills. */
  readonly name: string
  /** If a column names a version, only the function with that version fills it. */
  readonly version?: string
}

/** Return the value for one row; null and undefined become null. If it throws, the call or job fails and names the row. */
export interface RowFunction extends NamedFunction {
  readonly batch?: undefined
  readonly call: (row: FunctionInput, call: FunctionCall) => unknown
}

/** Return the values of several rows at once, one per row: for functions that call a model or a service. */
export interface BatchFunction extends NamedFunction {
  /** Maximum rows of one call. */
  readonly batch: number
  readonly call: (
    rows: readonly FunctionInput[],
    call: FunctionCall,
  ) => readonly unknown[] | Promise<readonly unknown[]>
}

/** A function that fills columns. It must return the same value for the same row: rows are computed again after a lost commit. */
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

/** Check that names are unique. Throws `InvalidInput`. */
export function checkFunctions(functions: readonly ColumnFunction[]): readonly ColumnFunction[] {
  const seen = new Set<string>()
  for (const each of functions) {
    const key = functionKey(each)
    if (seen.has(key)) throw invalidInput(`two functions are named ${quote(key)}`)
    seen.add(key)
  }
  return functions
}

/** Return `name`, or `name@version`. */
export function functionKey({ name, version }: Pick<ColumnFunction, 'name' | 'version'>): string {
  return version === undefined ? name : `${name}@${version}`
}

/** Return the function of that name, and of that version if one is given. */
export function findFunction(
  functions: readonly ColumnFunction[],
  name: string | undefined,
  version: string | undefined,
): ColumnFunction | undefined {
  return functions.find(known => known.name === name && (version === undefined || known.version === version))
}
