/** What jobs that change a table have in common. */
import type { CatalogState, TableHead } from '../catalog/state.js'
import type { Propose } from '../commit/machine.js'
import { ErrorCode, SheafError } from '../errors.js'
import { type JobRun, Overtaken } from '../jobs/job-kind.js'
import type { Engine } from '../root/engine.js'

/** Longest pause before the work begins again, milliseconds. */
const pauseMsMax = 64

/** Thrown by a decision on a table that has changed since `attempt` looked at it: after a moment it looks again. */
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

/** The table a job works on. `purpose`: what was to be done with it. Throws code 4 when it is gone. */
export function tableOf(state: CatalogState, { table }: JobRun, purpose: string): TableHead {
  const head = table === null ? undefined : state.tables.get(table)
  if (head !== undefined) return head
  throw new SheafError(
    ErrorCode.TableNotFound,
    `the table was dropped or deregistered before it was ${purpose}`,
  )
}
