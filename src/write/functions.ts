/** Functions of the application that fill virtual columns. */
import { invalidInput, quote } from '../errors.js'
import type { CallOptions } from '../protocol/calls.js'
import { callback, either, integer, kept, options, type Shape, string } from '../protocol/shape.js'

/**
 * By column path: the values of the input columns of one row. The values have the same types as those of
 * `Search.toArray`.
 */
export type FunctionInput = Readonly<Record<string, unknown>>

/** The caller of the API that writes the rows. The properties are undefined for a job. */
export interface FunctionCaller {
  readonly context?: CallOptions['context']
  readonly identity?: CallOptions['identity']
}

/** The second argument of a function. */
export interface FunctionCall extends FunctionCaller {
  /** Signal that aborts when the values are no longer needed. Undefined if the caller gave no signal. */
  readonly signal: AbortSignal | undefined
}

interface NamedFunction {
  /** The `udf_name` of the columns that the function fills. */
  readonly name: string
  /**
   * Version of the function. A column whose definition has a `udf_version` is filled only by the function with this
   * version.
   */
  readonly version?: string
}

/**
 * A function that returns the value for one row. The result undefined means null. If it throws, the call or job fails
 * with an error that names the row.
 */
export interface RowFunction extends NamedFunction {
  readonly batch?: undefined
  readonly call: (row: FunctionInput, call: FunctionCall) => unknown
}

/**
 * A function that returns an array with one value per row, for several rows. Useful if the function calls a model or a
 * service.
 */
export interface BatchFunction extends NamedFunction {
  /** Maximum number of rows of one call, at least 1. */
  readonly batch: number
  readonly call: (
    rows: readonly FunctionInput[],
    call: FunctionCall,
  ) => readonly unknown[] | Promise<readonly unknown[]>
}

/**
 * A function that fills virtual columns, for the option `functions` of `connect`. It must always return the same value
 * for the same row. Sheaf may call it again for a row, for example if the commit conflicts with another commit.
 *
 *     const embed = { name: 'embed', batch: 64, call: async rows => model.embed(rows.map(row => row.title)) }
 *     const ns = await connect('./data', { functions: [embed] })
 */
export type ColumnFunction = RowFunction | BatchFunction

/** Validation of one element of the option `functions`. */
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

/** Check that no two functions have the same name and version. Throws `InvalidInput`. */
export function checkFunctions(functions: readonly ColumnFunction[]): readonly ColumnFunction[] {
  const seen = new Set<string>()
  for (const each of functions) {
    const key = functionKey(each)
    if (seen.has(key)) throw invalidInput(`two functions have the name ${quote(key)}`)
    seen.add(key)
  }
  return functions
}

/** Return the name of a function with its version: `name@version`. Without a version, returns `name`. */
export function functionKey({ name, version }: Pick<ColumnFunction, 'name' | 'version'>): string {
  return version === undefined ? name : `${name}@${version}`
}

/** Return the function with a name and a version. `version` undefined: the first function with the name. */
export function findFunction(
  functions: readonly ColumnFunction[],
  name: string | undefined,
  version: string | undefined,
): ColumnFunction | undefined {
  return functions.find(known => known.name === name && (version === undefined || known.version === version))
}
