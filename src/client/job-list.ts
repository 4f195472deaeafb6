/** Jobs as users of a namespace see them, over any door. */
import { ErrorCode, SheafError } from '../errors.js'
import type { CallOptions, Operations } from '../protocol/calls.js'
import type { JobState } from '../protocol/job-shapes.js'

/** Work that outlives the call that asked for it. */
export interface JobInfo {
  /** Also that of the transaction which queued it. */
  readonly id: string
  /** `create_index`, `backfill_column` or `refresh`. */
  readonly type: string
  /** Path of the table it works on; null when that is gone. */
  readonly table: readonly string[] | null
  /** `running` also while it waits. */
  readonly state: 'running' | 'finished' | 'failed' | 'cancelled'
  readonly createdAt: Date
}

const states: Readonly<Record<JobState, JobInfo['state']>> = {
  IN_PROGRESS: 'running',
  DONE: 'finished',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
}

/** The newest first. */
export async function listJobs(operations: Operations, call: CallOptions): Promise<readonly JobInfo[]> {
  const found: JobInfo[] = []
  let page_token: string | undefined
  do {
    const page = await operations.listJobs({ page_token }, call)
    for (const { job_id, job_type, table_id = null, state, created_at_millis } of page.jobs) {
      const createdAt = new Date(created_at_millis)
      found.push({ id: job_id, type: job_type, table: table_id, state: states[state], createdAt })
    }
    page_token = page.page_token
  } while (page_token !== undefined)
  return found
}

/** Whether there is such a job. */
export async function cancelJob(operations: Operations, id: string, call: CallOptions): Promise<boolean> {
  try {
    await operations.cancelJob({ job_id: id }, call)
    return true
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.TransactionNotFound) return false
    throw error
  }
}
