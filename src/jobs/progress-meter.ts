/** Computes the rate of a job's progress. */
import type { Clock } from '../primitives/clock.js'
import type { Progress } from './job-kind.js'

/**
 * Minimum time in milliseconds from the start of a phase until its rate is reported, because the first steps are not
 * representative.
 */
const leastMs = 1000

/** A meter for one run of a job. */
export class ProgressMeter {
  readonly #clock: Clock
  #phase: string | null = null
  #begunAt = 0
  #begunWith = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Return the reported progress with the rate and the estimated time. */
  progress(done: number, total: number, phase: string): Progress {
    const now = this.#clock.elapsed()
    // A decrease of `done` means that the phase has begun again. For example, an index build has the same phases for
    // each segment.
    if (phase !== this.#phase || done < this.#begunWith) {
      this.#phase = phase
      this.#begunAt = now
      this.#begunWith = done
    }
    const took = now - this.#begunAt
    const steps = done - this.#begunWith
    if (took < leastMs || steps === 0) return { done, total, phase }
    const perSecond = (1000 * steps) / took
    return { done, total, phase, perSecond, secondsLeft: Math.max(0, total - done) / perSecond }
  }
}
