/** Handlers of the operations that create tables and insert or restore rows. */
import type { Batch } from '../arrow/column.js'
import type { Schema } from '../arrow/types.js'
import { checkWritable, findNamespace, findTable, tableNamed, versionOf } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import { type CatalogState, latestOf, newTable, type TableHead } from '../catalog/state.js'
import { decideDeclareTable, decideProps } from '../catalog/tables.js'
import { PlainRows } from '../client/plain-rows.js'
import { type IncomingRows, readBody } from '../client/read-body.js'
import type { ProposalPosition } from '../commit/machine.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { Layout } from '../manifest/layout.js'
import { arrowSchema, numberFields, type TableSchema, takesRowsOf } from '../manifest/table-schema.js'
import type { ArrowBody, Handler, HandlerOptions, Reply, Request } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import {
  commit,
  commitOnNewest,
  commitOptimistically,
  type Decide,
  type Decision,
  requirementsOf,
  stageTarget,
  type WorkOnNewest,
} from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { locationOf, type OpenTable, openVersion, schemaOf } from '../root/open-table.js'
import { buildChange } from '../write/build-change.js'
import { checkFits, conformBatches, schemaOfTable } from '../write/conform.js'
import { MaintainedColumns, maintainsAlike } from '../write/maintained.js'
import { type StagedRows, stageRows } from '../write/stage.js'
import { appendPlainRows, keepAppendPlan } from './append-plain-rows.js'
import { aboutNewTable, keyedRows } from './keyed-rows.js'
import { addPart } from './uploads.js'

// ---- create

export const createTable: Handler<Engine, 'createTable'> = async (engine, request, body, options) => {
  const { id } = request
  const existing = async (): Promise<Reply<'createTable'> | null> => {
    const head = tableNamed(await engine.root.refresh(options.signal), id)
    const latest = head && latestOf(head)
    return latest === undefined ? null : describeCreated(engine, head!, latest, head!.props)
  }
  const create = async (): Promise<Reply<'createTable'>> => {
    const mayExist = request.mode === 'ExistOk'
    const before = mayExist ? await existing() : null
    if (before !== null) return before
    try {
      return await createOrReplace(
        engine,
        request,
        () => readBody(body, options),
        options,
        ({ head, version, props, transaction_id }) => {
          return { ...describeCreated(engine, head, version, props), transaction_id }
        },
      )
    } catch (error) {
      // If another call created the table in the meantime, return this table.
      const now = mayExist && error instanceof SheafError && error.status === 409 ? await existing() : null
      if (now === null) throw error
      return now
    }
  }
  // The first call stages its rows in the folder of a new UUID. So concurrent calls wait for each other, and the next
  // call finds the created table.
  const isNew = tableNamed(await engine.root.refresh(options.signal), id) === undefined
  return isNew ? engine.writers.creating(id, create, options.signal) : create()
}

/** The result of a call that created or replaced a table. */
interface Created {
  readonly head: TableHead
  readonly version: number
  readonly rows: number
  readonly props: TableHead['props']
  readonly transaction_id: string
}

async function createOrReplace<R>(
  engine: Engine,
  /** `table`: the UUID that the table with this name must have. With mode `Create`, the table must have no version. */
  request: Pick<Request<'createTable'>, 'id' | 'mode' | 'properties'> & { readonly table?: string },
  read: () => Promise<IncomingRows>,
  options: HandlerOptions,
  reply: (created: Created) => R,
): Promise<R> {
  const { id, mode = 'Create', properties = {} } = request
  const before = tableNamed(await engine.root.refresh(options.signal), id)
  if (request.table !== undefined && before?.uuid !== request.table) throw changedMeanwhile(id)
  if (before !== undefined && latestOf(before) !== undefined && mode === 'Create') throw alreadyExists(id)
  if (before === undefined) findNamespace(engine.root.state, id.slice(0, -1))
  else checkWritable(before)
  const uuid = before?.uuid ?? engine.clock.uuid()
  const { schema: incoming, batches } = await read()
  const schema = schemaOfTable(incoming)
  const target = before ?? newTable(uuid, id, properties)
  // Add the types to the digest only if the call creates the table. When a first insert into a declared table is
  // repeated, the table exists, so the types are those of the table.
  const about = request.table === undefined ? aboutNewTable(schema) : undefined
  const rows = keyedRows(conformBatches(batches, schema), options, about)
  const staged = await stage(engine, target, schema, rows, options.signal)
  const work: WorkOnNewest<OpenTable | null, R> = {
    id,
    find(state) {
      const head = tableNamed(state, id)
      const isThere = head !== undefined && latestOf(head) !== undefined
      if (isThere && mode === 'Create') {
        throw request.table === undefined ? alreadyExists(id) : changedMeanwhile(id)
      }
      if (isThere && mode === 'ExistOk') throw changedMeanwhile(id)
      // The rows were staged in the folder of this UUID, so the name must still have the same table.
      if (head?.uuid !== before?.uuid) throw changedMeanwhile(id)
      if (head !== undefined) checkWritable(head)
      return head
    },
    prepare: async open => open,
    decide(state, open, { firstBlob, transactionId }) {
      const head = tableNamed(state, id)
      const setup: CatalogOp[] =
        head === undefined
          ? [decideDeclareTable(state, id, uuid, properties)]
          : [...decideProps(head, properties)]
      const base = head ?? target
      const numbered = numberFields(schema, base.schemaId + 1, base.next.field)
      const parts = {
        kind: latestOf(base) === undefined ? ('create' as const) : ('overwrite' as const),
        drafts: staged.drafts,
        fields: numbered.schema.fields.map(field => field.id),
        drop: open?.layout.fragments.map(fragment => fragment.id) ?? [],
        schema: numbered,
      }
      const { change, blobs } = buildChange(base, parts, firstBlob)
      const created = {
        head: base,
        version: change.v,
        rows: staged.rows,
        props: { ...base.props, ...properties },
        transaction_id: transactionId,
      }
      return { ops: [...setup, change], blobs, req: requirementsOf(head), reply: reply(created) }
    },
  }
  return (await commitOnNewest(engine, work, options)).reply
}

function describeCreated(
  engine: Engine,
  head: TableHead,
  version: number,
  properties: TableHead['props'],
): Reply<'createTable'> {
  return { location: locationOf(engine, head), version, storage_options: {}, properties, uuid: head.uuid }
}

// ---- insert

export const insertIntoTable: Handler<Engine, 'insertIntoTable'> = async (engine, request, body, options) => {
  if (!(body instanceof PlainRows)) return insertArrow(engine, request, body, options)
  const appended = await appendPlainRows(engine, request, body.rows, options)
  if (appended !== null) return appended
  const typed = await body.typed()
  try {
    return await insertArrow(engine, request, typed, options)
  } finally {
    await typed.close()
  }
}

/** Insert rows that were converted to Arrow data. */
const insertArrow: Handler<Engine, 'insertIntoTable'> = async (engine, request, body, options) => {
  const { id, mode = 'Append', upload_id, upload_part_id } = request
  const { signal } = options
  if (upload_id !== undefined && upload_part_id !== undefined) {
    return addPart(engine, { ...request, upload_id, upload_part_id }, body, options)
  }
  const head = findTable(await engine.root.refresh(signal), id, options.table)
  if (head.kind === 'declared') return insertFirst(engine, head, request, body, options)
  checkWritable(head)
  const before = await schemaOf(engine, head, signal)
  const maintained = new MaintainedColumns(before, engine, options)
  keepAppendPlan(engine, head, before, maintained)
  const incoming = await readBody(body, options)
  const rows = maintained.withoutOwn(incoming)
  try {
    checkFits(rows.schema, maintained.incoming)
  } catch (error) {
    if (mode !== 'Overwrite' || options.dialect !== 'lance') throw error
    // In LanceDB, an overwrite replaces the columns as well as the rows.
    const target = { id, mode, table: head.uuid }
    return createOrReplace(engine, target, async () => incoming, options, insertedReply)
  }
  const conformed = keyedRows(conformBatches(rows.batches, maintained.incoming), options)
  const complete = maintained.completed(conformed, signal)
  const staged = await stage(engine, head, arrowSchema(before), complete, signal)
  const fields = before.fields.map(field => field.id)
  const find = (state: CatalogState): TableHead => {
    const now = findTable(state, id, options.table)
    if (now.uuid !== head.uuid) throw changedMeanwhile(id)
    return now
  }
  const checkSchema = (now: TableSchema): number => {
    const fits = now.id === before.id || (takesRowsOf(now, before) && maintainsAlike(now, before))
    if (!fits) throw changedMeanwhile(id)
    return now.id
  }
  const insert = (
    now: TableHead,
    drop: readonly number[],
    { firstBlob, transactionId }: ProposalPosition,
  ): Decision<Reply<'insertIntoTable'>> => {
    const kind = mode === 'Append' ? 'append' : 'overwrite'
    const { change, blobs } = buildChange(now, { kind, drafts: staged.drafts, fields, drop }, firstBlob)
    return {
      ops: [change],
      blobs,
      req: requirementsOf(now),
      reply: { num_inserted_rows: staged.rows, version: change.v, transaction_id: transactionId },
    }
  }
  if (mode === 'Overwrite') {
    // An overwrite must list all fragments of the newest version, because it drops them.
    const work: WorkOnNewest<readonly number[], Reply<'insertIntoTable'>> = {
      id,
      find,
      async prepare(open) {
        checkSchema(open!.layout.schema)
        return open!.layout.fragments.map(fragment => fragment.id)
      },
      decide: (state, drop, at) => insert(find(state), drop, at),
    }
    return (await commitOnNewest(engine, work, options)).reply
  }
  // An append may follow any version if its rows fit the schema of this version.
  let schemaId: number | null = before.id
  const append: Decide<Reply<'insertIntoTable'>, null> = (state, at) => {
    const now = find(state)
    return now.schemaId === schemaId ? insert(now, [], at) : null
  }
  const attempt = async () => {
    if (schemaId === null) {
      const now = find(await engine.root.refresh(signal))
      schemaId = checkSchema(await schemaOf(engine, now, signal))
    }
    const outcome = await commit(engine, append, options)
    if (outcome === null) schemaId = null
    return outcome
  }
  const tables = [head.uuid]
  const retries = { subject: 'the schema of the table', tables: () => tables, signal }
  return (await commitOptimistically(engine, attempt, retries)).reply
}

function insertedReply({ rows, version, transaction_id }: Created): Reply<'insertIntoTable'> {
  return { num_inserted_rows: rows, version, transaction_id }
}

/**
 * Insert the first rows of a declared table. They determine its columns. Concurrent first inserts wait for each other;
 * the first one creates the columns, and the others append.
 */
function insertFirst(
  engine: Engine,
  declared: TableHead,
  request: Request<'insertIntoTable'>,
  body: ArrowBody,
  options: HandlerOptions,
): Promise<Reply<'insertIntoTable'>> {
  const { uuid } = declared
  const insert = async (): Promise<Reply<'insertIntoTable'>> => {
    const now = findTable(await engine.root.refresh(options.signal), request.id, uuid)
    if (now.kind !== 'declared') {
      return insertArrow(engine, request, body, { ...options, table: uuid })
    }
    const target = { id: now.id, table: uuid }
    return createOrReplace(engine, target, () => readBody(body, options), options, insertedReply)
  }
  return engine.writers.creating(declared.id, insert, options.signal)
}

// ---- restore

export const restoreTable: Handler<Engine, 'restoreTable'> = async (engine, request, options) => {
  const { id, version } = request
  const find = (state: CatalogState) => {
    const head = findTable(state, id, options.table)
    checkWritable(head)
    versionOf(head, version)
    return head
  }
  const work: WorkOnNewest<Layout, Reply<'restoreTable'>> = {
    id,
    find,
    prepare: async open => (await openVersion(engine, open!.head, version, options.signal)).layout,
    decide(state, old, { firstBlob, transactionId }) {
      const head = find(state)
      // The restored schema gets a new id, because schema ids are never reused.
      const schema = { schema: { ...old.schema, id: head.schemaId + 1 }, nextField: head.next.field }
      const restore = { version, fragments: old.fragments.length }
      const parts = { kind: 'restore' as const, restore, schema }
      const { change } = buildChange(head, parts, firstBlob)
      return { ops: [change], req: requirementsOf(head), reply: { transaction_id: transactionId } }
    },
  }
  return (await commitOnNewest(engine, work, options)).reply
}

// ---- shared

function stage(
  engine: Engine,
  head: TableHead,
  schema: Schema,
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  signal: AbortSignal | undefined,
): Promise<StagedRows> {
  return stageRows(batches, schema, stageTarget(engine, head), signal)
}

function alreadyExists(id: readonly string[]): SheafError {
  return new SheafError(ErrorCode.TableAlreadyExists, `table ${idText(id)} already exists`, {
    hint: "open it with openTable, or create it with the mode 'exist_ok' or 'overwrite'",
  })
}

function changedMeanwhile(id: readonly string[]): SheafError {
  const message = `table ${idText(id)} was dropped or replaced, or got another schema, while rows were being written`
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}
