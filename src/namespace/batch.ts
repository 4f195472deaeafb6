/** Handlers of the operations that change several tables in one commit. */
import { applyOps } from '../catalog/apply.js'
import { findTable, idText, tableNamed } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import { type CatalogState, ownLocation, pathKey, type TableHead } from '../catalog/state.js'
import { decideDeclareTable } from '../catalog/tables.js'
import type { Committed, ProposalPosition } from '../commit/machine.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { StagedManifest } from '../manifest/lance-manifests.js'
import type { Handler, HandlerOptions } from '../protocol/calls.js'
import { parseManifestName } from '../protocol/manifest-name.js'
import type { BatchOperation, BatchResult, CreateVersionRequest } from '../protocol/version-shapes.js'
import { commit, type Decision, type Engine } from './engine.js'
import { checkNamed, current, finaliseEntry } from './lance-versions.js'
import { folderAt } from './locations.js'
import { checkOtherRoots } from './other-roots.js'
import { declared, departed } from './tables.js'
import { checkPreparedOn, deleteVersions, newVersion, prepareVersion } from './versions.js'

export const batchCreateTableVersions: Handler<Engine, 'batchCreateTableVersions'> = (
  engine,
  request,
  options,
) => {
  const operations = request.entries.map((entry): BatchOperation => ({ create_table_version: entry }))
  return commitBatch(engine, 'entries', operations, options, (results, transaction) => {
    return { versions: results.map(result => result.create_table_version!.version), ...transaction }
  })
}

export const batchCommitTables: Handler<Engine, 'batchCommitTables'> = (engine, request, options) => {
  return commitBatch(engine, 'operations', request.operations, options, (results, transaction) => {
    return { results, ...transaction }
  })
}

/** They are decided and applied in one go, which nothing else can interrupt. */
const operationsMax = 10_000

/** What an operation of a batch needs from outside the state, looked up before the commit. */
interface Prepared {
  /** The table a new version was prepared for; undefined when there was none of that name yet. */
  readonly table?: TableHead | undefined
  readonly staged?: StagedManifest | null
  /** Of a declaration. */
  readonly uuid?: string
  readonly folder?: string
}

/** Each operation sees what the earlier ones did; all of them are one entry of the log, or none is. */
async function commitBatch<R>(
  engine: Engine,
  field: string,
  operations: readonly BatchOperation[],
  options: HandlerOptions,
  reply: (results: readonly BatchResult[], transaction: { transaction_id?: string }) => R,
): Promise<R> {
  const { signal } = options
  if (operations.length > operationsMax) {
    throw invalidInput(`${field} has ${operations.length} elements, more than ${operationsMax}`, {
      hint: 'split them into several commits',
    })
  }
  // A single version of one of these tables gets its final name before its slot: of this process none comes between the two of a batch.
  const tables = operations.flatMap(({ create_table_version: made }) =>
    made === undefined ? [] : pathKey(made.id),
  )
  return engine.turns.runAll(tables, () => commitInTurn(engine, field, operations, options, reply), signal)
}

async function commitInTurn<R>(
  engine: Engine,
  field: string,
  operations: readonly BatchOperation[],
  options: HandlerOptions,
  reply: (results: readonly BatchResult[], transaction: { transaction_id?: string }) => R,
): Promise<R> {
  const { signal } = options
  const before = await engine.root.refresh(signal)
  const prepared: Prepared[] = []
  for (const [index, operation] of operations.entries()) {
    prepared.push(
      await inPlace(field, index, async () => prepareOperation(engine, before, operation, signal)),
    )
  }
  const decide = (state: CatalogState, at: ProposalPosition): Decision<R> => {
    const ops: CatalogOp[] = []
    const results: BatchResult[] = []
    let now = state
    for (const [index, operation] of operations.entries()) {
      const { table, staged } = prepared[index]!
      try {
        const decision = decideOperation(engine, now, operation, prepared[index]!, at)
        if (table !== undefined && staged) checkPreparedOn(table, state.tables.get(table.uuid))
        now = applyOps(now, decision.ops, at.transactionId, at)
        ops.push(...decision.ops)
        results.push(decision.reply)
      } catch (error) {
        throw placed(field, index, error)
      }
    }
    return { ops, reply: reply(results, ops.length === 0 ? {} : { transaction_id: at.transactionId }) }
  }
  try {
    const outcome = await commit(engine, decide, options)
    if (outcome.committed !== null) await finaliseCommitted(engine, outcome.committed)
    return outcome.reply
  } catch (error) {
    await finaliseAll(engine, prepared, error)
    throw error
  }
}

/**
 * Names what a batch committed; it is answered only when all manifests have their final names. Throws code 14 where a Lance engine took one of them, and
 * commit-state-unknown where the names cannot be given now.
 */
async function finaliseCommitted(
  engine: Engine,
  { transactionId, entry }: Committed<CatalogState>,
): Promise<void> {
  try {
    await finaliseEntry(engine, entry)
  } catch (cause) {
    const message = `transaction ${transactionId} is committed, but its manifests have no final names yet`
    const hint =
      'look at the tables, which gives them their names; or send the call again under an idempotency key'
    throw new SheafError(ErrorCode.ServiceUnavailable, message, {
      kind: 'commit-state-unknown',
      transactionId,
      hint,
      cause,
    })
  }
  await checkNamed(engine, entry, transactionId)
}

async function prepareOperation(
  engine: Engine,
  state: CatalogState,
  { declare_table, create_table_version }: BatchOperation,
  signal: AbortSignal | undefined,
): Promise<Prepared> {
  if (declare_table !== undefined) {
    const uuid = engine.clock.uuid()
    const { location } = declare_table
    if (location === undefined) return { uuid, folder: ownLocation(uuid) }
    const folder = folderAt(engine.location, location)
    await checkOtherRoots(engine.store, folder, signal)
    return { uuid, folder }
  }
  if (create_table_version === undefined) return {}
  const table = tableNamed(state, create_table_version.id)
  if (table === undefined) return {}
  const now = await current(engine, table, signal, create_table_version.version)
  return { table: now, staged: await prepareVersion(engine, now, create_table_version, signal) }
}

function decideOperation(
  engine: Engine,
  state: CatalogState,
  operation: BatchOperation,
  prepared: Prepared,
  at: ProposalPosition,
): Decision<BatchResult> {
  const { declare_table, create_table_version, delete_table_versions, deregister_table } = operation
  const { transactionId } = at
  if (declare_table !== undefined) {
    const { id, properties = {} } = declare_table
    const { uuid, folder } = prepared
    return {
      ops: [decideDeclareTable(state, id, uuid!, properties, folder)],
      reply: { declare_table: declared(engine, folder!, properties, transactionId) },
    }
  }
  if (create_table_version !== undefined) {
    const head = findTable(state, create_table_version.id)
    const staged = stagedFor(head, create_table_version, prepared)
    const { op, record } = newVersion(engine, head, create_table_version, staged, at)
    return {
      ops: [op],
      reply: { create_table_version: { version: record, transaction_id: transactionId } },
    }
  }
  if (delete_table_versions !== undefined) {
    const { id, ranges } = delete_table_versions
    const { ops, reply } = deleteVersions(findTable(state, id), ranges, at)
    return { ops, reply: { delete_table_versions: reply } }
  }
  const head = findTable(state, deregister_table!.id)
  return {
    ops: [{ op: 'deregister', t: head.uuid }],
    reply: { deregister_table: departed(engine, head, transactionId) },
  }
}

function stagedFor(
  head: TableHead,
  { manifest_path }: CreateVersionRequest,
  { table, staged }: Prepared,
): StagedManifest | null {
  if (table?.uuid === head.uuid) return staged ?? null
  if (parseManifestName(manifest_path)?.staging == null) return null
  if (table !== undefined) {
    const message = `table ${idText(head.id)} was replaced by another while its version was being committed`
    throw new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
  }
  throw invalidInput(
    `no manifest can have been staged as ${quote(manifest_path)}: table ${idText(head.id)} is declared by the same batch`,
    {
      hint: 'declare the table first, stage the manifest at the location of the reply, then create the version',
    },
  )
}

/** Whoever is told that a version is taken can look at the one that won. */
async function finaliseAll(engine: Engine, prepared: readonly Prepared[], error: unknown): Promise<void> {
  if (!(error instanceof SheafError) || error.status !== 409) return
  for (const { table } of prepared) {
    const now = table && engine.root.state.tables.get(table.uuid)
    if (now !== undefined) await current(engine, now)
  }
}

async function inPlace<T>(field: string, index: number, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw placed(field, index, error)
  }
}

/** An error that says which operation of the batch it is about. */
function placed(field: string, index: number, error: unknown): unknown {
  if (!(error instanceof SheafError)) return error
  const { code, status, kind, hint, at, cause } = error
  return new SheafError(code, `${field}[${index}]: ${error.message}`, { status, kind, hint, at, cause })
}
