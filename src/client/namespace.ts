/**
 * The handle of a namespace: its tables and child namespaces, over any transport. Each method calls operations of the
 * protocol, which other clients can call too.
 */

import { invalidInput, quote, unsupported } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations } from '../protocol/calls.js'
import { parseId } from '../protocol/identifiers.js'
import { parse } from '../protocol/parse.js'
import { stringMap } from '../protocol/request-fields.js'
import { array, boolean, callback, either, oneOf, options, string } from '../protocol/shape.js'
import { jobEnded } from './job-ended.js'
import { cancelJob, type JobInfo, listJobs } from './job-list.js'
import type { Optimized } from './optimized.js'
import type { ConnectionInt64 } from './rows-options.js'
import {
  type InferredRow,
  type InputOf,
  type RowOf,
  type SchemaInput,
  schemaShape,
  type TypedSchema,
} from './schema.js'
import { columnsField, columnsShape } from './selection.js'
import type { RootStats } from './stats.js'
import { Table } from './table.js'
import {
  type IngestOptions,
  ingestFields,
  type Row,
  type RowInput,
  type TableData,
  type TableInput,
} from './table-data.js'
import { TransactionScope } from './transaction-scope.js'
import { type Verification, type VerifyOptions, verifyShape } from './verification.js'

const importTableRows = lazyImport(() => import('./table-rows.js'))

/** A path such as `'a$b$t'`, or its names as an array. Names in an array may contain `$`. */
export type Identifier = string | readonly string[]

const identifierShape = either<Identifier>(
  { is: value => Array.isArray(value), shape: array(string()) },
  { is: () => true, shape: string() },
)

/** Options of `Namespace.createTable`. */
export interface CreateTableOptions extends CallOptions, IngestOptions {
  /**
   * Behavior if the table exists: `create` (default) fails, `exist_ok` keeps the table unchanged, `overwrite` replaces
   * its rows and its schema.
   */
  readonly mode?: 'create' | 'exist_ok' | 'overwrite'
  /**
   * Names and types of the columns: the result of `schema`, plain data, or a Schema of apache-arrow.
   *
   * Default: the types are inferred from all rows of an array, or from the first 65,536 rows or 32 MiB of another
   * iterable. Later rows must fit the inferred types. Numbers become float64, bigints become int64 or uint64, and
   * arrays of numbers become lists of float64, so no value changes.
   *
   * Two kinds of columns become vectors (`fixed_size_list`):
   * - columns of typed arrays (Float32Array, Float64Array, Int8Array);
   * - columns of plain arrays with the name `vector`, `embedding`, `..._vector` or `..._embedding`; their elements
   *   become float32.
   *
   * All arrays of a vector column must have the same length (see `badVectors`).
   */
  readonly schema?: SchemaInput | undefined
  /**
   * Names of further columns of plain objects that hold vectors, in addition to the names that `schema` lists. The
   * elements of their arrays become float32. Not allowed together with `schema`. The call throws `InvalidInput` if the
   * arrays of such a column differ in length, and `ColumnNotFound` if no row has the column.
   */
  readonly vectorColumns?: readonly string[] | undefined
  /** Properties of the table, for use by the caller. Sheaf stores them and does not interpret them. */
  readonly properties?: Readonly<Record<string, string>>
  /** Whether to create missing parent namespaces. Default false. */
  readonly createParents?: boolean
}

/** Default of a type parameter for the type of rows. It marks a call that does not pass this type. */
interface Untold {
  readonly [untold]: never
}

declare const untold: unique symbol

/** Options of `Namespace.createView`. */
export interface CreateViewOptions extends CallOptions {
  /** The table that the view reads. */
  readonly source: Identifier
  /**
   * Names of columns of the source, or SQL expressions keyed by column name. Default: all columns that the source has
   * when the view is created.
   */
  readonly columns?: readonly string[] | Readonly<Record<string, string>>
  /** An SQL predicate. The view has the rows of the source for which it is true. Default: all rows. */
  readonly where?: string
  /** Whether commits to the source start a refresh in the background. Default false. */
  readonly autoRefresh?: boolean
  /** Whether to fill the view before `createView` returns. Default true. */
  readonly withData?: boolean
}

/** Options of `Namespace.createNamespace`. */
export interface CreateNamespaceOptions extends CallOptions {
  /**
   * Behavior if the namespace exists: `create` (default) fails, `exist_ok` keeps the namespace unchanged, `overwrite`
   * drops the namespace with all its tables and child namespaces, and creates it again.
   */
  readonly mode?: 'create' | 'exist_ok' | 'overwrite'
  /** Properties of the namespace, for use by the caller. Sheaf stores them and does not interpret them. */
  readonly properties?: Readonly<Record<string, string>>
}

/** Options of `Namespace.dropNamespace`. */
export interface DropNamespaceOptions extends CallOptions {
  /** Behavior if the namespace does not exist: `fail` (default) throws, `skip` does nothing. */
  readonly mode?: 'fail' | 'skip'
  /** Behavior if the namespace is not empty: `restrict` (default) throws, `cascade` drops its content too. */
  readonly behavior?: 'restrict' | 'cascade'
}

const workShape = callback<(tx: never) => Promise<unknown>>()

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

/** Features that only a process with the opened root can offer. The methods of `Namespace` describe each feature. */
export interface LocalFeatures {
  readonly snapshot: (options?: CallOptions) => Promise<Namespace>
  readonly transaction: <T>(work: (tx: Namespace) => Promise<T>, options?: CallOptions) => Promise<T>
  readonly watch: (options?: CallOptions) => AsyncIterable<number>
  readonly optimize: (options?: CallOptions) => Promise<Optimized>
  readonly tableAt: (location: string, options?: CallOptions) => Promise<readonly string[] | null>
  readonly stats: () => RootStats
  readonly verify: (options?: VerifyOptions) => Promise<Verification>
  /** Whether the operations take `PlainRows`. Absent: they take only Arrow data. */
  readonly takesPlainRows?: boolean
}

/** No catalogue: the names of tables are not known. A namespace with a catalogue is assignable to one without. */
// biome-ignore lint/suspicious/noExplicitAny: only `any` makes every catalogue assignable
export type AnyCatalogue = any

/** The names of the tables of a catalogue. */
type Named<C extends object> = unknown extends C ? never : keyof C & string

declare const rowTypes: unique symbol

/** The types of the rows of a table, read and written, as its schema defines them. */
interface SchemaRows<R extends object, W extends object> {
  readonly [rowTypes]: readonly [read: R, written: W]
}

/**
 * The catalogue of a connection. An entry of `C` is the type of the rows of a table, or the type of its schema. `I` is the
 * type of 64-bit integers.
 */
export type CatalogueOf<C extends object, I> = unknown extends C
  ? C
  : {
      readonly [N in keyof C]: C[N] extends TypedSchema ? SchemaRows<RowOf<C[N], I>, InputOf<C[N]>> : C[N]
    }

/** A handle on a table of a catalogue. */
type TableOf<C extends object, N extends keyof C> =
  C[N] extends SchemaRows<infer R, infer W> ? Table<R, W> : C[N] extends object ? Table<C[N]> : never

/** The rows to write to a table of a catalogue. */
type InputAt<C extends object, N extends keyof C> =
  C[N] extends SchemaRows<object, infer W> ? W : C[N] extends object ? RowInput<C[N]> : never

/** Identifiers of tables that are not in the catalogue. With a catalogue, they must be arrays of names. */
type Unlisted<C extends object> = unknown extends C ? Identifier : readonly string[]

/**
 * A namespace of tables and child namespaces. `connect` returns the root of a database as a namespace.
 *
 * `C` is a catalogue: the type of the rows, or of the schema, by the name of the table. With a catalogue, the compiler
 * knows the rows of `table('docs')` and refuses other names as text. A table outside of the catalogue is named by an array
 * (`table(['logs'])`). `I` is the type of 64-bit integers in rows whose types follow from a schema or from rows.
 */
export class Namespace<C extends object = AnyCatalogue, out I extends number | bigint = number>
  implements AsyncDisposable
{
  /** All operations of the protocol. Their requests and replies have the field names of the protocol. */
  readonly operations: Operations
  readonly #close: () => Promise<void>
  readonly #local: LocalFeatures | undefined
  readonly #scope = new TransactionScope()
  readonly #int64: ConnectionInt64

  /**
   * `local`: features of the process that has the root open, for all of its threads. Absent for a remote root.
   * `int64`: the representation of 64-bit integers in rows.
   */
  constructor(
    operations: Operations,
    close: () => Promise<void>,
    local?: LocalFeatures,
    int64?: ConnectionInt64,
  ) {
    this.operations = local === undefined ? operations : this.#scope.guard(operations)
    this.#close = close
    this.#local = local
    this.#int64 = int64
  }

  /** Create a table of the catalogue, from rows or from a schema. */
  async createTable<N extends Named<C>>(
    id: N,
    data: TableInput<NoInfer<InputAt<C, N>>>,
    options?: CreateTableOptions,
  ): Promise<TableOf<C, N>>
  /** Create a table from rows of the type `R`. */
  async createTable<R extends object = Untold>(
    id: Unlisted<C>,
    data: TableData<NoInfer<R>>,
    options?: CreateTableOptions & { readonly schema?: undefined },
  ): Promise<Table<R extends Untold ? Row : R>>
  /**
   * Create a table from rows. The types of the columns, and the TypeScript type of its rows, are inferred from `data`.
   */
  async createTable<D extends object>(
    id: Unlisted<C>,
    data: Iterable<D> | AsyncIterable<D>,
    options?: CreateTableOptions & { readonly schema?: undefined },
  ): Promise<Table<InferredRow<D, I>>>
  /** Create a table from rows whose columns are not known at compile time. */
  async createTable(
    id: Unlisted<C>,
    data: TableData,
    options?: CreateTableOptions & { readonly schema?: undefined },
  ): Promise<Table>
  /**
   * Create a table from rows, or an empty table from a schema. TypeScript derives the type of the rows from the schema
   * if it is the result of `schema`, an object literal in the call, declared `as const`, or a typed Schema of
   * apache-arrow.
   *
   * Throws `TableAlreadyExists` if the table exists and `mode` is `create`. Throws `SchemaValidation` for rows that do
   * not fit the schema.
   */
  async createTable<const S extends SchemaInput>(
    id: Unlisted<C>,
    data: TableInput<InputOf<NoInfer<S>>>,
    options: CreateTableOptions & { readonly schema: S },
  ): Promise<Table<RowOf<S, I>, InputOf<S>>>
  async createTable(id: Identifier, data: TableData, options: CreateTableOptions = {}): Promise<unknown> {
    const {
      mode = 'create',
      vectorColumns,
      properties,
      createParents,
      onProgress,
      badVectors,
      schema: given,
      ...call
    } = parse(createTableShape, options, 'createTable')
    const path = tablePathOf('createTable', id)
    const request = { id: path, mode: wireModes[mode], ...(properties && { properties }) }
    const { signal } = call
    const { givenSchema, tableRows, withSchema } = await importTableRows()
    const schema = given === undefined ? undefined : givenSchema(given)
    const rows = await tableRows(data, { schema, vectorColumns, onProgress, badVectors, signal })
    try {
      if (schema === undefined && rows.schema.fields.length === 0) {
        throw invalidInput(
          'createTable: without rows and without a schema, the table would have no columns',
          {
            hint: "give a schema: createTable(id, [], { schema: schema({ id: 'int64!' }) })",
          },
        )
      }
      const body = await withSchema(rows, schema)
      if (createParents === true) await this.#createParents(path, call)
      const { uuid } = await this.operations.createTable(request, body, call)
      return new Table(this.operations, path, this.#bound(uuid))
    } finally {
      await rows.close()
    }
  }

  async #createParents(path: readonly string[], call: CallOptions): Promise<void> {
    // Use the idempotency key only to create the table. Creating the parents is idempotent without a key.
    const { idempotencyKey: _, ...parents } = call
    for (let depth = 1; depth < path.length; depth++) {
      await this.operations.createNamespace({ id: path.slice(0, depth), mode: 'ExistOk' }, parents)
    }
  }

  /**
   * Create a materialized view: a table with the result that a query over another table had at the last refresh
   * (`Table.refresh`). Only a refresh changes the view.
   *
   * Throws `TableAlreadyExists` if a table has the name. Throws `ColumnNotFound`, `InvalidInput` or `SchemaValidation`
   * if the query does not fit the source. Throws `InvalidTableState` if `withData` is true and the first refresh fails;
   * the view then exists and is empty.
   */
  async createView<N extends Named<C>>(id: N, options: CreateViewOptions): Promise<TableOf<C, N>>
  async createView<R extends object = Row>(id: Unlisted<C>, options: CreateViewOptions): Promise<Table<R>>
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
    return this.#open<R>(request.id, call)
  }

  /**
   * Open an existing table. The handle refers to this table even after it is renamed. After the table is dropped, calls
   * of the handle throw `TableNotFound`, even if a new table has the same name. Throws `TableNotFound` if the table
   * does not exist.
   */
  async openTable<N extends Named<C>>(id: N, options?: CallOptions): Promise<TableOf<C, N>>
  async openTable<R extends object = Row>(id: Unlisted<C>, options?: CallOptions): Promise<Table<R>>
  async openTable<R extends object = Row>(id: Identifier, options: CallOptions = {}): Promise<Table<R>> {
    return this.#open<R>(tablePathOf('openTable', id), parse(callShape, options, 'openTable'))
  }

  async #open<R extends object>(path: readonly string[], call: CallOptions): Promise<Table<R>> {
    const { uuid } = await this.operations.describeTable({ id: path }, call)
    return new Table<R>(this.operations, path, this.#bound(uuid))
  }

  /**
   * Return a handle that looks up the name in every call, so after a drop or a rename it may refer to another table.
   * Sends no request, and does not check whether the table exists.
   */
  table<N extends Named<C>>(id: N): TableOf<C, N>
  table<R extends object = Row>(id: Unlisted<C>): Table<R>
  table(id: Identifier): unknown {
    return new Table(this.operations, tablePathOf('table', id), this.#bound(undefined))
  }

  #bound(uuid: string | undefined) {
    const local = this.#local
    return { uuid, watch: local?.watch, int64: this.#int64, takesPlainRows: local?.takesPlainRows }
  }

  /**
   * Rename a table, or move it into another namespace. Throws `NamespaceNotFound`, `TableNotFound` or
   * `TableAlreadyExists`.
   */
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

  /** Drop a table. Throws `TableNotFound` if the table does not exist. */
  async dropTable(id: Identifier, options: CallOptions = {}): Promise<void> {
    const call = parse(callShape, options, 'dropTable')
    await this.operations.dropTable({ id: tablePathOf('dropTable', id) }, call)
  }

  /** List the names of the tables in a namespace (default: the root), sorted. */
  async tableNames(namespace: Identifier = [], options: CallOptions = {}): Promise<readonly string[]> {
    const call = parse(callShape, options, 'tableNames')
    return (await this.operations.listTables({ id: pathOf('tableNames', namespace) }, call)).tables
  }

  /**
   * Create a namespace. Throws `NamespaceNotFound` if its parent does not exist, and `NamespaceAlreadyExists` if the
   * namespace exists and `mode` is `create`.
   */
  async createNamespace(id: Identifier, options: CreateNamespaceOptions = {}): Promise<void> {
    const { mode = 'create', properties, ...call } = parse(createNamespaceShape, options, 'createNamespace')
    const request = {
      id: pathOf('createNamespace', id),
      mode: wireModes[mode],
      ...(properties && { properties }),
    }
    await this.operations.createNamespace(request, call)
  }

  /**
   * Drop a namespace. Throws `NamespaceNotFound` if the namespace does not exist and `mode` is `fail`. Throws
   * `NamespaceNotEmpty` if the namespace is not empty and `behavior` is `restrict`.
   */
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

  /** List the names of the child namespaces of a namespace (default: the root), sorted. */
  async namespaceNames(namespace: Identifier = [], options: CallOptions = {}): Promise<readonly string[]> {
    const call = parse(callShape, options, 'namespaceNames')
    const request = { id: pathOf('namespaceNames', namespace) }
    return (await this.operations.listNamespaces(request, call)).namespaces
  }

  /**
   * List the jobs that are queued, are running, or ended recently: index builds, backfills, refreshes. Newest first.
   */
  async listJobs(options: CallOptions = {}): Promise<readonly JobInfo[]> {
    return listJobs(this.operations, parse(callShape, options, 'listJobs'))
  }

  /**
   * Cancel a job, so that none of its work becomes visible. Has no effect on a job that has ended. Returns false if no
   * job has this id, or if the job ended so long ago that its record was removed.
   */
  async cancelJob(id: string, options: CallOptions = {}): Promise<boolean> {
    const job = parse(string('nonEmpty'), id, 'cancelJob: the id')
    return cancelJob(this.operations, job, parse(callShape, options, 'cancelJob'))
  }

  /**
   * Open a read-only namespace with all tables, tags and versions as they are now. Later commits are not visible in
   * this namespace. The files that the snapshot needs are kept until the snapshot is closed. They are also released
   * when the process ends, or the worker thread that opened the snapshot.
   *
   * Throws `Unsupported` over HTTP and in worker threads.
   */
  async snapshot(options: CallOptions = {}): Promise<Namespace<C, I>> {
    const call = parse(callShape, options, 'snapshot')
    return this.#sameTypes(await this.#localFeatures('a snapshot').snapshot(call))
  }

  /**
   * Run `work`, and commit all changes that it made through `tx` as one atomic change. The changes may concern any
   * number of tables, tags and namespaces. If `work` throws, nothing is committed. All reads through `tx` see the same
   * state of the root, plus the earlier writes of the transaction.
   *
   * If another commit changed something that `work` read, `work` runs again from its beginning. So `work` should have
   * no effects outside of `tx`. Inside `work`, returned versions and transaction ids are provisional. Each changed
   * table gets one new version, however many calls changed it.
   *
   * Inside `work`, calls through this namespace and its table handles throw `InvalidInput`, because they would not be
   * part of the transaction. Use `tx.table(...)` instead. To read the state before the transaction, use a `snapshot()`.
   *
   * Returns the result of `work`. Throws the errors of `work`, `ConcurrentModification` after 20 conflicts, and
   * `Unsupported` over HTTP and in worker threads.
   *
   * ```js
   * await ns.transaction(async tx => {
   *   await tx.table('stock').update({ n: sql`n - 1` }, 'id = ?', [7])
   *   await tx.table('orders').add([{ item: 7 }])
   * })
   * ```
   */
  async transaction<T>(work: (tx: Namespace<C, I>) => Promise<T>, options: CallOptions = {}): Promise<T> {
    const call = parse(callShape, options, 'transaction')
    parse(workShape, work, 'transaction: the work')
    const local = this.#localFeatures('a transaction')
    const error = this.#scope.errorInside()
    if (error !== null) throw error
    // Loaded now, so that a write that `work` does not await begins before the end of `work` and is refused.
    await importTableRows()
    return local.transaction(tx => this.#scope.run(() => work(this.#sameTypes(tx))), call)
  }

  /** Read the rows of another namespace of this root as this one reads them. */
  #sameTypes(other: Namespace): Namespace<C, I> {
    const int64 = this.#int64
    const same =
      int64 === undefined ? other : new Namespace(other.operations, () => other.close(), undefined, int64)
    return same as unknown as Namespace<C, I>
  }

  /**
   * Yield a number that grows with every commit by any process. Yields the current number first, and a new number after
   * commits. Throws `signal.reason` when the signal aborts, and `Unsupported` over HTTP and in worker threads.
   */
  watch(options: CallOptions = {}): AsyncIterable<number> {
    return this.#localFeatures('watching').watch(parse(callShape, options, 'watch'))
  }

  /**
   * Run all maintenance now: compact tables, update indexes, expire old versions, delete unreferenced files, and write
   * a checkpoint. This includes tasks that background maintenance would postpone. A call is never required.
   *
   * The result lists the readers and jobs because of which old files were not deleted. Throws `Unsupported` if another
   * process has the root open.
   */
  async optimize(options: CallOptions = {}): Promise<Optimized> {
    return this.#localFeatures('maintenance').optimize(parse(callShape, options, 'optimize'))
  }

  /**
   * Return the path (namespaces, then name) of the table whose files are at a location. Returns null if no table is
   * known at this location. For a deregistered table, returns its last path.
   *
   * Throws `InvalidInput` if `location` is not in this root, and `Unsupported` over HTTP and in worker threads.
   */
  async tableAt(location: string, options: CallOptions = {}): Promise<readonly string[] | null> {
    const call = parse(callShape, options, 'tableAt')
    return this.#localFeatures('the table at a location').tableAt(parse(string(), location, 'tableAt'), call)
  }

  /**
   * Return statistics of the open root: the content of the cache, the newest slot that this process has read, and the
   * number of runs of each maintenance task. Reads no file. Throws `Unsupported` for a snapshot, and if another process
   * or thread has the root open.
   */
  stats(): RootStats {
    return this.#localFeatures('the state of a root').stats()
  }

  /**
   * Verify the checksums and the consistency of the whole root as it is now: the log, all files that are derived from
   * the log, and every column of every version. Other processes may write at the same time. With `repair`, damaged
   * files that can be derived from the log are rebuilt. The log and data files are never changed.
   *
   * Damage is not thrown: the result lists the problems. Throws `PermissionDenied` if `repair` is true and the root is
   * opened read-only, and `Unsupported` over HTTP and in worker threads.
   */
  async verify(options: VerifyOptions = {}): Promise<Verification> {
    return this.#localFeatures('a verification').verify(parse(verifyShape, options, 'verify'))
  }

  #localFeatures(what: string): LocalFeatures {
    if (this.#local !== undefined) return this.#local
    throw unsupported(`${what} needs a namespace of connect() or connectWorker()`)
  }

  /** Close the namespace: wait until running commits have ended, and refuse new calls. */
  close(): Promise<void> {
    return this.#close()
  }

  /** Close the namespace at the end of an `await using` block. */
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

const wireModes = { create: 'Create', exist_ok: 'ExistOk', overwrite: 'Overwrite' } as const

function pathOf(call: string, id: Identifier): readonly string[] {
  const checked = parse(identifierShape, id, `${call}: the identifier`)
  return typeof checked === 'string' ? parseId(checked) : checked
}

function tablePathOf(call: string, id: Identifier): readonly string[] {
  const path = pathOf(call, id)
  if (path.length === 0) throw invalidInput(`${call}: the name of a table is needed, got ${quote(id)}`)
  return path
}
