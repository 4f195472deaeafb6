/**
 * Completes an upload in parts. One entry of the log contains the change with the rows of the upload, and the end of
 * the upload. The change is computed on one state, and committed on a state that may be newer. If the difference
 * matters, the change is computed again.
 */
import type { Batch } from '../arrow/column.js'
import { checkWritable, findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import { partsOf, type Upload, type UploadMode, type UploadPart, uploadsFeature } from '../catalog/uploads.js'
import type { Json, ProposalPosition } from '../commit/machine.js'
import { invalidInput, quote, type SheafError } from '../errors.js'
import { applyChange } from '../manifest/layout.js'
import { arrowSchema, type TableSchema } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import type { HandlerOptions, Request } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import type { CompleteUploadReply, CompleteUploadRequest } from '../protocol/upload-shapes.js'
import { seedOf } from '../query/seed.js'
import { RowSource } from '../query/source.js'
import { type Decision, requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { openVersion } from '../root/open-table.js'
import { TableReader } from '../table/table-reader.js'
import { passingBy } from '../table/table-source.js'
import { buildChange, type ChangeParts, zonesByColumn } from '../write/build-change.js'
import { MaintainedColumns } from '../write/maintained.js'
import { RowMerge } from '../write/merge.js'
import { MergeSource } from '../write/merge-source.js'
import type { Draft } from '../write/stage.js'
import { mergeRules } from './edit-rows.js'
import { findTableOf, openUpload, schemaFor, wasDropped } from './uploads.js'

/** The completion of an upload, prepared on one state. */
export interface Completion {
  /** The path of the table. Calls of this process that change the table wait for each other in a queue of this path. */
  readonly id: readonly string[]
  /**
   * Decide the completion on the newest state. `now`: the state with the effects of earlier operations of the same
   * entry. `before`: the state without them. Returns null if the completion must be prepared again.
   */
  decide(now: CatalogState, before: CatalogState, at: ProposalPosition): Decision<CompleteUploadReply> | null
}

/**
 * The rows of merges, by upload. They stay in memory until the commit, so that repeated attempts do not read them
 * again.
 */
export type ReadMerges = Map<string, { readonly upload: Upload; readonly merge: RowMerge }>

/**
 * Prepare the completion of an upload. Throws:
 * - `TableNotFound` if its table was dropped;
 * - `TransactionNotFound` if the upload does not exist;
 * - `InvalidInput` if the upload was aborted, or if it has no parts and would delete rows of the table;
 * - `InvalidTableState` if the columns of the table have changed.
 */
export async function prepareCompletion(
  engine: Engine,
  state: CatalogState,
  request: CompleteUploadRequest,
  options: HandlerOptions,
  merges: ReadMerges,
): Promise<Completion> {
  const { id, upload_id } = request
  const { signal, table } = options
  const done = completedBefore(state, request, table)
  if (done !== null) return { id, decide: () => ({ ops: [], reply: done }) }
  const head = findTableOf(state, upload_id, id, table)
  checkWritable(head)
  const upload = openUpload(state, head, upload_id)
  const parts = chosenParts(upload, request.parts)
  const mode = upload.mode ?? 'append'
  if (parts.length === 0 && (mode === 'overwrite' || deletesOthers(upload))) {
    throw invalidInput(
      `the upload ${upload_id} has no parts: completing it would delete the rows of table ${idText(id)}`,
      {
        hint: 'if this is intended, add a part without rows; otherwise abort the upload',
      },
    )
  }
  const schema = await schemaFor(engine, head, upload, signal)
  const work = await computeChange(engine, head, { upload, mode, schema, parts }, options, merges)
  return {
    id,
    decide(now, before, { firstBlob, transactionId }) {
      const done = completedBefore(now, request, table)
      if (done !== null) return { ops: [], reply: done }
      const head = findTableOf(now, upload_id, id, table)
      checkWritable(head)
      if (openUpload(now, head, upload_id) !== upload || head.schemaId !== schema.id) return null
      if (work.mark !== null && head.mark !== work.mark) {
        // If an earlier operation of the same entry changed the table, all further attempts would fail in the same way.
        if (before.tables.get(head.uuid)?.mark === work.mark) throw changedBefore(head)
        return null
      }
      const { parts: changed, ...counts } = work
      const { change, blobs } =
        changed === null ? { change: null, blobs: [] } : buildChange(head, changed, firstBlob)
      const reply: CompleteUploadReply = {
        version: change?.v ?? versionOf(head),
        num_parts: parts.length,
        num_inserted_rows: counts.inserted,
        num_updated_rows: counts.updated,
        num_deleted_rows: counts.deleted,
        transaction_id: transactionId,
      }
      const end = { op: 'uploaded' as const, u: upload_id, res: reply as Json }
      return {
        ops: change === null ? [end] : [change, end],
        blobs,
        req: requirementsOf(head),
        need: [uploadsFeature],
        reply,
      }
    },
  }
}

/** Return whether the upload is a merge that deletes the rows of the table without a match in the upload. */
function deletesOthers({ merge }: Upload): boolean {
  const request = (merge ?? {}) as unknown as Partial<Request<'mergeInsertIntoTable'>>
  return request.when_not_matched_by_source_delete === true
}

/**
 * Return the recorded reply of a completed upload, also if its table was dropped later. Returns null if the upload was
 * not completed.
 */
function completedBefore(
  state: CatalogState,
  { id, upload_id }: CompleteUploadRequest,
  table: string | undefined,
): CompleteUploadReply | null {
  const ended = state.endedUploads.get(upload_id)
  if (ended?.outcome !== 'completed') return null
  const isOfTable = wasDropped(state, ended.table) || findTable(state, id, table).uuid === ended.table
  return isOfTable ? (ended.res as unknown as CompleteUploadReply) : null
}

function chosenParts(upload: Upload, names: readonly string[] | undefined): readonly UploadPart[] {
  if (names === undefined) return partsOf(upload)
  return names.map(name => {
    const part = upload.parts.get(name)
    if (part !== undefined) return part
    throw invalidInput(`the upload ${upload.id} has no part ${quote(name)}`, {
      hint: 'upload it first, or leave it out of parts',
    })
  })
}

interface ComputedChange {
  /** The version on which the change was computed. Null: the change fits every version. */
  readonly mark: number | null
  /** The change. Null: the upload changes nothing. */
  readonly parts: ChangeParts | null
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
}

/** An upload that is being completed, and what its change is computed from. */
interface Completing {
  readonly upload: Upload
  readonly mode: UploadMode
  /** The newest schema of the table. */
  readonly schema: TableSchema
  readonly parts: readonly UploadPart[]
}

async function computeChange(
  engine: Engine,
  head: TableHead,
  { upload, mode, schema, parts }: Completing,
  options: HandlerOptions,
  merges: ReadMerges,
): Promise<ComputedChange> {
  const { signal } = options
  const fields = upload.schema.fields.map(field => field.id)
  if (mode !== 'merge') {
    const drafts = parts.flatMap(part => draftsOf(part, fields))
    const inserted = drafts.reduce((sum, { rows }) => sum + rows, 0)
    const counts = { inserted, updated: 0, deleted: 0 }
    if (mode === 'append') return { mark: null, parts: { kind: 'append', drafts, fields }, ...counts }
    const { layout } = await openVersion(engine, head, versionOf(head), signal)
    const drop = layout.fragments.map(fragment => fragment.id)
    return { mark: head.mark, parts: { kind: 'overwrite', drafts, fields, drop }, ...counts }
  }
  const known = merges.get(upload.id)
  const merge =
    known?.upload === upload ? known.merge : await readMerge(engine, head, upload, schema, parts, options)
  merges.set(upload.id, { upload, merge })
  const { reader } = await openVersion(engine, head, versionOf(head), signal)
  const merged = await merge.prepare(reader, stageTarget(engine, head), new Pacer(signal))
  const { deletions, moved, drafts, updated, inserted, deleted } = merged
  const isNothing = updated + inserted + deleted === 0
  const { dead, drop } = deletions
  const changed: ChangeParts = { kind: 'merge', dead, drop, moved, drafts, fields }
  return { mark: head.mark, parts: isNothing ? null : changed, inserted, updated, deleted }
}

function draftsOf({ files }: UploadPart, fields: readonly number[]): readonly Draft[] {
  return files.map(({ rows, file, bytes, crc, zones = {} }) => {
    return { rows, content: { file, bytes, crc }, zones: zonesByColumn(zones, fields) }
  })
}

async function readMerge(
  engine: Engine,
  head: TableHead,
  upload: Upload,
  schema: TableSchema,
  parts: readonly UploadPart[],
  options: HandlerOptions,
): Promise<RowMerge> {
  const pacer = new Pacer(options.signal)
  const request = upload.merge as unknown as Omit<Request<'mergeInsertIntoTable'>, 'id'>
  const rules = mergeRules(request)
  const maintained = new MaintainedColumns(schema, engine, options)
  const fields = parts[0]?.fields ?? []
  options.memory?.add(
    parts.reduce((sum, { files }) => sum + files.reduce((all, { bytes }) => all + bytes, 0), 0),
  )
  const givenSchema = { ...schema, fields: schema.fields.filter(({ id }) => fields.includes(id)) }
  const rows = { schema: arrowSchema(givenSchema), batches: rowsOf(engine, head, givenSchema, parts, pacer) }
  const source = await MergeSource.read(rows, maintained.incoming, request.on, seedOf(engine.clock), pacer)
  return new RowMerge(source, rules, schema, maintained)
}

/** Yield the rows in the files of the parts, in stored order. */
async function* rowsOf(
  engine: Engine,
  head: TableHead,
  schema: TableSchema,
  parts: readonly UploadPart[],
  pacer: Pacer,
): AsyncGenerator<Batch> {
  const fields = schema.fields.map(({ id }) => id)
  const drafts = parts.flatMap(part => draftsOf(part, fields))
  const empty: TableHead = { ...head, mark: 0, live: [], start: 0, next: { row: 0, frag: 0, field: 0 } }
  const whole = { kind: 'create' as const, drafts, fields, schema: { schema, nextField: 0 } }
  const layout = applyChange(null, buildChange(empty, whole, 0).change, 0)
  const reader = new TableReader(passingBy(engine.source), head.location, layout)
  const source = new RowSource(reader, pacer)
  const names = schema.fields.map(({ name }) => name)
  for (const fragment of layout.fragments) {
    for (const part of await reader.partsOf(fragment, pacer.signal)) {
      const { columns } = await source.partBatch(part, names)
      yield { schema: arrowSchema(schema), length: part.rows, columns }
    }
  }
}

function changedBefore({ id }: TableHead): SheafError {
  return invalidInput(`an earlier operation of the same batch changes table ${idText(id)}`, {
    hint: 'in one batch, complete several uploads of one table only if all of them append',
  })
}
