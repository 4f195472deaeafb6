/**
 * Compacts tables and keeps their indexes up to date. A table is due at once after many changes, and after a pause in its commits where
 * fewer changes wait.
 */
import type { CatalogCommitted } from '../catalog/log-types.js'
import type { ResolvedMaintenance } from '../client/maintenance-settings.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import type { Engine } from '../root/engine.js'
import type { CompactionMode } from '../write/compaction-plan.js'
import type { Round } from './compact-table.js'
import type { MaintenanceTask, Report } from './maintenance.js'

const compacting = lazyImport(() => import('./compact-table.js'))
const folding = lazyImport(() => import('./fold-indexes.js'))

/** A table is due at once after this many new fragments plus deletion vectors of commits. */
const soonCount = 64
/** With fewer, a table is due after this many milliseconds without a commit to it, */
const restMs = 2000
/** and at least this many milliseconds after its last compaction (STORAGE S27). */
const pauseMs = 30_000
/** Most rounds of one thorough compaction of a table. Each round leaves less to do. */
const roundsMax = 100

interface CompactionOptions {
  readonly engine: Engine
  readonly keep: ResolvedMaintenance
  readonly report: Report
}

export class Compaction implements MaintenanceTask {
  readonly name = 'compacting tables'
  readonly #options: CompactionOptions
  /** By table uuid: new fragments plus deletion vectors of commits, since the table was last compacted. */
  readonly #pending = new Map<string, number>()
  /** Tables that are due now. */
  readonly #soon = new Set<string>()
  /** By table uuid: when the table is due if nobody commits to it until then (`clock.elapsed()`). `#next`: the earliest or sooner. */
  readonly #later = new Map<string, number>()
  #next = Number.POSITIVE_INFINITY
  /** By table uuid: the time of the last compaction (`clock.elapsed()`). */
  readonly #compacted = new Map<string, number>()

  constructor(options: CompactionOptions) {
    this.#options = options
  }

  noteCommit({ entry, state }: CatalogCommitted): void {
    for (const op of entry.ops) {
      if (op.op !== 'change' || op.kind === 'compaction') continue
      if (op.kind === 'index') {
        // Rows that were added or moved during the build are not in the index.
        this.#lookLater(op.t)
        continue
      }
      const head = state.tables.get(op.t)
      if (head === undefined) continue
      // The table is new to this process: how much work others have left is unknown, so all its fragments count.
      const before = this.#pending.get(op.t) ?? head.fragments - op.add.length
      const pending = before + op.add.length + op.dead.length
      this.#pending.set(op.t, pending)
      if (pending >= soonCount) this.#soon.add(op.t)
      this.#lookLater(op.t)
    }
  }

  dueIn(): number {
    return this.#soon.size > 0 ? 0 : Math.max(0, this.#next - this.#now())
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { root, clock, running } = this.#options.engine
    const { tables } = root.state
    const pacer = new Pacer(signal, clock, running.calls)
    if (thorough) {
      for (const uuid of tables.keys()) await this.#compactFully(uuid, pacer)
      return
    }
    const [soon] = this.#soon
    const uuid = soon ?? this.#due()
    if (uuid === undefined) return
    this.#pending.set(uuid, 0)
    this.#later.delete(uuid)
    this.#soon.delete(uuid)
    if (!tables.has(uuid)) {
      this.#pending.delete(uuid)
      this.#compacted.delete(uuid)
      return
    }
    const round = await this.#compact(uuid, soon === undefined ? 'eager' : 'lazy', pacer)
    if (round?.hasMore === true) this.#soon.add(uuid)
    else if (round !== null || soon !== undefined) this.#lookLater(uuid)
  }

  #lookLater(uuid: string): void {
    const compacted = this.#compacted.get(uuid) ?? Number.NEGATIVE_INFINITY
    const at = Math.max(this.#now() + restMs, compacted + pauseMs)
    this.#later.set(uuid, at)
    this.#next = Math.min(this.#next, at)
  }

  /** Return a table whose due time has passed. */
  #due(): string | undefined {
    this.#next = Number.POSITIVE_INFINITY
    for (const [uuid, at] of this.#later) {
      if (at <= this.#now()) {
        this.#next = at
        return uuid
      }
      this.#next = Math.min(this.#next, at)
    }
    return undefined
  }

  async #compactFully(uuid: string, pacer: Pacer): Promise<void> {
    for (let round = 0; round < roundsMax; round++) {
      if ((await this.#compact(uuid, 'thorough', pacer)) === null) return
    }
  }

  async #compact(uuid: string, mode: CompactionMode, pacer: Pacer): Promise<Round | null> {
    const { engine, keep, report } = this.#options
    const { compactTable } = await compacting()
    const { foldIndexes } = await folding()
    const round =
      keep.compact || mode === 'thorough'
        ? await compactTable(engine, uuid, mode, keep.fragmentBytes, pacer)
        : null
    const folded = await foldIndexes(engine, uuid, mode, pacer)
    for (const each of folded) report({ kind: 'indexed', table: uuid, ...each })
    if (round === null && folded.length === 0) return null
    this.#compacted.set(uuid, this.#now())
    if (round !== null) report(round.event)
    return round
  }

  #now(): number {
    return this.#options.engine.clock.elapsed()
  }
}
