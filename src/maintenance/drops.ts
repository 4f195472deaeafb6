/**
 * Deletes the files of tables that were dropped before the GC watermark. Tables that existed at the watermark or later,
 * and tables in a pinned snapshot, stay readable. So a copy of a live root is complete if copying takes less time than
 * the age of the watermark (S25).
 */
import type { CatalogCommitter } from '../catalog/log-types.js'
import type { CatalogOp } from '../catalog/ops.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { deleteTableFiles } from '../write/delete-table-files.js'
import type { Pins } from '../write/pins.js'
import type { MaintenanceTask, Report } from './maintenance.js'

/** Minimum time in milliseconds between two runs. */
const pauseMs = 60 * 1000

interface DropsOptions {
  readonly committer: CatalogCommitter
  readonly store: BlobStore
  readonly clock: Clock
  readonly pins: Pins
  readonly report: Report
}

export class Drops implements MaintenanceTask {
  readonly name = 'deleting the files of dropped tables'
  readonly #options: DropsOptions
  #lookedAt = Number.NEGATIVE_INFINITY
  /** The GC watermark at the last run that deleted everything that was due. */
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
    // A table that existed at the watermark must stay readable.
    const due = [...committer.state.drops].filter(([, { slot }]) => slot <= floor)
    let left = due.length
    const pinned = left === 0 ? 0 : await pins.oldest()
    for (const [location, { slot }] of due) {
      if (signal.aborted) return
      // A process with a pin of an earlier slot may still read the table.
      if (pinned < slot) continue
      // If a process has one of the files open, the table stays in the queue. Continue with the other tables.
      if (!(await deleteTableFiles(store, location))) continue
      await this.#forget(location)
      report({ kind: 'drop', location })
      left--
    }
    if (left === 0) this.#doneTo = floor
  }

  async #forget(location: string): Promise<void> {
    const op: CatalogOp = { op: 'dropped', location }
    await this.#options.committer.commit(state => {
      // Another process may have deleted the files first.
      return state.drops.has(location) ? { ops: [op] } : null
    })
  }
}
