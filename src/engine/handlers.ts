/** The table of handlers, one for each operation. An operation without a handler throws `Unsupported`. */
import type { CatalogEntry } from '../catalog/log-types.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { SheafError } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { whenResolved } from '../primitives/task.js'
import {
  type ArrowBody,
  bindHandlers,
  type HandlerOptions,
  type Handlers,
  type Operations,
} from '../protocol/calls.js'
import { directReads } from '../protocol/direct-reads.js'
import { type OperationName, operationNames, operations } from '../protocol/operations.js'
import { AlreadyCommitted, checkKey } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { withRoot } from '../root/locations.js'
import { fetchTableBlobs } from './blobs.js'
import { EngineReads } from './direct-reads.js'
import { describeTableIndexStats, listTableIndices } from './index-records.js'
import { getTableLsmStats, getTableLsmWriteSpec, prewarmTable, prewarmTableIndex } from './lance.js'
import { checkNamed, finaliseEntry } from './lance-versions.js'
import {
  createNamespace,
  describeNamespace,
  dropNamespace,
  listNamespaces,
  namespaceExists,
} from './namespaces.js'
import { analyzeTableQueryPlan, countTableRows, explainTableQueryPlan, queryTable } from './query.js'
import type * as readSessions from './read-sessions.js'
import {
  declareTable,
  deregisterTable,
  describeTable,
  dropTable,
  getTableStats,
  listAllTables,
  listTables,
  registerTable,
  renameTable,
  tableExists,
} from './tables.js'
import { createTableTag, deleteTableTag, getTableTagVersion, listTableTags, updateTableTag } from './tags.js'
import { alterTransaction, describeTransaction } from './transactions.js'
import {
  batchDeleteTableVersions,
  createTableVersion,
  describeTableVersion,
  listTableVersions,
} from './versions.js'
import type * as writeHandlers from './write-handlers.js'

type WriteHandlers = typeof writeHandlers

const importWriteHandlers = lazyImport(() => import('./write-handlers.js'))

/** Return a handler of `write-handlers.js`. The module is loaded at the first call of any of its handlers. */
function lazyWriteHandler<N extends keyof WriteHandlers>(name: N): WriteHandlers[N] {
  const call: AnyHandler = async (...args) =>
    whenResolved(importWriteHandlers(), handlers => (handlers[name] as AnyHandler)(...args))
  return call as WriteHandlers[N]
}

type SessionHandlers = typeof readSessions

const importReadSessions = lazyImport(() => import('./read-sessions.js'))

function lazySessionHandler<N extends keyof SessionHandlers>(name: N): SessionHandlers[N] {
  const call: AnyHandler = async (...args) =>
    whenResolved(importReadSessions(), handlers => (handlers[name] as AnyHandler)(...args))
  return call as SessionHandlers[N]
}

const handlers: Handlers<Engine> = {
  createNamespace,
  listNamespaces,
  describeNamespace,
  dropNamespace,
  namespaceExists,
  listTables,
  listAllTables,
  registerTable,
  declareTable,
  describeTable,
  tableExists,
  renameTable,
  dropTable,
  deregisterTable,
  getTableStats,
  createTable: lazyWriteHandler('createTable'),
  insertIntoTable: lazyWriteHandler('insertIntoTable'),
  mergeInsertIntoTable: lazyWriteHandler('mergeInsertIntoTable'),
  updateTable: lazyWriteHandler('updateTable'),
  deleteFromTable: lazyWriteHandler('deleteFromTable'),
  createTableUpload: lazyWriteHandler('createTableUpload'),
  describeTableUpload: lazyWriteHandler('describeTableUpload'),
  completeTableUpload: lazyWriteHandler('completeTableUpload'),
  abortTableUpload: lazyWriteHandler('abortTableUpload'),
  countTableRows,
  queryTable,
  createTableReadSession: lazySessionHandler('createTableReadSession'),
  readTableSlice: lazySessionHandler('readTableSlice'),
  closeTableReadSession: lazySessionHandler('closeTableReadSession'),
  explainTableQueryPlan,
  analyzeTableQueryPlan,
  alterTableAddColumns: lazyWriteHandler('alterTableAddColumns'),
  alterTableAlterColumns: lazyWriteHandler('alterTableAlterColumns'),
  alterTableDropColumns: lazyWriteHandler('alterTableDropColumns'),
  alterTableBackfillColumns: lazyWriteHandler('alterTableBackfillColumns'),
  updateFieldMetadata: lazyWriteHandler('updateFieldMetadata'),
  updateTableSchemaMetadata: lazyWriteHandler('updateTableSchemaMetadata'),
  createTableIndex: lazyWriteHandler('createTableIndex'),
  createTableScalarIndex: lazyWriteHandler('createTableIndex'),
  listTableIndices,
  describeTableIndexStats,
  dropTableIndex: lazyWriteHandler('dropTableIndex'),
  listTableVersions,
  createTableVersion,
  describeTableVersion,
  batchDeleteTableVersions,
  restoreTable: lazyWriteHandler('restoreTable'),
  batchCreateTableVersions: lazyWriteHandler('batchCreateTableVersions'),
  batchCommitTables: lazyWriteHandler('batchCommitTables'),
  listTableTags,
  getTableTagVersion,
  createTableTag,
  updateTableTag,
  deleteTableTag,
  listTableBranches: 'unsupported',
  createTableBranch: 'unsupported',
  deleteTableBranch: 'unsupported',
  describeTransaction,
  alterTransaction,
  createMaterializedView: lazyWriteHandler('createMaterializedView'),
  refreshMaterializedView: lazyWriteHandler('refreshMaterializedView'),
  describeMaterializedView: lazyWriteHandler('describeMaterializedView'),
  listMaterializedViews: lazyWriteHandler('listMaterializedViews'),
  dropMaterializedView: lazyWriteHandler('dropMaterializedView'),
  listJobs: lazyWriteHandler('listJobs'),
  describeJob: lazyWriteHandler('describeJob'),
  cancelJob: lazyWriteHandler('cancelJob'),
  prewarmTableIndex,
  prewarmTable,
  fetchTableBlobs,
  getTableLsmWriteSpec,
  getTableLsmStats,
}

/** Checks a call before its handler runs. Throws an error to refuse the call. */
type Guard = (name: OperationName, request: unknown, options: HandlerOptions) => void

/** Bind the operations to a root. `guard`: checks each call. Calls with a guard do not replay idempotency keys. */
export function bindOperations(engine: Engine, guard?: Guard): Operations {
  if (guard === undefined) return withDirectReads(bindHandlers(replayingHandlers, engine), engine)
  const guarded = Object.entries(handlers).map(([name, handler]) => {
    if (handler === 'unsupported') return [name, handler]
    const call = async (to: Engine, request: unknown, ...rest: unknown[]) => {
      guard(name as OperationName, request, rest.at(-1) as HandlerOptions)
      return to.running.calls.run(() => (handler as AnyHandler)(to, request, ...rest))
    }
    return [name, call]
  })
  return withDirectReads(bindHandlers(Object.fromEntries(guarded) as Handlers<Engine>, engine), engine)
}

/** Add direct reads, if the newest state can be known without waiting. A transaction reads its own changes instead. */
function withDirectReads(bound: Operations, engine: Engine): Operations {
  return engine.root.current === undefined
    ? bound
    : Object.assign(bound, { [directReads]: new EngineReads(engine) })
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
  return async (engine, ...rest) => {
    const options = rest.at(-1) as HandlerOptions
    const { callKey } = options
    if (callKey === undefined) return handler(engine, ...rest)
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

/** Wrap a write handler, so that garbage collection in this process knows the running write. */
function registered(handler: AnyHandler): AnyHandler {
  return (engine, ...rest) => engine.retained.underWay.run(engine.root.head, () => handler(engine, ...rest))
}

const replayingHandlers = Object.fromEntries(
  Object.entries(handlers).map(([name, handler]) => {
    if (handler === 'unsupported') return [name, handler]
    const replayed = replaying(name as OperationName, handler as AnyHandler)
    const call = operations[name as OperationName].access === 'write' ? registered(replayed) : replayed
    return [name, (to: Engine, ...rest: unknown[]) => to.running.calls.run(() => call(to, ...rest))]
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
