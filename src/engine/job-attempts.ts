/** Helpers for jobs that change a table. */
import type { CatalogJobRun } from '../catalog/log-types.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import { ErrorCode, SheafError } from '../errors.js'
import { commitOptimistically } from '../root/commit.js'
import type { Engine } from '../root/engine.js'

/**
 * Run `attempt` until it commits. `attempt` prepares the result of the job and commits it once. It returns null if
 * another commit changed data on which the result depends. The attempts never delay other commits.
 */
export async function commitJob(
  engine: Engine,
  { table, signal }: CatalogJobRun,
  attempt: () => Promise<object | 'ended' | null>,
): Promise<void> {
  const tables = table === null ? [] : [table]
  await commitOptimistically(engine, attempt, {
    subject: 'the table',
    tables: () => tables,
    signal,
    attemptsMax: Number.POSITIVE_INFINITY,
    urgentAttempt: Number.POSITIVE_INFINITY,
  })
}

/**
 * Find the table of a job. `purpose`: the work in the message, for example `indexed`. Throws `TableNotFound` if the
 * table was dropped.
 */
export function tableOf(state: CatalogState, { table }: CatalogJobRun, purpose: string): TableHead {
  const head = table === null ? undefined : state.tables.get(table)
  if (head !== undefined) return head
  throw new SheafError(
    ErrorCode.TableNotFound,
    `the table was dropped or deregistered before it was ${purpose}`,
  )
}
