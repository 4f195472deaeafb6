/** Opens a root: its store, its log, its state, and the operations on them. */
import { availableParallelism, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { catalogMachine } from '../catalog/apply.js'
import type { CatalogState } from '../catalog/state.js'
import { type ConnectOptions, connectShape } from '../client/connect-options.js'
import type { MaintenanceEvent } from '../client/maintenance-event.js'
import { type ResolvedMaintenance, resolveMaintenance } from '../client/maintenance-settings.js'
import { Namespace } from '../client/namespace.js'
import type { Holder } from '../client/optimized.js'
import { checkRootPath } from '../client/root-path.js'
import type { RootStats } from '../client/stats.js'
import { BlobLog } from '../commit/blob-log.js'
import { type Checkpoint, Checkpoints } from '../commit/checkpoints.js'
import { Committer } from '../commit/committer.js'
import { Packs } from '../commit/packs.js'
import { SlotMissing } from '../commit/replay-start.js'
import { decodeGenesis, type Slot } from '../commit/slot.js'
import { Slots } from '../commit/slots.js'
import { corrupted, ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { CustomTokenizer } from '../indexes/text/analysis/analyzer.js'
import { Analyzers } from '../indexes/text/analysis/analyzers.js'
import { checkTokenizers } from '../indexes/text/analysis/base-tokenizers.js'
import type { JobKind } from '../jobs/job-kind.js'
import { JobRunner } from '../jobs/job-runner.js'
import { shareKernels } from '../kernels/kernel.js'
import { packsOf, pagesOf } from '../maintenance/checkpoint-extra.js'
import { Checkpointing, Tail } from '../maintenance/checkpointing.js'
import { Compaction } from '../maintenance/compaction.js'
import { Drops } from '../maintenance/drops.js'
import { keptNote } from '../maintenance/kept-note.js'
import { Maintenance, type Report, type Warn } from '../maintenance/maintenance.js'
import { Packing } from '../maintenance/packing.js'
import { Retention } from '../maintenance/retention.js'
import { StoredLayouts } from '../maintenance/stored-layouts.js'
import { Sweep } from '../maintenance/sweep.js'
import { Trim } from '../maintenance/trim.js'
import { ViewRefreshes } from '../maintenance/view-refreshes.js'
import { History } from '../manifest/history.js'
import { LanceManifests } from '../manifest/lance-manifests.js'
import { LayoutStore } from '../manifest/layout-store.js'
import { RecentChanges } from '../manifest/recent-changes.js'
import { Activity } from '../primitives/activity.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import { KeyedMutex } from '../primitives/keyed-mutex.js'
import { Memory } from '../primitives/memory.js'
import { PriorityBackoff } from '../primitives/priority-backoff.js'
import { refuseMore } from '../protocol/arguments.js'
import { parse } from '../protocol/parse.js'
import type { Engine } from '../root/engine.js'
import { SessionTokens } from '../root/session-tokens.js'
import type { BlobStore } from '../storage/blob-store.js'
import { FileStore } from '../storage/file-store.js'
import { MemoryStore } from '../storage/memory-store.js'
import { NotifyingStore } from '../storage/notifying-store.js'
import { selfTest } from '../storage/self-test.js'
import type { Sharing } from '../table/sharing.js'
import { createTableSource } from '../table/table-source.js'
import { type ColumnFunction, checkFunctions } from '../write/functions.js'
import { Holds } from '../write/holds.js'
import { Pins } from '../write/pins.js'
import { UnderWay } from '../write/under-way.js'
import { explainLoss } from './expired.js'
import { bindOperations, readsOnly } from './handlers.js'
import { jobKinds as ownJobKinds } from './job-kinds.js'
import { takeSnapshot } from './snapshot.js'
import { tableAt } from './table-at.js'
import { runTransaction } from './transaction.js'
import { verifyOpen } from './verify.js'
import { watchRoot } from './watch.js'

/**
 * Open the database at `path`: a local directory; `memory://` for a database in memory that ends with the connection;
 * or `memory://name` for a database in memory that all connections of this process to that name share until the
 * process ends. Several processes may open the same directory.
 *
 * Throws:
 * - `NamespaceNotFound` if the directory does not exist and `create` is false;
 * - `InvalidInput` if `path` is not a valid path;
 * - `PermissionDenied` or `ServiceUnavailable` if the directory cannot be used;
 * - `Internal` if the log is damaged.
 *
 * ```js
 * const ns = await connect('./data', { cacheBytes: 512 * 1024 * 1024 })
 * ```
 */
export async function connect(path: string, options?: ConnectOptions): Promise<Namespace>
export async function connect(
  path: string,
  given: ConnectOptions = {},
  ...more: readonly unknown[]
): Promise<Namespace> {
  refuseMore('connect', 2, more)
  const options = parse(connectShape, given, 'connect')
  const {
    create = true,
    readOnly = false,
    cacheBytes = defaultBudget(),
    buildThreads = Math.min(4, availableParallelism()),
    clock = systemClock,
    signal,
  } = options
  const writesNothing = readOnly && options.sharing?.pins !== true
  const store = options.store ?? (await openStore(path, { create, readOnly: writesNothing, clock }))
  // Sheaf's own stores test themselves when they are opened, or need no test.
  if (options.store !== undefined && !readOnly) await selfTest(store, clock, signal)
  const location = store instanceof FileStore ? resolve(path) : path
  const { onWarning: warn = emitWarning, onMaintenance: report = () => {} } = options
  const functions = checkFunctions(options.functions ?? [])
  const { tokenizers = [] } = options
  checkTokenizers(tokenizers)
  const keep = resolveMaintenance(options.maintenance ?? {})
  const settings = {
    location,
    create,
    readOnly,
    cacheBytes,
    buildThreads,
    clock,
    warn,
    report,
    keep,
    functions,
    tokenizers,
    sharing: options.sharing,
  }
  // Each engine that shares memory runs on its own thread.
  if (options.sharing !== undefined) shareKernels(options.sharing.workerCount)
  const { engine, maintenance, held, stats, close } = await openEngine(store, settings, signal)
  return new Namespace(bindOperations(engine, readOnly ? readsOnly(readOnlyError) : undefined), close, {
    snapshot: (call = {}) => takeSnapshot(engine, call),
    transaction: (work, call = {}) => runTransaction(engine, work, call),
    watch: (call = {}) => watchRoot(engine.root, clock, call.signal),
    async optimize(call = {}) {
      if (readOnly) throw readOnlyError()
      await maintenance.finish(call.signal)
      return { held: held() }
    },
    tableAt: (tableLocation, call = {}) => tableAt(engine, tableLocation, call.signal),
    stats,
    verify: (call = {}) => {
      if (readOnly && call.repair === true) throw readOnlyError()
      return verifyOpen(engine, call)
    },
  })
}

/** A container may allow less memory than the machine has. Without a limit, Node reports 0 or a huge number. */
function defaultBudget(): number {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return Math.min(1024 ** 3, Math.floor(memory / 4))
}

function readOnlyError(): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, 'this root is opened read-only')
}

/** Options of `openEngine`, with all defaults applied. */
interface EngineOptions {
  readonly location: string
  readonly create: boolean
  readonly readOnly: boolean
  readonly cacheBytes: number
  readonly clock: Clock
  readonly warn: Warn
  readonly report: Report
  readonly keep: ResolvedMaintenance
  readonly functions?: readonly ColumnFunction[]
  readonly tokenizers?: readonly CustomTokenizer[]
  readonly sharing?: Sharing | undefined
  /** Threads that build one vector index. Default 1. */
  readonly buildThreads?: number
  /** Kinds of jobs in addition to the built-in kinds. */
  readonly jobKinds?: readonly JobKind<CatalogState>[]
}

/** An opened root, with the parts that only its owner may use. */
interface OpenedEngine {
  readonly engine: Engine
  readonly maintenance: Maintenance
  /** Readers and jobs that kept the last garbage collection from deleting files that are old enough. */
  readonly held: () => readonly Holder[]
  readonly stats: () => RootStats
  readonly close: () => Promise<void>
}

/** Open the newest checkpoint, replay the log after it, and build everything that works on the root. */
export async function openEngine(
  baseStore: BlobStore,
  {
    location,
    create,
    readOnly,
    cacheBytes,
    clock,
    warn,
    report: onMaintenance,
    keep,
    functions = [],
    tokenizers = [],
    sharing,
    buildThreads = 1,
    jobKinds = [],
  }: EngineOptions,
  signal?: AbortSignal,
): Promise<OpenedEngine> {
  const memory = new Memory(cacheBytes)
  const store = new NotifyingStore(baseStore, key => memory.gone(key))
  const skippedCheckpoints = new Map<string, SheafError>()
  const checkpoints = new Checkpoints(store, catalogMachine, clock, (key, error) => {
    skippedCheckpoints.set(key, error)
    warn(`${key} is skipped: the root is opened from an older checkpoint, or from its log`, error)
  })
  const damaged = new Set<string>()
  const onDamaged = (key: string, error: SheafError) => {
    if (damaged.has(key)) return
    damaged.add(key)
    warn(`${key} is damaged: its content is rebuilt from the log`, error)
  }
  const log = new BlobLog(store)
  const first = await log.read(0, signal)
  if (first !== null) checkpoints.belongTo(decodeGenesis(first, catalogMachine.features).genesis.root)
  let opened = await checkpoints.newest(signal)
  const packs = new Packs(store, opened === null ? [] : packsOf(opened), memory)
  // No caller reads old slots or records before the root is open.
  const findCheckpointNote = async () => {
    // If the log cannot be read, use the newest state that was read before.
    await committer.refresh().catch(() => {})
    const note = await keptNote(checkpoints, committer.state)
    if (note !== null) packs.adopt(packsOf(note))
    return note
  }
  const findPacks = async () => {
    await findCheckpointNote()
  }
  const findPages = async () => {
    const note = await findCheckpointNote()
    return note === null ? null : pagesOf(note)
  }
  const slots = new Slots(log, catalogMachine.features, memory, {
    packs,
    lookAgain: findPacks,
  })
  const history = new History(
    store,
    opened === null ? [] : pagesOf(opened),
    slots,
    memory,
    findPages,
    onDamaged,
  )
  const tail = new Tail()
  const recent = new RecentChanges()
  let jobs: JobRunner<CatalogState> | null = null
  let checkpointing: Checkpointing | null = null
  const onApplied = (slot: Slot) => {
    history.note(slot)
    tail.note(slot)
    recent.note(slot)
    jobs?.observe(committer.state)
  }
  const committer = await Committer.open(
    log,
    catalogMachine,
    {
      clock,
      create,
      readOnly,
      slots,
      onApplied,
      base: opened ?? undefined,
      newer: after => checkpoints.newest(undefined, after),
      onReopened(base) {
        // Everything newer is read from the reopened log.
        const checkpoint = base as Checkpoint<CatalogState>
        if (checkpointing === null) {
          opened = checkpoint
          history.seal(pagesOf(checkpoint))
          packs.adopt(packsOf(checkpoint))
        } else {
          checkpointing.reopened(checkpoint)
          jobs?.observe(checkpoint.state)
        }
      },
    },
    signal,
  ).catch(error => {
    const isTrimmed = error instanceof SlotMissing && error.slot === 1 && opened === null
    throw isTrimmed ? withoutCheckpoint(error, skippedCheckpoints) : error
  })
  checkpoints.belongTo(committer.genesis.root)
  const layouts = new LayoutStore(slots, history, store, { readOnly, memory, onDamaged })
  const pins = new Pins(store, clock, readOnly && sharing?.pins !== true)
  const eventCounts: { [kind in MaintenanceEvent['kind']]?: number } = {}
  const report: Report = event => {
    eventCounts[event.kind] = (eventCounts[event.kind] ?? 0) + 1
    onMaintenance(event)
  }
  const underWay = new UnderWay()
  const idleMs = keep.keepIdleMs
  const uploads = new Holds({
    pin: (slot, id) => pins.hold(slot, undefined, id),
    clock,
    idleMs,
    isOpen: id => committer.state.uploads.has(id),
  })
  const sessions = new Holds({ pin: slot => pins.hold(slot), clock, idleMs })
  const { keepVersionsMs, keepOrphansMs, keepLogMs } = keep
  const packing = new Packing({
    log,
    features: catalogMachine.features,
    slots,
    packs,
    history,
    layouts,
    pins,
    clock,
    keepLogMs,
  })
  const writtenCheckpoints = new Checkpointing({
    committer,
    checkpoints,
    history,
    packs,
    packing,
    keepOrphansMs,
    opened,
    tail,
    report,
    warn,
  })
  checkpointing = writtenCheckpoints
  const sweep = new Sweep({
    committer,
    source: { store, slots, history, layouts },
    pins,
    underWay,
    clock,
    report,
    keepOrphansMs,
  })
  const maintenance = new Maintenance({
    tasks: [
      new Compaction({ engine: () => engine, keep, report }),
      new ViewRefreshes(() => engine, clock),
      new StoredLayouts(layouts, () => committer.state),
      new Retention({ committer, history, layouts, clock, report, warn, keepVersionsMs }),
      sweep,
      // Runs after garbage collection, which sets the watermark that drops must respect.
      new Drops({ committer, store, clock, pins, report }),
      // Runs after expiry and garbage collection, so that the checkpoint no longer contains what they removed.
      checkpointing,
      new Trim({
        committer,
        checkpoints,
        log,
        store,
        clock,
        report,
        keepOrphansMs,
        checkpointed: () => writtenCheckpoints.slot,
      }),
    ],
    clock,
    warn,
  })
  jobs = new JobRunner({
    log: {
      jobs: state => state.jobs,
      refresh: called => committer.refresh(called),
      async commit(propose) {
        const committed = await committer.commit(propose)
        maintenance.afterCommit(committed)
        return committed
      },
    },
    store,
    clock,
    kinds: readOnly ? [] : [...ownJobKinds(() => engine, functions, tokenizers), ...jobKinds],
  })
  const engine: Engine = {
    location,
    store,
    root: committer,
    slots,
    history,
    layouts,
    recent,
    lance: new LanceManifests(store, readOnly),
    adopts: !readOnly,
    jobs,
    maintenance,
    pins,
    uploads,
    sessions,
    tokens: new SessionTokens(store, clock, readOnly),
    underWay,
    source: {
      ...createTableSource(store, slots, memory, new Analyzers(tokenizers), sharing),
      explain: (table, version, error) => explainLoss(committer, table, version, error),
    },
    clock,
    functions,
    buildThreads,
    turns: new KeyedMutex(),
    urgent: new PriorityBackoff(clock),
    creations: new KeyedMutex(),
    calls: new Activity(clock),
    drafts: new Activity(clock),
  }
  jobs.observe(committer.state)
  const stats = () => ({
    id: committer.state.root,
    format: 1 as const,
    memory: memory.stats(),
    log: { slot: committer.head, checkpoint: writtenCheckpoints.slot },
    maintenance: { ...eventCounts },
  })
  const close = async () => {
    await jobs.close()
    await uploads.close()
    await sessions.close()
    await pins.close()
    await maintenance.close()
    await committer.close()
  }
  return { engine, maintenance, held: () => sweep.held, stats, close }
}

/**
 * Return the error for a log whose first slots were trimmed, but that has no usable checkpoint. Lists why each one
 * failed.
 */
function withoutCheckpoint(
  cause: SlotMissing,
  skippedCheckpoints: ReadonlyMap<string, SheafError>,
): SheafError {
  const found = [...skippedCheckpoints.values()].map(({ message }) => message)
  const why = found.length > 0 ? found.join('; ') : 'there is none in _ckpt/'
  return corrupted(`${cause.message}, and no checkpoint replaces it: ${why}`, {
    hint: 'restore the files of _ckpt/ from a backup',
    cause,
  })
}

function emitWarning(message: string, cause: unknown): void {
  const detail = cause instanceof Error ? cause.message : String(cause)
  process.emitWarning(`sheaf: ${message}`, { detail })
}

async function openStore(
  path: string,
  options: { readonly create: boolean; readonly readOnly: boolean; readonly clock: Clock },
): Promise<BlobStore> {
  checkRootPath(path)
  if (path.startsWith('memory://')) return MemoryStore.open(path)
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) {
    throw invalidInput(`no store for ${quote(path)}`, { hint: 'use a local directory or memory://' })
  }
  return FileStore.open(path, options)
}
