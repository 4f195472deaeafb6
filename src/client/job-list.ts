/** Implementation of `listJobs` and `cancelJob` of a namespace, over any transport. */
import { ErrorCode, SheafError } from '../errors.js'
import type { CallOptions, Operations } from '../protocol/calls.js'
import type { JobState } from '../protocol/job-shapes.js'

/** A job: work that continues after the call that started the job has returned. */
export interface JobInfo {
  /** Id of the job, and of the transaction that queued it. */
  readonly id: string
  /** Kind of the job: `create_index`, `backfill_column` or `refresh`. */
  readonly type: string
  /** Path of the table; null if the table was dropped. */
  readonly table: readonly string[] | null
  /** State of the job. Queued jobs are `running` too. */
  readonly state: 'running' | 'finished' | 'failed' | 'cancelled'
  readonly createdAt: Date
}

const states: Readonly<Record<JobState, JobInfo['state']>> = {
  IN_PROGRESS: 'running',
  DONE: 'finished',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
}

/** List the jobs, newest first. */
export async function listJobs(operations: Operations, call: CallOptions): Promise<readonly JobInfo[]> {
  const jobs: JobInfo[] = []
  let page_token: string | undefined
  do {
    const page = await operations.listJobs({ page_token }, call)
    for (const { job_id, job_type, table_id = null, state, created_at_millis } of page.jobs) {
      const createdAt = new Date(created_at_millis)
      jobs.push({ id: job_id, type: job_type, table: table_id, state: states[state], createdAt })
    }
    page_token = page.page_token
  } while (page_token !== undefined)
  return jobs
}

/** Cancel a job. Returns false if no job has the id. */
export async function cancelJob(operations: Operations, id: string, call: CallOptions): Promise<boolean> {
  try {
    await operations.cancelJob({ job_id: id }, call)
    return true
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.TransactionNotFound) return false
    throw error
  }
}
