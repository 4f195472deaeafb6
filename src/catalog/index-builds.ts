/** Builds of indexes in the catalog: open jobs, and failed builds as long as nothing has replaced them. */
import type { Json } from '../commit/machine.js'
import type { IndexKind } from '../indexes/kind.js'
import { type JobEndedOp, type JobOp, type JobQueuedOp, type OpenJob, queuedOp } from '../jobs/job-op.js'
import { featuresOfKinds, type IndexChange, type TableIndex } from '../manifest/table-index.js'
import type { PersistentMap } from '../primitives/persistent-map.js'

/** The kind of index jobs. */
export const indexJob = 'index'

/** Return the kind of index jobs that need a tokenizer of the caller. */
export function indexJobOf(tokenizer: string): string {
  return `${indexJob}:${tokenizer}`
}

function isIndexJob(kind: string): boolean {
  return kind === indexJob || kind.startsWith(`${indexJob}:`)
}

/** The specification of an index job: the future index, without segments. */
export type IndexSpec = Omit<TableIndex, 'segments'>

/** An open index job. */
interface IndexBuild {
  readonly job: OpenJob
  readonly spec: IndexSpec
}

/** A failed index job: its transaction id, its index, and the error message. */
export interface FailedBuild {
  readonly job: string
  readonly spec: IndexSpec
  readonly reason: string
}

/** By table: at most one failed build per index name, in the order of failure. */
export type FailedBuilds = PersistentMap<readonly FailedBuild[]>

/** Failed builds per table that are remembered. */
const keptMax = 100

/** Return the open builds of a table. No two have the same index name. */
export function openBuilds(jobs: PersistentMap<OpenJob>, table: string): readonly IndexBuild[] {
  const found: IndexBuild[] = []
  // Fast path: every query asks, and there is seldom a build.
  if (jobs.size === 0) return found
  for (const [, job] of jobs) {
    if (isIndexJob(job.kind) && job.table === table) found.push({ job, spec: specOf(job) })
  }
  return found
}

/** Return the features that readers of open or failed builds must know. */
export function featuresOfBuilds(jobs: PersistentMap<OpenJob>, failed: FailedBuilds): readonly string[] {
  const kinds: IndexKind[] = []
  for (const [, job] of jobs) if (isIndexJob(job.kind)) kinds.push(specOf(job).kind)
  for (const [, builds] of failed) kinds.push(...builds.map(({ spec }) => spec.kind))
  return featuresOfKinds(kinds)
}

/** Queue an index build. `tokenizer`: the registered tokenizer that it needs, if any. */
export function queuedBuild(spec: IndexSpec, table: string, tokenizer?: string): JobQueuedOp {
  return queuedOp(tokenizer === undefined ? indexJob : indexJobOf(tokenizer), spec as unknown as Json, table)
}

function specOf({ spec }: Pick<OpenJob, 'spec'>): IndexSpec {
  return spec as unknown as IndexSpec
}

/** Return the failed builds after operation `op` of `job`. Drops those of removed tables. */
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

/** Return the failed builds after a change of a table's indexes. */
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
