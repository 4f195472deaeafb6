/** An upload in parts: many calls, from any number of processes, add rows, and one commit makes all rows visible. */

import { systemClock } from '../primitives/clock.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { array, options as declare, oneOf, string } from '../protocol/shape.js'
import type { ArrowRows } from './arrow-rows.js'
import type { PlainRows } from './plain-rows.js'
import { type IngestOptions, ingestFields, type Row, type TableData, type TableInput } from './table-data.js'

/** Options of `Table.upload`. */
export interface UploadOptions extends CallOptions {
  /** Effect of the commit: `append` (default) adds the rows, `overwrite` replaces all rows of the table. */
  readonly mode?: 'append' | 'overwrite'
}

/** Options of `TableUpload.add`. */
export interface PartOptions extends CallOptions, IngestOptions {
  /**
   * Name of the part, at most 128 characters. A part replaces an earlier part with the same name, so a task that runs
   * twice does not add its rows twice. Default: a random UUID.
   */
  readonly part?: string
}

/** Options of `TableUpload.commit`. */
export interface CommitUploadOptions extends CallOptions {
  /**
   * Names of the parts to commit, at least one. Their rows are added in this order. The rows of other parts are
   * discarded. Default: all parts, in the order in which their names first appeared.
   */
  readonly parts?: readonly string[]
}

/** A part of an upload. */
export interface UploadedPart {
  readonly part: string
  readonly rows: number
  /** Bytes of the part's files. */
  readonly bytes: number
}

/** The result of the commit of an upload. A repeated commit returns the result of the first commit. */
export interface CommittedUpload {
  /** The version of the table after the commit. */
  readonly version: number
  /** Number of parts that were committed. */
  readonly parts: number
  /** Number of inserted rows. */
  readonly inserted: number
  /** Number of rows that a merge updated. */
  readonly updated: number
  /** Number of rows that a merge deleted. */
  readonly deleted: number
}

export const uploadShape = declare<UploadOptions>()({ mode: oneOf('append', 'overwrite'), ...callFields })

export const partShape = declare<PartOptions>()({
  part: string('nonEmpty'),
  ...ingestFields,
  ...callFields,
})

export const commitUploadShape = declare<CommitUploadOptions>()({
  parts: array(string('nonEmpty'), { min: 1, distinct: name => name }),
  ...callFields,
})

/** Function that converts input to rows with the types of the table's columns. The caller closes the result. */
export type RowsOf = (data: TableData, options: CallOptions & IngestOptions) => Promise<ArrowRows | PlainRows>

/**
 * An upload in parts. No row is visible before `commit`.
 *
 * ```js
 * const upload = await table.upload()
 * await upload.add(rows, { part: 'a' }) // from any process: (await table.resumeUpload(id)).add(...)
 * await upload.commit()
 * ```
 */
export class TableUpload<I extends object = Row> {
  /** Id of the upload, valid in every process. */
  readonly id: string
  readonly #operations: Operations
  readonly #table: readonly string[]
  readonly #rowsOf: RowsOf

  /** `rowsOf`: see `RowsOf`. */
  constructor(operations: Operations, table: readonly string[], id: string, rowsOf: RowsOf) {
    this.#operations = operations
    this.#table = table
    this.id = id
    this.#rowsOf = rowsOf
  }

  /**
   * Add a part. When the promise resolves, the rows are durable, and every later `commit` includes the rows. The rows
   * have the columns that the table had when the upload began. Rows with a column that was added to the table later are
   * refused; the uploaded rows have null in this column.
   *
   * Throws:
   * - `ColumnNotFound` or `SchemaValidation` for rows that do not fit the table;
   * - `TableNotFound` if the table was dropped;
   * - `TransactionNotFound` if the upload was aborted or has expired;
   * - `InvalidInput` if the upload was already committed;
   * - `InvalidTableState` if a column of the upload was dropped or changed.
   */
  async add(
    data: TableInput<I>,
    options: PartOptions = {},
  ): Promise<{ readonly part: string; readonly rows: number }> {
    const { part = systemClock.uuid(), onProgress, badVectors, ...call } = parse(partShape, options, 'add')
    const rows = await this.#rowsOf(data as TableData, { onProgress, badVectors, ...call })
    const request = { id: this.#table, upload_id: this.id, upload_part_id: part }
    const inserted = this.#operations.insertIntoTable(request, rows, call)
    const reply = await inserted.finally(() => rows.close())
    return { part, rows: reply.num_inserted_rows }
  }

  /** List the parts, in the order in which their names first appeared. */
  async parts(options: CallOptions = {}): Promise<readonly UploadedPart[]> {
    const call = parse(callShape, options, 'parts')
    const { parts } = await this.#operations.describeTableUpload(this.#request(), call)
    return parts.map(({ part, num_rows: rows, num_bytes: bytes }) => ({ part, rows, bytes }))
  }

  /**
   * Make the rows of the parts visible, in one commit. Repeated calls, from any process, have no effect, and return the
   * result of the first call.
   *
   * Throws `InvalidInput` if a part of `options.parts` does not exist, `TableNotFound` if the table was dropped, and
   * `InvalidTableState` if a column of the upload was dropped or changed.
   */
  async commit(options: CommitUploadOptions = {}): Promise<CommittedUpload> {
    const { parts, ...call } = parse(commitUploadShape, options, 'commit')
    const request = { ...this.#request(), ...(parts !== undefined && { parts }) }
    const reply = await this.#operations.completeTableUpload(request, call)
    return {
      version: reply.version,
      parts: reply.num_parts,
      inserted: reply.num_inserted_rows,
      updated: reply.num_updated_rows,
      deleted: reply.num_deleted_rows,
    }
  }

  /**
   * Abort the upload, so that none of its rows becomes visible. An upload can also be aborted after its table was
   * dropped. Throws `InvalidInput` if the upload was committed.
   */
  async abort(options: CallOptions = {}): Promise<void> {
    await this.#operations.abortTableUpload(this.#request(), parse(callShape, options, 'abort'))
  }

  #request(): { readonly id: readonly string[]; readonly upload_id: string } {
    return { id: this.#table, upload_id: this.id }
  }
}

takeNoMore(TableUpload.prototype, { add: 2, parts: 1, commit: 1, abort: 1 })
