/** A search being put together. Each step gives a new one; the rows come when they are asked for. */
import { concatChunks } from '../arrow/encode-ipc.js'
import { sliceBatch } from '../arrow/slice.js'
import { type ArrowTable, toArrowTable } from '../arrow/to-arrow.js'
import { batchToRows, type ReadOptions } from '../arrow/values.js'
import { Pacer } from '../primitives/pacer.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { type Parameters, writeParameters } from '../protocol/parameters.js'
import { readReply } from './arrow-rows.js'
import { wireWord } from './options.js'

type QueryRequest = Request<'queryTable'>

/** Rows a search returns when no limit is given and there is a vector, as LanceDB does. */
const defaultLimit = 10

/** Rows made into objects between two looks at the clock. */
const rowsAtOnce = 1024

export interface RowsOptions extends CallOptions, Pick<ReadOptions, 'int64'> {}

export class Search {
  readonly #operations: Operations
  readonly #request: Omit<QueryRequest, 'k'> & { readonly k?: number }

  constructor(operations: Operations, request: Omit<QueryRequest, 'k'> & { readonly k?: number }) {
    this.#operations = operations
    this.#request = request
  }

  /**
   * Only rows for which `filter` (SQL) is true; `?`, `$1` and `:name` in it take their values from `parameters`.
   * A second `where` takes the place of the first.
   */
  where(filter: string, parameters?: Parameters): Search {
    const { parameters: _, ...others } = this.#request
    const written = parameters && { parameters: writeParameters(parameters) }
    return new Search(this.#operations, { ...others, filter, ...written })
  }

  /** Columns to return, in this order; default all. `_distance` follows where there is one. */
  select(columns: readonly string[]): Search {
    return this.#with({ columns: { column_names: columns } })
  }

  /** How many rows at most: default 10 by vector, else all. */
  limit(k: number): Search {
    return this.#with({ k })
  }

  /** Rows to skip; default 0. */
  offset(offset: number): Search {
    return this.#with({ offset })
  }

  /** `l2` (squared, the default), `cosine` (1 - cos), or `dot` (1 - dot). */
  distanceType(distance_type: 'l2' | 'cosine' | 'dot'): Search {
    return this.#with({ distance_type })
  }

  /** The vector column to search; needed only where several have the dimension of the vector. */
  column(vector_column: string): Search {
    return this.#with({ vector_column })
  }

  /** Only rows with `lower <= _distance < upper`. */
  distanceRange(lower?: number, upper?: number): Search {
    return this.#with({
      ...(lower !== undefined && { lower_bound: lower }),
      ...(upper !== undefined && { upper_bound: upper }),
    })
  }

  /** Filters the rows found instead of the rows searched: may return fewer than asked for. */
  postfilter(): Search {
    return this.#with({ prefilter: false })
  }

  /** Adds `_rowid`. */
  withRowId(): Search {
    return this.#with({ with_row_id: true })
  }

  /** The rows as objects. int64 values beyond 2^53 throw unless `int64` says how to give them. */
  async toArray(options: RowsOptions = {}): Promise<Record<string, unknown>[]> {
    const { int64 = 'number', ...call } = options
    wireWord('int64', int64, { number: 'number', bigint: 'bigint', string: 'string' })
    const { batches } = readReply(await this.#run(call))
    const pacer = new Pacer(call.signal)
    const rows: Record<string, unknown>[] = []
    for (const batch of batches) {
      for (let from = 0; from < batch.length; from += rowsAtOnce) {
        const piece = sliceBatch(batch, from, Math.min(rowsAtOnce, batch.length - from))
        for (const row of batchToRows(piece, { int64 })) rows.push(row)
        await pacer.turn()
      }
    }
    return rows
  }

  /** The rows as a table of apache-arrow. */
  async toArrow(options: CallOptions = {}): Promise<ArrowTable> {
    const { schema, batches } = readReply(await this.#run(options))
    return toArrowTable(schema, batches)
  }

  /** The rows as an Arrow IPC file. */
  async toIpc(options: CallOptions = {}): Promise<Uint8Array> {
    const { chunks } = await this.#run(options)
    return concatChunks(chunks)
  }

  #run(options: CallOptions) {
    const {
      vector = null,
      k = vector === null ? Number.MAX_SAFE_INTEGER : defaultLimit,
      ...rest
    } = this.#request
    return this.#operations.queryTable({ ...rest, vector, k }, options)
  }

  #with(more: Partial<QueryRequest>): Search {
    return new Search(this.#operations, { ...this.#request, ...more })
  }
}
