/** Opens a root: its store, its log and its state. Returns a namespace with the operations on the root. */
import { availableParallelism, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { type ConnectOptions, connectShape } from '../client/connect-options.js'
import { importReplies } from '../client/import-replies.js'
import { resolveMaintenance } from '../client/maintenance-settings.js'
import { type AnyCatalogue, type CatalogueOf, type LocalFeatures, Namespace } from '../client/namespace.js'
import {
  arrowBatch,
  concatChunks,
  pieces,
  readReply,
  replyPieces,
  rowObjects,
  scanPage,
  schemaFromJson,
  takeBatch,
  takenRows,
  toArrowTable,
} from '../client/read-replies.js'
import { checkRootPath } from '../client/root-path.js'
import type { ExternalLog } from '../commit/external-log.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { checkTokenizers } from '../indexes/text/analysis/base-tokenizers.js'
import { shareKernels } from '../kernels/kernel.js'
import { lazyImport } from '../lazy-import.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import { refuseMore } from '../protocol/arguments.js'
import type { Operations } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import type { BlobStore } from '../storage/blob-store.js'
import { CacheDirectory } from '../storage/cache-directory.js'
import { FileStore } from '../storage/file-store.js'
import { MemoryStore } from '../storage/memory-store.js'
import { networkFileSystemOf } from '../storage/network-file-system.js'
import { selfTest } from '../storage/self-test.js'
import { afterTest } from '../storage/tested-store.js'
import { checkFunctions } from '../write/functions.js'
import { bindOperations, readsOnly } from './handlers.js'
import { openBesideLance } from './lance-tables-beside.js'
import { isInObjectStorage, isLanceAddress, openObjectStorage } from './object-storage.js'
import { OpenedRoot, type RootOptions } from './opened-root.js'
import { takeSnapshot } from './snapshot.js'
import { tableAt } from './table-at.js'
import { openingSpan, tracedCall } from './traced-operations.js'
import { verifyOpen } from './verify.js'
import { watchRoot } from './watch.js'

/** An object instead of `import *`, for which a bundle needs another file. */
const replies = {
  arrowBatch,
  concatChunks,
  pieces,
  readReply,
  replyPieces,
  rowObjects,
  scanPage,
  schemaFromJson,
  takeBatch,
  takenRows,
  toArrowTable,
}

const importTransaction = lazyImport(() => import('./transaction.js'))

/**
 * Open the database at `path`. Several processes may open the same directory. `path` is one of:
 * - a local directory;
 * - `memory://`: a database in memory that is deleted when the connection is closed;
 * - `memory://name`: a database in memory that exists until the process ends. All connections of this process to the
 *   same name share it;
 * - `s3://bucket/prefix`: a folder of a bucket in object storage (docs/object-storage.md);
 * - `lance+file:///directory` or `lance+s3://bucket/prefix`: a directory of LanceDB, or the folder of one of its tables,
 *   for reading (docs/lance.md).
 *
 * Throws:
 * - `NamespaceNotFound` if the directory does not exist and `create` is false;
 * - `InvalidInput` if `path` is not a valid path, or if the package for its object storage is not installed;
 * - `PermissionDenied` or `ServiceUnavailable` if the directory or bucket cannot be used;
 * - `Unsupported` if the store accepts a second conditional write to a key;
 * - `Internal` if the log is damaged, or ends before the newest checkpoint.
 *
 * ```js
 * const ns = await connect('./data', { cacheBytes: 512 * 1024 * 1024 })
 * ```
 */
export async function connect<C extends object = AnyCatalogue>(
  path: string,
  options: ConnectOptions & { readonly int64: 'bigint' },
): Promise<Namespace<CatalogueOf<C, bigint>, bigint>>
export async function connect<C extends object = AnyCatalogue>(
  path: string,
  options?: ConnectOptions,
): Promise<Namespace<CatalogueOf<C, number>>>
export async function connect(
  path: string,
  given: ConnectOptions = {},
  ...more: readonly unknown[]
): Promise<unknown> {
  refuseMore('connect', 2, more)
  const options = parse(connectShape, given, 'connect')
  importReplies.set(replies)
  const { readOnly = false, clock = systemClock } = options
  const { log } = options
  if (log !== undefined) takeLog(log)
  if (typeof path === 'string' && isLanceAddress(path)) return connectToLance(path, options, clock)
  const { engine, tested } = await openRoot(path, options, clock).catch(async error => {
    await log?.close?.()
    throw error
  })
  const operations = bindOperations(engine, readOnly ? readsOnly(readOnlyError) : undefined)
  return namespaceOf(engine, tested, operations, readOnly ? readOnlyError : null, options.int64)
}

/** Return the namespace of an opened root. `refusal`: returns the error of writes; null: the root can be written. */
function namespaceOf(
  engine: OpenedRoot,
  tested: Promise<void>,
  operations: Operations,
  refusal: (() => SheafError) | null,
  int64: ConnectOptions['int64'],
): unknown {
  const features: LocalFeatures = {
    snapshot: (call = {}) => takeSnapshot(engine, call),
    transaction: (work, call = {}) =>
      engine.running.transactions.run(async () =>
        (await importTransaction()).runTransaction(engine, work, call),
      ),
    watch: (call = {}) => watchRoot(engine, call.signal),
    async optimize(call = {}) {
      if (refusal !== null) throw refusal()
      await engine.maintenance.finish(call.signal)
      return { held: engine.held() }
    },
    tableAt: (tableLocation, call = {}) => tableAt(engine, tableLocation, call.signal),
    stats: () => engine.stats(),
    takesPlainRows: true,
    verify: (call = {}) => {
      if (refusal !== null && call.repair === true) throw refusal()
      return verifyOpen(engine, call)
    },
  }
  const close = async () => {
    await engine.close()
    // The test deletes its object at the end.
    await tested.catch(() => {})
  }
  return new Namespace(operations, close, features, int64)
}

const importLance = lazyImport(() => import('./lance-directory.js'))

/** Open a directory of LanceDB for reading. */
async function connectToLance(path: string, options: ConnectOptions, clock: Clock): Promise<unknown> {
  const { LanceDirectory, openLanceStore } = await importLance()
  const store = await openLanceStore(path, options, clock)
  // The connection writes its own log, which is in memory.
  const { storage: _, ...others } = options
  const settings = {
    ...others,
    store,
    create: true,
    readOnly: false,
    maintenance: 'elsewhere',
  } as const
  const { engine, tested } = await openRoot(store.location, settings, clock)
  try {
    const directory = new LanceDirectory(engine, store, options.onWarning ?? emitWarning)
    await directory.follow(true, undefined, options.signal)
    const operations = directory.following(bindOperations(engine, readsOnly(lanceReadOnlyError)))
    return namespaceOf(engine, tested, operations, lanceReadOnlyError, options.int64)
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** The logs that were passed to `connect` and `moveLog`, which close them. So no other call can use them. */
const logsInUse = new WeakSet<object>()

/** Note that a call uses a log. Throws `InvalidInput` if another call has used it. */
export function takeLog(log: ExternalLog): void {
  if (logsInUse.has(log)) {
    throw invalidInput('the log was passed to connect or moveLog before', {
      hint: 'open another log for each call',
    })
  }
  logsInUse.add(log)
}

/** How a root is opened by a worker. */
type WorkerSettings = Pick<RootOptions, 'scope' | 'concurrency' | 'unitRows'>

/** Open a root. `worker`: the settings of a worker; default: the root is opened by a process with callers. */
export async function openRoot(
  path: string,
  options: ConnectOptions,
  clock: Clock,
  worker: WorkerSettings = {},
) {
  const {
    create = true,
    readOnly = false,
    cacheBytes = defaultBudget(),
    maxStalenessMs = 0,
    buildThreads = Math.min(4, availableParallelism()),
    signal,
  } = options
  const { store, tested, address } = await openStore(path, options, clock)
  checkDiskCache(store, options)
  const location = store instanceof FileStore ? resolve(path) : path
  const { onWarning: warn = emitWarning, onMaintenance: report = () => {} } = options
  if (store instanceof FileStore) warnOfNetwork(location, warn)
  const functions = checkFunctions(options.functions ?? [])
  const { tokenizers = [] } = options
  checkTokenizers(tokenizers)
  const { cacheDir, cacheDiskBytes = cacheDiskBytesDefault } = options
  const keep = resolveMaintenance(options.maintenance)
  const settings = {
    location,
    create,
    readOnly,
    cacheBytes,
    maxStalenessMs,
    buildThreads,
    clock,
    warn,
    report,
    keep,
    functions,
    tokenizers,
    sharing: options.sharing,
    log: options.log,
    disk: cacheDir === undefined ? undefined : new CacheDirectory(cacheDir, cacheDiskBytes, clock, warn),
    address,
    tracing: options.tracing,
    scope: options.maintenance === 'elsewhere' ? 'none' : 'own',
    ...worker,
  } as const
  // Prepare the kernels for several threads. Each engine that shares memory runs on its own thread.
  if (options.sharing !== undefined) shareKernels(options.sharing.workerCount)
  const open = () => openBesideLance(store, location, warn, () => OpenedRoot.open(store, settings, signal))
  const { tracing } = options
  const { meter }: BlobStore = store
  const opening = tracing === undefined ? open() : tracedCall({ tracing, meter }, openingSpan, open)
  return { engine: await opening, tested }
}

const cacheDiskBytesDefault = 4 * 1024 ** 3

/** Throw `InvalidInput` if the options of the disk cache have no effect. */
function checkDiskCache(store: BlobStore, { cacheDir, cacheDiskBytes }: ConnectOptions): void {
  if (cacheDir === undefined) {
    if (cacheDiskBytes === undefined) return
    throw invalidInput('the option cacheDiskBytes has no effect without cacheDir', {
      hint: 'set cacheDir to a directory of a local disk',
    })
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(cacheDir)) {
    throw invalidInput(`cacheDir must be a directory of a local disk, got ${quote(cacheDir)}`)
  }
  if (store.replace !== undefined && store.peek === undefined) return
  throw invalidInput('the option cacheDir has no effect, because the root is not in object storage', {
    hint: 'leave it out: the system caches the files of a local directory in memory',
  })
}

/**
 * Return the default size of the cache in bytes. A container may allow less memory than the machine has. Without such a
 * limit, Node reports 0 or a very large number.
 */
function defaultBudget(): number {
  // Node reads several files to find the limit, so ask once per process.
  memoryBytes ??= Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return Math.min(1024 ** 3, Math.floor(memoryBytes / 4))
}

let memoryBytes: number | undefined

function readOnlyError(): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, 'this root is opened read-only', {
    hint: 'to write, open it without the option readOnly',
  })
}

function lanceReadOnlyError(): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, 'a directory of LanceDB is read-only', {
    hint: 'write it with LanceDB, or copy the table into a root of Sheaf: createTable(name, table.query().batches()), or sheaf import',
  })
}

function emitWarning(message: string, cause: unknown): void {
  const detail = cause instanceof Error ? cause.message : String(cause)
  process.emitWarning(`sheaf: ${message}`, { detail })
}

/** The roots for which this process has warned. */
const warnedOf = new Set<string>()

/** Warn once per process if a root is on a network file system. */
function warnOfNetwork(root: string, warn: (message: string, cause: unknown) => void): void {
  if (warnedOf.has(root)) return
  const fileSystem = networkFileSystemOf(root)
  if (fileSystem === null) return
  warnedOf.add(root)
  const message = `${quote(root)} is on ${fileSystem}: a read may miss what other machines committed in the last minute`
  warn(message, new Error('use the root on one machine only, or serve it over HTTP from there'))
}

interface OpenedStore {
  readonly store: BlobStore
  /** Settles when the test of the store is over. Writes wait for it. */
  readonly tested: Promise<void>
  readonly address?: string | undefined
}

/** Return the store of the root. Tests stores of the caller and stores in object storage, if they are written. */
export async function openStore(
  path: string,
  options: Pick<ConnectOptions, 'create' | 'readOnly' | 'sharing' | 'signal' | 'storage' | 'store'>,
  clock: Clock,
): Promise<OpenedStore> {
  const { create = true, readOnly = false, storage } = options
  if (options.store === undefined) checkRootPath(path)
  const isRemote = options.store === undefined && !path.startsWith('memory://') && isInObjectStorage(path)
  if (storage !== undefined && !isRemote) {
    const why =
      options.store === undefined ? 'the root is not in object storage' : 'there is the option store'
    throw invalidInput(`the option storage has no effect, because ${why}`, {
      hint: 'use a path such as s3://bucket/prefix without the option store',
    })
  }
  if (options.store === undefined && !isRemote) {
    const tested = Promise.resolve()
    if (path.startsWith('memory://')) return { store: MemoryStore.open(path), tested }
    const writesNothing = readOnly && options.sharing?.pins !== true
    return { store: await FileStore.open(path, { create, readOnly: writesNothing, clock }), tested }
  }
  const store = options.store ?? (await openObjectStorage(path, storage))
  const { address } = store
  if (readOnly) return { store, tested: Promise.resolve(), address }
  const tested = selfTest(store, clock, options.signal)
  // In object storage, a test takes as long as the opening.
  if (store.replace !== undefined) return { store: afterTest(store, tested), tested, address }
  await tested
  return { store, tested, address }
}
