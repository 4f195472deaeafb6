/**
 * The shapes of jobs, in the form that LanceDB's clients use. A job is also a transaction (protocol/transaction-shapes)
 * with the same id.
 */
import { caller, nextPage, paging } from './request-fields.js'
import {
  array,
  enumeration,
  type Infer,
  integer,
  json,
  number,
  object,
  optional,
  record,
  required,
  string,
} from './shape.js'

const jobState = enumeration(['IN_PROGRESS', 'DONE', 'FAILED', 'CANCELLED'])
export type JobState = Infer<typeof jobState>

export const progress = object({
  done: required(number, 'Number of steps that are done.'),
  total: required(number, 'Total number of steps.'),
  phase: required(string(), 'Name of the current phase.'),
  per_second: optional(
    number,
    'Steps per second since the phase began; absent in the first second of a phase.',
  ),
  seconds_left: optional(number, 'Estimated seconds for the rest of the phase.'),
})

export const listJobsRequest = object({ ...caller, ...paging })

export const listJobsReply = object({
  jobs: required(
    array(
      object({
        job_id: required(string(), 'Id of the job.'),
        table: required(
          string(),
          'Name of the table, without namespace; empty if the table no longer exists.',
        ),
        table_id: optional(array(string()), 'Path of the table; absent if the table no longer exists.'),
        job_type: required(string(), 'Kind of the job.'),
        state: required(jobState, 'State of the job.'),
        created_at_millis: required(integer(0), 'Time when the job was queued, milliseconds since 1970.'),
      }),
    ),
    'Jobs, newest first.',
  ),
  ...nextPage,
})

const onJob = {
  ...caller,
  job_id: required(string('nonEmpty'), 'Id of the job, from the reply that queued it.'),
}

export const jobRequest = object(onJob)

export const describeJobReply = object({
  job_id: required(string(), 'Id of the job.'),
  job_type: required(string(), 'Kind of the job.'),
  job_state: required(jobState, 'State of the job.'),
  creation_ms: required(integer(0), 'Time when the job was queued, milliseconds since 1970.'),
  spec: required(record(json), 'Parameters of the job.'),
  progress: optional(progress, 'Last reported progress.'),
  result: optional(record(json), 'Result of the job. Absent: the job has no result.'),
  failure: optional(
    object({ message: required(string(), 'Message of the error.') }),
    'Reason why the job failed or was cancelled, if it is known.',
  ),
})

export const cancelJobReply = object({ job_id: required(string(), 'Id of the job.') })
