/**
 * Handlers of uploads in parts: begin, add a part, look, give up. What the log says of them is in catalog/uploads, and how they are
 * completed in engine/complete-upload.
 */
import type { Batch } from '../arrow/column.js'
import { schemaToJson } from '../arrow/schema-json.js'
import type { Schema } from '../arrow/types.js'
import { checkWritable, findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import {
  type EndedUpload,
  type PartFile,
  partsOf,
  sizeOf,
  slotOfUpload,
  type Upload,
  type UploadMode,
  uploadsFeature,
} from '../catalog/uploads.js'
import { readBody } from '../client/arrow-rows.js'
import type { Json } from '../commit/machine.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { arrowSchema, type TableSchema, takesRowsOf } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import { digestOf } from '../protocol/call-key.js'
import type { ArrowBody, Handler, HandlerOptions, Reply, Request } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { commit, type Engine, schemaOf, stageTarget } from '../root/engine.js'
import { zonesByField } from '../write/build-change.js'
import { checkColumns, checkFits, conformBatches } from '../write/conform.js'
import { MaintainedColumns, maintainsAlike } from '../write/maintained.js'
import { mergeConditions } from '../write/merge.js'
import { mergeKey } from '../write/merge-source.js'
import { type Draft, stageIntoFiles } from '../write/stage.js'
import { mergeRules } from './edit-rows.js'

const modes = { Append: 'append', Overwrite: 'overwrite', Merge: 'merge' } as const
const modeNames = { append: 'Append', overwrite: 'Overwrite', merge: 'Merge' } as const

/** All parts of an upload stand in the one entry that completes it, which may take 8 MiB. */
const partsMax = 10_000
const partIdLengthMax = 128
/** Times a new upload is begun again, when a sweep that keeps nothing is faster than its pin. */
const beginningsMax = 5

// ---- begin

export const createTableUpload: Handler<Engine, 'createTableUpload'> = async (engine, request, options) => {
  const { id, mode, identity: _, context: __, branch: ___, ...merge } = request
  const { signal, table, uploadLimits } = options
  const head = findTable(await engine.root.refresh(signal), id, table)
  checkUploadable(head)
  const schema = await schemaOf(engine, head, signal)
  if (mode === 'Merge') checkMerge({ id, ...merge, on: merge.on! }, schema)
  const by = uploadLimits === undefined ? undefined : digestOf(uploadLimits.caller)
  for (let beginnings = 1; ; beginnings++) {
    const { reply } = await commit(
      engine,
      (state, { transactionId }) => {
        const now = findTable(state, id, table)
        if (now.uuid !== head.uuid || now.schemaId !== schema.id) throw changedMeanwhile(id)
        if (by !== undefined) checkOpenUploads(state, by, uploadLimits!.open)
        const op: CatalogOp = {
          op: 'upload',
          t: head.uuid,
          mode: mode === undefined ? null : modes[mode],
          schema,
          ...(mode === 'Merge' && { merge: merge as Json }),
          ...(by !== undefined && { by }),
        }
        const reply: Reply<'createTableUpload'> = { upload_id: transactionId, transaction_id: transactionId }
        return { ops: [op], need: [uploadsFeature], reply }
      },
      options,
    )
    const { upload_id } = reply
    const isHeld = async () => (await engine.root.refresh(signal)).uploads.has(upload_id)
    if (await engine.uploads.run(upload_id, slotOfUpload(upload_id), isHeld)) return reply
    if (beginnings === beginningsMax) throw lost(upload_id)
  }
}

/** Rows of an upload fit columns that there are. */
function checkUploadable(head: TableHead): void {
  checkWritable(head)
  if (head.kind !== 'declared') return
  throw new SheafError(
    ErrorCode.InvalidTableState,
    `table ${idText(head.id)} is only declared: an upload in parts needs its columns`,
    { hint: 'create the table with its columns first, with or without rows' },
  )
}

/** Throws what the merge would be refused for when the upload is completed, as far as that is known. */
function checkMerge(request: Request<'mergeInsertIntoTable'>, schema: TableSchema): void {
  const columns = arrowSchema(schema)
  for (const key of request.on) mergeKey(key, columns)
  // Parts may bring fewer columns.
  mergeConditions(mergeRules(request), columns, schema)
}

function checkOpenUploads({ uploads }: CatalogState, by: string, most: number): void {
  let open = 0
  for (const [, upload] of uploads) if (upload.by === by) open++
  if (open < most) return
  throw new SheafError(
    ErrorCode.Throttling,
    `this caller has ${open} uploads in parts open, which is the limit`,
    {
      hint: 'complete or abort one of them',
    },
  )
}

// ---- add a part

/** An insert whose rows are a part of an upload. */
export async function addPart(
  engine: Engine,
  request: Request<'insertIntoTable'> & { readonly upload_id: string; readonly upload_part_id: string },
  body: ArrowBody,
  { callKey: _, ...options }: HandlerOptions,
): Promise<Reply<'insertIntoTable'>> {
  const { id, upload_id, upload_part_id: part } = request
  const { signal, table } = options
  if (part.length > partIdLengthMax) {
    throw invalidInput(`upload_part_id has ${part.length} characters, more than ${partIdLengthMax}`)
  }
  const find = (state: CatalogState) => {
    const head = findTableOf(state, upload_id, id, table)
    checkUploadable(head)
    const upload = openUpload(state, head, upload_id)
    const mode = modeOfPart(upload, request.mode)
    if (upload.parts.size === partsMax && !upload.parts.has(part)) {
      throw invalidInput(`the upload ${upload_id} has ${partsMax} parts, which is the limit`, {
        hint: 'bring more rows in each part',
      })
    }
    return { head, upload, mode }
  }
  find(await engine.root.refresh(signal))
  return holding(engine, [upload_id], async () => {
    const { head, upload, mode } = find(await engine.root.refresh(signal))
    checkLimits(engine, upload, options)
    // A change of columns that comes while the part is read shows when the upload is completed.
    const now = await schemaFor(engine, head, { ...upload, mode }, signal)
    const { drafts, rows, fields } = await stagePart(engine, head, upload, now, mode, body, options)
    const files = drafts.map(draft => partFile(draft, fields ?? upload.schema.fields.map(field => field.id)))
    const { reply } = await commit(
      engine,
      (state, { transactionId }) => {
        const now = find(state)
        if (now.mode !== mode) throw otherMode(now.upload, mode)
        checkBytes(state, now.upload, part, sizeOf(files).bytes, options)
        if (fields !== undefined) checkSameColumns(now.upload, part, fields)
        const op: CatalogOp = {
          op: 'part',
          u: upload_id,
          part,
          mode,
          files,
          ...(fields !== undefined && { fields }),
        }
        const reply: Reply<'insertIntoTable'> = {
          num_inserted_rows: rows,
          version: versionOf(now.head),
          transaction_id: transactionId,
        }
        return { ops: [op], need: [uploadsFeature], reply }
      },
      { signal },
    )
    return reply
  })
}

/** Throws code 13 where parts say different modes. A part that says none has that of its upload, or appends. */
function modeOfPart(upload: Upload, given: 'Append' | 'Overwrite' | undefined): UploadMode {
  const mode = given === undefined ? (upload.mode ?? 'append') : modes[given]
  if (upload.mode !== null && upload.mode !== mode) throw otherMode(upload, mode)
  return mode
}

function otherMode({ id, mode }: Upload, given: UploadMode): SheafError {
  return invalidInput(
    `the part has mode ${modeNames[given]}, and the upload ${id} has mode ${modeNames[mode!]}: all its parts have the same one`,
  )
}

interface StagedPart {
  readonly drafts: readonly Draft[]
  readonly rows: number
  /** Of a merge: ids of the columns that the part brings. */
  readonly fields?: readonly number[]
}

async function stagePart(
  engine: Engine,
  head: TableHead,
  upload: Upload,
  now: TableSchema,
  mode: UploadMode,
  body: ArrowBody,
  options: HandlerOptions,
): Promise<StagedPart> {
  const { schema } = upload
  const maintained = new MaintainedColumns(schema, engine, options)
  const incoming = maintained.withoutOwn(await readBody(body, options))
  const stage = (batches: AsyncIterable<Batch>, columns: Schema) =>
    stageIntoFiles(batches, columns, stageTarget(engine, head), new Pacer(options.signal))
  checkKept(upload, incoming.schema, now)
  if (mode !== 'merge') {
    checkFits(incoming.schema, maintained.incoming)
    const conformed = conformBatches(incoming.batches, maintained.incoming)
    return stage(maintained.completed(conformed, options.signal), arrowSchema(schema))
  }
  checkColumns(incoming.schema, maintained.incoming)
  const brought = new Set(incoming.schema.fields.map(({ name }) => name))
  const fields = maintained.incoming.fields.filter(({ name }) => brought.has(name))
  const staged = await stage(conformBatches(incoming.batches, { fields }), { fields })
  return { ...staged, fields: schema.fields.filter(({ name }) => brought.has(name)).map(field => field.id) }
}

/** Throws code 12 where a part brings a column that the table got after the upload began. */
function checkKept({ id, schema }: Upload, incoming: Schema, now: TableSchema): void {
  const isIn = (name: string, { fields }: TableSchema) => fields.some(field => field.name === name)
  const added = incoming.fields.find(({ name }) => isIn(name, now) && !isIn(name, schema))
  if (added === undefined) return
  throw new SheafError(
    ErrorCode.ColumnNotFound,
    `the upload ${id} takes no column ${quote(added.name)}, which its table got after the upload began`,
    { hint: 'leave the column out, then it is null in these rows; or abort the upload, and begin a new one' },
  )
}

function partFile({ rows, content, zones }: Draft, fields: readonly number[]): PartFile {
  const { file, bytes, crc } = content as Exclude<Draft['content'], { readonly blob: Uint8Array }>
  return { rows, file, bytes, crc, ...(zones.size > 0 && { zones: zonesByField(zones, fields) }) }
}

/** A merge leaves columns alone that its rows do not bring, so all parts must bring the same. */
function checkSameColumns(upload: Upload, part: string, fields: readonly number[]): void {
  const other = [...upload.parts].map(([, each]) => each).find(each => each.name !== part)
  if (other === undefined || other.fields!.join() === fields.join()) return
  const names = (ids: readonly number[]) =>
    upload.schema.fields
      .filter(({ id }) => ids.includes(id))
      .map(({ name }) => quote(name))
      .join(', ')
  throw invalidInput(
    `the part ${quote(part)} brings the columns ${names(fields)}, the part ${quote(other.name)} ${names(other.fields!)}`,
    { hint: 'all parts of a merge bring the same columns' },
  )
}

function checkLimits(engine: Engine, { id }: Upload, { uploadLimits }: HandlerOptions): void {
  if (uploadLimits === undefined || engine.uploads.pinnedMs(id) <= uploadLimits.ageMs) return
  const hours = Math.round(uploadLimits.ageMs / 36_000) / 100
  throw invalidInput(`the upload ${id} is open for more than ${hours} hours, and takes no more parts`, {
    hint: 'complete or abort it',
  })
}

/** Bytes of all open uploads of a caller. */
function checkBytes(
  { uploads }: CatalogState,
  upload: Upload,
  part: string,
  bytes: number,
  { uploadLimits }: HandlerOptions,
): void {
  if (uploadLimits === undefined) return
  let all = bytes - sizeOf(upload.parts.get(part)?.files ?? []).bytes
  for (const [, each] of uploads) if (each.by === upload.by) all += each.bytes
  if (all <= uploadLimits.bytes) return
  const message = `with this part the open uploads of its caller have ${all} bytes, more than ${uploadLimits.bytes}`
  throw invalidInput(message, { status: 413, hint: 'complete or abort some of them' })
}

// ---- look

export const describeTableUpload: Handler<Engine, 'describeTableUpload'> = async (
  engine,
  request,
  options,
) => {
  const { id, upload_id } = request
  const { table, signal } = options
  const find = async () => {
    const state = await engine.root.refresh(signal)
    return openUpload(state, findTableOf(state, upload_id, id, table), upload_id)
  }
  await find()
  return holding(engine, [upload_id], async () => {
    const upload = await find()
    const { mode, rows, bytes } = upload
    return {
      ...(mode !== null && { mode: modeNames[mode] }),
      schema: schemaToJson(arrowSchema(upload.schema), options.dialect ?? 'namespace'),
      num_rows: rows,
      num_bytes: bytes,
      parts: partsOf(upload).map(({ name, files }) => {
        const size = sizeOf(files)
        return { part: name, num_rows: size.rows, num_bytes: size.bytes }
      }),
    }
  })
}

// ---- give up

/**
 * Also of a table that was dropped since. Its files are left to the sweep: a `complete` that is on its way must not find them
 * gone.
 */
export const abortTableUpload: Handler<Engine, 'abortTableUpload'> = async (engine, request, options) => {
  const { id, upload_id } = request
  const { table, signal } = options
  await engine.root.refresh(signal)
  const { reply } = await commit<Reply<'abortTableUpload'>>(
    engine,
    (state, { transactionId }) => {
      const ended = state.endedUploads.get(upload_id)
      const of = state.uploads.get(upload_id)?.table ?? ended?.table
      const isOfTable = of !== undefined && (wasDropped(state, of) || findTable(state, id, table).uuid === of)
      if (isOfTable && ended !== undefined) {
        if (ended.outcome === 'completed') throw hasEnded(upload_id, ended)
        return { ops: [], reply: {} }
      }
      if (!isOfTable) openUpload(state, findTable(state, id, table), upload_id)
      const op: CatalogOp = { op: 'uploaded', u: upload_id, res: null }
      return { ops: [op], need: [uploadsFeature], reply: { transaction_id: transactionId } }
    },
    options,
  )
  await engine.uploads.end(upload_id)
  return reply
}

// ---- shared

/** Runs `work` while the files of uploads are kept. */
export function holding<T>(engine: Engine, ids: readonly string[], work: () => Promise<T>): Promise<T> {
  const [first, ...others] = ids
  if (first === undefined) return work()
  return engine.uploads.run(first, slotOfUpload(first), () => holding(engine, others, work))
}

/** The table that a request for an upload names. Throws code 4 where that, or the table of the upload, is gone. */
export function findTableOf(
  state: CatalogState,
  upload: string,
  id: readonly string[],
  table: string | undefined,
): TableHead {
  const of = state.uploads.get(upload)?.table
  if (of === undefined || !wasDropped(state, of)) return findTable(state, id, table)
  throw new SheafError(
    ErrorCode.TableNotFound,
    `the table that the upload ${upload} goes to was dropped after the upload began`,
    { hint: 'abort the upload, and begin a new one to another table' },
  )
}

/** Whether nobody can ever name a table again. One that was only deregistered can be registered. */
export function wasDropped({ tables, detached }: CatalogState, uuid: string): boolean {
  return !tables.has(uuid) && ![...detached].some(([, head]) => head.uuid === uuid)
}

/** The schema of the table now. Throws code 19 where rows of an upload do not fit it any more. */
export async function schemaFor(
  engine: Engine,
  head: TableHead,
  { id, schema, mode }: Upload,
  signal: AbortSignal | undefined,
): Promise<TableSchema> {
  const now = await schemaOf(engine, head, signal)
  const fits =
    now.id === schema.id || (mode !== 'merge' && takesRowsOf(now, schema) && maintainsAlike(now, schema))
  if (fits) return now
  throw new SheafError(
    ErrorCode.InvalidTableState,
    `table ${idText(head.id)} has other columns than when the upload ${id} began`,
    { hint: 'abort it, and upload the rows again' },
  )
}

/** Throws code 10 where there is no such upload to the table, 13 where it has ended. */
export function openUpload(state: CatalogState, head: TableHead, id: string): Upload {
  const upload = state.uploads.get(id)
  if (upload?.table === head.uuid) return upload
  const ended = state.endedUploads.get(id)
  if (ended?.table === head.uuid) throw hasEnded(id, ended)
  throw new SheafError(ErrorCode.TransactionNotFound, `table ${idText(head.id)} has no upload ${quote(id)}`, {
    hint: upload === undefined ? 'begin a new one' : 'it is an upload to another table',
  })
}

function hasEnded(id: string, { outcome }: EndedUpload): SheafError {
  if (outcome === 'lost') return lost(id)
  return invalidInput(`the upload ${id} was ${outcome} before`, { hint: 'begin a new one' })
}

function lost(id: string): SheafError {
  return new SheafError(
    ErrorCode.TransactionNotFound,
    `the upload ${id} was given up: for too long no process held it, and its files may be deleted`,
    { hint: 'begin a new one, and upload all parts again' },
  )
}

function changedMeanwhile(id: readonly string[]): SheafError {
  const message = `table ${idText(id)} was replaced or given another schema while the upload began`
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}
