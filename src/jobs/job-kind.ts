/** The interface of a kind of job. */
import type { Json, Propose } from '../commit/machine.js'

/** A kind of job. `S`: the state of the log. */
export interface JobKind<S> {
  readonly name: string
  /**
   * Do the work, and return the proposal to commit. Its operations are committed in the same entry as the end of the
   * job, so neither exists without the other.
   *
   * The proposal is decided like any other (commit/machine), but only while the job still belongs to this run. Without
   * operations the job ends without a change. An error of `run` or of the decision ends the job as Failed, except
   * `Overtaken`: then the run continues.
   *
   * A job may run more than once, but at most one run is committed. `run` must end soon after `signal` fires.
   */
  run(job: JobRun): Promise<Propose<S>>
  /** If true, no two jobs of this kind run on one table at the same time, in any process. Default false. */
  readonly exclusive?: boolean
  /** What happens to a job whose process died or closes: it fails, or is queued again. */
  readonly onOrphan: 'fail' | 'requeue'
}

/** A running job, as its process sees it. */
export interface JobRun {
  /** The transaction id of the commit that queued it. */
  readonly id: string
  readonly spec: Json
  /** The table it works on. */
  readonly table: string | null
  /** Fires with a `JobStopped` when continuing is useless. */
  readonly signal: AbortSignal
  /** Report progress: `done` of `total` steps, in any unit. Costs nothing. Other processes see it within ten seconds. */
  progress(done: number, total: number, phase: string): void
}

/** The progress of a job. */
export interface Progress {
  readonly done: number
  readonly total: number
  readonly phase: string
  /** Steps per second since the phase began. Absent if the phase has just begun. */
  readonly perSecond?: number
  /** Seconds until the phase ends, at that rate. */
  readonly secondsLeft?: number
}

/**
 * Thrown by a decision whose input has changed since it was prepared. `again` prepares it again; an error of `again`
 * ends the job as Failed.
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
 * Why a run was stopped: the job was ended (most likely canceled), another process took it over, or this process
 * closes.
 */
export type StopCause = 'ended' | 'taken over' | 'closing'

/** The reason of the signal of a stopped run. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped'
  readonly why: StopCause

  constructor(id: string, why: StopCause) {
    super(`job ${id} is stopped: ${messages[why]}`)
    this.why = why
  }
}

const messages: Readonly<Record<StopCause, string>> = {
  ended: 'it was canceled, or another process ended it',
  'taken over': 'another process runs it',
  closing: 'the root is being closed',
}
