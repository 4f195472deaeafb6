/** Handlers of the operations that write, delete and count rows. */
import type { Batch } from '../arrow/column.js'
import type { Schema } from '../arrow/types.js'
import { findNamespace, findTable, idText } from '../catalog/lookup.js'
import { type CatalogState, newTable, pathKey, type TableHead } from '../catalog/state.js'
import { decideDeclareTable } from '../catalog/tables.js'
import type { Json } from '../commit/machine.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { ErrorCode, invalidInput, SheafError, unsupported } from '../errors.js'
import { countRows } from '../manifest/layout.js'
import { arrowSchema, numberFields } from '../manifest/table-schema.js'
import type { ArrowBody, Handler, Reply, Request } from '../protocol/calls.js'
import { countMatching } from '../query/count.js'
import { settleFilter } from '../query/settle.js'
import { buildChange } from '../write/build-change.js'
import { checkFits, conformBatches, schemaOfTable } from '../write/conform.js'
import { findDeadRows } from '../write/delete.js'
import { type StagedRows, stageRows } from '../write/stage.js'
import { readBody } from './arrow-rows.js'
import {
  commit,
  commitOnNewest,
  type Decision,
  type Engine,
  locationOf,
  type OpenTable,
  openTable,
  transactionOf,
} from './engine.js'

// ---- create

export const createTable: Handler<Engine, 'createTable'> = async (engine, request, body, { signal }) => {
  const create = () => createOrReplace(engine, request, body, signal)
  // Who makes a new table stages its rows in a folder of their own; the next in line must find that table.
  const isNew = tableAt(await engine.committer.refresh(signal), request.id) === undefined
  return isNew ? engine.creations.run(pathKey(request.id), create, signal) : create()
}

async function createOrReplace(
  engine: Engine,
  request: Request<'createTable'>,
  body: ArrowBody,
  signal: AbortSignal | undefined,
): Promise<Reply<'createTable'>> {
  const { id, mode = 'Create', properties } = request
  const before = tableAt(await engine.committer.refresh(signal), id)
  if (before?.latest != null) {
    if (mode === 'Create') throw alreadyExists(id)
    if (mode === 'ExistOk') return describeCreated(engine, before, before.latest.version)
    if (properties !== undefined) throw unsupported('properties of a table that exists cannot be changed yet')
  }
  if (before === undefined) findNamespace(engine.committer.state, id.slice(0, -1))
  const uuid = before?.uuid ?? engine.clock.uuid()
  const { schema: incoming, batches } = await readBody(body)
  const schema = schemaOfTable(incoming)
  const staged = await stage(engine, uuid, schema, conformBatches(batches, schema), signal)
  let created: TableHead | undefined
  const decide = (state: CatalogState, open: OpenTable | null, firstBlob: number): Decision => {
    const head = tableAt(state, id)
    // The rows lie in the folder of the table that was, or was not, there when the call began.
    if (head?.uuid !== before?.uuid)
      throw mode === 'Create' && head !== undefined ? alreadyExists(id) : changedMeanwhile(id)
    if (mode !== 'Overwrite' && head?.latest != null) throw alreadyExists(id)
    const declare = head === undefined ? [decideDeclareTable(state, id, uuid, properties ?? {})] : []
    const base = head ?? newTable(uuid, id, properties ?? {})
    created = base
    const numbered = numberFields(schema, base.schemaId + 1, base.next.field)
    const parts = {
      kind: base.latest === null ? ('create' as const) : ('overwrite' as const),
      drafts: staged.drafts,
      fields: numbered.schema.fields.map(field => field.id),
      drop: open?.layout.fragments.map(fragment => fragment.id) ?? [],
      schema: numbered,
    }
    const { change, blobs } = buildChange(base, parts, firstBlob)
    return { ops: [...declare, change], blobs, req: requirementsOf(head) }
  }
  const { committed } = await commitOnNewest(
    engine,
    id,
    state => tableAt(state, id),
    async open => open,
    (state, open, at) => decide(state, open, at.firstBlob),
    signal,
  )
  return {
    ...describeCreated(engine, created!, versionIn(committed!.entry.ops)),
    ...transactionOf(committed),
  }
}

function describeCreated(engine: Engine, head: TableHead, version: number): Reply<'createTable'> {
  return { location: locationOf(engine, head), version, storage_options: {}, properties: head.props }
}

// ---- insert

export const insertIntoTable: Handler<Engine, 'insertIntoTable'> = async (engine, request, body, options) => {
  const { id, mode = 'Append' } = request
  const { signal } = options
  const { head, layout } = await openTable(engine, id, undefined, signal)
  const incoming = await readBody(body)
  const schema = arrowSchema(layout.schema)
  checkFits(incoming.schema, schema)
  const staged = await stage(engine, head.uuid, schema, conformBatches(incoming.batches, schema), signal)
  const fields = layout.schema.fields.map(field => field.id)
  const find = (state: CatalogState): TableHead => {
    const now = findTable(state, id)
    if (now.uuid !== head.uuid || now.schemaId !== layout.schema.id) throw changedMeanwhile(id)
    return now
  }
  const append = (state: CatalogState, drop: readonly number[], firstBlob: number): Decision => {
    const now = find(state)
    const kind = mode === 'Append' ? 'append' : 'overwrite'
    const { change, blobs } = buildChange(now, { kind, drafts: staged.drafts, fields, drop }, firstBlob)
    return { ops: [change], blobs, req: requirementsOf(now) }
  }
  // An append follows whatever is there; an overwrite must know every fragment it drops.
  const committed =
    mode === 'Append'
      ? await commit(engine, (state, at) => append(state, [], at.firstBlob), signal)
      : (
          await commitOnNewest(
            engine,
            id,
            find,
            async open => open!.layout.fragments.map(fragment => fragment.id),
            (state, drop, at) => append(state, drop, at.firstBlob),
            signal,
          )
        ).committed
  const version = versionIn(committed!.entry.ops)
  return { num_inserted_rows: staged.rows, version, ...transactionOf(committed) }
}

// ---- delete

export const deleteFromTable: Handler<Engine, 'deleteFromTable'> = async (engine, request, { signal }) => {
  const { id, predicate, parameters } = request
  const { prepared, committed } = await commitOnNewest(
    engine,
    id,
    state => findTable(state, id),
    async open => {
      const { reader, record } = open ?? (await openTable(engine, id, undefined, signal))
      const filter = settleFilter(predicate, reader.schema, parameters)
      return { record, ...(await findDeadRows(reader, filter, signal)) }
    },
    (state, { dead, drop }, at) => {
      if (dead.size === 0 && drop.length === 0) return { ops: [] }
      const head = findTable(state, id)
      const parts = { kind: 'delete' as const, drafts: [], fields: [], dead, drop }
      const { change, blobs } = buildChange(head, parts, at.firstBlob)
      return { ops: [change], blobs, req: requirementsOf(head) }
    },
    signal,
  )
  const { record, count } = prepared
  // Nothing matched: no new version, and the answer names the commit that made the current one (rule A-110).
  if (committed === null) {
    const transaction_id = formatTransactionId(record.slot, record.txn)
    return { num_deleted_rows: 0, version: record.version, transaction_id }
  }
  return { num_deleted_rows: count, version: versionIn(committed.entry.ops), ...transactionOf(committed) }
}

// ---- count

export const countTableRows: Handler<Engine, 'countTableRows'> = async (engine, request, { signal }) => {
  const { id, version, predicate, parameters } = request
  const { layout, reader } = await openTable(engine, id, version, signal)
  if (predicate === undefined) {
    if (parameters !== undefined) throw invalidInput('parameters are given, but no predicate')
    return countRows(layout)
  }
  return countMatching(reader, settleFilter(predicate, reader.schema, parameters), signal)
}

// ---- shared

function stage(
  engine: Engine,
  uuid: string,
  schema: Schema,
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  signal: AbortSignal | undefined,
): Promise<StagedRows> {
  const { store, clock, committer } = engine
  return stageRows(
    batches,
    schema,
    { store, clock, location: `tables/${uuid}`, birth: committer.head },
    signal,
  )
}

function tableAt(state: CatalogState, id: readonly string[]): TableHead | undefined {
  const uuid = state.namespaces.get(pathKey(id.slice(0, -1)))?.tables.get(id.at(-1)!)
  return uuid === undefined ? undefined : state.tables.get(uuid)
}

/** What the entry was decided on, for audits of the log. */
function requirementsOf(head: TableHead | undefined): readonly Json[] {
  return head === undefined ? [] : [{ table: head.uuid, version: head.latest?.version ?? 0 }]
}

/** The version the first change among `ops` makes. */
function versionIn(ops: readonly Json[]): number {
  const change = ops.find(op => (op as { op?: unknown }).op === 'change')
  return (change as { v: number }).v
}

function alreadyExists(id: readonly string[]): SheafError {
  return new SheafError(ErrorCode.TableAlreadyExists, `table ${idText(id)} already exists`)
}

function changedMeanwhile(id: readonly string[]): SheafError {
  const message = `table ${idText(id)} was dropped, replaced or given another schema while rows were being written`
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}
