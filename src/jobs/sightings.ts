/** Which running jobs have lost their process, as far as one observer can tell by its own clock. */

import type { OpenJob } from './job-op.js'
import { type Lease, leaseMs } from './lease.js'

/** A lease that has not moved for so long has no owner any more, milliseconds. */
const lostAfterMs = 60_000

interface Sighting {
  readonly epoch: number
  /** -1: no lease of this epoch. */
  readonly counter: number
  /** How long it was seen unmoved, milliseconds. */
  readonly still: number
}

export class Sightings {
  #seen = new Map<string, Sighting>()
  #last = 0

  /**
   * The jobs of `running` whose newest lease has stood still for a minute. `now`: elapsed milliseconds. At most ten
   * seconds are counted between two looks: while the observer itself was suspended, the owners may have been too.
   */
  look(running: Iterable<OpenJob>, newest: ReadonlyMap<string, Lease>, now: number): OpenJob[] {
    const passed = Math.min(now - this.#last, leaseMs)
    const seen = new Map<string, Sighting>()
    const lost: OpenJob[] = []
    for (const job of running) {
      const lease = newest.get(job.id)
      const counter = lease?.epoch === job.epoch ? lease.counter : -1
      const before = this.#seen.get(job.id)
      const stands = before?.epoch === job.epoch && before.counter === counter
      const still = stands ? before.still + passed : 0
      seen.set(job.id, { epoch: job.epoch, counter, still })
      if (still >= lostAfterMs) lost.push(job)
    }
    this.#seen = seen
    this.#last = now
    return lost
  }
}
