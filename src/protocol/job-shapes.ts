/** Jobs as LanceDB's clients ask for them. A job is a transaction too (protocol/transaction-shapes), under the same id. */
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

export const jobState = enumeration(['IN_PROGRESS', 'DONE', 'FAILED', 'CANCELLED'])
export type JobState = Infer<typeof jobState>

export const progress = object({
  done: required(number, 'Steps that are done.'),
  total: required(number, 'Steps there are.'),
  phase: required(string(), 'What is being done.'),
  per_second: optional(number, 'Steps a second since the phase began; absent in its first second.'),
  seconds_left: optional(number, 'Seconds that the rest of the phase takes at that rate.'),
})

export const listJobsRequest = object({ ...caller, ...paging })

export const listJobsReply = object({
  jobs: required(
    array(
      object({
        job_id: required(string(), 'Its id.'),
        table: required(string(), 'Name of its table, without namespace; empty when that is gone.'),
        table_id: optional(array(string()), 'Path of its table; absent when that is gone.'),
        job_type: required(string(), 'What kind of work it is.'),
        state: required(jobState, 'How far it is.'),
        created_at_millis: required(integer(0), 'When it was queued, milliseconds since 1970.'),
      }),
    ),
    'Jobs, the newest first.',
  ),
  ...nextPage,
})

const onJob = { ...caller, job_id: required(string('nonEmpty'), 'The job, as the call that queued it said.') }

export const jobRequest = object(onJob)

export const describeJobReply = object({
  job_id: required(string(), 'Its id.'),
  job_type: required(string(), 'What kind of work it is.'),
  job_state: required(jobState, 'How far it is.'),
  creation_ms: required(integer(0), 'When it was queued, milliseconds since 1970.'),
  spec: required(record(json), 'What it is to do.'),
  progress: optional(progress, 'How far it is, as last heard.'),
  result: optional(record(json), 'What came of it, where more is known than that it is done.'),
  failure: optional(
    object({ message: required(string(), 'What went wrong.') }),
    'Why it failed or was cancelled, where that is known.',
  ),
})

export const cancelJobReply = object({ job_id: required(string(), 'Its id.') })
