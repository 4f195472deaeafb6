/**
 * Jobs as the log knows them: what its entries say about them, and what an open job is after each.
 *
 *     Queued --claim--> Running --+--> Succeeded | Failed | Canceled: no longer open
 *       ^ |                |      |
 *       | +----------------|------+    (a queued job fails or is canceled, too)
 *       +---- again -------+
 */
import type { Json } from '../commit/machine.js'
import { assert } from '../errors.js'

/** A job waits to be run; its id is the transaction id of this entry. With an `id`: it waits again. */
export interface JobQueuedOp {
  readonly op: 'job'
  readonly state: 'Queued'
  /** Absent the first time. */
  readonly id?: string
  readonly kind: string
  readonly spec: Json
  /** The table it works on. */
  readonly t?: string
  /** What is noted on it from the start. */
  readonly props?: Readonly<Record<string, string>>
}

/** A process runs it; `epoch` counts the claims. */
export interface JobClaimedOp {
  readonly op: 'job'
  readonly state: 'Running'
  readonly id: string
  readonly owner: string
  readonly epoch: number
}

/** It ended. What it did stands in the same entry. */
export interface JobEndedOp {
  readonly op: 'job'
  readonly state: 'Succeeded' | 'Failed' | 'Canceled'
  readonly id: string
  readonly reason?: string
}

export type JobOp = JobQueuedOp | JobClaimedOp | JobEndedOp

/** Work that is waiting or under way. */
export interface OpenJob {
  readonly id: string
  readonly kind: string
  readonly spec: Json
  readonly table: string | null
  readonly status: 'Queued' | 'Running'
  /** Who runs it; null while it is queued. */
  readonly owner: string | null
  /** Counts the claims. */
  readonly epoch: number
}

/**
 * What `op` makes of `job` (undefined: not open); null when it ended. `id`: the job's, which a new one gets from its
 * entry. An operation that cannot follow is a broken promise of whoever wrote it.
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

export function queuedOp(kind: string, spec: Json, table?: string): JobQueuedOp {
  return { op: 'job', state: 'Queued', kind, spec, ...(table !== undefined && { t: table }) }
}

/** Queues a running job again. */
export function queuedAgainOp({ id, kind, spec, table }: OpenJob): JobQueuedOp {
  return { ...queuedOp(kind, spec, table ?? undefined), id }
}

export function claimedOp({ id, epoch }: OpenJob, owner: string): JobClaimedOp {
  return { op: 'job', state: 'Running', id, owner, epoch: epoch + 1 }
}

export function endedOp(id: string, state: JobEndedOp['state'], reason?: string): JobEndedOp {
  return { op: 'job', state, id, ...(reason !== undefined && { reason }) }
}
