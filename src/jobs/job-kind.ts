/** What a kind of work has to say to be run as a job. */
import type { Json, Propose } from '../commit/machine.js'

export interface JobKind<S> {
  readonly name: string
  /**
   * Does the work, and returns what is to be committed: its operations stand in the same entry as the end of the job, so
   * neither is there without the other. It is decided like any proposal (commit/machine), but only while the job is
   * still this run's; with no operations the job ends without having changed anything. What `run` or the decision throws
   * ends the job as Failed, unless the decision throws `Overtaken`: then the run goes on.
   *
   * May run more than once for a job, but lands at most once. Must come to an end soon after `signal` fires.
   */
  run(job: JobRun): Promise<Propose<S>>
  /** Whether no two jobs of this kind run on one table at the same time, in any process; default: they may. */
  readonly exclusive?: boolean
  /** What becomes of a job whose process is gone or closes: it fails, or somebody begins it anew. */
  readonly onOrphan: 'fail' | 'requeue'
}

/** A job, as the process sees it that runs it. */
export interface JobRun {
  /** The transaction id of the commit that queued it. */
  readonly id: string
  readonly spec: Json
  /** The table it works on. */
  readonly table: string | null
  /** Fires with a `JobStopped` when going on is of no use. */
  readonly signal: AbortSignal
  /** Says how far the work is: of `total` steps of any unit, `done`. Costs nothing; others see it within ten seconds. */
  progress(done: number, total: number, phase: string): void
}

export interface Progress {
  readonly done: number
  readonly total: number
  readonly phase: string
  /** Steps a second since the phase began. Absent: it has only begun. */
  readonly perSecond?: number
  /** Seconds that the rest of the phase takes at that rate. */
  readonly secondsLeft?: number
}

/**
 * Thrown by a decision that was worked out on something that has changed since. `again` works it out anew; what it
 * throws ends the job as Failed.
 */
export class Overtaken<S> extends Error {
  override readonly name = 'Overtaken'
  readonly again: () => Promise<Propose<S>>

  constructor(again: () => Promise<Propose<S>>) {
    super('overtaken')
    this.again = again
  }
}

/**
 * Why a run was told to stop: somebody ended the job (most likely canceled it), another process took it over, or this
 * one closes.
 */
export type StopCause = 'ended' | 'taken over' | 'closing'

export class JobStopped extends Error {
  override readonly name = 'JobStopped'
  readonly why: StopCause

  constructor(id: string, why: StopCause) {
    super(`job ${id} is stopped: ${messages[why]}`)
    this.why = why
  }
}

const messages: Readonly<Record<StopCause, string>> = {
  ended: 'it was canceled or ended by somebody else',
  'taken over': 'another process runs it',
  closing: 'the root is being closed',
}
