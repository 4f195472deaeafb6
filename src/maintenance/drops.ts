/**
 * Deletes the files of tables that were dropped before the sweep floor: what existed there or later stays readable, and so does
 * what a snapshot shows. So a copy of a live root is whole that takes less than the age the floor waits for (S25).
 */
import type { CatalogOp } from '../catalog/ops.js'
import type { CatalogState } from '../catalog/state.js'
import type { Committer } from '../commit/committer.js'
import type { Json } from '../commit/machine.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { deleteTableFiles } from '../write/delete-table-files.js'
import type { Pins } from '../write/pins.js'
import type { Chore, Report } from './maintenance.js'

/** Between two looks at the queue of drops. */
const pauseMs = 60 * 1000

export interface DropsOptions {
  readonly committer: Committer<CatalogState>
  readonly store: BlobStore
  readonly clock: Clock
  readonly pins: Pins
  readonly report: Report
}

export class Drops implements Chore {
  readonly name = 'deleting the files of dropped tables'
  readonly #options: DropsOptions
  #lookedAt = Number.NEGATIVE_INFINITY
  /** The floor behind which nothing was left at the last look. */
  #doneTo = 0

  constructor(options: DropsOptions) {
    this.#options = options
  }

  dueIn(): number {
    const { committer, clock } = this.#options
    const { drops, sweep } = committer.state
    if (drops.size === 0 || sweep.floor === this.#doneTo) return Number.POSITIVE_INFINITY
    return Math.max(0, this.#lookedAt + pauseMs - clock.elapsed())
  }

  async work(_thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, store, clock, pins, report } = this.#options
    this.#lookedAt = clock.elapsed()
    const { floor } = committer.state.sweep
    // What existed at the floor is still to be read.
    const due = [...committer.state.drops].filter(([, { slot }]) => slot <= floor)
    let left = due.length
    const pinned = left === 0 ? 0 : await pins.oldest()
    for (const [location, { slot }] of due) {
      if (signal.aborted) return
      // Whoever pins an earlier slot sees the table.
      if (pinned < slot) continue
      // A table with a file that somebody has open stays in the queue, and holds up no other.
      if (!(await deleteTableFiles(store, location))) continue
      await this.#forget(location)
      report({ kind: 'drop', location })
      left--
    }
    if (left === 0) this.#doneTo = floor
  }

  async #forget(location: string): Promise<void> {
    const op: CatalogOp = { op: 'dropped', location }
    try {
      await this.#options.committer.commit(state => {
        if (!state.drops.has(location)) throw alreadyDone
        return { ops: [op as unknown as Json] }
      })
    } catch (error) {
      if (error !== alreadyDone) throw error
    }
  }
}

const alreadyDone = new Error('another process was first')
