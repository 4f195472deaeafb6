/**
 * The public face: a namespace of tables, however it is reached. Conveniences of a few lines each over the
 * operations of the specification; what they send is what any client could send.
 */

import type { RowOf } from '../arrow/row-type.js'
import type { Schema } from '../arrow/types.js'
import { invalidInput, quote, unsupported } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations } from '../protocol/calls.js'
import { parseId } from '../protocol/identifiers.js'
import { parse } from '../protocol/parse.js'
import { stringMap } from '../protocol/request-fields.js'
import { array, boolean, callback, either, oneOf, options, string } from '../protocol/shape.js'
import { ArrowRows } from './arrow-rows.js'
import { jobEnded } from './job-ended.js'
import { cancelJob, type JobInfo, listJobs } from './job-list.js'
import type { Optimized } from './optimized.js'
import { columnsField, columnsShape } from './selection.js'
import type { RootStats } from './stats.js'
import { Table } from './table.js'
import { type IngestOptions, ingestFields, type Row, schemaShape, type TableData } from './table-data.js'
import { TransactionScope } from './transaction-scope.js'
import { type Verification, type VerifyOptions, verifyShape } from './verification.js'

const ingesting = lazyImport(() => import('./table-rows.js'))
const conforming = lazyImport(() => import('../write/conform.js'))

/** `'a$b$t'`, or the names as an array (which may then contain `$`). */
export type Identifier = string | readonly string[]

const identifierShape = either<Identifier>(
  { is: value => typeof value === 'string', shape: string() },
  { is: () => true, shape: array(string()) },
)

export interface CreateTableOptions extends CallOptions, IngestOptions {
  /** What to do when the table exists: fail (`create`, the default), keep it as it is, or replace rows and schema. */
  readonly mode?: 'create' | 'exist_ok' | 'overwrite'
  /**
   * Types of the columns. Absent: inferred from the rows, those of an array all together, those of another iterable from its
   * first 65,536 rows or 32 MiB: later ones must fit them. No value is changed by it: numbers are float64, bigints int64 or
   * uint64, arrays of numbers lists of float64.
   *
   * Two kinds of columns are vectors (`fixed_size_list`), and all of their arrays must have one length (`badVectors`): columns of typed
   * arrays (Float32Array, Float64Array, Int8Array); and columns called `vector`, `embedding`, `..._vector` or `..._embedding`, whose
   * plain arrays become float32.
   */
  readonly schema?: Schema
  /**
   * Columns of plain objects that hold vectors, whatever they are called: their arrays of numbers become float32. Not together
   * with `schema`. Throws `InvalidInput` where the arrays of such a column have several lengths, `ColumnNotFound` where there
   * is none.
   */
  readonly vectorColumns?: readonly string[] | undefined
  readonly properties?: Readonly<Record<string, string>>
  /** Whether to create missing namespaces on the way. Default false. */
  readonly createParents?: boolean
}

export interface CreateViewOptions extends CallOptions {
  /** The table whose rows it shows. */
  readonly source: Identifier
  /** Columns of the source, or SQL over them by the names they get. Default: all there are now. */
  readonly columns?: readonly string[] | Readonly<Record<string, string>>
  /** SQL: rows of the source for which it is true. Default: all. */
  readonly where?: string
  /** Whether commits to the source make it refresh itself in the background. Default false. */
  readonly autoRefresh?: boolean
  /** Whether to fill it, and wait until it is. Default true. */
  readonly withData?: boolean
}

export interface CreateNamespaceOptions extends CallOptions {
  readonly mode?: 'create' | 'exist_ok' | 'overwrite'
  readonly properties?: Readonly<Record<string, string>>
}

export interface DropNamespaceOptions extends CallOptions {
  readonly mode?: 'fail' | 'skip'
  readonly behavior?: 'restrict' | 'cascade'
}

const workShape = callback<(tx: Namespace) => Promise<unknown>>()

const createMode = oneOf('create', 'exist_ok', 'overwrite')

export const createTableShape = options<CreateTableOptions>()({
  ...ingestFields,
  mode: createMode,
  schema: schemaShape,
  vectorColumns: array(string()),
  properties: stringMap,
  createParents: boolean,
  ...callFields,
})

export const createViewShape = options<CreateViewOptions>()(
  {
    source: identifierShape,
    columns: columnsShape,
    where: string('nonBlank'),
    autoRefresh: boolean,
    withData: boolean,
    ...callFields,
  },
  { source: true },
)

export const createNamespaceShape = options<CreateNamespaceOptions>()({
  mode: createMode,
  properties: stringMap,
  ...callFields,
})

export const dropNamespaceShape = options<DropNamespaceOptions>()({
  mode: oneOf('fail', 'skip'),
  behavior: oneOf('restrict', 'cascade'),
  ...callFields,
})

/** What needs the root itself, not only its operations; each as `Namespace` has it. */
export interface LocalFeatures {
  readonly snapshot: (options?: CallOptions) => Promise<Namespace>
  readonly transaction: <T>(work: (tx: Namespace) => Promise<T>, options?: CallOptions) => Promise<T>
  readonly watch: (options?: CallOptions) => AsyncIterable<number>
  readonly optimize: (options?: CallOptions) => Promise<Optimized>
  readonly tableAt: (location: string, options?: CallOptions) => Promise<readonly string[] | null>
  readonly stats: () => RootStats
  readonly verify: (options?: VerifyOptions) => Promise<Verification>
}

export class Namespace implements AsyncDisposable {
  /** Every operation, with its wire names. */
  readonly operations: Operations
  readonly #close: () => Promise<void>
  readonly #local: LocalFeatures | undefined
  readonly #scope = new TransactionScope()

  /** `local`: what only the process that has the root open can do, in whichever thread. */
  constructor(operations: Operations, close: () => Promise<void>, local?: LocalFeatures) {
    this.operations = local === undefined ? operations : this.#scope.guard(operations)
    this.#close = close
    this.#local = local
  }

  /**
   * Creates a table from rows, or an empty one from a schema. Throws code 5 when it exists, 20 for rows that do not fit.
   * With a schema that is written down in the call, or `as const`, the rows of the table are typed.
   */
  async createTable<const S extends Schema>(
    id: Identifier,
    data: TableData<NoInfer<RowOf<S>>>,
    options: CreateTableOptions & { readonly schema: S },
  ): Promise<Table<RowOf<S>>>
  async createTable<R extends object = Row>(
    id: Identifier,
    data: TableData<NoInfer<R>>,
    options?: CreateTableOptions,
  ): Promise<Table<R>>
  async createTable(id: Identifier, data: TableData, options: CreateTableOptions = {}): Promise<Table> {
    const {
      mode = 'create',
      schema,
      vectorColumns,
      properties,
      createParents,
      onProgress,
      badVectors,
      ...call
    } = parse(createTableShape, options, 'createTable')
    const path = tablePathOf('createTable', id)
    const request = { id: path, mode: createModes[mode], ...(properties && { properties }) }
    const { signal } = call
    const { tableRows } = await ingesting()
    const rows = await tableRows(data, { schema, vectorColumns, onProgress, badVectors, signal })
    try {
      const body = await withSchema(rows, schema)
      if (createParents === true) await this.#createParents(path, call)
      const { uuid } = await this.operations.createTable(request, body, call)
      return new Table(this.operations, path, { uuid, watch: this.#local?.watch })
    } finally {
      await rows.close()
    }
  }

  async #createParents(path: readonly string[], call: CallOptions): Promise<void> {
    // The key names the creation of the table; what exists already needs none.
    const { idempotencyKey: _, ...parents } = call
    for (let depth = 1; depth < path.length; depth++) {
      await this.operations.createNamespace({ id: path.slice(0, depth), mode: 'ExistOk' }, parents)
    }
  }

  /**
   * Creates a materialized view: a table of the rows of another, as they are when it is refreshed (`Table.refresh`). Only a
   * refresh changes it. Throws code 5 when the name is taken, 12, 13 or 20 where the query does not fit the source, 19 where
   * `withData` is set and the first refresh fails: the view is there then, and empty.
   */
  async createView<R extends object = Row>(id: Identifier, options: CreateViewOptions): Promise<Table<R>> {
    const {
      source,
      columns,
      where,
      autoRefresh = false,
      withData = true,
      ...call
    } = parse(createViewShape, options, 'createView')
    const table = tablePathOf('createView', source)
    const query = {
      ...(columns !== undefined && columnsField('createView', columns)),
      ...(where !== undefined && { filter: where }),
    }
    const { column_names, column_aliases } = query.columns ?? {}
    const request = {
      id: tablePathOf('createView', id),
      kind: 'query' as const,
      source_query: JSON.stringify({ table, columns: column_names ?? column_aliases, filter: where }),
      with_no_data: !withData,
      auto_refresh: autoRefresh,
    }
    const { job_id } = await this.operations.createMaterializedView(request, call)
    if (job_id !== undefined) await jobEnded(this.operations, job_id, call)
    return this.openTable<R>(id, call)
  }

  /**
   * A table that exists. The handle stays with it when it is renamed, and fails with code 4 once it was dropped, whatever
   * has its name then. Throws code 4 when there is none.
   */
  async openTable<R extends object = Row>(id: Identifier, options: CallOptions = {}): Promise<Table<R>> {
    const path = tablePathOf('openTable', id)
    const { uuid } = await this.operations.describeTable({ id: path }, parse(callShape, options, 'openTable'))
    return new Table<R>(this.operations, path, { uuid, watch: this.#local?.watch })
  }

  /** A handle on whichever table has the name when it is used; nothing is looked up now. */
  table(id: Identifier): Table {
    return new Table(this.operations, tablePathOf('table', id), { watch: this.#local?.watch })
  }

  /** Gives a table another name, or moves it into another namespace. Throws codes 1, 4 and 5. */
  async renameTable(from: Identifier, to: Identifier, options: CallOptions = {}): Promise<void> {
    const target = tablePathOf('renameTable', to)
    const namespace = target.slice(0, -1)
    const request = {
      id: tablePathOf('renameTable', from),
      new_table_name: target.at(-1) ?? '',
      ...(namespace.length === 0 ? { to_root: true } : { new_namespace_id: namespace }),
    }
    await this.operations.renameTable(request, parse(callShape, options, 'renameTable'))
  }

  async dropTable(id: Identifier, options: CallOptions = {}): Promise<void> {
    const call = parse(callShape, options, 'dropTable')
    await this.operations.dropTable({ id: tablePathOf('dropTable', id) }, call)
  }

  /** Names of the tables in a namespace (default: the root), sorted. */
  async tableNames(namespace: Identifier = [], options: CallOptions = {}): Promise<readonly string[]> {
    const call = parse(callShape, options, 'tableNames')
    return (await this.operations.listTables({ id: pathOf('tableNames', namespace) }, call)).tables
  }

  async createNamespace(id: Identifier, options: CreateNamespaceOptions = {}): Promise<void> {
    const { mode = 'create', properties, ...call } = parse(createNamespaceShape, options, 'createNamespace')
    const request = {
      id: pathOf('createNamespace', id),
      mode: createModes[mode],
      ...(properties && { properties }),
    }
    await this.operations.createNamespace(request, call)
  }

  async dropNamespace(id: Identifier, options: DropNamespaceOptions = {}): Promise<void> {
    const {
      mode = 'fail',
      behavior = 'restrict',
      ...call
    } = parse(dropNamespaceShape, options, 'dropNamespace')
    const request = {
      id: pathOf('dropNamespace', id),
      mode: ({ fail: 'Fail', skip: 'Skip' } as const)[mode],
      behavior: ({ restrict: 'Restrict', cascade: 'Cascade' } as const)[behavior],
    }
    await this.operations.dropNamespace(request, call)
  }

  /** Names of the namespaces below one (default: the root), sorted. */
  async namespaceNames(namespace: Identifier = [], options: CallOptions = {}): Promise<readonly string[]> {
    const call = parse(callShape, options, 'namespaceNames')
    const request = { id: pathOf('namespaceNames', namespace) }
    return (await this.operations.listNamespaces(request, call)).namespaces
  }

  /** Builds of indexes, backfills and refreshes of views that are under way or ended not long ago, the newest first. */
  async listJobs(options: CallOptions = {}): Promise<readonly JobInfo[]> {
    return listJobs(this.operations, parse(callShape, options, 'listJobs'))
  }

  /** Stops a job; nothing it did shows. One that has ended stays as it is. False where there is none of that id, or not any more. */
  async cancelJob(id: string, options: CallOptions = {}): Promise<boolean> {
    const job = parse(string('nonEmpty'), id, 'cancelJob: the id')
    return cancelJob(this.operations, job, parse(callShape, options, 'cancelJob'))
  }

  /**
   * All tables, tags and versions as they are now, for reading: nothing that happens later shows in it. Until it is closed
   * no process deletes what it shows, as long as this one lives; one that a worker holds, as long as that worker lives.
   * Throws code 0 where the root is open in another process.
   */
  async snapshot(options: CallOptions = {}): Promise<Namespace> {
    return this.#here('a snapshot').snapshot(parse(callShape, options, 'snapshot'))
  }

  /**
   * Runs `work` and commits everything it did through `tx`, any number of tables, tags and namespaces, as one change: all of
   * it or, when `work` throws, nothing. Reads through `tx` see its own writes, and otherwise one state. When others changed
   * meanwhile what it looked at, `work` runs again from its beginning, so it should have no other effects. Versions and
   * transaction ids that calls in it answer are those of a draft; a table gets one new version, however often it was changed.
   *
   * Inside of `work`, calls through this namespace and its table handles fail with code 13: they would neither see the transaction nor be part
   * of it. Use `tx.table(...)`. To read the state from before on purpose, take a `snapshot()`.
   *
   * Gives what `work` gives. Throws what `work` throws, code 14 after 20 conflicts, and 0 where the root is open in another
   * process.
   */
  async transaction<T>(work: (tx: Namespace) => Promise<T>, options: CallOptions = {}): Promise<T> {
    const call = parse(callShape, options, 'transaction')
    parse(workShape, work, 'transaction: the work')
    const local = this.#here('a transaction')
    const error = this.#scope.outside()
    if (error !== null) throw error
    return local.transaction(tx => this.#scope.run(() => work(tx)), call)
  }

  /**
   * A number that grows with every commit, by this process or any other: the current one at once, then each time it is
   * another. Ends with `signal.reason`. Throws code 0 where the root is open in another process.
   */
  watch(options: CallOptions = {}): AsyncIterable<number> {
    return this.#here('watching').watch(parse(callShape, options, 'watch'))
  }

  /**
   * Does now all maintenance there is to do, whether it would be worth its while in the background yet or not: compacts tables, lets
   * go of versions and files past their time, writes a checkpoint. Nobody needs to call this. Says because of whom files stay that are old
   * enough to go. Throws code 0 where the root is open in another process.
   */
  async optimize(options: CallOptions = {}): Promise<Optimized> {
    return this.#here('maintenance').optimize(parse(callShape, options, 'optimize'))
  }

  /**
   * The id of the table at a location: the one that it has or, where it was deregistered, had last; null where no table is known there. Throws
   * code 13 for what is no location of this root, 0 where the root is open in another process.
   */
  async tableAt(location: string, options: CallOptions = {}): Promise<readonly string[] | null> {
    const call = parse(callShape, options, 'tableAt')
    return this.#here('the table at a location').tableAt(parse(string(), location, 'tableAt'), call)
  }

  /**
   * What this process keeps in memory of the root, how far it has read the log, and what its maintenance did. Reads nothing. Throws
   * code 0 where the root is open in another process or thread, and of a snapshot.
   */
  stats(): RootStats {
    return this.#here('the state of a root').stats()
  }

  /**
   * Checks the whole root as it is now: every byte of the log, all that is kept of it, and every column of every version there
   * is, against their checksums and each other. Others may write meanwhile. With `repair`, what can be made again from the log is;
   * the log and data are never touched. Problems are told, not thrown. Throws code 15 where a root that is opened read-only is to
   * be repaired, 0 where the root is open in another process.
   */
  async verify(options: VerifyOptions = {}): Promise<Verification> {
    return this.#here('a verification').verify(parse(verifyShape, options, 'verify'))
  }

  #here(what: string): LocalFeatures {
    if (this.#local !== undefined) return this.#local
    throw unsupported(
      `${what} is only to be had of a namespace that connect() or connectWorker() gave in this process`,
    )
  }

  /** Lets commits that have begun end, then refuses further ones. */
  close(): Promise<void> {
    return this.#close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

takeNoMore(Namespace.prototype, {
  createTable: 3,
  createView: 2,
  openTable: 2,
  table: 1,
  renameTable: 3,
  dropTable: 2,
  tableNames: 2,
  createNamespace: 2,
  dropNamespace: 2,
  namespaceNames: 2,
  listJobs: 1,
  cancelJob: 2,
  snapshot: 1,
  transaction: 2,
  watch: 1,
  optimize: 1,
  tableAt: 2,
  stats: 0,
  verify: 1,
  close: 0,
})

const createModes = { create: 'Create', exist_ok: 'ExistOk', overwrite: 'Overwrite' } as const

/** Rows that came as Arrow take the types that were asked for, where they fit. */
async function withSchema(rows: ArrowRows, schema: Schema | undefined): Promise<ArrowRows> {
  if (schema === undefined || rows.schema === schema) return rows
  const { checkFits, conformBatches } = await conforming()
  checkFits(rows.schema, schema)
  return new ArrowRows(schema, conformBatches(rows.batches, schema), rows.close)
}

function pathOf(call: string, id: Identifier): readonly string[] {
  const checked = parse(identifierShape, id, `${call}: the identifier`)
  return typeof checked === 'string' ? parseId(checked) : checked
}

function tablePathOf(call: string, id: Identifier): readonly string[] {
  const path = pathOf(call, id)
  if (path.length === 0) throw invalidInput(`${call}: ${quote(id)} names no table`)
  return path
}
