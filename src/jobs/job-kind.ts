/** The interface of a kind of job. */
import type { Json, Propose } from '../commit/machine.js'

/** A kind of job. `S`: the state of the log; `Op`: its operations. */
export interface JobKind<S, Op = unknown> {
  readonly name: string
  /**
   * Do the work, and commit its result by `job.commit`. Without a commit, the job ends without a change. An error ends
   * the job as Failed.
   *
   * A job may run more than once, but at most one run is committed. `run` must end soon after `signal` fires.
   */
  run(job: JobRun<S, Op>): Promise<void>
  /** If true, no two jobs of this kind run on one table at the same time, in any process. Default false. */
  readonly exclusive?: boolean
  /** What happens to a job whose process died or closes: it fails, or is queued again. */
  readonly onOrphan: 'fail' | 'requeue'
}

/** A running job, as its process sees it. `S`: the state of the log; `Op`: its operations. */
export interface JobRun<S, Op = unknown> {
  /** The transaction id of the commit that queued it. */
  readonly id: string
  readonly spec: Json
  /** The table it works on. */
  readonly table: string | null
  /** Fires with a `JobStopped` when continuing is useless. */
  readonly signal: AbortSignal
  /** Report progress: `done` of `total` steps, in any unit. Costs nothing. Other processes see it within ten seconds. */
  progress(done: number, total: number, phase: string): void
  /**
   * Commit the result in the same entry as the end of the job, so that neither exists without the other. `propose`
   * decides like any other (commit/machine), but only while the job still belongs to this run. Returns null if `propose`
   * returned null: then the job has not ended. Rejects with the error of `propose`.
   */
  commit(propose: Propose<S, Op, null>): Promise<'ended' | null>
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
