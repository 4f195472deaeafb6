/** A prepared query: a query that runs often, with other values for its parameters. */
import type { ArrowTable } from '../arrow/to-arrow.js'
import { invalidInput, quote } from '../errors.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import { takeNoMore } from '../protocol/arguments.js'
import type { CallOptions } from '../protocol/calls.js'
import { type Parameters, writeParameters } from '../protocol/parameters.js'
import { parse } from '../protocol/parse.js'
import type { RowsAs } from './row-types.js'
import { type RowsOptions, rowsShape } from './rows-options.js'

type Values = ReturnType<typeof writeParameters>

/** A query that is ready to run. */
interface Runnable {
  toArray(options: RowsOptions): Promise<object[]>
  first(options: RowsOptions): Promise<object | null>
  toArrow(options?: CallOptions): Promise<ArrowTable>
}

/**
 * Reads the rows with the values of a call without a request. `most`: maximum number of rows; default: the limit of the
 * query. Returns null or undefined if the query must be run.
 */
export type ReadDirectly = (
  values: Parameters,
  options: RowsOptions,
  most?: number,
) => MaybePromise<object[]> | null | undefined

/**
 * A query whose values are given when it runs. `R` is the type of its rows, `P` the type of the values: an array for `?`
 * and `$1`, or an object for `:name`. Each call reads the newest version of the table, or the version of the handle that
 * prepared the query.
 *
 * Each method throws what `Search.toArray` throws, and `InvalidInput` for a missing or surplus value.
 */
export class PreparedQuery<out R extends object, in P extends Parameters> {
  readonly #directly: ReadDirectly
  readonly #withValues: (values: Values) => MaybePromise<Runnable>

  /** `withValues` returns the query with the values of a call. */
  constructor(directly: ReadDirectly, withValues: (values: Values) => MaybePromise<Runnable>) {
    this.#directly = directly
    this.#withValues = withValues
  }

  /**
   * Run the query with these values, and return the rows as objects. A query without parameters takes `[]`. Takes the
   * options of `Search.toArray`.
   */
  async all(values: P, options?: RowsOptions & { readonly int64?: undefined }): Promise<R[]>
  async all<S extends object, Q extends Parameters, const O extends RowsOptions>(
    this: PreparedQuery<S, Q>,
    values: Q,
    options: O,
  ): Promise<RowsAs<S, O>[]>
  async all(values: P, options: RowsOptions = {}): Promise<object[]> {
    const rows = this.#directly(values, parse(rowsShape, options, 'all'))
    return rows ?? whenResolved(this.#queryWith('all', values), query => query.toArray(options))
  }

  /** Run the query with these values, and return the first row, or null if there is none. */
  async first(values: P, options?: RowsOptions & { readonly int64?: undefined }): Promise<R | null>
  async first<S extends object, Q extends Parameters, const O extends RowsOptions>(
    this: PreparedQuery<S, Q>,
    values: Q,
    options: O,
  ): Promise<RowsAs<S, O> | null>
  async first(values: P, options: RowsOptions = {}): Promise<object | null> {
    const rows = this.#directly(values, parse(rowsShape, options, 'first'), 1)
    if (rows != null) return whenResolved(rows, ([row = null]) => row)
    return whenResolved(this.#queryWith('first', values), query => query.first(options))
  }

  /** Run the query with these values, and return the rows as a table of apache-arrow. */
  async arrow(values: P, options?: CallOptions): Promise<ArrowTable> {
    return whenResolved(this.#queryWith('arrow', values), query => query.toArrow(options))
  }

  #queryWith(call: string, values: P): MaybePromise<Runnable> {
    if (typeof values !== 'object' || values === null) {
      throw invalidInput(
        `${call}: the values must be an array (for ? and $1) or an object (for :name), got ${quote(values)}`,
        { hint: `write ${call}([value]), or ${call}([]) for a query without parameters` },
      )
    }
    return this.#withValues(writeParameters(values))
  }
}

takeNoMore(PreparedQuery.prototype, { all: 2, first: 2, arrow: 2 })
