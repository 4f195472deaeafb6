/**
 * Handlers of the operations on jobs. The id of a job is the id of the transaction that queued it. Replies use the
 * terms of LanceDB's job API.
 */
import { compactionJob } from '../catalog/compaction-job.js'
import { type IndexSpec, indexJob } from '../catalog/index-builds.js'
import type { Properties } from '../catalog/ops.js'
import type { CatalogState } from '../catalog/state.js'
import { viewTransaction } from '../catalog/transactions.js'
import type { Json } from '../commit/machine.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { Progress } from '../jobs/job-kind.js'
import { endedOp, type JobQueuedOp } from '../jobs/job-op.js'
import { findFieldById, pathText } from '../manifest/field-node.js'
import { Pacer } from '../primitives/pacer.js'
import type { Handler, Reply } from '../protocol/calls.js'
import type { JobState } from '../protocol/job-shapes.js'
import { type Listing, paginate } from '../protocol/page.js'
import type { TransactionStatus } from '../protocol/transaction-shapes.js'
import { commit } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { backfillJob, refreshJob } from '../root/job-names.js'
import { schemaOf } from '../root/open-table.js'
import type { RefreshSpec } from '../root/refresh-request.js'
import type { BackfillSpec } from './backfill.js'
import { entryOf, queuedIn, unknownTransaction } from './transactions.js'

/** Maximum number of jobs per page, also for requests without a limit, because each job is read from the log. */
const pageMax = 1000

/**
 * The order of the list of jobs. An id begins with its slot number. The padding makes the order of the keys the order
 * of time.
 */
const listing: Listing<string> = { name: 'jobs', key: id => id.padStart(idLength, '0'), descending: true }
const idLength = 48

export const listJobs: Handler<Engine, 'listJobs'> = async (engine, request, { signal }) => {
  const state = await engine.root.refresh(signal)
  const { limit = pageMax } = request
  const ids = idsIn(state).map(id => [listing.key(id), id] as const)
  const sorted = ids.sort(([a], [b]) => (a > b ? -1 : 1)).map(([, id]) => id)
  const { items, ...next } = paginate(sorted, listing, { ...request, limit: Math.min(limit, pageMax) })
  const jobs: ListedJob[] = []
  const pacer = new Pacer(signal, engine.clock)
  for (const id of items) {
    const job = await listedJob(engine, state, id, signal)
    if (job !== null) jobs.push(job)
    await pacer.turn()
  }
  return { jobs, ...next }
}

/** Return the ids of open jobs that callers asked for, and of ended jobs whose record still exists. */
function idsIn({ jobs, notes }: CatalogState): string[] {
  const ids: string[] = []
  for (const [id, { kind, of }] of jobs) if (of === undefined && kind !== compactionJob) ids.push(id)
  for (const [id, { kind }] of notes) if (kind !== undefined) ids.push(id)
  return ids
}

type ListedJob = Reply<'listJobs'>['jobs'][number]

/** Return the list entry of a job, or null if the log no longer has the entry that queued it. */
async function listedJob(
  engine: Engine,
  state: CatalogState,
  id: string,
  signal: AbortSignal | undefined,
): Promise<ListedJob | null> {
  const found = await queuedJob(engine, state, id, signal).catch(error => {
    if (error instanceof SheafError && error.code === ErrorCode.TransactionNotFound) return null
    throw error
  })
  if (found === null) return null
  const { queued, ts } = found
  const path = queued.t === undefined ? undefined : state.tables.get(queued.t)?.id
  return {
    job_id: id,
    table: path?.at(-1) ?? '',
    ...(path !== undefined && { table_id: path }),
    job_type: typeOf(queued),
    state: jobStates[viewTransaction(state, id).status],
    created_at_millis: ts,
  }
}

export const describeJob: Handler<Engine, 'describeJob'> = async (engine, request, { signal }) => {
  const { job_id } = request
  const state = await engine.root.refresh(signal)
  const { queued, ts } = await queuedJob(engine, state, job_id, signal)
  const spec = await specOf(engine, state, queued, signal)
  const progress = state.jobs.has(job_id) ? await engine.jobs.progressOf(job_id, signal) : null
  const reason = state.notes.get(job_id)?.reason
  const { status, props } = viewTransaction(state, job_id)
  const result = status === 'Succeeded' ? resultOf(familyOf(queued), props) : null
  return {
    job_id,
    job_type: typeOf(queued),
    job_state: jobStates[status],
    creation_ms: ts,
    spec,
    ...(progress !== null && { progress: progressJson(progress) }),
    ...(result !== null && { result }),
    ...(reason !== undefined && { failure: { message: reason } }),
  }
}

/** Convert the progress of a job to its form in replies. */
export function progressJson({
  perSecond,
  secondsLeft,
  ...steps
}: Progress): NonNullable<Reply<'describeJob'>['progress']> {
  if (perSecond === undefined || secondsLeft === undefined) return steps
  return { ...steps, per_second: perSecond, seconds_left: secondsLeft }
}

/** Return the result that a job recorded when it ended, or null if jobs of this kind record no result. */
function resultOf(
  family: string,
  { rows_assigned, mode, rows_written, source_version, published_version }: Properties,
): Readonly<Record<string, string | number>> | null {
  if (family === backfillJob) {
    return {
      rows_assigned: Number(rows_assigned),
      // No rows have failed, because a row that cannot be filled fails the whole job.
      rows_failed: 0,
      rows_remaining: 0,
      source_version: Number(source_version),
      ...(published_version !== undefined && { published_version: Number(published_version) }),
    }
  }
  if (family !== refreshJob) return null
  return {
    mode: mode!,
    rows_written: Number(rows_written),
    source_version: Number(source_version),
    version: Number(published_version),
  }
}

export const cancelJob: Handler<Engine, 'cancelJob'> = async (engine, request, options) => {
  const { job_id } = request
  await queuedJob(engine, await engine.root.refresh(options.signal), job_id, options.signal)
  const { reply } = await commit(
    engine,
    ({ jobs }) => ({ ops: jobs.has(job_id) ? [endedOp(job_id, 'Canceled')] : [], reply: { job_id } }),
    options,
  )
  return reply
}

/**
 * Return the operation that queued a job, and its time. Throws `TransactionNotFound` if the id is not the id of a job,
 * or if the record of the job was removed.
 */
async function queuedJob(
  engine: Engine,
  state: CatalogState,
  id: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly queued: JobQueuedOp; readonly ts: number }> {
  const { ts, entry } = await entryOf(engine, id, signal)
  const queued = queuedIn(entry)
  const isKnown = state.jobs.has(id) || state.notes.get(id)?.kind !== undefined
  if (queued === undefined || !isKnown) throw unknownTransaction(id)
  return { queued, ts }
}

const jobStates: Readonly<Record<TransactionStatus, JobState>> = {
  Queued: 'IN_PROGRESS',
  Running: 'IN_PROGRESS',
  Succeeded: 'DONE',
  Failed: 'FAILED',
  Canceled: 'CANCELLED',
}

/** The types of jobs in replies. They are the names of the routes that start these jobs. */
const jobTypes: Readonly<Record<string, string>> = {
  [indexJob]: 'create_index',
  [backfillJob]: 'backfill_column',
  [refreshJob]: 'refresh',
}

/** Return the kind of a job without its suffix, which is the name of a function or tokenizer. */
function familyOf({ kind }: JobQueuedOp): string {
  return kind.split(':', 1)[0]!
}

function typeOf(queued: JobQueuedOp): string {
  return jobTypes[familyOf(queued)] ?? queued.kind
}

/**
 * Return a description of the work of the job, with the field names of the call that queued it. Columns that were
 * dropped are left out.
 */
async function specOf(
  engine: Engine,
  state: CatalogState,
  queued: JobQueuedOp,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, Json>>> {
  const head = queued.t === undefined ? undefined : state.tables.get(queued.t)
  const schema = head?.kind === 'sheaf' ? await schemaOf(engine, head, signal) : undefined
  const pathsOf = (fields: readonly number[]) =>
    fields.flatMap(id => {
      const chain = schema === undefined ? null : findFieldById(schema, id)
      return chain === null ? [] : [pathText(chain)]
    })
  switch (familyOf(queued)) {
    case indexJob: {
      const { name, kind, field } = queued.spec as unknown as IndexSpec
      return { index_name: name, index_type: kind, columns: pathsOf([field]) }
    }
    case backfillJob: {
      const { fields, where } = queued.spec as unknown as BackfillSpec
      return { columns: pathsOf(fields), ...(where !== undefined && { where }) }
    }
    case refreshJob: {
      const { version, rowsMax, full } = queued.spec as unknown as RefreshSpec
      return {
        ...(version !== undefined && { src_version: version }),
        ...(full && { full }),
        ...(rowsMax !== undefined && { max_rows_per_fragment: rowsMax }),
      }
    }
    default:
      return {}
  }
}
