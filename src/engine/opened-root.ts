/** Implements an open root. Creates and closes the objects that handlers, jobs and maintenance use. */
import { catalogMachine } from '../catalog/apply.js'
import { compactionJob } from '../catalog/compaction-job.js'
import type {
  CatalogCommitted,
  CatalogEntry,
  CatalogJobKind,
  CatalogJobRunner,
} from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import { viewTransaction } from '../catalog/transactions.js'
import type { MaintenanceEvent } from '../client/maintenance-event.js'
import type { ResolvedMaintenance } from '../client/maintenance-settings.js'
import type { Holder } from '../client/optimized.js'
import type { RootStats } from '../client/stats.js'
import type { ExternalLog } from '../commit/external-log.js'
import { announceNewest, hintBytesMax } from '../commit/newest-checkpoint.js'
import type { Slot } from '../commit/slot.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { CustomTokenizer } from '../indexes/text/analysis/analyzer.js'
import { Analyzers } from '../indexes/text/analysis/analyzers.js'
import { JobRunner } from '../jobs/job-runner.js'
import { Checkpointing } from '../maintenance/checkpointing.js'
import { Compaction } from '../maintenance/compaction.js'
import { Drops } from '../maintenance/drops.js'
import { foresee } from '../maintenance/foresee.js'
import { Maintenance, type MaintenanceScope, type Report, type Warn } from '../maintenance/maintenance.js'
import { Packing } from '../maintenance/packing.js'
import { Retention } from '../maintenance/retention.js'
import { StoredLayouts } from '../maintenance/stored-layouts.js'
import { Sweep } from '../maintenance/sweep.js'
import { Trim } from '../maintenance/trim.js'
import { ViewRefreshes } from '../maintenance/view-refreshes.js'
import { LanceLayouts } from '../manifest/lance-layouts.js'
import { LanceManifests } from '../manifest/lance-manifests.js'
import { LayoutStore } from '../manifest/layout-store.js'
import { Activity } from '../primitives/activity.js'
import type { Clock } from '../primitives/clock.js'
import { Memory } from '../primitives/memory.js'
import type { Tracing } from '../primitives/tracing.js'
import type { Engine, Retained, Versions } from '../root/engine.js'
import { SessionTokens } from '../root/session-tokens.js'
import { TableWriters } from '../root/table-writers.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { CacheDirectory } from '../storage/cache-directory.js'
import type { DiskCache } from '../storage/disk-cache.js'
import { NotifyingStore } from '../storage/notifying-store.js'
import type { Sharing } from '../table/sharing.js'
import { createTableSource, type TableSource } from '../table/table-source.js'
import type { ColumnFunction } from '../write/functions.js'
import { Holds } from '../write/holds.js'
import { Pins } from '../write/pins.js'
import { UnderWay } from '../write/under-way.js'
import { explainLoss } from './expired.js'
import { jobKinds } from './job-kinds.js'
import type { KeptState } from './kept-state.js'
import { RootLog } from './root-log.js'

/** Options of `OpenedRoot.open`, with all defaults applied. */
export interface RootOptions {
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
  /** As in `Engine`. Default 0. */
  readonly maxStalenessMs?: number
  /** The commit log, if it is not in the store. The root closes it. */
  readonly log?: ExternalLog | undefined
  /** A directory with copies of files. Only in object storage. */
  readonly disk?: CacheDirectory | undefined
  /** The address of the store, which no other store has. Without it, no state is kept in `disk`. */
  readonly address?: string | undefined
  /** Number of threads that build one vector index. Default 1. */
  readonly buildThreads?: number
  /** As in `Engine`. */
  readonly tracing?: Tracing | undefined
  /** As in `Engine`. Default Infinity. */
  readonly unitRows?: number
  /** Whose commits cause maintenance in the background, and whether this process takes queued jobs (not for `none`). Default `own`. */
  readonly scope?: MaintenanceScope
  /** Maximum number of jobs that run at the same time. Default 1. */
  readonly concurrency?: number
  /** Kinds of jobs in addition to the built-in kinds. Default none. */
  readonly jobKinds?: readonly CatalogJobKind[]
}

/** An open root, as handlers, jobs and maintenance see it. */
export class OpenedRoot implements Engine {
  readonly location: string
  readonly store: BlobStore
  readonly externalLog: ExternalLog | undefined
  readonly clock: Clock
  readonly root: RootLog['committer']
  readonly versions: Versions
  readonly source: TableSource
  readonly writers: TableWriters
  readonly retained: Retained
  readonly jobs: CatalogJobRunner
  readonly maintenance: Maintenance
  readonly running: Engine['running']
  readonly functions: readonly ColumnFunction[]
  readonly maxStalenessMs: number
  readonly buildThreads: number
  readonly warn: Warn
  readonly tracing: Tracing | undefined
  readonly unitRows: number
  readonly #memory: Memory
  readonly #disk: CacheDirectory | undefined
  readonly #kept: KeptState | null
  readonly #diskCache: DiskCache | null
  readonly #sweep: Sweep
  readonly #checkpointing: Checkpointing
  readonly #eventCounts: { [kind in MaintenanceEvent['kind']]?: number } = {}

  private constructor(
    store: BlobStore,
    memory: Memory,
    log: RootLog,
    layouts: LayoutStore,
    options: RootOptions,
  ) {
    const { location, readOnly, clock, warn, keep, sharing } = options
    const { functions = [], tokenizers = [], maxStalenessMs = 0, buildThreads = 1, scope = 'own' } = options
    const { committer, slots, history, recent } = log
    this.location = location
    this.store = store
    this.externalLog = options.log
    this.clock = clock
    this.root = committer
    const lance = new LanceManifests(store, readOnly)
    const lanceLayouts = new LanceLayouts(store, memory)
    this.versions = { slots, history, layouts, recent, lance, lanceLayouts, adopts: !readOnly }
    this.source = {
      ...createTableSource(log.store, slots, memory, new Analyzers(tokenizers), sharing),
      explain: (table, version, error) => {
        // Bytes that arrived damaged may be in the cache. The next read gets them from the store.
        if (error instanceof SheafError && error.code === ErrorCode.Internal) log.diskCache?.clear()
        return explainLoss(committer, this.versions, table, version, error)
      },
    }
    this.writers = new TableWriters(clock)
    this.retained = this.#retain(options)
    this.running = { calls: new Activity(clock), transactions: new Activity(clock) }
    this.functions = functions
    this.maxStalenessMs = maxStalenessMs
    this.buildThreads = buildThreads
    this.tracing = options.tracing
    this.warn = warn
    this.unitRows = options.unitRows ?? Number.POSITIVE_INFINITY
    this.#memory = memory
    this.#disk = options.disk
    this.#kept = log.kept
    this.#diskCache = log.diskCache
    const report: Report = event => {
      this.#eventCounts[event.kind] = (this.#eventCounts[event.kind] ?? 0) + 1
      options.report(event)
    }
    this.#checkpointing = this.#checkpoint(log, layouts, options, report)
    this.#sweep = new Sweep({
      committer,
      log: log.log,
      source: { store, slots, history, layouts },
      pins: this.retained.pins,
      underWay: this.retained.underWay,
      clock,
      report,
      keepOrphansMs: keep.keepOrphansMs,
    })
    this.maintenance = new Maintenance({
      scope: readOnly ? 'none' : scope,
      tasks: this.#tasks(log, layouts, options, report),
      clock,
      warn,
    })
    this.jobs = new JobRunner({
      log: {
        jobs: state => state.jobs,
        refresh: signal => committer.refresh(signal),
        commit: async propose => {
          const committed = await committer.commit(propose)
          if (committed !== null) this.maintenance.afterCommit(committed)
          return committed
        },
      },
      store,
      clock,
      kinds: readOnly ? [] : [...jobKinds(this, functions, tokenizers), ...(options.jobKinds ?? [])],
      takesJobs: scope !== 'none',
      ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
      onRun: ({ id, kind, table, of }, ms) => {
        if (kind === compactionJob) return
        const { status } = viewTransaction(committer.state, of ?? id)
        report({ kind: 'job', job: of ?? id, type: kind, table, isUnit: of !== undefined, status, ms })
      },
    })
    log.notify({
      applied: (slot, state) => {
        this.jobs.observe(committer.state)
        if (scope === 'all') this.maintenance.afterSlot(committedIn(slot, state))
      },
      reopened: checkpoint => {
        this.#checkpointing.reopened(checkpoint)
        this.jobs.observe(checkpoint.state)
        this.maintenance.afterMissed()
      },
    })
    this.jobs.observe(committer.state)
    this.maintenance.afterMissed()
  }

  /**
   * Open a root: read the newest checkpoint, replay the log after it, and create the objects that work on the root.
   * Throws the errors of `Committer.open`.
   */
  static async open(baseStore: BlobStore, options: RootOptions, signal?: AbortSignal): Promise<OpenedRoot> {
    const { clock, create, readOnly, warn } = options
    const memory = new Memory(options.cacheBytes)
    const store = new NotifyingStore(baseStore, key => memory.gone(key))
    const damaged = new Set<string>()
    const onDamaged = (key: string, error: SheafError) => {
      if (damaged.has(key)) return
      damaged.add(key)
      warn(`${key} is damaged: its content is rebuilt from the log`, error)
    }
    const { log: external, disk, address, maxStalenessMs = 0 } = options
    // The log of a root with an external log is not in the store.
    const keeps = disk !== undefined && address !== undefined && external === undefined
    const states = keeps ? { directory: disk, address, clock } : undefined
    const opening = {
      clock,
      create,
      readOnly,
      log: external,
      disk,
      states,
      maxStalenessMs,
      memory,
      warn,
      onDamaged,
    }
    const log = await RootLog.open(store, opening, signal)
    const settings = { readOnly, memory, hinted: log.hintedManifests, onDamaged }
    const layouts = new LayoutStore(log.slots, log.history, log.store, settings)
    return new OpenedRoot(store, memory, log, layouts, options)
  }

  /**
   * Return the readers and jobs because of which the last garbage collection did not delete files that are old enough.
   */
  held(): readonly Holder[] {
    return this.#sweep.held
  }

  stats(): RootStats {
    const { meter } = this.store
    return {
      id: this.root.state.root,
      format: 1,
      memory: this.#memory.stats(),
      log: { slot: this.root.head, checkpoint: this.#checkpointing.slot },
      ...(meter !== undefined && { store: meter.stats() }),
      ...(this.#diskCache !== null && { diskCache: { ...this.#diskCache.counts } }),
      maintenance: { ...this.#eventCounts },
    }
  }

  async close(): Promise<void> {
    await this.maintenance.stop()
    await this.jobs.close()
    await this.retained.uploads.close()
    await this.retained.sessions.close()
    await this.retained.pins.close()
    await this.maintenance.ended()
    this.#kept?.finish()
    await this.root.close()
    await this.#disk?.finish()
  }

  #retain({ clock, readOnly, sharing, keep }: RootOptions): Retained {
    const { store, root } = this
    const pins = new Pins(store, clock, readOnly && sharing?.pins !== true)
    const idleMs = keep.keepIdleMs
    return {
      pins,
      uploads: new Holds({
        pin: (slot, id) => pins.hold(slot, undefined, id),
        clock,
        idleMs,
        isOpen: id => root.state.uploads.has(id),
      }),
      sessions: new Holds({ pin: slot => pins.hold(slot), clock, idleMs }),
      tokens: new SessionTokens(store, clock, readOnly),
      underWay: new UnderWay(),
    }
  }

  #checkpoint(
    log: RootLog,
    layouts: LayoutStore,
    { clock, keep, warn }: RootOptions,
    report: Report,
  ): Checkpointing {
    const { committer, checkpoints, slots, packs, history, opened, sinceCheckpoint, states } = log
    const { keepOrphansMs, keepLogMs } = keep
    const { pins } = this.retained
    const { store, source } = this
    const packing = new Packing({
      log: log.log,
      features: catalogMachine.features,
      slots,
      packs,
      history,
      layouts,
      pins,
      clock,
      keepLogMs,
    })
    return new Checkpointing({
      committer,
      checkpoints,
      history,
      packs,
      packing,
      keepOrphansMs,
      opened,
      since: sinceCheckpoint,
      states,
      announce: async (note, state, signal) => {
        if (store.replace === undefined) return
        const { slots: reader, analyzers } = source
        const opening = { layouts, source: { store, slots: reader, analyzers } }
        await announceNewest(store, note, await foresee(state, opening, hintBytesMax, signal), signal)
      },
      clock,
      report,
      warn,
    })
  }

  /** Return the maintenance tasks in the order in which they run. */
  #tasks(
    { committer, checkpoints, history, log }: RootLog,
    layouts: LayoutStore,
    options: RootOptions,
    report: Report,
  ) {
    const { store, clock } = this
    const { keep, warn } = options
    const { keepVersionsMs, keepOrphansMs } = keep
    const { pins } = this.retained
    return [
      // Must run before tasks that read manifests: they would replay a manifest that is due, and store it.
      new StoredLayouts(layouts, () => committer.state),
      new Compaction({ engine: this, keep, report }),
      new ViewRefreshes(this),
      new Retention({ committer, history, layouts, clock, report, warn, keepVersionsMs }),
      this.#sweep,
      // Must run after garbage collection, which sets the GC watermark that drops depend on.
      new Drops({ committer, store, clock, pins, report }),
      // Must run after expiry and garbage collection, so that the checkpoint does not contain what they removed.
      this.#checkpointing,
      new Trim({
        committer,
        checkpoints,
        log,
        store,
        clock,
        report,
        keepOrphansMs,
        checkpointed: () => this.#checkpointing.slot,
      }),
    ]
  }
}

/** Return the commits of a slot. `state`: the state after the slot. */
function committedIn(
  { header: { slot, ts, entries } }: Slot,
  state: CatalogState,
): readonly CatalogCommitted[] {
  return (entries as readonly CatalogEntry[]).map((entry, i) => {
    const { txn } = entry
    return { txn, transactionId: formatTransactionId(slot, txn), at: { slot, entry: i, ts }, entry, state }
  })
}
