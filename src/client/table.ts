/** The handle of one table. Each method calls operations of the protocol. */

import type { Schema } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import type { Token } from '../indexes/text/analysis/analyzer.js'
import { lazyImport } from '../lazy-import.js'
import { refuseArray, takeNoMore } from '../protocol/arguments.js'
import {
  type CallOptions,
  callFields,
  callShape,
  normalForms,
  type Operations,
  type Reply,
  type Request,
} from '../protocol/calls.js'
import { directReadsOf } from '../protocol/direct-reads.js'
import type { Parameters } from '../protocol/parameters.js'
import { parse } from '../protocol/parse.js'
import { mergeInsertRequest } from '../protocol/row-shapes.js'
import { dropColumnsRequest } from '../protocol/schema-shapes.js'
import {
  array,
  boolean,
  callback,
  either,
  filledVector,
  integer,
  nullable,
  oneOf,
  options,
  record,
  string,
  type VectorValues,
} from '../protocol/shape.js'
import type { SqlFragment } from '../sql/syntax/sql-fragment.js'
import { withNulls } from '../write/definitions.js'
import type { ArrowRows } from './arrow-rows.js'
import { updateFields } from './assignments.js'
import { bindToTable } from './bind-to-table.js'
import { type ChangesOptions, type TableChange, tableChanges, type Watch } from './changes.js'
import type { ColumnChanges, NewColumns } from './column-fields.js'
import { type Diff, diffOf, versionShape } from './diff.js'
import { filterFields } from './filter-fields.js'
import { importReplies } from './import-replies.js'
import { jobEnded } from './job-ended.js'
import { MergeInsert, type MergeOptions, mergeFields } from './merge-insert.js'
import { PlainRows } from './plain-rows.js'
import type { PreparedQuery } from './prepared-query.js'
import { rowOfKey } from './row-of-key.js'
import type { Assignments, ColumnName, KeyName, KeyOf, PartialInput, RowsAs } from './row-types.js'
import { type ConnectionInt64, type RowsOptions, rowsFields } from './rows-options.js'
import { Search, stepsWith } from './search.js'
import {
  type IngestOptions,
  ingestFields,
  type Row,
  type RowInput,
  type TableData,
  type TableInput,
} from './table-data.js'
import {
  type CreateIndexOptions,
  createIndex,
  createIndexShape,
  type IndexInfo,
  type IndexStats,
  indexesAt,
  indexesBuilt,
  indexStatsAt,
  type WaitForIndexOptions,
  waitForIndexShape,
} from './table-indexes.js'
import { beginTableScan, type ScanOptions, type TableScan, TableSlice } from './table-scan.js'
import { Tags } from './table-tags.js'
import { type RowsOf, TableUpload, type UploadOptions, uploadShape } from './table-upload.js'
import { rowNumbers, Take } from './take.js'
import { type TokenizeColumnOptions, tokenizeColumnShape } from './tokenize-options.js'

const importColumnFields = lazyImport(() => import('./column-fields.js'))
const importTableRows = lazyImport(() => import('./table-rows.js'))
const importTokenize = lazyImport(() => import('./tokenize.js'))

/** One version of a table, with its number, time and metadata. */
export type VersionInfo = Reply<'describeTableVersion'>['version']

/** Options of `Table.add`. */
export interface AddOptions extends CallOptions, IngestOptions {
  /** `append` (default) adds the rows; `overwrite` replaces all rows of the table with the new rows. */
  readonly mode?: 'append' | 'overwrite'
}

/** Options of `Table.backfillColumn`. */
export interface BackfillOptions extends CallOptions {
  /** An SQL predicate. The backfill changes only rows for which it is true. Default: all rows. */
  readonly where?: string
  /** Maximum number of concurrent calls of an asynchronous function. Default 4. */
  readonly concurrency?: number
}

/** Options of `Table.refresh`. */
export interface RefreshOptions extends CallOptions {
  /** The version of the source table from which the view is computed. Default: the newest version. */
  readonly version?: number
  /** Maximum number of rows per fragment that the refresh writes. */
  readonly maxRowsPerFragment?: number
}

/** Options of `Table.updateFieldMetadata`. */
interface UpdateFieldMetadataOptions extends CallOptions {
  /** Whether to remove all keys of the metadata that the call does not set. Default false. */
  readonly replace?: boolean
}

export const addShape = options<AddOptions>()({
  ...ingestFields,
  mode: oneOf('append', 'overwrite'),
  ...callFields,
})

export const backfillShape = options<BackfillOptions>()({
  where: string('nonBlank'),
  concurrency: integer(1),
  ...callFields,
})

export const refreshShape = options<RefreshOptions>()({
  version: integer(0),
  maxRowsPerFragment: integer(1),
  ...callFields,
})

export const updateFieldMetadataShape = options<UpdateFieldMetadataOptions>()({
  replace: boolean,
  ...callFields,
})

/** Options of `Table.get`. */
export interface GetOptions extends RowsOptions {
  /** Name of the key column. Default `id`. */
  readonly on?: string
}

export const getShape = options<GetOptions>()({ on: string('nonEmpty'), ...rowsFields })

/** Options of `Table.upsert`. */
export interface UpsertOptions<N extends string = string> extends MergeOptions {
  /** Name of the key column, or names of several key columns. */
  readonly on: N | readonly N[]
}

export const upsertShape = options<UpsertOptions>()(
  {
    on: either<string | readonly string[]>(
      { is: Array.isArray, shape: array(string('nonEmpty'), { min: 1, distinct: name => name }) },
      { is: () => true, shape: string('nonEmpty') },
    ),
    ...mergeFields,
  },
  { on: true },
)

/** The new version, and the numbers of rows that an upsert inserted and updated. */
interface UpsertResult {
  readonly version: number
  readonly inserted: number
  readonly updated: number
}

/** The shape of the argument of `search`: words, one vector, or several vectors. */
const queryShape = either<VectorValues | readonly VectorValues[] | string>(
  { is: value => typeof value === 'string', shape: string() },
  {
    is: value => Array.isArray(value) && (Array.isArray(value[0]) || ArrayBuffer.isView(value[0])),
    shape: array(filledVector),
  },
  { is: () => true, shape: filledVector },
)

/** The version that an update created, and the number of changed rows. If no row changed: the version that it read. */
interface UpdateResult {
  readonly version: number
  readonly rows: number
}

const buildShape = callback<(query: Search) => Search<object, object>>()

const indexNames = either<string | readonly string[]>(
  { is: Array.isArray, shape: array(string('nonEmpty')) },
  { is: () => true, shape: string('nonEmpty') },
)

/** The table that a handle is bound to. */
interface TableBinding {
  /** The UUID of the table, which a rename does not change. Absent: each call uses the table that has the name then. */
  readonly uuid?: string | undefined
  /** The version that the handle reads; writes are refused. Absent: the newest version, and writes are allowed. */
  readonly version?: number | undefined
  /** The representation of 64-bit integers in rows. Absent: numbers. */
  readonly int64?: ConnectionInt64
  /** Function that reports new commits. Absent: the client must poll. */
  readonly watch?: Watch | undefined
  /** Whether the operations take `PlainRows`. Default false. */
  readonly takesPlainRows?: boolean | undefined
}

const noOptions = Object.freeze({})

/** Maximum number of rows that are passed as `PlainRows`. */
const fewRows = 256

function isFewRows(data: unknown): data is readonly object[] {
  return Array.isArray(data) && data.length > 0 && data.length <= fewRows
}

/**
 * A table. `R` is the type of the rows that reads return, as far as it is known at compile time (`RowOf` derives it
 * from a schema). `I` is the type of the rows that writes accept.
 */
export class Table<out R extends object = Row, I extends object = RowInput<R>> {
  /** The path by which the table was opened: the names of its namespaces, then the name of the table. */
  readonly id: readonly string[]
  /** The tags of the table. */
  readonly tags: Tags
  readonly #operations: Operations
  readonly #version: number | undefined
  readonly #uuid: string | undefined
  readonly #watch: Watch | undefined
  readonly #int64: ConnectionInt64
  readonly #takesPlainRows: boolean
  /** The request of `add`, in its normal form. */
  readonly #append: Request<'insertIntoTable'>

  constructor(namespace: Operations, id: readonly string[], bound: TableBinding = {}) {
    this.id = id
    this.#operations = bound.uuid === undefined ? namespace : bindToTable(namespace, bound.uuid)
    this.tags = new Tags(this.#operations, id)
    this.#version = bound.version
    this.#uuid = bound.uuid
    this.#watch = bound.watch
    this.#int64 = bound.int64
    this.#takesPlainRows = bound.takesPlainRows === true
    this.#append = { id: [...id], mode: 'Append' }
    normalForms.add(this.#append)
  }

  /**
   * Add rows. Sheaf converts values to the types of the table's columns. Missing columns become null. Throws
   * `ColumnNotFound` for unknown columns, and `SchemaValidation` for values that do not fit the columns.
   */
  async add(
    data: TableInput<I>,
    options: AddOptions = noOptions,
  ): Promise<{ readonly version: number; readonly rows: number }> {
    this.#refuseCheckedOut('add')
    if (options === noOptions && this.#takesPlainRows && isFewRows(data)) {
      const plain = new PlainRows(data, () => this.#addedRows(data as TableData, noOptions))
      const reply = await this.#operations.insertIntoTable(this.#append, plain)
      return { version: reply.version, rows: reply.num_inserted_rows }
    }
    const { mode = 'append', onProgress, badVectors, ...call } = parse(addShape, options, 'add')
    const request = { id: this.id, mode: ({ append: 'Append', overwrite: 'Overwrite' } as const)[mode] }
    const rows = await this.#addedRows(data as TableData, { onProgress, badVectors, ...call })
    try {
      const reply = await this.#operations.insertIntoTable(request, rows, call)
      return { version: reply.version, rows: reply.num_inserted_rows }
    } finally {
      await rows.close()
    }
  }

  /**
   * Begin an upload in parts: many calls, from any number of processes, add rows, and one commit makes all rows
   * visible. A process keeps an upload for one hour after the last request for this upload (`maintenance.keepIdleMs`).
   * After that, garbage collection may delete the upload's files.
   */
  async upload(options: UploadOptions = {}): Promise<TableUpload<I>> {
    this.#refuseCheckedOut('upload')
    const { mode = 'append', ...call } = parse(uploadShape, options, 'upload')
    const request = { id: this.id, mode: ({ append: 'Append', overwrite: 'Overwrite' } as const)[mode] }
    const { upload_id } = await this.#operations.createTableUpload(request, call)
    return this.#uploadOf(upload_id, false)
  }

  /**
   * Open an upload to this table that this process or another process began. Throws `TransactionNotFound` if no upload
   * has this id, and `InvalidInput` if the upload has ended.
   */
  async resumeUpload(id: string, options: CallOptions = {}): Promise<TableUpload<I>> {
    this.#refuseCheckedOut('resumeUpload')
    const upload_id = parse(string('nonEmpty'), id, 'resumeUpload: the id')
    const call = parse(callShape, options, 'resumeUpload')
    const { mode } = await this.#operations.describeTableUpload({ id: this.id, upload_id }, call)
    return this.#uploadOf(upload_id, mode === 'Merge')
  }

  /** Delete the rows for which `predicate` is true. Returns the new version and the number of deleted rows. */
  async delete(
    predicate: string | SqlFragment,
    parameters?: Parameters,
    options: CallOptions = {},
  ): Promise<{ readonly version: number; readonly rows: number }> {
    this.#refuseCheckedOut('delete')
    const { filter, ...values } = filterFields('delete', predicate, parameters)
    const call = parse(callShape, options, 'delete')
    const reply = await this.#operations.deleteFromTable({ id: this.id, predicate: filter, ...values }, call)
    return { version: reply.version, rows: reply.num_deleted_rows }
  }

  /**
   * Set columns of the rows for which `predicate` is true; without a predicate, of all rows. Expressions read the
   * values before the update. Row ids do not change.
   *
   * Throws `InvalidInput` if the argument `predicate` is given but undefined; leave it out, or pass `'true'`, to
   * update all rows. Throws `ColumnNotFound` for unknown columns, and `SchemaValidation` for values of another type.
   *
   * ```js
   * await table.update({ seen: true, n: sql`n + 1` }, 'id = ?', [7])
   * ```
   */
  async update<S extends object, J extends object>(
    this: Table<S, J>,
    set: Assignments<S, J>,
  ): Promise<UpdateResult>
  async update<S extends object, J extends object>(
    this: Table<S, J>,
    set: Assignments<S, J>,
    predicate: string | SqlFragment,
    parameters?: Parameters,
    options?: CallOptions,
  ): Promise<UpdateResult>
  async update(
    set: Assignments,
    ...given: readonly [predicate?: string | SqlFragment, parameters?: Parameters, options?: CallOptions]
  ): Promise<UpdateResult> {
    this.#refuseCheckedOut('update')
    const request = { id: this.id, ...updateFields(set) }
    const [predicate, parameters, options = {}] = given
    if (predicate === undefined && given.length > 0) {
      throw invalidInput('update: the predicate is undefined', {
        hint: "leave it out to change all rows, or write 'true'",
      })
    }
    const { filter, ...values } =
      predicate === undefined ? { filter: undefined } : filterFields('update', predicate, parameters)
    const call = parse(callShape, options, 'update')
    const reply = await this.#operations.updateTable({ ...request, predicate: filter, ...values }, call)
    return { version: reply.version, rows: reply.updated_rows }
  }

  /**
   * Begin a merge: an upsert, an insert of new rows only, or a replacement of a part of the table. A row to write
   * matches a row of the table if the values of the key columns (`on`) are equal.
   */
  mergeInsert<S extends object, J extends object>(
    this: Table<S, J>,
    ...on: readonly [KeyName<S>, ...KeyName<S>[]]
  ): MergeInsert
  mergeInsert(...on: readonly string[]): MergeInsert {
    this.#refuseCheckedOut('mergeInsert')
    refuseArray('mergeInsert', on)
    const request = { id: this.id, on: parse(mergeInsertRequest.fields.on.shape, on, 'mergeInsert') }
    return new MergeInsert(this.#operations, request, this.#mergedRows)
  }

  /**
   * Insert rows, and update the rows of the table that have the same key, in one commit. `on` names the key columns.
   * Columns that `data` does not have stay unchanged in updated rows, and are null in new rows. All rows of `data` must
   * have the same columns; a value that is undefined counts as a missing column. Throws the errors of
   * `MergeInsert.execute`.
   *
   * ```js
   * await table.upsert([{ id: 7, title: 'Seven' }], { on: 'id' })
   * ```
   */
  async upsert<S extends object, J extends object>(
    this: Table<S, J>,
    data: TableInput<PartialInput<S, J>>,
    options: UpsertOptions<KeyName<S>>,
  ): Promise<UpsertResult>
  async upsert(data: TableInput<object>, options: UpsertOptions): Promise<UpsertResult> {
    this.#refuseCheckedOut('upsert')
    const { on, ...call } = parse(upsertShape, options ?? {}, 'upsert')
    const columns = typeof on === 'string' ? [on] : on
    const request = { id: this.id, on: parse(mergeInsertRequest.fields.on.shape, columns, 'upsert: on') }
    const merge = new MergeInsert(this.#operations, request, this.#mergedRows)
    const { version, inserted, updated } = await merge
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute(data as TableData, call)
    return { version, inserted, updated }
  }

  /** Convert the rows of a merge, without the columns that no row has. The merge leaves these columns unchanged. */
  readonly #mergedRows = async (data: TableData, options: CallOptions & IngestOptions) => {
    const schema = () => this.schema({ signal: options.signal })
    const typed = async () => {
      return (await importTableRows()).tableRows(data, { ...options, schema, omitMissingColumns: true })
    }
    return this.#takesPlainRows && isFewRows(data) ? new PlainRows(data, typed) : typed()
  }

  /** Convert the rows of an append or overwrite; missing columns become null. */
  async #addedRows(
    data: TableData,
    options: CallOptions & IngestOptions,
    columns = (call: CallOptions) => this.schema(call),
  ): Promise<ArrowRows> {
    const { onProgress, badVectors, ...call } = options
    const schema = async () => withNulls(await columns(call))
    const { tableRows } = await importTableRows()
    return tableRows(data, { schema, onProgress, badVectors, signal: call.signal })
  }

  #uploadOf(upload_id: string, isMerge: boolean): TableUpload<I> {
    const request = { id: this.id, upload_id }
    const schema = async (call: CallOptions) => {
      const reply = await this.#operations.describeTableUpload(request, { ...call, dialect: 'lance' })
      const { schemaFromJson } = await importReplies()
      return schemaFromJson(reply.schema)
    }
    const rowsOf: RowsOf = (data, options) => this.#addedRows(data, options, schema)
    return new TableUpload(this.#operations, this.id, upload_id, isMerge ? this.#mergedRows : rowsOf)
  }

  /**
   * Begin a query over all rows, in row order. Further calls can filter, order or group the rows, or search by words.
   * No request is sent until the rows are read.
   *
   * ```js
   * for await (const row of table.query().where('year > ?', [1950])) console.log(row.title)
   * ```
   */
  query(): Search<R> {
    return new Search<R>(this.#operations, this.#request(), stepsWith(this.#int64))
  }

  /**
   * Prepare a query, to run it often with other values. `build` adds steps to `query()`; its SQL has parameters without
   * values (`?`, `$1` or `:name`). The prepared query reads the newest version, or the version of this handle. Declare
   * the types of the values with `Search.prepare`.
   *
   * ```js
   * const byId = table.prepare(query => query.where('id = ?').select(['title']))
   * await byId.first([7])
   * ```
   */
  prepare<S extends object, U extends object>(
    build: (query: Search<R>) => Search<S, U>,
  ): PreparedQuery<S, Parameters> {
    const query = parse(buildShape, build, 'prepare: the query')(this.query() as Search) as unknown
    if (!(query instanceof Search)) {
      throw invalidInput(`prepare: the function must return a query, got ${quote(query)}`, {
        hint: "write prepare(query => query.where('id = ?'))",
      })
    }
    return (query as Search<S, U>).prepare()
  }

  /**
   * Begin a search by a vector, or by words (like `fullText`). To read rows without a search, use `query`. No request
   * is sent until the rows are read.
   *
   * If the column holds lists of vectors, several vectors form one query. The distance of a row is then a sum: for each
   * vector of the query, the distance to the nearest vector of the row. If the column holds single vectors, each vector
   * is a separate query, and the column `query_index` of the answer has the number of the query.
   */
  search(vector: VectorValues | readonly VectorValues[]): Search<R & { readonly _distance: number }>
  /** Search by words. `_score` is the BM25 score. */
  search(words: string): Search<R & { readonly _score: number }>
  search(asked: VectorValues | readonly VectorValues[] | string): Search<R>
  search(...given: readonly [asked?: VectorValues | readonly VectorValues[] | string]): Search<object> {
    if (given.length === 0) {
      throw invalidInput('search needs a vector or words to search for', {
        hint: 'write query() to read rows without a search',
      })
    }
    const request = this.#request()
    const query = parse(queryShape, given[0], 'search')
    const steps = stepsWith(this.#int64)
    if (typeof query === 'string') {
      return new Search<object>(this.#operations, request, steps).fullText(query)
    }
    const searched = isVectorList(query) ? { multi_vector: query } : { single_vector: query }
    return new Search<R>(this.#operations, Object.assign(request, { vector: searched }), steps)
  }

  /**
   * Return the row whose key is `key`, or null if no row has this key. The key column is `on`; default: `id`. If
   * several rows have the key, returns the first row. Accepts the options of `Search.toArray`. A scalar index of the
   * key column makes the call fast.
   *
   * Throws `InvalidInput` if `key` is null or undefined, or if `on` is left out and the table has no column `id`.
   *
   * ```js
   * await table.get(7)
   * await table.get('B-12', { on: 'sku' })
   * ```
   */
  async get<
    S extends object,
    J extends object,
    const K extends ColumnName<S> = 'id' & ColumnName<S>,
    const O extends RowsOptions = RowsOptions,
  >(
    this: Table<S, J>,
    key: KeyOf<S[K & keyof S]>,
    options?: O & { readonly on?: K },
  ): Promise<RowsAs<S, O> | null>
  async get(key: unknown, options: GetOptions = {}): Promise<object | null> {
    const { on, ...rows } = parse(getShape, options, 'get')
    return rowOfKey(this.query() as Search, key, on, rows)
  }

  /**
   * Split the version of this handle into slices of about equal size in bytes. Readers in any process that has the
   * root open, or uses a server of the root, can read the slices. In filters and expressions, the current time is the
   * time at which the scan began.
   */
  async scan(options: ScanOptions = {}): Promise<TableScan> {
    return beginTableScan(this.#operations, { id: this.id, ...this.#atVersion() }, options)
  }

  /** Return the slice with this token. `scan` created the token, in this process or in another process. */
  slice(token: string): TableSlice {
    return new TableSlice(this.#operations, this.id, parse(string('nonEmpty'), token, 'slice: the token'))
  }

  /**
   * Read rows by their ids (`_rowid`, number or bigint), in the order of `ids`, without reading other rows. If `ids`
   * has an id twice, the row is returned twice. Ids without a row in this version are left out; call `withRowId` to see
   * which ids were found.
   */
  takeRowIds(ids: Iterable<number | bigint>): Take<R> {
    return this.#take('_rowid', rowNumbers(ids, 'takeRowIds'))
  }

  /** Read rows by `_rowoffset`, the number of rows before a row in this version. Otherwise like `takeRowIds`. */
  takeOffsets(offsets: Iterable<number | bigint>): Take<R> {
    return this.#take('_rowoffset', rowNumbers(offsets, 'takeOffsets'))
  }

  #take(column: '_rowid' | '_rowoffset', numbers: readonly number[]): Take<R> {
    return new Take<R>(this.#operations, this.#request(), column, numbers, this.#int64)
  }

  /** Count the rows for which `predicate` is true; without a predicate, all rows. */
  async countRows(
    predicate?: string | SqlFragment,
    parameters?: Parameters,
    options: CallOptions = {},
  ): Promise<number> {
    const call = parse(callShape, options, 'countRows')
    const all = { id: this.id, ...this.#atVersion() }
    if (predicate === undefined) {
      if (parameters !== undefined) throw invalidInput('countRows: parameters are given, but no predicate')
      return this.#operations.countTableRows(all, call)
    }
    const { filter, ...values } = filterFields('countRows', predicate, parameters)
    const read = directReadsOf(this.#operations)?.prepare({ ...all, filter })
    const count = read?.count(values.parameters, call)
    if (count != null) return count
    return this.#operations.countTableRows({ ...all, predicate: filter, ...values }, call)
  }

  /** Return the version of this handle: the latest version, unless a version was checked out. */
  async version(options: CallOptions = {}): Promise<number> {
    const call = parse(callShape, options, 'version')
    const request = { id: this.id, ...this.#atVersion() }
    return (await this.#operations.describeTableVersion(request, call)).version.version
  }

  /** List all versions, oldest first. */
  async versions(options: CallOptions = {}): Promise<readonly VersionInfo[]> {
    const call = parse(callShape, options, 'versions')
    return (await this.#operations.listTableVersions({ id: this.id }, call)).versions
  }

  /**
   * Compare two versions, given by number or tag. The number 0 is the empty table before its first version. The result
   * gives the added, removed and changed rows, matched by `_rowid`, and the changed columns. `to` defaults to the version
   * of this handle: the newest version at the first read, unless a version was checked out. Each part is read on demand.
   * The cost depends on the number of differences. Throws `InvalidInput` if `to` is passed as undefined. Reading a part
   * throws `TagNotFound` or `TableVersionNotFound` if a version does not exist.
   */
  diff(from: number | string, to?: number | string): Diff<R>
  diff(from: number | string, ...given: readonly [to?: number | string]): Diff<R> {
    const own: typeof given = this.#version === undefined ? [] : [this.#version]
    const versions = [from, ...(given.length === 0 ? own : given)] as const
    return diffOf<R>(this.#operations, this.id, versions, this.#int64)
  }

  /**
   * Yield every version after `since`, in order, with its changes. `since: 0` yields all versions. Then wait for new
   * versions from any process, until the signal aborts. Deleted versions are skipped; the next version includes their
   * changes. Versions that change no rows (compaction, indexes) are skipped too.
   *
   * Throws `TableNotFound` when the table is dropped. Throws `TableVersionNotFound` when the version to continue from
   * was deleted; the hint then names a version to continue from.
   */
  changes(options: ChangesOptions): AsyncGenerator<TableChange<R>, void, undefined> {
    this.#refuseCheckedOut('changes')
    return tableChanges<R>({ ...this.#indexedTable(), int64: this.#int64 }, options)
  }

  /** Return the schema: the names and types of the columns. */
  async schema(options: CallOptions = {}): Promise<Schema> {
    const request = { id: this.id, ...this.#atVersion() }
    const call = parse(callShape, options, 'schema')
    const reply = await this.#operations.describeTable(request, { ...call, dialect: 'lance' })
    if (reply.schema === undefined) throw invalidInput(`table ${this.id.join('$')} has no schema yet`)
    const { schemaFromJson } = await importReplies()
    return schemaFromJson(reply.schema)
  }

  /**
   * Add columns. Existing rows get null, or the value of the column's expression. Rows that are added later have null,
   * except in computed columns. Throws `SchemaValidation` if a column with one of the names exists; then no column is
   * added.
   *
   * ```js
   * await table.addColumns({ total: 'price * n', note: { type: 'string' } })
   * ```
   */
  async addColumns(columns: NewColumns, options: CallOptions = {}): Promise<{ readonly version: number }> {
    this.#refuseCheckedOut('addColumns')
    const { newColumns } = await importColumnFields()
    const request = { id: this.id, new_columns: newColumns(columns) }
    const call = parse(callShape, options, 'addColumns')
    const { version } = await this.#operations.alterTableAddColumns(request, call)
    return { version }
  }

  /**
   * Rename columns, change their types, or change whether they may be null. The keys of `changes` are the names before
   * the call. Throws `InvalidInput` or `SchemaValidation` if a value does not fit the new type, or if a column with
   * nulls is made not nullable; then nothing is changed.
   *
   * ```js
   * await table.alterColumns({ price: { type: 'float32' }, 'meta.lang': { rename: 'language' } })
   * ```
   */
  async alterColumns(
    changes: Readonly<Record<string, ColumnChanges>>,
    options: CallOptions = {},
  ): Promise<{ readonly version: number }> {
    this.#refuseCheckedOut('alterColumns')
    const { alterations } = await importColumnFields()
    const request = { id: this.id, alterations: alterations(changes) }
    const call = parse(callShape, options, 'alterColumns')
    const { version } = await this.#operations.alterTableAlterColumns(request, call)
    return { version }
  }

  /** Drop columns, or fields of structs (`meta.lang`). Earlier versions of the table keep these columns. */
  async dropColumns(
    columns: readonly string[],
    options: CallOptions = {},
  ): Promise<{ readonly version: number }> {
    this.#refuseCheckedOut('dropColumns')
    const call = parse(callShape, options, 'dropColumns')
    const request = {
      id: this.id,
      columns: parse(dropColumnsRequest.fields.columns.shape, columns, 'dropColumns'),
    }
    const { version } = await this.#operations.alterTableDropColumns(request, call)
    return { version }
  }

  /**
   * Start a job that fills a computed or virtual column. With `where`, the job fills only rows for which `where` is
   * true. To get the state of the job, pass the job id to `operations.describeTransaction`. Throws `Unsupported` if
   * the function of the column was not passed to `connect`.
   */
  async backfillColumn(column: string, options: BackfillOptions = {}): Promise<{ readonly jobId: string }> {
    this.#refuseCheckedOut('backfillColumn')
    const { where, concurrency, ...call } = parse(backfillShape, options, 'backfillColumn')
    const request = {
      id: this.id,
      column: columnOf('backfillColumn', column),
      ...(where !== undefined && { where }),
      ...(concurrency !== undefined && { concurrency }),
    }
    const reply = await this.#operations.alterTableBackfillColumns(request, call)
    return { jobId: reply.job_id }
  }

  /**
   * Refresh a materialized view from its source, wait for the refresh, and return the new version of the view.
   * `signal` ends the wait, not the refresh.
   *
   * Throws `InvalidInput` if the table is not a view, and `Unsupported` for a view that Sheaf cannot refresh. Throws
   * `InvalidTableState` with the reason if the refresh fails or is canceled; the view is then unchanged.
   */
  async refresh(options: RefreshOptions = {}): Promise<{ readonly version: number }> {
    this.#refuseCheckedOut('refresh')
    const { version, maxRowsPerFragment, ...call } = parse(refreshShape, options, 'refresh')
    const request = {
      id: this.id,
      ...(version !== undefined && { src_version: version }),
      ...(maxRowsPerFragment !== undefined && { max_rows_per_fragment: maxRowsPerFragment }),
    }
    const { job_id } = await this.#operations.refreshMaterializedView(request, call)
    await jobEnded(this.#operations, job_id, call)
    return { version: await this.version(call) }
  }

  /**
   * Start a job that builds an index of a column, or of a field of structs (`meta.lang`). `waitForIndex` waits for
   * the job. An index does not change the result of a query, except that a vector index returns approximate nearest
   * neighbors.
   *
   * If an index with the same name exists, queries use it until the new index is built and replaces it. If an index
   * with the same definition is being built, no second build starts.
   *
   * Throws:
   * - `ColumnNotFound` for an unknown column;
   * - `InvalidInput` if the index type does not support the type of the column or an option;
   * - `IndexAlreadyExists` if `replace` is false and an index with the same name has another definition.
   *
   * ```js
   * await table.createIndex('vector', { type: 'IVF_PQ', waitTimeoutMs: 60_000 })
   * ```
   */
  async createIndex(column: string, options: CreateIndexOptions = {}): Promise<{ readonly name: string }> {
    this.#refuseCheckedOut('createIndex')
    const checked = parse(createIndexShape, options, 'createIndex')
    return createIndex(this.#indexedTable(), columnOf('createIndex', column), checked)
  }

  /**
   * List the indexes, sorted by name, with the number of rows that each index covers. A handle of the newest version
   * also lists indexes that are being built or failed to build; a checked-out version does not.
   */
  async listIndices(options: CallOptions = {}): Promise<readonly IndexInfo[]> {
    return indexesAt(this.#operations, this.#request(), parse(callShape, options, 'listIndices'))
  }

  /** Return the number of rows that an index covers, and the progress of its build. Throws `IndexNotFound`. */
  async indexStats(name: string, options: CallOptions = {}): Promise<IndexStats> {
    const call = parse(callShape, options, 'indexStats')
    const index_name = indexOf('indexStats', name)
    return indexStatsAt(this.#operations, { ...this.#request(), index_name }, call)
  }

  /**
   * Return the terms that the text index of a column derives from `text`, with their positions. A query with the same
   * text searches for these terms. Throws `IndexNotFound` if the column has no text index, and `InvalidInput` if the
   * index needs a custom tokenizer that is not in `options.tokenizers`.
   */
  async tokenize(
    column: string,
    text: string,
    options: TokenizeColumnOptions = {},
  ): Promise<readonly Token[]> {
    const checked = parse(tokenizeColumnShape, options, 'tokenize')
    const { tokenizeAs } = await importTokenize()
    return tokenizeAs(this.#operations, this.#request(), column, text, checked)
  }

  /** Drop an index, and cancel its build. Earlier versions keep the index. Throws `IndexNotFound`. */
  async dropIndex(name: string, options: CallOptions = {}): Promise<void> {
    this.#refuseCheckedOut('dropIndex')
    const call = parse(callShape, options, 'dropIndex')
    await this.#operations.dropTableIndex({ id: this.id, index_name: indexOf('dropIndex', name) }, call)
  }

  /**
   * Wait until the named indexes are built. Rows that are added during the build may be unindexed; queries find
   * unindexed rows too. With `covers: 'all'`, wait until maintenance has indexed these rows.
   *
   * Throws `IndexNotFound` if an index does not exist or is dropped, `InvalidTableState` with the reason if a build
   * fails, and `ServiceUnavailable` after `timeoutMs` milliseconds; the build then continues.
   */
  async waitForIndex(names: string | readonly string[], options: WaitForIndexOptions = {}): Promise<void> {
    this.#refuseCheckedOut('waitForIndex')
    const checked = parse(waitForIndexShape, options, 'waitForIndex')
    const checkedNames = parse(indexNames, names, 'waitForIndex')
    await indexesBuilt(
      this.#indexedTable(),
      typeof checkedNames === 'string' ? [checkedNames] : checkedNames,
      checked,
    )
  }

  /**
   * Set keys of a column's metadata. A key with the value null is removed. With `replace`, all keys that `metadata`
   * does not have are removed too. Returns the metadata after the change.
   */
  async updateFieldMetadata(
    path: string,
    metadata: Readonly<Record<string, string | null>>,
    options: UpdateFieldMetadataOptions = {},
  ): Promise<Readonly<Record<string, string>>> {
    this.#refuseCheckedOut('updateFieldMetadata')
    const { replace, ...call } = parse(updateFieldMetadataShape, options, 'updateFieldMetadata')
    const update = {
      path: columnOf('updateFieldMetadata', path),
      metadata: parse(
        record(nullable(string()), Number.POSITIVE_INFINITY),
        metadata,
        'updateFieldMetadata: the metadata',
      ),
      ...(replace !== undefined && { replace }),
    }
    const { fields } = await this.#operations.updateFieldMetadata({ id: this.id, updates: [update] }, call)
    return fields[path]!
  }

  /** Replace the metadata of the schema. */
  async updateSchemaMetadata(
    metadata: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<void> {
    this.#refuseCheckedOut('updateSchemaMetadata')
    const call = parse(callShape, options, 'updateSchemaMetadata')
    const checked = parse(
      record(string(), Number.POSITIVE_INFINITY),
      metadata,
      'updateSchemaMetadata: the metadata',
    )
    await this.#operations.updateTableSchemaMetadata({ id: this.id, metadata: checked }, call)
  }

  /**
   * Create a new version with the rows and columns of an old version, which is given by number or tag. Throws
   * `TableVersionNotFound` or `TagNotFound`.
   */
  async restore(versionOrTag: number | string, options: CallOptions = {}): Promise<void> {
    this.#refuseCheckedOut('restore')
    const call = parse(callShape, options, 'restore')
    const version = await this.#versionOf('restore', versionOrTag, call)
    await this.#operations.restoreTable({ id: this.id, version }, call)
  }

  /**
   * Open the table at a version, or at the version that a tag names now. The new handle always reads this version, even
   * if the tag is moved, and refuses writes.
   */
  async checkout(versionOrTag: number | string, options: CallOptions = {}): Promise<Table<R, I>> {
    const call = parse(callShape, options, 'checkout')
    const version = await this.#versionOf('checkout', versionOrTag, call)
    await this.#operations.describeTableVersion({ id: this.id, version }, call)
    const bound = { uuid: this.#uuid, version, int64: this.#int64 }
    return new Table<R, I>(this.#operations, this.id, bound)
  }

  async #versionOf(what: string, versionOrTag: number | string, call: CallOptions): Promise<number> {
    const asked = parse(versionShape, versionOrTag, `${what}: the version`)
    // Leave out the idempotency key: it applies to the caller's write, and this call only reads.
    const { idempotencyKey: _, ...options } = call
    return typeof asked === 'number' ? asked : await this.tags.version(asked, options)
  }

  #indexedTable() {
    return { operations: this.#operations, id: this.id, watch: this.#watch }
  }

  #request() {
    return Object.assign({ id: this.id }, this.#atVersion())
  }

  #atVersion(): { readonly version?: number } {
    return this.#version === undefined ? {} : { version: this.#version }
  }

  #refuseCheckedOut(what: string): void {
    if (this.#version === undefined) return
    throw invalidInput(
      `${what}: this handle reads version ${this.#version} of table ${this.id.join('$')}, and a version cannot be changed`,
      {
        hint: 'open the newest version to change the table: openTable(name)',
      },
    )
  }
}

takeNoMore(Table.prototype, {
  add: 2,
  upload: 1,
  resumeUpload: 2,
  delete: 3,
  update: 4,
  mergeInsert: Number.POSITIVE_INFINITY,
  upsert: 2,
  get: 2,
  query: 0,
  prepare: [1, 'give the values to all(values), first(values) or arrow(values)'],
  search: [
    1,
    'set options by further calls: search(vector).column(name), query().fullText(text, { columns })',
  ],
  scan: 1,
  slice: 1,
  takeRowIds: [1, 'give the ids in an array'],
  takeOffsets: [1, 'give the offsets in an array'],
  countRows: 3,
  version: 1,
  versions: 1,
  diff: 2,
  changes: 1,
  schema: 1,
  addColumns: 2,
  alterColumns: 2,
  dropColumns: [2, 'name the columns in an array'],
  backfillColumn: 2,
  refresh: 1,
  createIndex: 2,
  listIndices: 1,
  indexStats: 2,
  tokenize: 3,
  dropIndex: 2,
  waitForIndex: [2, 'name the indexes in an array'],
  updateFieldMetadata: 3,
  updateSchemaMetadata: 2,
  restore: 2,
  checkout: 2,
})

function columnOf(call: string, column: string): string {
  return parse(string('nonEmpty'), column, `${call}: the column`)
}

function indexOf(call: string, name: string): string {
  return parse(string('nonEmpty'), name, `${call}: the name of the index`)
}

function isVectorList(vector: VectorValues | readonly VectorValues[]): vector is readonly VectorValues[] {
  return typeof vector[0] === 'object'
}
