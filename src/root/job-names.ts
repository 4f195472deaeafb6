/** Names of job kinds in the log. The kinds that build indexes are in `catalog/index-builds.ts`. */
import { type ColumnFunction, functionKey } from '../write/functions.js'

/** Jobs that fill columns. The name of the function follows, if the job calls one. */
export const backfillJob = 'backfill'

/** Jobs that refresh views. */
export const refreshJob = 'refresh-view'

/** The kind names the function, so that only processes that know the function claim the job. */
export function backfillJobOf(called: ColumnFunction | null): string {
  return called === null ? backfillJob : `${backfillJob}:${functionKey(called)}`
}
