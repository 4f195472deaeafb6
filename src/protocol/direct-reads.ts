/**
 * Reads of rows by key, without a request. Only an engine in the process of the caller offers them. A direct read uses
 * data in memory and never waits. If it cannot answer a query, it returns null, and the caller sends the request.
 */
import type { QueryRequest } from './query-shapes.js'

/** The property of `Operations` with the direct reads. It is absent if the engine is in another process or thread. */
export const directReads = Symbol('direct reads')

/** The fields of a query that decide whether and how it can be read directly. */
export type DirectForm = Pick<QueryRequest, 'id' | 'version' | 'filter' | 'columns'>

/** The part of the matching rows that the caller wants, and the representation of values (`RowsOptions`). */
export interface DirectWindow {
  readonly offset: number
  readonly limit: number
  readonly int64?: 'number' | 'bigint' | 'string' | undefined
  readonly vectors?: 'typed' | 'array' | undefined
}

/** Reads the rows of queries that differ only in the values of their parameters. */
export interface DirectRead {
  /**
   * Return the rows of the newest version, or of the version of the query. `values`: the values of the parameters, as
   * the caller gave them or as `writeParameters` writes them. Null: the query must be sent as a request. Never throws.
   */
  rows(values: unknown, window: DirectWindow): Record<string, unknown>[] | null
  /** Return the number of matching rows, or null as `rows` does. */
  count(values: unknown): number | null
}

export interface DirectReads {
  /**
   * Return a reader for queries of a form. `table`: UUID of the table (`OperationOptions.table`). Null: queries of this
   * form must be sent as requests.
   */
  prepare(form: DirectForm, table?: string): DirectRead | null
}
