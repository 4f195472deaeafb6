/** Deletes the files of tables that were dropped, once nobody reads them. */
import type { CatalogOp } from '../../catalog/ops.js'
import type { CatalogState } from '../../catalog/state.js'
import type { Committer } from '../../commit/committer.js'
import type { Json } from '../../commit/machine.js'
import type { Clock } from '../../primitives/clock.js'
import type { BlobStore } from '../../storage/blob-store.js'
import { deleteTableFiles } from '../../write/delete-table-files.js'
import type { Pins } from '../../write/pins.js'
import type { Chore, Report } from './upkeep.js'

/** How long the files of a dropped table stay for those who are reading them. */
const droppedMs = 10 * 60 * 1000
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

  constructor(options: DropsOptions) {
    this.#options = options
  }

  dueIn(): number {
    const { committer, clock } = this.#options
    if (committer.state.drops.size === 0) return Number.POSITIVE_INFINITY
    return Math.max(0, this.#lookedAt + pauseMs - clock.elapsed())
  }

  async work(_thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, store, clock, pins, report } = this.#options
    this.#lookedAt = clock.elapsed()
    const due = [...committer.state.drops].filter(([, { ts }]) => clock.now() - ts >= droppedMs)
    if (due.length === 0) return
    const pinned = await pins.oldest()
    for (const [location, { slot }] of due) {
      if (signal.aborted) return
      // Whoever pins an earlier slot sees the table.
      if (pinned < slot) continue
      // A table with a file that somebody has open stays in the queue, and holds up no other.
      if (!(await deleteTableFiles(store, location))) continue
      await this.#forget(location)
      report({ kind: 'drop', location })
    }
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
