/**
 * Index builds in the catalog: open jobs and failed builds. A failed build is remembered until the index is built
 * again, dropped or replaced.
 */
import type { Json } from '../commit/machine.js'
import type { IndexKind } from '../indexes/kind.js'
import {
  type JobEndedOp,
  type JobOp,
  type JobQueuedOp,
  jobUnitsFeature,
  type OpenJob,
  queuedOp,
} from '../jobs/job-op.js'
import { featuresOfKinds, type IndexChange, type TableIndex } from '../manifest/table-index.js'
import type { PersistentMap } from '../primitives/persistent-map.js'

/** The job kind of index builds. */
export const indexJob = 'index'

/** Return the job kind of index builds that need a tokenizer that the caller registered. */
export function indexJobOf(tokenizer: string): string {
  return `${indexJob}:${tokenizer}`
}

/** Return the kind of the units of an index build. `kind`: the kind of the build. */
export function unitJobOf(kind: string): string {
  return `${indexJob}-unit${kind.slice(indexJob.length)}`
}

function isIndexJob(kind: string): boolean {
  return kind === indexJob || kind.startsWith(`${indexJob}:`)
}

/** The specification of an index job: the index to build, without segments. */
export type IndexSpec = Omit<TableIndex, 'segments'>

/** An open index job. */
interface IndexBuild {
  readonly job: OpenJob
  readonly spec: IndexSpec
}

/** A failed index job: its transaction id, the index that it was to build, and the error message. */
export interface FailedBuild {
  readonly job: string
  readonly spec: IndexSpec
  readonly reason: string
}

/** By table: the failed builds in the order in which they failed, at most one per index name. */
export type FailedBuilds = PersistentMap<readonly FailedBuild[]>

/** Maximum number of failed builds that are remembered per table. */
const keptMax = 100

/** Return the open builds of a table. Two builds never have the same index name. */
export function openBuilds(jobs: PersistentMap<OpenJob>, table: string): readonly IndexBuild[] {
  const found: IndexBuild[] = []
  // Return early: every query calls this function, and usually there are no jobs.
  if (jobs.size === 0) return found
  for (const [, job] of jobs) {
    if (isIndexJob(job.kind) && job.table === table) found.push({ job, spec: specOf(job) })
  }
  return found
}

/** Return the features that readers of open and failed builds must support. */
export function featuresOfBuilds(jobs: PersistentMap<OpenJob>, failed: FailedBuilds): readonly string[] {
  const kinds: IndexKind[] = []
  let haveUnits = false
  for (const [, job] of jobs) {
    if (isIndexJob(job.kind)) kinds.push(specOf(job).kind)
    if (job.units !== undefined) haveUnits = true
  }
  for (const [, builds] of failed) kinds.push(...builds.map(({ spec }) => spec.kind))
  return [...featuresOfKinds(kinds), ...(haveUnits ? [jobUnitsFeature] : [])]
}

/**
 * Return the operation that queues an index build. `tokenizer`: the name of the registered tokenizer that the build
 * needs; undefined if it needs none.
 */
export function queuedBuild(spec: IndexSpec, table: string, tokenizer?: string): JobQueuedOp {
  return queuedOp(tokenizer === undefined ? indexJob : indexJobOf(tokenizer), spec as unknown as Json, table)
}

function specOf({ spec }: Pick<OpenJob, 'spec'>): IndexSpec {
  return spec as unknown as IndexSpec
}

/** Return the failed builds after operation `op` of `job`. Ignores jobs of other kinds and jobs of removed tables. */
export function buildsAfterJob(
  failed: FailedBuilds,
  job: OpenJob,
  op: JobOp,
  tables: PersistentMap<unknown>,
): FailedBuilds {
  const { kind, table, id } = job
  if (!isIndexJob(kind) || table === null || !tables.has(table)) return failed
  const spec = specOf(job)
  if (op.state === 'Queued') return withoutBuilds(failed, table, [spec.name])
  if (op.state !== 'Failed') return failed
  const { reason = '' }: JobEndedOp = op
  const others = (failed.get(table) ?? []).filter(each => each.spec.name !== spec.name)
  return failed.set(table, [...others, { job: id, spec, reason }].slice(-keptMax))
}

/**
 * Return the failed builds after a change of a table's indexes: builds of indexes that were defined or dropped are
 * removed.
 */
export function buildsAfterChange(
  failed: FailedBuilds,
  table: string,
  changes: readonly IndexChange[],
): FailedBuilds {
  const names = changes.flatMap(change => {
    if ('put' in change) return [change.put.name]
    return 'drop' in change ? [change.drop] : []
  })
  return withoutBuilds(failed, table, names)
}

function withoutBuilds(failed: FailedBuilds, table: string, names: readonly string[]): FailedBuilds {
  const known = failed.get(table)
  if (known === undefined) return failed
  const left = known.filter(({ spec }) => !names.includes(spec.name))
  if (left.length === known.length) return failed
  return left.length === 0 ? failed.delete(table) : failed.set(table, left)
}
