/**
 * The operations of jobs in the log, and the state of an open job after each operation. A job that is not open has
 * ended.
 *
 *     Queued --claim--> Running --+--> Succeeded | Failed | Canceled: no longer open
 *       ^ |                |      |
 *       | +----------------|------+    (a queued job can also fail or be canceled)
 *       +---- again -------+
 *
 * A running job may be split into units. A unit is a job, too: unit `i` has the id `<id of the job>.<i>`. Any process may
 * claim it. Its end stays in the job that was split, until that job ends. Units that are then open end with the job.
 */
import type { Json } from '../commit/machine.js'
import { parseTransactionId } from '../commit/transaction-id.js'
import { assert } from '../errors.js'
import type { PersistentMap } from '../primitives/persistent-map.js'

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

/** Operation that splits a running job into units. `kind`: the kind of the units. `units`: the spec of each unit. */
interface JobSplitOp {
  readonly op: 'job'
  readonly state: 'Split'
  readonly id: string
  readonly kind: string
  readonly units: readonly Json[]
}

/** Operation that ends a job. The same entry has the changes of the job, if it succeeded. */
export interface JobEndedOp {
  readonly op: 'job'
  readonly state: 'Succeeded' | 'Failed' | 'Canceled'
  readonly id: string
  /** Reason why the job failed. */
  readonly reason?: string
  /** The result of a unit that succeeded. */
  readonly result?: Json
}

/** An operation of a job. */
export type JobOp = JobQueuedOp | JobClaimedOp | JobSplitOp | JobEndedOp

/** The end of a unit: its result, or the reason why it failed. */
type UnitEnd = { readonly result: Json } | { readonly failed: string }

/** The feature that readers must support if a job was split. Readers without it would keep its units open. */
export const jobUnitsFeature = 'job-units'

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
  /** Only for a unit: the id of the job that was split. */
  readonly of?: string
  /** Only for a job that was split: the ends of its units, in the order of the units. Null: the unit is open. */
  readonly units?: readonly (UnitEnd | null)[]
}

/**
 * Return the open jobs after the operation `op` of the job `id`. For a new job, `id` is the transaction id of its entry.
 * `created` completes a new job. Throws an internal error if the operation is not valid for the job, because only a
 * defect of Sheaf can cause this.
 */
export function jobsAfter<J extends OpenJob>(
  jobs: PersistentMap<J>,
  op: JobOp,
  id: string,
  created: (job: OpenJob) => J,
): PersistentMap<J> {
  const job = jobs.get(id)
  if (op.state === 'Queued' && op.id === undefined) {
    assert(job === undefined, `job ${id} cannot be queued`)
    const { kind, spec, t: table = null } = op
    return jobs.set(id, created({ id, kind, spec, table, status: 'Queued', owner: null, epoch: 0 }))
  }
  assert(job !== undefined, `job ${id} is not open`)
  switch (op.state) {
    case 'Queued':
      assert(job.status === 'Running', `job ${id} cannot be queued`)
      return jobs.set(id, { ...job, status: 'Queued', owner: null })
    case 'Running':
      assert(job.status === 'Queued' && op.epoch === job.epoch + 1, `job ${id} cannot be claimed`)
      return jobs.set(id, { ...job, status: 'Running', owner: op.owner, epoch: op.epoch })
    case 'Split':
      assert(job.status === 'Running' && job.units === undefined, `job ${id} cannot be split`)
      return op.units.reduce<PersistentMap<J>>(
        (all, spec, i) => {
          const unit = { id: unitId(id, i), kind: op.kind, spec, table: job.table, of: id }
          return all.set(unit.id, created({ ...unit, status: 'Queued', owner: null, epoch: 0 }))
        },
        jobs.set(id, { ...job, units: op.units.map(() => null) }),
      )
    default:
      assert(op.state !== 'Succeeded' || job.status === 'Running', `job ${id} succeeded without being run`)
      return jobsAfterEnd(jobs, job, op)
  }
}

function jobsAfterEnd<J extends OpenJob>(jobs: PersistentMap<J>, job: J, op: JobEndedOp): PersistentMap<J> {
  const { id, of, units = [] } = job
  const left = units.reduce((all, _, i) => all.delete(unitId(id, i)), jobs.delete(id))
  if (of === undefined) return left
  const whole = left.get(of)
  assert(whole?.units !== undefined, `unit ${id} is of no open job`)
  const end: UnitEnd =
    op.state === 'Succeeded' ? { result: op.result ?? null } : { failed: op.reason ?? op.state }
  return left.set(of, { ...whole, units: whole.units.map((each, i) => (unitId(of, i) === id ? end : each)) })
}

function unitId(job: string, i: number): string {
  return `${job}.${i}`
}

/** Return the slot that queued a job, or the job of a unit. */
export function slotOfJob(id: string): number {
  return parseTransactionId(id.split('.', 1)[0]!)?.slot ?? 0
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
export function claimedOp({ id, epoch }: Pick<OpenJob, 'id' | 'epoch'>, owner: string): JobClaimedOp {
  return { op: 'job', state: 'Running', id, owner, epoch: epoch + 1 }
}

/** Return the operation that splits a running job into units of kind `kind`. */
export function splitOp({ id }: Pick<OpenJob, 'id'>, kind: string, units: readonly Json[]): JobSplitOp {
  return { op: 'job', state: 'Split', id, kind, units }
}

/** Return the operation that ends an open job. `reason`: reason of a failure. `result`: result of a unit. */
export function endedOp(id: string, state: JobEndedOp['state'], reason?: string, result?: Json): JobEndedOp {
  return {
    op: 'job',
    state,
    id,
    ...(reason !== undefined && { reason }),
    ...(result !== undefined && { result }),
  }
}
