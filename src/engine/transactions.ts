/** Handlers of the operations on transactions. A transaction is a commit or a job. */
import type { CatalogEntry } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import { decideAlterTransaction, viewTransaction } from '../catalog/transactions.js'
import { SlotTrimmed } from '../commit/slots.js'
import { formatTransactionId, parseTransactionId } from '../commit/transaction-id.js'
import { ErrorCode, quote, SheafError } from '../errors.js'
import type { JobQueuedOp } from '../jobs/job-op.js'
import type { Handler } from '../protocol/calls.js'
import { commit } from '../root/commit.js'
import type { Engine } from '../root/engine.js'

/** Names of the properties that Sheaf sets. Callers set all other properties. */
const computed = new Set([
  'uuid',
  'operation',
  'table',
  'version',
  'read_version',
  'timestamp_millis',
  'reason',
  'phase',
  'done',
  'total',
  'rows_assigned',
  'mode',
  'rows_written',
  'source_version',
  'published_version',
])

export const describeTransaction: Handler<Engine, 'describeTransaction'> = async (
  engine,
  request,
  { signal },
) => {
  const id = request.id.at(-1)!
  const state = await engine.root.refresh(signal)
  const facts = await factsOf(engine, state, id, signal)
  const { status, props } = viewTransaction(state, id)
  return { status, properties: { ...props, ...facts } }
}

export const alterTransaction: Handler<Engine, 'alterTransaction'> = async (engine, request, options) => {
  const { signal } = options
  const id = request.id.at(-1)!
  const facts = await factsOf(engine, await engine.root.refresh(signal), id, signal)
  const { reply } = await commit(
    engine,
    state => {
      const view = viewTransaction(state, id)
      const { ops, status, props } = decideAlterTransaction(id, view, request.actions, computed)
      return { ops, reply: { status, properties: { ...props, ...facts } } }
    },
    options,
  )
  return reply
}

/** Return the facts about a transaction from its entry and its job. Throws `TransactionNotFound` for an unknown id. */
async function factsOf(
  engine: Engine,
  state: CatalogState,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, string>>> {
  const { ts, entry } = await entryOf(engine, id, signal)
  // The record of an old job is removed. Without this check, the job would look like a successful commit.
  const isJob = queuedIn(entry) !== undefined
  if (isJob && !state.jobs.has(id) && state.notes.get(id) === undefined) throw unknownTransaction(id)
  return {
    uuid: entry.txn,
    timestamp_millis: String(ts),
    ...factsOfEntry(entry),
    ...(await factsOfJob(engine, state, id, signal)),
  }
}

/**
 * Return the entry of a transaction, and the time of its commit. Throws `TransactionNotFound` if the id is unknown or
 * its slot was trimmed.
 */
export async function entryOf(
  engine: Engine,
  id: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly ts: number; readonly entry: CatalogEntry }> {
  const position = parseTransactionId(id)
  if (position === null || position.slot < 1 || position.slot > engine.root.head) throw unknownTransaction(id)
  const { header } = await engine.versions.slots.get(position.slot, signal).catch(error => {
    throw error instanceof SlotTrimmed ? unknownTransaction(id) : error
  })
  const entry = header.entries.find(({ txn }) => txn === position.txn) as CatalogEntry | undefined
  if (entry === undefined || formatTransactionId(position.slot, entry.txn) !== id)
    throw unknownTransaction(id)
  return { ts: header.ts, entry }
}

/** Return the operation of an entry that queues a job. Undefined if the entry queues no job. */
export function queuedIn({ ops }: CatalogEntry): JobQueuedOp | undefined {
  for (const op of ops) {
    if (op.op === 'job' && op.state === 'Queued' && op.id === undefined) return op
  }
  return undefined
}

function factsOfEntry({ ops }: CatalogEntry): Record<string, string> {
  const kinds = new Set(ops.map(op => (op.op !== 'version' && 'kind' in op ? op.kind : op.op)))
  const facts: Record<string, string> = { operation: [...kinds].join(' ') }
  for (const op of ops) {
    if (!('t' in op) || op.t === undefined) continue
    facts.table ??= op.t
    if (op.t !== facts.table || (op.op !== 'change' && op.op !== 'version')) continue
    // If the entry has several versions of one table, the last one is the result.
    facts.version = String(op.v)
    if (op.op === 'change') facts.read_version ??= String(op.base)
  }
  return facts
}

async function factsOfJob(
  engine: Engine,
  state: CatalogState,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Record<string, string>> {
  const note = state.notes.get(id)
  if (note?.reason !== undefined) return { reason: note.reason }
  if (!state.jobs.has(id)) return {}
  const progress = await engine.jobs.progressOf(id, signal)
  if (progress === null) return {}
  const { done, total, phase } = progress
  return { done: String(done), total: String(total), phase }
}

/** Return the error for a transaction id that is unknown or whose record was removed. */
export function unknownTransaction(id: string): SheafError {
  return new SheafError(ErrorCode.TransactionNotFound, `there is no transaction ${quote(id)}`, {
    hint: 'use an id that a call returned; the records of old transactions and jobs are removed',
  })
}
