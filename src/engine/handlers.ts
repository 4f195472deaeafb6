/** The table of handlers, one for each operation. An operation without a handler throws `Unsupported`. */
import type { CatalogEntry } from '../catalog/log-types.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { SheafError } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import type { CallKey } from '../protocol/call-key.js'
import {
  type ArrowBody,
  bindHandlers,
  type HandlerOptions,
  type Handlers,
  type Operations,
} from '../protocol/calls.js'
import { withDirectReads } from '../protocol/direct-reads.js'
import { type OperationName, operationNames, operations } from '../protocol/operations.js'
import { AlreadyCommitted, checkKey } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { withRoot } from '../root/locations.js'
import { describeTable } from './describe-table.js'
import { EngineReads } from './direct-reads.js'
import { checkNamed, finaliseEntry } from './lance-versions.js'
import { analyzeTableQueryPlan, countTableRows, explainTableQueryPlan, queryTable } from './query.js'
import { tracedOperations, tracedReads } from './traced-operations.js'

/**
 * Return a function that returns a handler of a module by its name. The module is loaded at the first call of any of
 * its handlers.
 */
function lazyHandlers<M extends object>(
  importModule: () => MaybePromise<M>,
): <N extends keyof M>(name: N) => M[N] {
  return <N extends keyof M>(name: N) => {
    const call = (...args: Parameters<AnyHandler>) =>
      whenResolved(importModule(), handlers => (handlers[name] as AnyHandler)(...args))
    return call as M[N]
  }
}

const importWriteHandlers = lazyImport(() => import('./write-handlers.js'))
const write = lazyHandlers(importWriteHandlers)
const session = lazyHandlers(lazyImport(() => import('./read-sessions.js')))
const record = lazyHandlers(lazyImport(() => import('./record-handlers.js')))

const handlers: Handlers<Engine> = {
  createNamespace: record('createNamespace'),
  listNamespaces: record('listNamespaces'),
  describeNamespace: record('describeNamespace'),
  dropNamespace: record('dropNamespace'),
  namespaceExists: record('namespaceExists'),
  listTables: record('listTables'),
  listAllTables: record('listAllTables'),
  registerTable: record('registerTable'),
  declareTable: record('declareTable'),
  describeTable,
  tableExists: record('tableExists'),
  renameTable: record('renameTable'),
  dropTable: record('dropTable'),
  deregisterTable: record('deregisterTable'),
  getTableStats: record('getTableStats'),
  createTable: write('createTable'),
  insertIntoTable: write('insertIntoTable'),
  mergeInsertIntoTable: write('mergeInsertIntoTable'),
  updateTable: write('updateTable'),
  deleteFromTable: write('deleteFromTable'),
  createTableUpload: write('createTableUpload'),
  describeTableUpload: write('describeTableUpload'),
  completeTableUpload: write('completeTableUpload'),
  abortTableUpload: write('abortTableUpload'),
  countTableRows,
  queryTable,
  createTableReadSession: session('createTableReadSession'),
  readTableSlice: session('readTableSlice'),
  closeTableReadSession: session('closeTableReadSession'),
  explainTableQueryPlan,
  analyzeTableQueryPlan,
  alterTableAddColumns: write('alterTableAddColumns'),
  alterTableAlterColumns: write('alterTableAlterColumns'),
  alterTableDropColumns: write('alterTableDropColumns'),
  alterTableBackfillColumns: write('alterTableBackfillColumns'),
  updateFieldMetadata: write('updateFieldMetadata'),
  updateTableSchemaMetadata: write('updateTableSchemaMetadata'),
  createTableIndex: write('createTableIndex'),
  createTableScalarIndex: write('createTableIndex'),
  listTableIndices: record('listTableIndices'),
  describeTableIndexStats: record('describeTableIndexStats'),
  dropTableIndex: write('dropTableIndex'),
  listTableVersions: record('listTableVersions'),
  createTableVersion: record('createTableVersion'),
  describeTableVersion: record('describeTableVersion'),
  batchDeleteTableVersions: record('batchDeleteTableVersions'),
  restoreTable: write('restoreTable'),
  batchCreateTableVersions: write('batchCreateTableVersions'),
  batchCommitTables: write('batchCommitTables'),
  listTableTags: record('listTableTags'),
  getTableTagVersion: record('getTableTagVersion'),
  createTableTag: record('createTableTag'),
  updateTableTag: record('updateTableTag'),
  deleteTableTag: record('deleteTableTag'),
  listTableBranches: 'unsupported',
  createTableBranch: 'unsupported',
  deleteTableBranch: 'unsupported',
  describeTransaction: record('describeTransaction'),
  alterTransaction: record('alterTransaction'),
  createMaterializedView: write('createMaterializedView'),
  refreshMaterializedView: write('refreshMaterializedView'),
  describeMaterializedView: write('describeMaterializedView'),
  listMaterializedViews: write('listMaterializedViews'),
  dropMaterializedView: write('dropMaterializedView'),
  listJobs: write('listJobs'),
  describeJob: write('describeJob'),
  cancelJob: write('cancelJob'),
  prewarmTableIndex: record('prewarmTableIndex'),
  prewarmTable: record('prewarmTable'),
  fetchTableBlobs: record('fetchTableBlobs'),
  getTableLsmWriteSpec: record('getTableLsmWriteSpec'),
  getTableLsmStats: record('getTableLsmStats'),
}

/** Checks a call before its handler runs. Throws an error to refuse the call. */
type Guard = (name: OperationName, request: unknown, options: HandlerOptions) => void

/** Bind the operations to a root. `guard`: checks each call. Calls with a guard do not replay idempotency keys. */
export function bindOperations(engine: Engine, guard?: Guard): Operations {
  if (guard === undefined) return traced(bindHandlers(replayingHandlers, engine), engine)
  const guarded = Object.entries(handlers).map(([name, handler]) => {
    if (handler === 'unsupported') return [name, handler]
    const counted = counting(handler as AnyHandler, false)
    const call = async (to: Engine, request: unknown, ...rest: unknown[]) => {
      guard(name as OperationName, request, rest.at(-1) as HandlerOptions)
      return counted(to, request, ...rest)
    }
    return [name, call]
  })
  return traced(bindHandlers(Object.fromEntries(guarded) as Handlers<Engine>, engine), engine)
}

/** Add direct reads to the operations. If the engine records spans, every call and every read records one. */
function traced(bound: Operations, engine: Engine): Operations {
  const { tracing, store } = engine
  const reads = directReadsOf(engine)
  if (tracing === undefined) return withDirectReads(bound, reads)
  return withDirectReads(tracedOperations(bound, tracing, store.meter), reads && tracedReads(reads, tracing))
}

/** Return direct reads, if the newest state can be known without waiting. A transaction reads its own changes instead. */
function directReadsOf(engine: Engine): EngineReads | undefined {
  return engine.root.current === undefined ? undefined : new EngineReads(engine)
}

/** Return a guard that refuses every write. */
export function readsOnly(refusal: () => SheafError): Guard {
  return name => {
    if (operations[name].access === 'write') throw refusal()
  }
}

type AnyHandler = (engine: Engine, ...rest: unknown[]) => Promise<unknown>

/**
 * Wrap a handler: if a call with the same idempotency key was committed before, return the recorded reply (rule A-166).
 */
function replaying(name: OperationName, handler: AnyHandler): AnyHandler {
  return (engine, ...rest) => {
    const options = rest.at(-1) as HandlerOptions
    return options.callKey === undefined ? handler(engine, ...rest) : keyed(options.callKey, engine, ...rest)
  }
  async function keyed(callKey: CallKey, engine: Engine, ...rest: unknown[]): Promise<unknown> {
    const options = rest.at(-1) as HandlerOptions
    /**
     * Throws `AlreadyCommitted` if a call with this key was committed. If the rows decide whether two calls are the
     * same, reads the rows first.
     */
    const checkReplay = async () => {
      checkKey(engine.root.state, callKey)
      if (!callKey.waitsForRows || engine.root.state.keys.get(callKey.key) === undefined) return
      const [request, body] = rest as [{ readonly id: readonly string[] }, ArrowBody]
      await (await importWriteHandlers()).readRepeatedRows(engine, name, request, body, options)
      checkKey(engine.root.state, callKey)
    }
    try {
      await engine.root.refresh(options.signal)
      await checkReplay()
      return await handler(engine, ...rest).catch(async error => {
        // A repeated call with the same key may have been committed first, which made this call fail.
        if (error instanceof SheafError && error.kind !== 'commit-state-unknown') await checkReplay()
        throw error
      })
    } catch (error) {
      if (!(error instanceof AlreadyCommitted)) throw error
      const { header } = await engine.versions.slots.get(error.slot, options.signal)
      const entry = header.entries[error.entry] as CatalogEntry
      await finaliseEntry(engine, entry)
      await checkNamed(engine, entry, formatTransactionId(error.slot, entry.txn))
      return withRoot(entry.res!, engine.location)
    }
  }
}

/**
 * Wrap a handler, so that background tasks back off while it runs. Garbage collection in this process also knows a
 * running write. One wrapper does both, because each async function around a small commit costs CPU.
 */
function counting(handler: AnyHandler, isWrite: boolean): AnyHandler {
  return async (engine, ...rest) => {
    const { calls } = engine.running
    const { underWay } = engine.retained
    calls.begin()
    const write = isWrite ? underWay.begin(engine.root.head) : null
    try {
      return await handler(engine, ...rest)
    } finally {
      if (write !== null) underWay.end(write)
      calls.end()
    }
  }
}

const replayingHandlers = Object.fromEntries(
  Object.entries(handlers).map(([name, handler]) => {
    if (handler === 'unsupported') return [name, handler]
    const replayed = replaying(name as OperationName, handler as AnyHandler)
    return [name, counting(replayed, operations[name as OperationName].access === 'write')]
  }),
) as unknown as Handlers<Engine>

/** Return the operations that have a handler, and those that have none. */
export function servedOperations(): {
  readonly served: readonly OperationName[]
  readonly unsupported: readonly OperationName[]
} {
  return {
    served: operationNames.filter(name => handlers[name] !== 'unsupported'),
    unsupported: operationNames.filter(name => handlers[name] === 'unsupported'),
  }
}
