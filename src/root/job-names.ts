/** The names of job kinds in the log. The names for index builds are in `catalog/index-builds.ts`. */
import { type ColumnFunction, functionKey } from '../write/functions.js'

/** The kind of jobs that fill columns. If a function fills them, its name is appended. */
export const backfillJob = 'backfill'

/** The kind of jobs that refresh views. */
export const refreshJob = 'refresh-view'

/**
 * Return the kind of a backfill job. It contains the name of the function, so that only processes with this function
 * claim the job. Null: no function is needed.
 */
export function backfillJobOf(called: ColumnFunction | null): string {
  return called === null ? backfillJob : `${backfillJob}:${functionKey(called)}`
}
