/**
 * Compacts tables and adds unindexed rows to their indexes. A table with many changes is due immediately. A table with
 * fewer changes is due after a pause in its commits.
 *
 * A process claims a table in the log before it works on it (`JobRunner.perform`). So no two processes do the same work.
 */
import type { CatalogCommitted } from '../catalog/log-types.js'
import type { ResolvedMaintenance } from '../client/maintenance-settings.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import type { Engine } from '../root/engine.js'
import type { CompactionMode } from '../write/compaction-plan.js'
import type { Busy, Round } from './compact-table.js'
import type { MaintenanceTask, Report } from './maintenance.js'

const compacting = lazyImport(() => import('./compact-table.js'))
const folding = lazyImport(() => import('./fold-indexes.js'))

/**
 * A table is due immediately when its commits have added this many fragments, or parts of deletion vectors. An update of
 * one row adds one of each, in the same slot. A read of the slot gets both, so they count once.
 */
const pendingMax = 64
/** A table with fewer changes is due when this many milliseconds have passed since the last commit to it, */
const restMs = 2000
/** but not before this many milliseconds have passed since its last compaction (STORAGE S27). */
const pauseMs = 30_000
/** Maximum number of rounds of one thorough compaction of a table. It only guards against an endless loop. */
const roundsMax = 100

interface CompactionOptions {
  readonly engine: Engine
  readonly keep: ResolvedMaintenance
  readonly report: Report
}

export class Compaction implements MaintenanceTask {
  readonly name = 'compacting tables'
  readonly #options: CompactionOptions
  /**
   * By table uuid: for the commits since the last compaction of the table, the sum of the larger of two numbers: the
   * fragments and the parts of deletion vectors that the commit added.
   */
  readonly #pending = new Map<string, number>()
  /** The uuids of tables that are due now. */
  readonly #dueNow = new Set<string>()
  /**
   * By table uuid: the time on the monotonic clock when the table is due if no commit changes it until then. `#next`: a
   * lower bound of these times.
   */
  readonly #dueAt = new Map<string, number>()
  #next = Number.POSITIVE_INFINITY
  /** By table uuid: the time of the last compaction on the monotonic clock. */
  readonly #compacted = new Map<string, number>()

  constructor(options: CompactionOptions) {
    this.#options = options
  }

  noteCommit({ entry, state }: CatalogCommitted): void {
    for (const op of entry.ops) {
      if (op.op !== 'change' || op.kind === 'compaction') continue
      if (op.kind === 'index') {
        // The new index lacks rows that were added or moved while it was built.
        this.#schedule(op.t)
        continue
      }
      const head = state.tables.get(op.t)
      if (head === undefined) continue
      // For a table that is new to this process, count all its fragments, because the work that other processes left is
      // unknown.
      const before = this.#pending.get(op.t) ?? head.fragments - op.add.length
      const pending = before + Math.max(op.add.length, op.dead.length)
      this.#pending.set(op.t, pending)
      if (pending >= pendingMax) this.#dueNow.add(op.t)
      this.#schedule(op.t)
    }
  }

  noteMissed(): void {
    for (const uuid of this.#options.engine.root.state.tables.keys()) this.#schedule(uuid)
  }

  dueIn(): number {
    return this.#dueNow.size > 0 ? 0 : Math.max(0, this.#next - this.#now())
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { root, clock, running } = this.#options.engine
    const { tables } = root.state
    const pacer = new Pacer(signal, clock, running.calls)
    if (thorough) {
      for (const uuid of tables.keys()) await this.#compactFully(uuid, pacer)
      return
    }
    const [soon] = this.#dueNow
    const uuid = soon ?? this.#due()
    if (uuid === undefined) return
    this.#pending.set(uuid, 0)
    this.#dueAt.delete(uuid)
    this.#dueNow.delete(uuid)
    if (!tables.has(uuid)) {
      this.#pending.delete(uuid)
      this.#compacted.delete(uuid)
      return
    }
    const round = await this.#compact(uuid, soon === undefined ? 'eager' : 'lazy', pacer)
    // Another process works on the table. If that process dies, this one continues.
    if (round !== null && 'busy' in round) this.#compacted.set(uuid, this.#now())
    if (round !== null && 'hasMore' in round && round.hasMore) this.#dueNow.add(uuid)
    else if (round !== null || soon !== undefined) this.#schedule(uuid)
  }

  #schedule(uuid: string): void {
    const compacted = this.#compacted.get(uuid) ?? Number.NEGATIVE_INFINITY
    const at = Math.max(this.#now() + restMs, compacted + pauseMs)
    this.#dueAt.set(uuid, at)
    this.#next = Math.min(this.#next, at)
  }

  /** Return the uuid of a table whose due time has passed; undefined if there is none. */
  #due(): string | undefined {
    this.#next = Number.POSITIVE_INFINITY
    const now = this.#now()
    for (const [uuid, at] of this.#dueAt) {
      if (at <= now) {
        this.#next = at
        return uuid
      }
      this.#next = Math.min(this.#next, at)
    }
    return undefined
  }

  async #compactFully(uuid: string, pacer: Pacer): Promise<void> {
    for (let round = 0; round < roundsMax; round++) {
      const done = await this.#compact(uuid, 'thorough', pacer)
      if (done === null) return
      if ('busy' in done) await this.#options.engine.jobs.settled(done.busy, pacer.signal)
    }
  }

  /** Resolves to null if there was nothing to do. */
  async #compact(uuid: string, mode: CompactionMode, pacer: Pacer): Promise<Round | Busy | null> {
    const { engine, keep, report } = this.#options
    const { compactTable } = await compacting()
    const { foldIndexes } = await folding()
    const round =
      keep.compact || mode === 'thorough'
        ? await compactTable(engine, uuid, mode, keep.fragmentBytes, pacer)
        : null
    if (round !== null && 'busy' in round) return round
    const { folded, busy } = await foldIndexes(engine, uuid, mode, pacer)
    for (const each of folded) report({ kind: 'indexed', table: uuid, ...each })
    if (round !== null) report(round.event)
    if (round !== null || folded.length > 0) this.#compacted.set(uuid, this.#now())
    return round ?? busy
  }

  #now(): number {
    return this.#options.engine.clock.elapsed()
  }
}
