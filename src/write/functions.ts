/** Functions of the application that fill virtual columns. */
import { invalidInput, quote } from '../errors.js'
import type { CallOptions } from '../protocol/calls.js'
import { callback, either, integer, kept, options, type Shape, string } from '../protocol/shape.js'

/** Values of the input columns of one row, by column path, as `Search.toArray` returns them. */
export type FunctionInput = Readonly<Record<string, unknown>>

/** The caller that writes the rows, as far as known. A job that fills columns has no caller. */
export interface FunctionCaller {
  readonly context?: CallOptions['context']
  readonly identity?: CallOptions['identity']
}

/** Second argument of a function: its caller, and a signal. */
export interface FunctionCall extends FunctionCaller {
  /** Aborts when the values are no longer needed; undefined if the caller gave no signal. */
  readonly signal: AbortSignal | undefined
}

interface NamedFunction {
  /** The `udf_name` of the columns that the function fills. */
  readonly name: string
  /** If a column names a version, only the function with that version fills it. */
  readonly version?: string
}

/**
 * A function that returns the value for one row; undefined becomes null. If it throws, the call or job fails and names
 * the row.
 */
export interface RowFunction extends NamedFunction {
  readonly batch?: undefined
  readonly call: (row: FunctionInput, call: FunctionCall) => unknown
}

/** A function that returns the values of several rows, one per row: for functions that call a model or a service. */
export interface BatchFunction extends NamedFunction {
  /** Maximum number of rows of one call, at least 1. */
  readonly batch: number
  readonly call: (
    rows: readonly FunctionInput[],
    call: FunctionCall,
  ) => readonly unknown[] | Promise<readonly unknown[]>
}

/**
 * A function that fills virtual columns, for the option `functions` of `connect`. It must return the same value for the
 * same row: rows are computed again if their commit lost a race.
 *
 *     const embed = { name: 'embed', batch: 64, call: async rows => model.embed(rows.map(row => row.title)) }
 *     const ns = await connect('./data', { functions: [embed] })
 */
export type ColumnFunction = RowFunction | BatchFunction

/** Shape of the option `functions`. */
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
