/** Handlers of the operations that change several tables in one commit. */
import { applyOps } from '../catalog/apply.js'
import type { CatalogCommitted } from '../catalog/log-types.js'
import { findTable, tableNamed } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import { type CatalogState, ownLocation, type TableHead } from '../catalog/state.js'
import { decideDeclareTable } from '../catalog/tables.js'
import type { Json, ProposalPosition } from '../commit/machine.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { StagedManifest } from '../manifest/lance-manifests.js'
import type { Handler, HandlerOptions } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import type { BatchOperation, BatchResult, CreateVersionRequest } from '../protocol/version-shapes.js'
import { commit, commitOptimistically, type Decide, type Decision } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { folderAt } from '../root/locations.js'
import { type Completion, prepareCompletion, type ReadMerges } from './complete-upload.js'
import { checkNamed, current, finaliseEntry } from './lance-versions.js'
import { checkOtherRoots } from './other-roots.js'
import { declared, departed } from './tables.js'
import { withUploadsPinned } from './uploads.js'
import { checkPreparedOn, deleteVersions, isStaging, newVersion, prepareVersion } from './versions.js'

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

export const completeTableUpload: Handler<Engine, 'completeTableUpload'> = (engine, request, options) => {
  return commitBatch(engine, null, [{ complete_upload: request }], options, ([result]) => {
    return result!.complete_upload!
  })
}

/** Maximum number of operations in a batch. They are decided and applied in one synchronous step. */
const operationsMax = 10_000

/** The facts that an operation of a batch needs and that are not part of the state. They are read before the commit. */
interface Prepared {
  /** For a new version: its table. Undefined if no table has the name. */
  readonly table?: TableHead | undefined
  readonly staged?: StagedManifest | null
  /** For a declaration: the UUID of the new table. */
  readonly uuid?: string
  readonly folder?: string
  /** For the completion of an upload: the prepared change. */
  readonly completion?: Completion
}

/** Commit operations as one entry of the log. Each operation sees the effects of the operations before it. */
async function commitBatch<R>(
  engine: Engine,
  /** The name of the request field with the operations, for messages. Null: the request is a single operation. */
  field: string | null,
  operations: readonly BatchOperation[],
  options: HandlerOptions,
  reply: (results: readonly BatchResult[], transaction: { transaction_id?: string }) => R,
): Promise<R> {
  const { signal } = options
  if (operations.length > operationsMax) {
    throw invalidInput(`${field} has ${operations.length} elements; at most ${operationsMax} are allowed`, {
      hint: 'split them into several commits',
    })
  }
  // Calls of this process on one table run one after the other (`inTurn`). Otherwise the commit of a single version,
  // which renames its manifest before it writes its slot, could take a version number between the slot of this batch
  // and the renaming of its manifests.
  const tables = operations.flatMap(({ create_table_version, complete_upload }) => {
    const changed = create_table_version ?? complete_upload
    return changed === undefined ? [] : [changed.id]
  })
  const uploads = operations.flatMap(({ complete_upload }) => complete_upload ?? [])
  const merges: ReadMerges = new Map()
  const runOnce = () => tryBatch(engine, field, operations, options, merges, reply)
  const runUntilCommitted = () => {
    const uuids = uploads.flatMap(({ id }) => options.table ?? tableNamed(engine.root.state, id)?.uuid ?? [])
    return commitOptimistically(engine, runOnce, { subject: 'the table', tables: () => uuids, signal })
  }
  const runInTurn = () => engine.writers.inTurn(tables, runUntilCommitted, signal)
  if (uploads.length === 0) return runInTurn()
  const { uploads: open } = await engine.root.refresh(signal)
  const ids = [...new Set(uploads.map(({ upload_id }) => upload_id))].filter(id => open.has(id))
  const result = await withUploadsPinned(engine, ids, runInTurn)
  for (const id of ids) await engine.retained.uploads.end(id)
  return result
}

/** Try to commit a batch once. Returns null if another commit outdated the completion of an upload. */
async function tryBatch<R>(
  engine: Engine,
  field: string | null,
  operations: readonly BatchOperation[],
  options: HandlerOptions,
  merges: ReadMerges,
  reply: (results: readonly BatchResult[], transaction: { transaction_id?: string }) => R,
): Promise<R | null> {
  const before = await engine.root.refresh(options.signal)
  const prepared: Prepared[] = []
  for (const [index, operation] of operations.entries()) {
    prepared.push(
      await withOperationIndex(field, index, async () =>
        prepareOperation(engine, before, operation, options, merges),
      ),
    )
  }
  const decide: Decide<R, null> = (state, at) => {
    const ops: CatalogOp[] = []
    const blobs: Uint8Array[] = []
    const req: Json[] = []
    const need = new Set<string>()
    const results: BatchResult[] = []
    let now = state
    for (const [index, operation] of operations.entries()) {
      const { table, staged } = prepared[index]!
      try {
        const position = { ...at, firstBlob: at.firstBlob + blobs.length }
        const decision = decideOperation(engine, now, state, operation, prepared[index]!, position)
        if (decision === null) return null
        if (table !== undefined && staged) checkPreparedOn(table, state.tables.get(table.uuid))
        now = applyOps(now, decision.ops, at.transactionId, at)
        ops.push(...decision.ops)
        blobs.push(...(decision.blobs ?? []))
        req.push(...(decision.req ?? []))
        for (const feature of decision.need ?? []) need.add(feature)
        results.push(decision.reply)
      } catch (error) {
        throw atOperation(field, index, error)
      }
    }
    const transaction = ops.length === 0 ? {} : { transaction_id: at.transactionId }
    return { ops, blobs, req, need: [...need], reply: reply(results, transaction) }
  }
  try {
    const outcome = await commit(engine, decide, options)
    if (outcome === null) return null
    if (outcome.committed !== null) await finaliseCommitted(engine, outcome.committed)
    return outcome.reply
  } catch (error) {
    // Ignore an error of the renaming, because the next call for the table reports it. This caller must learn why the
    // batch failed.
    await finaliseAll(engine, prepared, error).catch(() => {})
    throw error
  }
}

/**
 * Give the manifests of a committed batch their final names. The reply is sent after that. Throws
 * `ConcurrentModification` if a Lance engine took one of the version numbers, and ServiceUnavailable of kind
 * `commit-state-unknown` if the renaming fails.
 */
async function finaliseCommitted(engine: Engine, { transactionId, entry }: CatalogCommitted): Promise<void> {
  try {
    await finaliseEntry(engine, entry)
  } catch (cause) {
    const message = `transaction ${transactionId} is committed, but its manifests have no final names yet`
    const hint =
      'describe the tables, which gives the manifests their names; or send the call again with an idempotency key'
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
  { declare_table, create_table_version, complete_upload }: BatchOperation,
  options: HandlerOptions,
  merges: ReadMerges,
): Promise<Prepared> {
  const { signal } = options
  if (complete_upload !== undefined) {
    return { completion: await prepareCompletion(engine, state, complete_upload, options, merges) }
  }
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
  /** `state`: includes the effects of earlier operations of the batch. `before`: the state without them. */
  state: CatalogState,
  before: CatalogState,
  operation: BatchOperation,
  prepared: Prepared,
  at: ProposalPosition,
): Decision<BatchResult> | null {
  const { declare_table, create_table_version, delete_table_versions, deregister_table } = operation
  if (prepared.completion !== undefined) {
    const decision = prepared.completion.decide(state, before, at)
    return decision && { ...decision, reply: { complete_upload: decision.reply } }
  }
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
  if (!isStaging(manifest_path)) return null
  if (table !== undefined) {
    const message = `table ${idText(head.id)} was replaced by another table while its version was being committed`
    throw new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
  }
  throw invalidInput(
    `the staged manifest ${quote(manifest_path)} cannot exist: the same batch declares table ${idText(head.id)}`,
    {
      hint: 'declare the table first, stage the manifest at the location of the reply, then create the version',
    },
  )
}

/**
 * Give pending manifests their final names after a conflict, so that the caller can read the version that was committed
 * first.
 */
async function finaliseAll(engine: Engine, prepared: readonly Prepared[], error: unknown): Promise<void> {
  if (!(error instanceof SheafError) || error.status !== 409) return
  for (const { table } of prepared) {
    const now = table && engine.root.state.tables.get(table.uuid)
    if (now !== undefined) await current(engine, now)
  }
}

async function withOperationIndex<T>(field: string | null, index: number, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw atOperation(field, index, error)
  }
}

/**
 * Return an error with the index of its operation in the message and the given error as its cause. Errors of other classes are
 * returned unchanged.
 */
function atOperation(field: string | null, index: number, error: unknown): unknown {
  if (!(error instanceof SheafError) || field === null) return error
  const { code, status, kind, hint, at } = error
  return new SheafError(code, `${field}[${index}]: ${error.message}`, {
    status,
    kind,
    hint,
    at,
    cause: error,
  })
}
