/**
 * The operations of jobs in the log, and the state of an open job after each operation. A job that is not open has
 * ended.
 *
 *     Queued --claim--> Running --+--> Succeeded | Failed | Canceled: no longer open
 *       ^ |                |      |
 *       | +----------------|------+    (a queued job can also fail or be canceled)
 *       +---- again -------+
 */
import type { Json } from '../commit/machine.js'
import { assert } from '../errors.js'

/** Operation that queues a new job, or that queues a running job again. */
export interface JobQueuedOp {
  readonly op: 'job'
  readonly state: 'Queued'
  /**
   * Id of the running job that is queued again. Undefined for a new job, whose id is the transaction id of this entry.
   */
  readonly id?: string
  readonly kind: string
  readonly spec: Json
  /** Uuid of the table on which the job works. Undefined: none. */
  readonly t?: string
  /** Initial properties of the job's transaction. */
  readonly props?: Readonly<Record<string, string>>
}

/**
 * Operation by which a process claims a queued job. `owner`: the job runner that claims it. `epoch`: number of this
 * claim, from 1.
 */
interface JobClaimedOp {
  readonly op: 'job'
  readonly state: 'Running'
  readonly id: string
  readonly owner: string
  readonly epoch: number
}

/** Operation that ends a job. The same entry has the changes of the job, if it succeeded. */
export interface JobEndedOp {
  readonly op: 'job'
  readonly state: 'Succeeded' | 'Failed' | 'Canceled'
  readonly id: string
  /** Reason why the job failed. */
  readonly reason?: string
}

/** An operation of a job. */
export type JobOp = JobQueuedOp | JobClaimedOp | JobEndedOp

/** A job that is queued or running. */
export interface OpenJob {
  readonly id: string
  readonly kind: string
  readonly spec: Json
  readonly table: string | null
  readonly status: 'Queued' | 'Running'
  /** Id of the job runner that runs the job. Null if the job is queued. */
  readonly owner: string | null
  /** Number of claims of the job so far. */
  readonly epoch: number
}

/**
 * Return the job after the operation `op`. Returns null if the job ended. `job`: the job before; undefined if it was
 * not open. `id`: the id of the job; for a new job, the transaction id of its entry. Throws an internal error if the
 * operation is not valid for the job, because only a defect of Sheaf can cause this.
 */
export function jobAfter(job: OpenJob | undefined, op: JobOp, id: string): OpenJob | null {
  if (op.state === 'Queued') {
    assert(op.id === undefined ? job === undefined : job?.status === 'Running', `job ${id} cannot be queued`)
    const { kind, spec, t: table = null } = op
    return { id, kind, spec, table, status: 'Queued', owner: null, epoch: job?.epoch ?? 0 }
  }
  assert(job !== undefined, `job ${id} is not open`)
  if (op.state === 'Running') {
    const { owner, epoch } = op
    assert(job.status === 'Queued' && epoch === job.epoch + 1, `job ${id} cannot be claimed`)
    return { ...job, status: 'Running', owner, epoch }
  }
  assert(op.state !== 'Succeeded' || job.status === 'Running', `job ${id} succeeded without being run`)
  return null
}

/** Return the operation that queues a new job. `table`: uuid of the table on which the job works. Default: none. */
export function queuedOp(kind: string, spec: Json, table?: string): JobQueuedOp {
  return { op: 'job', state: 'Queued', kind, spec, ...(table !== undefined && { t: table }) }
}

/** Return the operation that queues a running job again. */
export function queuedAgainOp({ id, kind, spec, table }: OpenJob): JobQueuedOp {
  return { ...queuedOp(kind, spec, table ?? undefined), id }
}

/** Return the operation that claims a queued job for `owner`. */
export function claimedOp({ id, epoch }: OpenJob, owner: string): JobClaimedOp {
  return { op: 'job', state: 'Running', id, owner, epoch: epoch + 1 }
}

/** Return the operation that ends an open job. `reason`: reason of a failure. */
export function endedOp(id: string, state: JobEndedOp['state'], reason?: string): JobEndedOp {
  return { op: 'job', state, id, ...(reason !== undefined && { reason }) }
}
