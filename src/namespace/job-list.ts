/** The jobs of a root that somebody may want to look after. */
import { parseTransactionId } from '../commit/transaction-id.js'
import type { CallOptions } from '../protocol/calls.js'
import type { Engine } from './engine.js'

export interface JobInfo {
  /** `describeTransaction` takes it. */
  readonly id: string
  /** What sort of work it is. */
  readonly kind: string
  /** Path of the table it works on; null where that is gone. */
  readonly table: readonly string[] | null
  /** `Queued` and `Running`: not ended yet. */
  readonly status: 'Queued' | 'Running' | 'Failed'
  /** How far it is: of `total` steps, `done`. */
  readonly progress?: { readonly done: number; readonly total: number; readonly phase: string }
  /** Why it failed. */
  readonly reason?: string
}

/** Those that have not ended, oldest first, then those that have failed and are not forgotten, the latest first. */
export async function listJobs(engine: Engine, { signal }: CallOptions): Promise<readonly JobInfo[]> {
  const { jobs, notes, tables } = await engine.root.refresh(signal)
  const pathOf = (uuid: string | null | undefined) => (uuid == null ? null : (tables.get(uuid)?.id ?? null))
  const open: JobInfo[] = []
  for (const [id, { kind, table, status }] of jobs) {
    const progress = status === 'Running' ? await engine.jobs.progressOf(id, signal) : null
    open.push({ id, kind, table: pathOf(table), status, ...(progress !== null && { progress }) })
  }
  const failed: JobInfo[] = []
  for (const [id, { kind, table, status, reason }] of notes) {
    if (status !== 'Failed' || kind === undefined) continue
    failed.push({ id, kind, table: pathOf(table), status, ...(reason !== undefined && { reason }) })
  }
  return [...open.sort((a, b) => slotOf(a) - slotOf(b)), ...failed.reverse()]
}

function slotOf({ id }: JobInfo): number {
  return parseTransactionId(id)!.slot
}
