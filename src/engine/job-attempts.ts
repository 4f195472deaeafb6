/** Shared by jobs that change a table: retries, and finding the table. */
import type { CatalogState, TableHead } from '../catalog/state.js'
import type { Propose } from '../commit/machine.js'
import { ErrorCode, SheafError } from '../errors.js'
import { type JobRun, Overtaken } from '../jobs/job-kind.js'
import type { Engine } from '../root/engine.js'

/** Longest pause before a retry, milliseconds. */
const pauseMsMax = 64

/** Return the error of a decision on a table that has changed since `attempt` read it. The job retries after a pause. */
export function overtaken(
  { clock }: Engine,
  { signal }: JobRun,
  attempt: () => Promise<Propose<CatalogState>>,
): Overtaken<CatalogState> {
  return new Overtaken(async () => {
    await clock.sleep(clock.random() * pauseMsMax, signal, true)
    return attempt()
  })
}

/** Find the table of a job. `purpose`: for the message. Throws `TableNotFound` if the table was dropped. */
export function tableOf(state: CatalogState, { table }: JobRun, purpose: string): TableHead {
  const head = table === null ? undefined : state.tables.get(table)
  if (head !== undefined) return head
  throw new SheafError(
    ErrorCode.TableNotFound,
    `the table was dropped or deregistered before it was ${purpose}`,
  )
}
