/**
 * The operations of jobs in the log, and the state of an open job after each of them.
 *
 *     Queued --claim--> Running --+--> Succeeded | Failed | Canceled: no longer open
 *       ^ |                |      |
 *       | +----------------|------+    (a queued job fails or is canceled, too)
 *       +---- again -------+
 */
import type { Json } from '../commit/machine.js'
import { assert } from '../errors.js'

/** Queue a job. Its id is the transaction id of this entry. With `id`: queue a running job again. */
export interface JobQueuedOp {
  readonly op: 'job'
  readonly state: 'Queued'
  /** Absent when the job is new. */
  readonly id?: string
  readonly kind: string
  readonly spec: Json
  /** The table it works on. */
  readonly t?: string
  /** Initial properties. */
  readonly props?: Readonly<Record<string, string>>
}

/** A process claims the job. `epoch` counts the claims. */
interface JobClaimedOp {
  readonly op: 'job'
  readonly state: 'Running'
  readonly id: string
  readonly owner: string
  readonly epoch: number
}

/** The job ended. Its changes are in the same entry. */
export interface JobEndedOp {
  readonly op: 'job'
  readonly state: 'Succeeded' | 'Failed' | 'Canceled'
  readonly id: string
  readonly reason?: string
}

/** Every operation of jobs. */
export type JobOp = JobQueuedOp | JobClaimedOp | JobEndedOp

/** A job that is queued or running. */
export interface OpenJob {
  readonly id: string
  readonly kind: string
  readonly spec: Json
  readonly table: string | null
  readonly status: 'Queued' | 'Running'
  /** The process that runs it; null while it is queued. */
  readonly owner: string | null
  /** The number of claims. */
  readonly epoch: number
}

/**
 * Return the job after `op`; null if it ended. `job`: undefined if it is not open. `id`: the id of the job; a new job
 * has the id of its entry. An operation that is not valid for the job is a defect of its writer.
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

/** Return the operation that queues a new job. `table`: uuid of the table it works on, if any. */
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

/** Return the operation that ends an open job. `reason`: why it failed. */
export function endedOp(id: string, state: JobEndedOp['state'], reason?: string): JobEndedOp {
  return { op: 'job', state, id, ...(reason !== undefined && { reason }) }
}
