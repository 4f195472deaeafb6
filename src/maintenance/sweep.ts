/**
 * Deletes files that nothing refers to any more (STORAGE S7, S8). First the log says from which slot on files must have been
 * born to enter it; what was born before and is not reached then never will be.
 *
 * The floor is the newest slot that is old enough, and no newer than any snapshot that somebody holds, any job that is open,
 * and what any write of this process began with. Whatever existed at the floor or later stays readable, so a copy of a live root that takes less than that age is
 * whole (S25).
 */
import type { SweepOp } from '../catalog/ops.js'
import type { CatalogState } from '../catalog/state.js'
import type { Holder } from '../client/optimized.js'
import { slotKey } from '../commit/blob-log.js'
import type { Committer } from '../commit/committer.js'
import type { Committed, Json } from '../commit/machine.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { Pins } from '../write/pins.js'
import { type SweepSource, sweepFiles } from '../write/sweep-files.js'
import type { UnderWay } from '../write/under-way.js'
import { holdersBefore, slotOfJob } from './holders.js'
import type { Chore, Report } from './maintenance.js'
import { newestSlotAt } from './slot-age.js'

/** Between two sweeps of a root, whoever does them: a part of the age, and so many milliseconds at least and at most. */
const pausePart = 1 / 4
const pauseMsMin = 1000
const pauseMsMax = 6 * 60 * 60 * 1000

export interface SweepOptions {
  readonly committer: Committer<CatalogState>
  readonly source: SweepSource
  readonly pins: Pins
  readonly underWay: UnderWay
  readonly clock: Clock
  readonly keepOrphansMs: number
  readonly report: Report
}

export class Sweep implements Chore {
  readonly name = 'deleting files that nothing refers to'
  readonly #options: SweepOptions
  readonly #pauseMs: number
  /** The last slot that this process wrote for somebody. */
  #noted = 0
  #restsUntil = 0
  #held: readonly Holder[] = []

  constructor(options: SweepOptions) {
    this.#options = options
    this.#pauseMs = Math.max(pauseMsMin, Math.min(pauseMsMax, options.keepOrphansMs * pausePart))
  }

  /** Those that kept the last sweep from what was old enough. */
  get held(): readonly Holder[] {
    return this.#held
  }

  noteCommit({ at }: Committed<CatalogState>): void {
    this.#noted = at.slot
  }

  dueIn(): number {
    const { committer, clock } = this.#options
    const { sweep, expired } = committer.state
    // There may be something to delete until the floor has passed all that was done; a sweep itself leaves nothing.
    if (expired.size === 0 && sweep.floor >= this.#noted) return Number.POSITIVE_INFINITY
    const since = sweep.ts + this.#pauseMs - clock.now()
    return Math.max(0, since, this.#restsUntil - clock.elapsed())
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, source, pins, clock, report } = this.#options
    this.#restsUntil = clock.elapsed() + this.#pauseMs
    const before = await committer.refresh(signal)
    const raised = await this.#raiseFloor(signal)
    const { floor } = committer.state.sweep
    if (floor === 0 || (!raised && !thorough && floor === before.sweep.floor)) return
    // A snapshot that was taken while the floor rose sees to itself only if it is seen here.
    if ((await pins.oldest()) < floor) return
    // The floor is in it; what is committed from now on brings nothing that is older.
    const state = await committer.refresh(signal)
    const newest = await source.store.stat(slotKey(committer.head), signal)
    const swept = await sweepFiles(source, state, newest?.modified ?? 0, new Pacer(signal, clock))
    if (swept.files > 0) report({ kind: 'swept', files: swept.files, bytes: swept.bytes })
  }

  /** Whether it could be raised. */
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
    try {
      await committer.commit((state, at) => {
        // With no age at all everything before this very entry is old.
        const newest = keepOrphansMs === 0 ? at.slot : old
        const op: SweepOp = { op: 'sweep', floor: upTo(newest, state) }
        if (op.floor <= state.sweep.floor) throw notHigher
        return { ops: [op as unknown as Json] }
      })
      return true
    } catch (error) {
      if (error === notHigher) return false
      throw error
    }
  }
}

/** The slot that queued the oldest open job. */
function oldestJob({ jobs }: CatalogState): number {
  let oldest = Number.POSITIVE_INFINITY
  for (const id of jobs.keys()) oldest = Math.min(oldest, slotOfJob(id))
  return oldest
}

const notHigher = new Error('the floor stays')
