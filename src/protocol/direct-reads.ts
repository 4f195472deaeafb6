/**
 * Reads of rows by key or by a text, without a request. Only an engine in the process of the caller offers them. If a
 * direct read cannot answer a query, it returns null, and the caller sends the request.
 */
import type { MaybePromise } from '../primitives/task.js'
import type { QueryRequest } from './query-shapes.js'

/** The property of operations with the direct reads. Not part of `Operations`, so that its keys are operations. */
const directReads = Symbol('direct reads')

/** A query, as far as direct reads take it into account. With other fields, it must be sent as a request. */
export type DirectQuery = Pick<
  QueryRequest,
  'id' | 'version' | 'filter' | 'columns' | 'offset' | 'full_text_query' | 'fast_search' | 'require_index'
> & {
  readonly k?: number | undefined
}

/** Default limit of a search by vector or text, like in LanceDB. With groups or distinct rows there is no default. */
export const searchLimit = 10

/** The representation of values (`RowsOptions`), and the signal of the call. */
interface DirectOptions {
  readonly int64?: 'number' | 'bigint' | 'string' | undefined
  readonly vectors?: 'typed' | 'array' | undefined
  readonly signal?: AbortSignal | undefined
}

/** Reads the rows of queries that differ only in their window, their text, and the values of their parameters. */
export interface DirectRead {
  /**
   * Return the rows of the newest version, or of the version of the query. Null: the query must be sent as a request,
   * for example because the call has a signal. Never throws. Returns a promise only if the read must wait. The promise is
   * rejected with the errors of the request.
   *
   * `values`: the values of the parameters, as the caller gave them or as `writeParameters` writes them. `most`: maximum
   * number of rows, in addition to the limit of the query; default: no maximum.
   */
  rows(
    values: unknown,
    query: Pick<DirectQuery, 'k' | 'offset' | 'full_text_query' | 'fast_search' | 'require_index'>,
    options: DirectOptions,
    most?: number,
  ): MaybePromise<Record<string, unknown>[]> | null
  /** Return the number of matching rows, or null as `rows` does. */
  count(values: unknown, options: DirectOptions): number | null
}

export interface DirectReads {
  /**
   * Return a reader for a query and for queries that differ from it as `DirectRead` says. `table`: UUID of the table
   * (`OperationOptions.table`). Null: such queries must be sent as requests.
   */
  prepare(query: DirectQuery, table?: string): DirectRead | null
}

/** Return the direct reads of operations. Returns undefined if the engine is in another process or thread. */
export function directReadsOf(operations: object): DirectReads | undefined {
  return (operations as { readonly [directReads]?: DirectReads })[directReads]
}

/** Add direct reads to operations. Returns the operations. */
export function withDirectReads<O extends object>(operations: O, reads: DirectReads | undefined): O {
  return Object.assign(operations, reads && { [directReads]: reads })
}
