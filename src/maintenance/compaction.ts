/** Compacts tables and keeps their indexes up: soon where commits have left much to do, when they come to rest where it is less. */
import type { CatalogOp } from '../catalog/ops.js'
import type { CatalogState } from '../catalog/state.js'
import type { ResolvedMaintenance } from '../client/maintenance-settings.js'
import type { Committed } from '../commit/machine.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import type { Engine } from '../root/engine.js'
import type { CompactionMode } from '../write/compaction-plan.js'
import type { Round } from './compact-table.js'
import type { Chore, Report } from './maintenance.js'

const compacting = lazyImport(() => import('./compact-table.js'))
const folding = lazyImport(() => import('./fold-indexes.js'))

/** So many new fragments, or commits that killed rows, are looked at at once; */
const soonCount = 64
/** fewer when the table was let alone for so long, milliseconds, */
const restMs = 2000
/** and was not compacted for so long (STORAGE S27). */
const pauseMs = 30_000
/** Rounds of one thorough work on a table: each leaves less. */
const roundsMax = 100

export interface CompactionOptions {
  readonly engine: () => Engine
  readonly keep: ResolvedMaintenance
  readonly report: Report
}

export class Compaction implements Chore {
  readonly name = 'compacting tables'
  readonly #options: CompactionOptions
  /** By uuid: new fragments, and commits that killed rows, since the table was last seen to be in order. */
  readonly #pending = new Map<string, number>()
  /** Tables to be looked at now. */
  readonly #soon = new Set<string>()
  /** When others are to be looked at, if nobody commits to them until then; the first of that, or sooner. */
  readonly #later = new Map<string, number>()
  #next = Number.POSITIVE_INFINITY
  /** When they were last compacted. */
  readonly #compacted = new Map<string, number>()

  constructor(options: CompactionOptions) {
    this.#options = options
  }

  noteCommit({ entry, state }: Committed<CatalogState>): void {
    for (const op of entry.ops as unknown as readonly CatalogOp[]) {
      if (op.op !== 'change' || op.kind === 'compaction') continue
      if (op.kind === 'index') {
        // What came or moved while it was built it lacks.
        this.#lookLater(op.t)
        continue
      }
      const head = state.tables.get(op.t)
      if (head === undefined) continue
      // Of a table that is seen for the first time nobody knows what others have left.
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
    const { root, clock, calls } = this.#options.engine()
    const { tables } = root.state
    const pacer = new Pacer(signal, clock, calls)
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

  /** A table whose time has come. */
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
        ? await compactTable(engine(), uuid, mode, keep.fragmentBytes, pacer)
        : null
    const folded = await foldIndexes(engine(), uuid, mode, pacer)
    for (const each of folded) report({ kind: 'indexed', table: uuid, ...each })
    if (round === null && folded.length === 0) return null
    this.#compacted.set(uuid, this.#now())
    if (round !== null) report(round.event)
    return round
  }

  #now(): number {
    return this.#options.engine().clock.elapsed()
  }
}
