/** Adds the rate of steps to the progress of a job. */
import type { Clock } from '../primitives/clock.js'
import type { Progress } from './job-kind.js'

/** Time of a phase before its rate is reported, milliseconds: the first steps are not representative. */
const leastMs = 1000

export class ProgressMeter {
  readonly #clock: Clock
  #phase: string | null = null
  #begunAt = 0
  #begunWith = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  progress(done: number, total: number, phase: string): Progress {
    const now = this.#clock.elapsed()
    // The same phase begins again for each segment of an index.
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
