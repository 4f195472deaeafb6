/** An upload in parts: rows that come in many calls, from any number of processes, and are committed together. */

import { systemClock } from '../primitives/clock.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { array, options as declare, oneOf, string } from '../protocol/shape.js'
import type { ArrowRows } from './arrow-rows.js'
import { type IngestOptions, ingestFields, type Row, type TableData } from './table-data.js'

export interface UploadOptions extends CallOptions {
  /** `append` (default) adds the rows, `overwrite` replaces all rows by them when the upload is committed. */
  readonly mode?: 'append' | 'overwrite'
}

export interface PartOptions extends CallOptions, IngestOptions {
  /**
   * Names the part, at most 128 characters. A part of the same name gives way to this one, so that a task that runs again does not add its
   * rows twice. Default: a name that no other part has.
   */
  readonly part?: string
}

export interface CommitUploadOptions extends CallOptions {
  /** Parts to commit, at least one, in that order; others are left out. Default: all of them, in the order in which their names came first. */
  readonly parts?: readonly string[]
}

export interface UploadedPart {
  readonly part: string
  readonly rows: number
  /** Of its files. */
  readonly bytes: number
}

/** What a commit of an upload made, or had made when it was asked for before. */
export interface CommittedUpload {
  readonly version: number
  readonly parts: number
  readonly inserted: number
  /** Of a merge. */
  readonly updated: number
  /** Of a merge. */
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

export type RowsOf = (data: TableData, options: CallOptions & IngestOptions) => Promise<ArrowRows>

/**
 * `const upload = await table.upload()`, then `upload.add(rows, { part })` from any process that has `upload.id` (`table.resumeUpload`), then
 * `upload.commit()` once. No row is visible before.
 */
export class TableUpload<R extends object = Row> {
  /** Names the upload, in every process. */
  readonly id: string
  readonly #operations: Operations
  readonly #table: readonly string[]
  readonly #rowsOf: RowsOf

  /** `rowsOf`: the rows of a source with the types of the table. */
  constructor(operations: Operations, table: readonly string[], id: string, rowsOf: RowsOf) {
    this.#operations = operations
    this.#table = table
    this.id = id
    this.#rowsOf = rowsOf
  }

  /**
   * Adds a part. When this resolves, its rows are durable, and every later `commit` has them. The rows get the columns that the table had
   * when the upload began: columns that the table got since are null in them, and rows that bring such a column are refused. Throws codes 12
   * and 20 for rows that do not fit the table, 4 where the table was dropped, 10 where the upload was given up, 13 where it has ended, 19 where the table has other
   * columns by now.
   */
  async add(
    data: TableData<R>,
    options: PartOptions = {},
  ): Promise<{ readonly part: string; readonly rows: number }> {
    const { part = systemClock.uuid(), onProgress, badVectors, ...call } = parse(partShape, options, 'add')
    const rows = await this.#rowsOf(data as TableData, { onProgress, badVectors, ...call })
    const request = { id: this.#table, upload_id: this.id, upload_part_id: part }
    const inserted = this.#operations.insertIntoTable(request, rows, call)
    const reply = await inserted.finally(() => rows.close())
    return { part, rows: reply.num_inserted_rows }
  }

  /** The parts there are, in the order in which their names came first. */
  async parts(options: CallOptions = {}): Promise<readonly UploadedPart[]> {
    const call = parse(callShape, options, 'parts')
    const { parts } = await this.#operations.describeTableUpload(this.#request(), call)
    return parts.map(({ part, num_rows: rows, num_bytes: bytes }) => ({ part, rows, bytes }))
  }

  /**
   * Makes the rows of the parts visible, in one commit. It takes effect once, however often it is called: later calls, of any process, answer
   * what the first did. Throws code 13 where a part is named that is not there, 4 where the table was dropped, 19 where the table has other columns by now.
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

  /** Gives up the upload: none of its rows becomes visible. Works also where its table was dropped. Throws code 13 where it was committed. */
  async abort(options: CallOptions = {}): Promise<void> {
    await this.#operations.abortTableUpload(this.#request(), parse(callShape, options, 'abort'))
  }

  #request(): { readonly id: readonly string[]; readonly upload_id: string } {
    return { id: this.#table, upload_id: this.id }
  }
}

takeNoMore(TableUpload.prototype, { add: 2, parts: 1, commit: 1, abort: 1 })
