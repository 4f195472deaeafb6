/** Options of methods that return rows as objects. */
import type { ReadOptions } from '../arrow/values.js'
import { type CallOptions, callFields } from '../protocol/calls.js'
import { oneOf, optionFields, options } from '../protocol/shape.js'

/** Options of methods that return rows as objects. */
export interface RowsOptions extends CallOptions {
  /**
   * Representation of 64-bit integers: `number` (default), `bigint` or `string`. `number` throws for values beyond
   * 2^53.
   */
  readonly int64?: ReadOptions['int64'] | undefined
  /**
   * Representation of vectors: typed arrays (`typed`, the default) or plain arrays (`array`). JSON.stringify and test
   * matchers work better with plain arrays.
   */
  readonly vectors?: ReadOptions['vectors'] | undefined
}

export const rowsFields = optionFields<RowsOptions>()({
  int64: oneOf('number', 'bigint', 'string'),
  vectors: oneOf('typed', 'array'),
  ...callFields,
})

export const rowsShape = options<RowsOptions>()(rowsFields)

/** The representation of 64-bit integers of a connection: the default of calls that return rows. */
export type ConnectionInt64 = 'number' | 'bigint' | undefined

/** Return the options with the default of the connection. */
export function withInt64(options: RowsOptions, int64: ConnectionInt64): RowsOptions {
  return int64 === undefined || options.int64 !== undefined ? options : { ...options, int64 }
}

export type RowObject = Record<string, unknown>

/** Return the options without `int64` and `vectors`, which operations do not accept. */
export function callOptions({ int64: _, vectors: __, ...call }: RowsOptions): CallOptions {
  return call
}
