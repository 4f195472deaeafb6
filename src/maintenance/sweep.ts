/**
 * Garbage collection: deletes files to which no kept version, snapshot or checkpoint refers (STORAGE S7, S8).
 *
 * - First a commit raises the GC watermark (`floor`). Afterwards the log accepts only files with a creation slot at the
 *   watermark or later. So if an older file belongs to no version, no later commit can refer to it.
 * - The watermark is the newest slot that is old enough. But it is never newer than a pinned slot, the slot of an open
 *   job, or the slot at which a running write of this process began.
 * - Parts of uploads that killed processes left in object storage are freed when they are as old as the files that are
 *   deleted.
 * - Everything that existed at the watermark or later stays readable. So a copy of a live root is complete if copying
 *   takes less time than the age of the watermark (S25).
 */
import type { CatalogCommitted, CatalogCommitter } from '../catalog/log-types.js'
import type { SweepOp } from '../catalog/ops.js'
import type { CatalogState } from '../catalog/state.js'
import type { Holder } from '../client/optimized.js'
import type { ExternalLog } from '../commit/external-log.js'
import type { TailedLog } from '../commit/tailed-log.js'
import { slotOfJob } from '../jobs/job-op.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { Pins } from '../write/pins.js'
import { type SweepSource, sweepFiles } from '../write/sweep-files.js'
import type { UnderWay } from '../write/under-way.js'
import { holdersBefore } from './holders.js'
import type { MaintenanceTask, Report } from './maintenance.js'
import { newestSlotAt } from './slot-age.js'

/**
 * Pause between two garbage collections of a root, in any process: this fraction of `keepOrphansMs`, but within the
 * bounds below, in milliseconds.
 */
const pausePart = 1 / 4
const pauseMsMin = 1000
const pauseMsMax = 6 * 60 * 60 * 1000

interface SweepOptions {
  readonly committer: CatalogCommitter
  readonly log: Pick<TailedLog | ExternalLog, 'modified'>
  readonly source: SweepSource
  readonly pins: Pins
  readonly underWay: UnderWay
  readonly clock: Clock
  readonly keepOrphansMs: number
  readonly report: Report
}

export class Sweep implements MaintenanceTask {
  readonly name = 'deleting files that nothing refers to'
  readonly #options: SweepOptions
  readonly #pauseMs: number
  /** The newest slot of a commit that this process noted. */
  #noted = 0
  #restsUntil = 0
  #held: readonly Holder[] = []

  constructor(options: SweepOptions) {
    this.#options = options
    this.#pauseMs = Math.max(pauseMsMin, Math.min(pauseMsMax, options.keepOrphansMs * pausePart))
  }

  /**
   * The readers and jobs that prevented the last garbage collection from raising the watermark to the newest slot that
   * is old enough.
   */
  get held(): readonly Holder[] {
    return this.#held
  }

  noteCommit({ at }: CatalogCommitted): void {
    this.#noted = at.slot
  }

  noteMissed(): void {
    this.#noted = this.#options.committer.head
  }

  dueIn(): number {
    const { committer, clock } = this.#options
    const { sweep, expired } = committer.state
    // There may be garbage until the watermark is newer than all commits. The commit of the watermark itself creates no
    // garbage.
    if (expired.size === 0 && sweep.floor >= this.#noted) return Number.POSITIVE_INFINITY
    const since = sweep.ts + this.#pauseMs - clock.now()
    return Math.max(0, since, this.#restsUntil - clock.elapsed())
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, log, source, pins, clock, keepOrphansMs, report } = this.#options
    this.#restsUntil = clock.elapsed() + this.#pauseMs
    const before = await committer.refresh(signal)
    const isRaised = await this.#raiseFloor(signal)
    const { floor } = committer.state.sweep
    if (floor === 0 || (!isRaised && !thorough && floor === before.sweep.floor)) return
    const newest = (await log.modified(committer.head, signal)) ?? 0
    await source.store.abortUploads?.('tables/', newest - keepOrphansMs, signal)
    // A process may have pinned a snapshot while the watermark was being raised. So check the pins again.
    if ((await pins.oldest()) < floor) return
    // This state includes the new watermark. So commits after it cannot add older files.
    const state = await committer.refresh(signal)
    const swept = await sweepFiles(source, state, newest, new Pacer(signal, clock))
    if (swept.files > 0) report({ kind: 'swept', files: swept.files, bytes: swept.bytes })
  }

  /** Commit a higher watermark. Returns whether the watermark could be raised. */
  async #raiseFloor(signal: AbortSignal): Promise<boolean> {
    const { committer, source, pins, underWay, clock, keepOrphansMs } = this.#options
    const { sweep } = committer.state
    const limit = clock.now() - keepOrphansMs
    const old = await newestSlotAt(source.slots, sweep.floor, committer.head, limit, signal)
    const all = await pins.all()
    const pinned = Math.min(...all.map(({ slot }) => slot))
    this.#held = holdersBefore(keepOrphansMs === 0 ? committer.head : old, all, committer.state)
    const upTo = (slot: number, state: CatalogState) => {
      return Math.min(slot, pinned, oldestJob(state), underWay.oldest())
    }
    if (keepOrphansMs > 0 && upTo(old, committer.state) <= sweep.floor) return false
    const committed = await committer.commit((state, at) => {
      // If `keepOrphansMs` is 0, every slot before this entry is old enough.
      const newest = keepOrphansMs === 0 ? at.slot : old
      const op: SweepOp = { op: 'sweep', floor: upTo(newest, state) }
      return op.floor <= state.sweep.floor ? null : { ops: [op] }
    })
    return committed !== null
  }
}

/** Return the slot in which the oldest open job was queued; Infinity if there is none. */
function oldestJob({ jobs }: CatalogState): number {
  let oldest = Number.POSITIVE_INFINITY
  for (const id of jobs.keys()) oldest = Math.min(oldest, slotOfJob(id))
  return oldest
}
