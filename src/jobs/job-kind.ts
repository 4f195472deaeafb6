/** Interfaces of job kinds and running jobs. */
import type { Committed, Json, Propose } from '../commit/machine.js'

/** A kind of job. `S`: type of the catalog state. `Op`: type of the operations in the log. */
export interface JobKind<S, Op = unknown> {
  readonly name: string
  /**
   * Do the work, and commit its result by `job.commit`. If `run` resolves without a commit, the job ends as Succeeded
   * without a change. If `run` rejects, the job ends as Failed.
   *
   * A job may run more than once, but at most one run commits its result. After `job.signal` aborts, `run` must end
   * soon.
   *
   * Absent: jobs of this kind are never queued. They begin with `JobRunner.perform`.
   */
  run?(job: JobRun<S, Op>): Promise<void>
  /**
   * Whether at most one job of this kind may run on a table at the same time, in all processes together. Default:
   * false.
   */
  readonly exclusive?: boolean
  /** Treatment of a running job whose process died or closes the root: the job fails, or is queued again. */
  readonly onOrphan: 'fail' | 'requeue'
}

/** A running job, as `JobKind.run` gets it. `S`: type of the catalog state. `Op`: type of the operations in the log. */
export interface JobRun<S, Op = unknown> {
  /** Id of the job: the transaction id of the commit that queued it. */
  readonly id: string
  readonly kind: string
  /** Parameters of the job. Their form depends on the kind. */
  readonly spec: Json
  /** Uuid of the table on which the job works. Null: none. */
  readonly table: string | null
  /** Signal that aborts with a `JobStopped` when the run must stop. `JobStopped.why` has the reason. */
  readonly signal: AbortSignal
  /**
   * Report that `done` of `total` steps of the phase are done. The unit of steps is arbitrary. The call only updates
   * memory. Other processes see the progress within ten seconds.
   */
  progress(done: number, total: number, phase: string): void
  /**
   * Commit the result and the end of the job in one entry. `propose` returns the operations of the result
   * (commit/machine). It is called only while the claim of this run is valid. If it returns null, nothing is committed,
   * the job does not end, and this method resolves to null. Resolves to 'ended' if the claim is no longer valid, or was
   * ended by an earlier attempt with an unknown outcome. Rejects with the error of `propose`.
   */
  commit(propose: Propose<S, Op, null>): Promise<Committed<S, Op> | 'ended' | null>
  /** Only for a unit: commit the end of the unit, with its result. */
  endUnit(result: Json): Promise<void>
  /** Whether the job was split (`inUnits`), by this run or by an earlier one. */
  readonly isSplit: boolean
  /**
   * Split the job into units of kind `kind` with the specs `units`, unless it is split already. Wait until all units have
   * ended, and run units here that no other process runs. Resolves to the results in the order of the units. Rejects
   * with the reason of the first unit that failed.
   */
  inUnits(kind: string, units: readonly Json[]): Promise<readonly Json[]>
}

/** The result of `JobRunner.perform`: that of the work, or the id of the open job because of which the work was not begun. */
export type Performed<T> = { readonly result: T } | { readonly busy: string }

/** The progress of a job. */
export interface Progress {
  /** Number of steps of the phase that are done. */
  readonly done: number
  /** Total number of steps of the phase. */
  readonly total: number
  /** Name of the phase. */
  readonly phase: string
  /** Steps per second since the phase began. Undefined if the phase has just begun. */
  readonly perSecond?: number
  /** Estimated seconds until the phase ends, computed from `perSecond`. Undefined if the phase has just begun. */
  readonly secondsLeft?: number
}

/**
 * Reason why a run was stopped. `ended`: the job is no longer open, usually because a caller canceled it. `taken over`:
 * another process claimed the job. `closing`: this process closes the root.
 */
export type StopCause = 'ended' | 'taken over' | 'closing'

/** The abort reason of `JobRun.signal`. */
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
