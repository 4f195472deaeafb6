/**
 * Handlers of uploads in parts: begin an upload, add a part, describe and abort an upload. catalog/uploads has the
 * state of uploads in the log. engine/complete-upload completes an upload.
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
import { readBody } from '../client/read-body.js'
import type { Json } from '../commit/machine.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { arrowSchema, type TableSchema, takesRowsOf } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import { digestOf } from '../protocol/call-key.js'
import type { ArrowBody, Handler, HandlerOptions, Reply, Request } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { commit, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { schemaOf } from '../root/open-table.js'
import { zonesByField } from '../write/build-change.js'
import { checkColumns, checkFits, conformBatches } from '../write/conform.js'
import { MaintainedColumns, maintainsAlike } from '../write/maintained.js'
import { mergeConditions } from '../write/merge.js'
import { mergeKey } from '../write/merge-source.js'
import { type Draft, stageIntoFiles } from '../write/stage.js'
import { mergeRules } from './edit-rows.js'

const modes = { Append: 'append', Overwrite: 'overwrite', Merge: 'merge' } as const
const modeNames = { append: 'Append', overwrite: 'Overwrite', merge: 'Merge' } as const

/**
 * Maximum number of parts of an upload. The entry that completes the upload lists all parts, and an entry has at most 8
 * MiB.
 */
const partsMax = 10_000
const partIdLengthMax = 128
/**
 * Maximum number of attempts to begin an upload. An attempt fails if garbage collection ends the new upload before its
 * pin is written.
 */
const attemptsMax = 5

// ---- begin

export const createTableUpload: Handler<Engine, 'createTableUpload'> = async (engine, request, options) => {
  const { id, mode, identity: _, context: __, branch: ___, ...merge } = request
  const { signal, table, uploadLimits } = options
  const head = findTable(await engine.root.refresh(signal), id, table)
  checkUploadable(head)
  const schema = await schemaOf(engine, head, signal)
  if (mode === 'Merge') checkMerge({ id, ...merge, on: merge.on! }, schema)
  const by = uploadLimits === undefined ? undefined : digestOf(uploadLimits.caller)
  for (let attempts = 1; ; attempts++) {
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
    if (await engine.retained.uploads.run(upload_id, slotOfUpload(upload_id), isHeld)) return reply
    if (attempts === attemptsMax) throw uploadExpired(upload_id)
  }
}

/**
 * Check that the table has columns, because the rows of an upload must fit them. Throws `InvalidTableState` for a
 * declared table.
 */
function checkUploadable(head: TableHead): void {
  checkWritable(head)
  if (head.kind !== 'declared') return
  throw new SheafError(
    ErrorCode.InvalidTableState,
    `table ${idText(head.id)} is only declared: it has no columns yet, which an upload in parts needs`,
    { hint: 'create the table with its columns first, with or without rows' },
  )
}

/** Check the merge of an upload. Throws the errors that are already known when the upload begins. */
function checkMerge(request: Request<'mergeInsertIntoTable'>, schema: TableSchema): void {
  const columns = arrowSchema(schema)
  for (const key of request.on) mergeKey(key, columns)
  // Check the conditions with all columns of the table. The parts are not known yet, and may have fewer columns.
  mergeConditions(mergeRules(request), columns, schema)
}

function checkOpenUploads({ uploads }: CatalogState, by: string, limit: number): void {
  let open = 0
  for (const [, upload] of uploads) if (upload.by === by) open++
  if (open < limit) return
  throw new SheafError(
    ErrorCode.Throttling,
    `this caller has ${open} uploads in parts open, which is the limit`,
    {
      hint: 'complete or abort one of them',
    },
  )
}

// ---- add a part

/** Handle an insert that is one part of an upload. */
export async function addPart(
  engine: Engine,
  request: Request<'insertIntoTable'> & { readonly upload_id: string; readonly upload_part_id: string },
  body: ArrowBody,
  { callKey: _, ...options }: HandlerOptions,
): Promise<Reply<'insertIntoTable'>> {
  const { id, upload_id, upload_part_id: part } = request
  const { signal, table } = options
  if (part.length > partIdLengthMax) {
    throw invalidInput(
      `the part id (upload_part_id) has ${part.length} characters; at most ${partIdLengthMax} are allowed`,
    )
  }
  const find = (state: CatalogState) => {
    const head = findTableOf(state, upload_id, id, table)
    checkUploadable(head)
    const upload = openUpload(state, head, upload_id)
    const mode = modeOfPart(upload, request.mode)
    if (upload.parts.size === partsMax && !upload.parts.has(part)) {
      throw invalidInput(`the upload ${upload_id} has ${partsMax} parts, which is the limit`, {
        hint: 'put more rows into each part',
      })
    }
    return { head, upload, mode }
  }
  find(await engine.root.refresh(signal))
  return withUploadsPinned(engine, [upload_id], async () => {
    const { head, upload, mode } = find(await engine.root.refresh(signal))
    checkLimits(engine, upload, options)
    // If columns of the table change while the part is read, the completion of the upload detects this.
    const now = await schemaFor(engine, head, { ...upload, mode }, signal)
    const { drafts, rows, fields } = await stagePart(engine, head, { upload, mode, now }, body, options)
    const files = drafts.map(draft => partFile(draft, fields ?? upload.schema.fields.map(field => field.id)))
    const { reply } = await commit(
      engine,
      (state, { transactionId }) => {
        const now = find(state)
        if (now.mode !== mode) throw modeMismatch(now.upload, mode)
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

/**
 * Return the mode of a part. A part without a mode has the mode of its upload, or appends. Throws `InvalidInput` if the
 * upload has parts with another mode.
 */
function modeOfPart(upload: Upload, given: 'Append' | 'Overwrite' | undefined): UploadMode {
  const mode = given === undefined ? (upload.mode ?? 'append') : modes[given]
  if (upload.mode !== null && upload.mode !== mode) throw modeMismatch(upload, mode)
  return mode
}

function modeMismatch({ id, mode }: Upload, given: UploadMode): SheafError {
  return invalidInput(
    `the part has mode ${modeNames[given]}, but the upload ${id} has mode ${modeNames[mode!]}: all parts must have the same mode`,
  )
}

interface StagedPart {
  readonly drafts: readonly Draft[]
  readonly rows: number
  /** Ids of the columns that the part has. Only for merges. */
  readonly fields?: readonly number[]
}

async function stagePart(
  engine: Engine,
  head: TableHead,
  { upload, mode, now }: { readonly upload: Upload; readonly mode: UploadMode; readonly now: TableSchema },
  body: ArrowBody,
  options: HandlerOptions,
): Promise<StagedPart> {
  const { schema } = upload
  const maintained = new MaintainedColumns(schema, engine, options)
  const incoming = maintained.withoutOwn(await readBody(body, options))
  const stage = (batches: AsyncIterable<Batch>, columns: Schema) =>
    stageIntoFiles(batches, columns, stageTarget(engine, head), new Pacer(options.signal))
  checkNoLaterColumns(upload, incoming.schema, now)
  if (mode !== 'merge') {
    checkFits(incoming.schema, maintained.incoming)
    const conformed = conformBatches(incoming.batches, maintained.incoming)
    return stage(maintained.completed(conformed, options.signal), arrowSchema(schema))
  }
  checkColumns(incoming.schema, maintained.incoming)
  const givenNames = new Set(incoming.schema.fields.map(({ name }) => name))
  const fields = maintained.incoming.fields.filter(({ name }) => givenNames.has(name))
  const staged = await stage(conformBatches(incoming.batches, { fields }), { fields })
  return {
    ...staged,
    fields: schema.fields.filter(({ name }) => givenNames.has(name)).map(field => field.id),
  }
}

/** Check that a part has no column that was added to the table after the upload began. Throws `ColumnNotFound`. */
function checkNoLaterColumns({ id, schema }: Upload, incoming: Schema, now: TableSchema): void {
  const isIn = (name: string, { fields }: TableSchema) => fields.some(field => field.name === name)
  const added = incoming.fields.find(({ name }) => isIn(name, now) && !isIn(name, schema))
  if (added === undefined) return
  throw new SheafError(
    ErrorCode.ColumnNotFound,
    `the upload ${id} does not accept column ${quote(added.name)}, which was added to its table after the upload began`,
    {
      hint: 'leave out the column, so that it is null in these rows; or abort the upload, and begin a new one',
    },
  )
}

function partFile({ rows, content, zones }: Draft, fields: readonly number[]): PartFile {
  const { file, bytes, crc } = content as Exclude<Draft['content'], { readonly blob: Uint8Array }>
  return { rows, file, bytes, crc, ...(zones.size > 0 && { zones: zonesByField(zones, fields) }) }
}

/**
 * Check that all parts of a merge have the same columns, because a merge does not change columns that its rows do not
 * have. Throws `InvalidInput`.
 */
function checkSameColumns(upload: Upload, part: string, fields: readonly number[]): void {
  const other = [...upload.parts].map(([, each]) => each).find(each => each.name !== part)
  if (other === undefined || other.fields!.join() === fields.join()) return
  const names = (ids: readonly number[]) =>
    upload.schema.fields
      .filter(({ id }) => ids.includes(id))
      .map(({ name }) => quote(name))
      .join(', ')
  throw invalidInput(
    `the part ${quote(part)} has the columns ${names(fields)}, but the part ${quote(other.name)} has ${names(other.fields!)}`,
    { hint: 'send the same columns in all parts of a merge' },
  )
}

function checkLimits(engine: Engine, { id }: Upload, { uploadLimits }: HandlerOptions): void {
  if (uploadLimits === undefined || engine.retained.uploads.pinnedMs(id) <= uploadLimits.ageMs) return
  const hours = Math.round(uploadLimits.ageMs / 36_000) / 100
  throw invalidInput(`the upload ${id} is open for more than ${hours} hours, so it accepts no more parts`, {
    hint: 'complete or abort it',
  })
}

/** Check the limit on the bytes of all open uploads of a caller. Throws `InvalidInput` with status 413. */
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
  const message = `with this part, the open uploads of the caller have ${all} bytes; at most ${uploadLimits.bytes} are allowed`
  throw invalidInput(message, { status: 413, hint: 'complete or abort some of them' })
}

// ---- describe

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
  return withUploadsPinned(engine, [upload_id], async () => {
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

// ---- abort

/**
 * Abort an upload, also if its table was dropped. Garbage collection deletes the files later, because a running
 * completion of the upload may still read them.
 */
export const abortTableUpload: Handler<Engine, 'abortTableUpload'> = async (engine, request, options) => {
  const { id, upload_id } = request
  const { table, signal } = options
  await engine.root.refresh(signal)
  const { reply } = await commit<Reply<'abortTableUpload'>>(
    engine,
    (state, { transactionId }) => {
      const ended = state.endedUploads.get(upload_id)
      const tableUuid = state.uploads.get(upload_id)?.table ?? ended?.table
      const isOfTable =
        tableUuid !== undefined &&
        (wasDropped(state, tableUuid) || findTable(state, id, table).uuid === tableUuid)
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
  await engine.retained.uploads.end(upload_id)
  return reply
}

// ---- shared

/** Run `work` while pins protect the files of these uploads. */
export function withUploadsPinned<T>(
  engine: Engine,
  ids: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const [first, ...others] = ids
  if (first === undefined) return work()
  return engine.retained.uploads.run(first, slotOfUpload(first), () =>
    withUploadsPinned(engine, others, work),
  )
}

/**
 * Return the table of a request about an upload. Throws `TableNotFound` if the table does not exist, or if the table of
 * the upload was dropped.
 */
export function findTableOf(
  state: CatalogState,
  upload: string,
  id: readonly string[],
  table: string | undefined,
): TableHead {
  const tableUuid = state.uploads.get(upload)?.table
  if (tableUuid === undefined || !wasDropped(state, tableUuid)) return findTable(state, id, table)
  throw new SheafError(
    ErrorCode.TableNotFound,
    `the table of the upload ${upload} was dropped after the upload began`,
    { hint: 'abort the upload, and begin a new upload to another table' },
  )
}

/** Return whether a table was dropped. A deregistered table was not dropped, because it can be registered again. */
export function wasDropped({ tables, detached }: CatalogState, uuid: string): boolean {
  return !tables.has(uuid) && ![...detached].some(([, head]) => head.uuid === uuid)
}

/** Return the newest schema of the table. Throws `InvalidTableState` if the rows of the upload no longer fit it. */
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
    `the columns of table ${idText(head.id)} have changed since the upload ${id} began`,
    { hint: 'abort it, and upload the rows again' },
  )
}

/**
 * Return an open upload. Throws `TransactionNotFound` if the table has no such upload, and `InvalidInput` if the upload
 * has ended.
 */
export function openUpload(state: CatalogState, head: TableHead, id: string): Upload {
  const upload = state.uploads.get(id)
  if (upload?.table === head.uuid) return upload
  const ended = state.endedUploads.get(id)
  if (ended?.table === head.uuid) throw hasEnded(id, ended)
  throw new SheafError(ErrorCode.TransactionNotFound, `table ${idText(head.id)} has no upload ${quote(id)}`, {
    hint: upload === undefined ? 'begin a new upload' : 'it is an upload to another table',
  })
}

function hasEnded(id: string, { outcome }: EndedUpload): SheafError {
  if (outcome === 'lost') return uploadExpired(id)
  return invalidInput(`the upload ${id} was already ${outcome}`, { hint: 'begin a new upload' })
}

function uploadExpired(id: string): SheafError {
  return new SheafError(
    ErrorCode.TransactionNotFound,
    `the upload ${id} has expired, because no process used it for too long; its files may be deleted`,
    { hint: 'begin a new upload, and upload all parts again' },
  )
}

function changedMeanwhile(id: readonly string[]): SheafError {
  const message = `table ${idText(id)} was replaced or got another schema while the upload began`
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}
