/** A handle on one table: conveniences over the operations, each a few lines. */

import { schemaFromJson } from '../arrow/schema-json.js'
import type { Schema } from '../arrow/types.js'
import { invalidInput } from '../errors.js'
import type { Token } from '../indexes/text/analysis/analyzer.js'
import { lazyImport } from '../lazy-import.js'
import { refuseArray, takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations, type Reply } from '../protocol/calls.js'
import { operationNames, operations } from '../protocol/operations.js'
import type { Parameters } from '../protocol/parameters.js'
import { parse } from '../protocol/parse.js'
import { mergeInsertRequest } from '../protocol/row-shapes.js'
import { dropColumnsRequest } from '../protocol/schema-shapes.js'
import {
  array,
  boolean,
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
import type { SqlFragment } from '../sql/syntax/tag.js'
import { withNulls } from '../write/definitions.js'
import type { ArrowRows } from './arrow-rows.js'
import { type Assignments, updateFields } from './assignments.js'
import { type ChangesOptions, type TableChange, tableChanges, type Watch } from './changes.js'
import { alterations, type ColumnChanges, type NewColumns, newColumns } from './column-fields.js'
import { type Diff, diffOf, versionShape } from './diff.js'
import { filterFields } from './filter-fields.js'
import { jobEnded } from './job-ended.js'
import { MergeInsert } from './merge-insert.js'
import { Search } from './search.js'
import { type IngestOptions, ingestFields, type Row, type TableData } from './table-data.js'
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

const ingesting = lazyImport(() => import('./table-rows.js'))
const tokenizing = lazyImport(() => import('./tokenize.js'))

export type VersionInfo = Reply<'describeTableVersion'>['version']

export interface AddOptions extends CallOptions, IngestOptions {
  /** `append` (default) adds the rows, `overwrite` replaces all rows by them. */
  readonly mode?: 'append' | 'overwrite'
}

export interface BackfillOptions extends CallOptions {
  /** Rows to fill; the others keep what they have. */
  readonly where?: string
  /** Calls of an asynchronous function under way at the same time. Default 4. */
  readonly concurrency?: number
}

export interface RefreshOptions extends CallOptions {
  /** Of the source; default: its newest. */
  readonly version?: number
  readonly maxRowsPerFragment?: number
}

export interface UpdateFieldMetadataOptions extends CallOptions {
  /** Whether all other keys go. Default false. */
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

/** Words, a vector, or several vectors. */
const askedShape = either<VectorValues | readonly VectorValues[] | string>(
  { is: value => typeof value === 'string', shape: string() },
  {
    is: value => Array.isArray(value) && (Array.isArray(value[0]) || ArrayBuffer.isView(value[0])),
    shape: array(filledVector),
  },
  { is: () => true, shape: filledVector },
)

/** The version that an update made, or met where it changed nothing, and how many rows it changed. */
interface Updated {
  readonly version: number
  readonly rows: number
}

const indexNames = either<string | readonly string[]>(
  { is: Array.isArray, shape: array(string('nonEmpty')) },
  { is: () => true, shape: string('nonEmpty') },
)

/** What a handle is bound to. */
export interface TableBinding {
  /** The table, whatever it is called; absent: whichever has the name. */
  readonly uuid?: string | undefined
  /** Look at that version only, and refuse writes. */
  readonly version?: number | undefined
  /** Tells of commits; absent where one has to ask. */
  readonly watch?: Watch | undefined
}

/** `R`: its rows as they are read, as far as they are known when the program is compiled (`RowOf` has those of a schema). */
export class Table<R extends object = Row> {
  /** The name it was opened by: its namespace, then its own. */
  readonly id: readonly string[]
  readonly tags: Tags
  readonly #operations: Operations
  readonly #version: number | undefined
  readonly #uuid: string | undefined
  readonly #watch: Watch | undefined

  constructor(namespace: Operations, id: readonly string[], bound: TableBinding = {}) {
    this.id = id
    this.#operations = bound.uuid === undefined ? namespace : onTable(namespace, bound.uuid)
    this.tags = new Tags(this.#operations, id)
    this.#version = bound.version
    this.#uuid = bound.uuid
    this.#watch = bound.watch
  }

  /** Adds rows. They take the types of the table's columns; a missing column is null. Throws codes 12 and 20. */
  async add(
    data: TableData<R>,
    options: AddOptions = {},
  ): Promise<{ readonly version: number; readonly rows: number }> {
    this.#refuseCheckedOut('add')
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
   * Begins an upload in parts: rows that many calls bring, of any number of processes, and one commit makes visible. A process keeps an
   * upload for an hour after its last request (`maintenance.keepIdleMs`); after that its files may be deleted as those of a write that failed.
   */
  async upload(options: UploadOptions = {}): Promise<TableUpload<R>> {
    this.#refuseCheckedOut('upload')
    const { mode = 'append', ...call } = parse(uploadShape, options, 'upload')
    const request = { id: this.id, mode: ({ append: 'Append', overwrite: 'Overwrite' } as const)[mode] }
    const { upload_id } = await this.#operations.createTableUpload(request, call)
    return this.#uploadOf(upload_id, false)
  }

  /** An upload to this table that was begun before, in this process or another. Throws code 10 where there is none, 13 where it has ended. */
  async resumeUpload(id: string, options: CallOptions = {}): Promise<TableUpload<R>> {
    this.#refuseCheckedOut('resumeUpload')
    const upload_id = parse(string('nonEmpty'), id, 'resumeUpload: the id')
    const call = parse(callShape, options, 'resumeUpload')
    const { mode } = await this.#operations.describeTableUpload({ id: this.id, upload_id }, call)
    return this.#uploadOf(upload_id, mode === 'Merge')
  }

  /** Deletes the rows for which `predicate` is true. */
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
   * Sets columns of the rows for which `predicate` is true, or of all rows where none is given: `update({ seen: true, n: sql`n + 1` },
   * 'id = ?', [7])`. One that is given and undefined is refused: `'true'` is the predicate of all rows. Expressions see the row as it was.
   * Row ids stay. Throws code 12 for unknown columns, 20 for values of another type.
   */
  async update(set: Assignments): Promise<Updated>
  async update(
    set: Assignments,
    predicate: string | SqlFragment,
    parameters?: Parameters,
    options?: CallOptions,
  ): Promise<Updated>
  async update(
    set: Assignments,
    ...given: readonly [predicate?: string | SqlFragment, parameters?: Parameters, options?: CallOptions]
  ): Promise<Updated> {
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

  /** Begins a merge of rows by the values of these columns: an upsert, an insert of what is new, a replacement of a part. */
  mergeInsert(...on: readonly [string, ...string[]]): MergeInsert {
    this.#refuseCheckedOut('mergeInsert')
    refuseArray('mergeInsert', on)
    const request = { id: this.id, on: parse(mergeInsertRequest.fields.on.shape, on, 'mergeInsert') }
    return new MergeInsert(this.#operations, request, this.#mergedRows)
  }

  /** Rows of a merge: a column that they do not bring is left alone. */
  readonly #mergedRows = async (data: TableData, options: CallOptions & IngestOptions) => {
    const { signal, onProgress, badVectors } = options
    const { tableRows } = await ingesting()
    return tableRows(data, {
      schema: () => this.schema({ signal }),
      onlyBrought: true,
      onProgress,
      badVectors,
      signal,
    })
  }

  /** Rows that are added. */
  async #addedRows(
    data: TableData,
    options: CallOptions & IngestOptions,
    columns = (call: CallOptions) => this.schema(call),
  ): Promise<ArrowRows> {
    const { onProgress, badVectors, ...call } = options
    const schema = async () => withNulls(await columns(call))
    const { tableRows } = await ingesting()
    return tableRows(data, { schema, onProgress, badVectors, signal: call.signal })
  }

  #uploadOf(upload_id: string, isMerge: boolean): TableUpload<R> {
    const request = { id: this.id, upload_id }
    const schema = async (call: CallOptions) => {
      const reply = await this.#operations.describeTableUpload(request, { ...call, dialect: 'lance' })
      return schemaFromJson(reply.schema)
    }
    const rowsOf: RowsOf = (data, options) => this.#addedRows(data, options, schema)
    return new TableUpload(this.#operations, this.id, upload_id, isMerge ? this.#mergedRows : rowsOf)
  }

  /**
   * Begins a search: by `vector`, or without one a scan in row order. Several vectors are one query on a column of lists of vectors: the
   * distance of a row is the sum, over the query's vectors, of the distance of the nearest vector of the row. On a column of vectors each is a
   * query, with whose number (`query_index`) its rows begin. A string is words to look for, as `fullText` does. Nothing runs until the
   * rows are asked for.
   */
  search(): Search<R>
  search(vector: VectorValues | readonly VectorValues[]): Search<R & { readonly _distance: number }>
  search(words: string): Search<R & { readonly _score: number }>
  search(asked: VectorValues | readonly VectorValues[] | string): Search<R>
  search(...given: readonly [asked?: VectorValues | readonly VectorValues[] | string]): Search<object> {
    const request = this.#request()
    if (given.length === 0) return new Search<R>(this.#operations, request)
    const asked = parse(askedShape, given[0], 'search')
    if (typeof asked === 'string') return new Search<object>(this.#operations, request).fullText(asked)
    const searched = areSeveral(asked) ? { multi_vector: asked } : { single_vector: asked }
    return new Search<R>(this.#operations, Object.assign(request, { vector: searched }))
  }

  /**
   * Cuts the version that this handle looks at into slices of about as many bytes each, which any number of readers read, in any process
   * that has the root open or asks a server of it. Filters and expressions see the time at which the scan began.
   */
  async scan(options: ScanOptions = {}): Promise<TableScan> {
    return beginTableScan(this.#operations, { id: this.id, ...this.#atVersion() }, options)
  }

  /** A slice that `scan` cut, in this process or another, by its token. */
  slice(token: string): TableSlice {
    return new TableSlice(this.#operations, this.id, parse(string('nonEmpty'), token, 'slice: the token'))
  }

  /**
   * Rows by their ids (`_rowid`, number or bigint), in the order asked for; an id asked for twice comes twice, one whose row
   * is not there, or not any more, is left out (`withRowId` tells which). What lies between is not read.
   */
  takeRowIds(ids: Iterable<number | bigint>): Take {
    return new Take(this.#operations, this.#request(), '_rowid', rowNumbers(ids, 'takeRowIds'))
  }

  /** As `takeRowIds`, by `_rowoffset`: how many rows of this version come before a row, 0 to `countRows() - 1`. */
  takeOffsets(offsets: Iterable<number | bigint>): Take {
    return new Take(this.#operations, this.#request(), '_rowoffset', rowNumbers(offsets, 'takeOffsets'))
  }

  /** Counts the rows for which `predicate` is true; all of them without one. */
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
    return this.#operations.countTableRows({ ...all, predicate: filter, ...values }, call)
  }

  /** The version this handle looks at: the latest, unless it was checked out. */
  async version(options: CallOptions = {}): Promise<number> {
    const call = parse(callShape, options, 'version')
    const request = { id: this.id, ...this.#atVersion() }
    return (await this.#operations.describeTableVersion(request, call)).version.version
  }

  /** All versions, oldest first. */
  async versions(options: CallOptions = {}): Promise<readonly VersionInfo[]> {
    const call = parse(callShape, options, 'versions')
    return (await this.#operations.listTableVersions({ id: this.id }, call)).versions
  }

  /**
   * What differs between two versions, by number or tag: rows added, removed and changed, by `_rowid`, and columns. Each
   * part is read when it is asked for, and costs what differs. Throws codes 8 and 11 then.
   */
  diff(from: number | string, to: number | string): Diff {
    return diffOf(this.#operations, this.id, from, to)
  }

  /**
   * Every version after `since`, in order, with what it changed; then waits for the next one, whoever commits it, until the
   * signal. Versions that were deleted are passed over: what they changed comes with the next. Ends with code 4 when the
   * table is dropped, with code 11 when the version to go on from was deleted: the hint says which one is there.
   */
  changes(options: ChangesOptions): AsyncGenerator<TableChange, void, undefined> {
    this.#refuseCheckedOut('changes')
    return tableChanges(this.#operations, this.id, this.#watch, options)
  }

  /** Names and types of the columns. */
  async schema(options: CallOptions = {}): Promise<Schema> {
    const request = { id: this.id, ...this.#atVersion() }
    const call = parse(callShape, options, 'schema')
    const reply = await this.#operations.describeTable(request, { ...call, dialect: 'lance' })
    if (reply.schema === undefined) throw invalidInput(`table ${this.id.join('$')} has no schema yet`)
    return schemaFromJson(reply.schema)
  }

  /**
   * Adds columns: `addColumns({ total: 'price * n', note: { type: 'string' } })`. Rows that come later are null in them,
   * unless a column is computed. Throws code 20 for names that are taken; then none is added.
   */
  async addColumns(columns: NewColumns, options: CallOptions = {}): Promise<{ readonly version: number }> {
    this.#refuseCheckedOut('addColumns')
    const request = { id: this.id, new_columns: newColumns(columns) }
    const call = parse(callShape, options, 'addColumns')
    const { version } = await this.#operations.alterTableAddColumns(request, call)
    return { version }
  }

  /**
   * Renames columns, changes their types, and whether they may be null: `alterColumns({ price: { type: 'float' }, 'meta.lang':
   * { rename: 'language' } })`. Names are those before the call. Throws code 13 or 20 where a value does not fit;
   * then nothing is changed.
   */
  async alterColumns(
    changes: Readonly<Record<string, ColumnChanges>>,
    options: CallOptions = {},
  ): Promise<{ readonly version: number }> {
    this.#refuseCheckedOut('alterColumns')
    const request = { id: this.id, alterations: alterations(changes) }
    const call = parse(callShape, options, 'alterColumns')
    const { version } = await this.#operations.alterTableAlterColumns(request, call)
    return { version }
  }

  /** Drops columns, or fields of structs (`meta.lang`). Earlier versions keep them. */
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
   * Fills a computed or virtual column in all rows, or those for which `where` is true: a job, whose id `describeTransaction`
   * takes. Throws code 0 where the function of the column is not known to the connection.
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
   * Brings a materialized view up to date with its source, and waits until it is; gives its version then. Throws code 13 for
   * a table that is no view, 0 for a view that Sheaf cannot refresh, and 19 with the reason where the refresh fails or is
   * canceled: the view is then as it was. `signal` ends the wait, not the refresh.
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
   * Begins to build an index that finds rows by the values of a column, or of a field of structs (`meta.lang`): a job, for which
   * `waitForIndex` waits. Queries give the same rows with it and without; but those by a vector that has one give rows that are likely
   * to be the nearest. One of the same name is replaced, and answers until then; a definition that is being built already is left at
   * that. Throws code 12 for an unknown column, 13 for values that such an index is not made of, or what is said of it and makes no
   * sense, 7 where `replace` is false and the name is that of another definition.
   */
  async createIndex(column: string, options: CreateIndexOptions = {}): Promise<{ readonly name: string }> {
    this.#refuseCheckedOut('createIndex')
    const checked = parse(createIndexShape, options, 'createIndex')
    return createIndex(this.#indexed(), columnOf('createIndex', column), checked)
  }

  /**
   * The indexes by name, with how much of the table each has; also those that are being built, or could not be, unless a version
   * was checked out.
   */
  async listIndices(options: CallOptions = {}): Promise<readonly IndexInfo[]> {
    return indexesAt(this.#operations, this.#request(), parse(callShape, options, 'listIndices'))
  }

  /** How much of the table an index has, and how far its construction is. Throws code 6 when there is none of that name. */
  async indexStats(name: string, options: CallOptions = {}): Promise<IndexStats> {
    const call = parse(callShape, options, 'indexStats')
    const index_name = indexOf('indexStats', name)
    return indexStatsAt(this.#operations, { ...this.#request(), index_name }, call)
  }

  /**
   * The terms that an index of texts makes of `text`, with where they stand in it: what a query for it looks for in the column. Throws code 6
   * where the column has no such index, 13 where its tokenizer is one of the caller's own and not given.
   */
  async tokenize(
    column: string,
    text: string,
    options: TokenizeColumnOptions = {},
  ): Promise<readonly Token[]> {
    const checked = parse(tokenizeColumnShape, options, 'tokenize')
    const { tokenizeAs } = await tokenizing()
    return tokenizeAs(this.#operations, this.#request(), column, text, checked)
  }

  /** Drops an index, and cancels its construction. Earlier versions keep it. Throws code 6 when there is none of that name. */
  async dropIndex(name: string, options: CallOptions = {}): Promise<void> {
    this.#refuseCheckedOut('dropIndex')
    const call = parse(callShape, options, 'dropIndex')
    await this.#operations.dropTableIndex({ id: this.id, index_name: indexOf('dropIndex', name) }, call)
  }

  /**
   * Waits until the indexes of these names are built; rows that come meanwhile they may lack, which queries find all the same.
   * Throws code 6 where one is not there, or is dropped meanwhile, 19 with the reason where one could not be built, 17 when
   * `timeoutMs` have passed; then it goes on being built.
   */
  async waitForIndex(names: string | readonly string[], options: WaitForIndexOptions = {}): Promise<void> {
    this.#refuseCheckedOut('waitForIndex')
    const checked = parse(waitForIndexShape, options, 'waitForIndex')
    const known = parse(indexNames, names, 'waitForIndex')
    await indexesBuilt(this.#indexed(), typeof known === 'string' ? [known] : known, checked)
  }

  /** Sets and removes (null) metadata of a column; with `replace` all other keys go. Gives the metadata then. */
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

  /** Replaces the metadata of the schema. */
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

  /** Makes a new version with the rows and the columns of an old one. Throws code 11 when that does not exist. */
  async restore(version: number, options: CallOptions = {}): Promise<void> {
    this.#refuseCheckedOut('restore')
    const call = parse(callShape, options, 'restore')
    const request = { id: this.id, version: parse(integer(0), version, 'restore: the version') }
    await this.#operations.restoreTable(request, call)
  }

  /** The same table at a version, or at the version a tag names now: never changes, refuses writes of rows. */
  async checkout(versionOrTag: number | string, options: CallOptions = {}): Promise<Table<R>> {
    const call = parse(callShape, options, 'checkout')
    const asked = parse(versionShape, versionOrTag, 'checkout: the version')
    const version = typeof asked === 'number' ? asked : await this.tags.version(asked, call)
    await this.#operations.describeTableVersion({ id: this.id, version }, call)
    return new Table<R>(this.#operations, this.id, { uuid: this.#uuid, version })
  }

  #indexed() {
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
      `${what} on version ${this.#version} of table ${this.id.join('$')}, which never changes`,
      {
        hint: 'open the table again to change it',
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
  search: [1, 'say more by steps: search(vector).column(name), search().fullText(text, { columns })'],
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

/** The operations, each about the table `uuid` whatever it is called by then. */
function onTable(named: Operations, uuid: string): Operations {
  const bound = operationNames.map(name => {
    const call = named[name] as (...args: unknown[]) => Promise<unknown>
    const takesRows = operations[name].body === 'arrow'
    return [
      name,
      takesRows
        ? (request: unknown, rows: unknown, options?: CallOptions) =>
            call(request, rows, { ...options, table: uuid })
        : (request: unknown, options?: CallOptions) => call(request, { ...options, table: uuid }),
    ]
  })
  return Object.fromEntries(bound) as Operations
}

function columnOf(call: string, column: string): string {
  return parse(string('nonEmpty'), column, `${call}: the column`)
}

function indexOf(call: string, name: string): string {
  return parse(string('nonEmpty'), name, `${call}: the name of the index`)
}

function areSeveral(vector: VectorValues | readonly VectorValues[]): vector is readonly VectorValues[] {
  return typeof vector[0] === 'object'
}
