/** How kinds of work are called in the log; those that build indexes are in `catalog/index-builds.ts`. */
import { type ColumnFunction, functionKey } from '../write/functions.js'

/** Jobs that fill columns; of those that call a function, its name follows. */
export const backfillJob = 'backfill'

/** Jobs that bring views up to date. */
export const refreshJob = 'refresh-view'

/** Processes that do not know a function leave its jobs to those that do. */
export function backfillJobOf(called: ColumnFunction | null): string {
  return called === null ? backfillJob : `${backfillJob}:${functionKey(called)}`
}
