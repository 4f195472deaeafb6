/**
 * Uploads in parts: their operations in the log, and the state of an upload after each of them.
 *
 *     open --part--> open --+--> completed, in the entry of its change
 *                           +--> aborted
 *                           +--> lost: garbage collection may delete files as old as the upload
 *
 * The id of an upload is the transaction id of the entry that began it. The slot in the id is older than all files of the
 * upload, so a pin of that slot keeps them. Only an open upload can be completed, so no upload is completed twice.
 */
import type { Json } from '../commit/machine.js'
import { parseTransactionId } from '../commit/transaction-id.js'
import { assert } from '../errors.js'
import type { ZoneRecords } from '../manifest/change.js'
import type { TableSchema } from '../manifest/table-schema.js'
import { PersistentMap } from '../primitives/persistent-map.js'
import type { Window } from './window.js'

/** The feature that readers of slots and checkpoints must know if there are uploads. */
export const uploadsFeature = 'uploads'

export type UploadMode = 'append' | 'overwrite' | 'merge'

/** Begin an upload. Its id is the transaction id of this entry. */
export interface UploadOp {
  readonly op: 'upload'
  readonly t: string
  /** Null: the first part sets the mode. */
  readonly mode: UploadMode | null
  /** The table's schema when the upload began: all parts have it. */
  readonly schema: TableSchema
  /** For a merge: the fields of its request. */
  readonly merge?: Json
  /** Identifies the caller, for limits. */
  readonly by?: string
}

/** A data file of a part. Only the upload refers to it. */
export interface PartFile {
  readonly rows: number
  readonly file: string
  readonly bytes: number
  readonly crc: number
  readonly zones?: ZoneRecords
}

/** Add a part to an upload, or replace the part of that name. */
export interface PartOp {
  readonly op: 'part'
  readonly u: string
  readonly part: string
  readonly mode: UploadMode
  readonly files: readonly PartFile[]
  /** Ids of the fields in the files, if not all of the upload's schema. */
  readonly fields?: readonly number[]
}

/** End an upload: completed with the reply `res`, or aborted if null. */
export interface UploadedOp {
  readonly op: 'uploaded'
  readonly u: string
  readonly res: Json | null
}

/** A part of an open upload. */
export interface UploadPart {
  readonly name: string
  /** Position among the parts: parts are ordered by when their names first came. */
  readonly place: number
  readonly files: readonly PartFile[]
  readonly fields?: readonly number[]
}

/** An open upload. */
export interface Upload {
  readonly id: string
  readonly table: string
  readonly mode: UploadMode | null
  readonly schema: TableSchema
  readonly merge?: Json
  readonly by?: string
  /** By part name. */
  readonly parts: PersistentMap<UploadPart>
  readonly rows: number
  /** Bytes of all files of its parts. */
  readonly bytes: number
}

/** An ended upload. */
export interface EndedUpload {
  readonly table: string
  readonly outcome: 'completed' | 'aborted' | 'lost'
  /** The reply of `complete`. */
  readonly res?: Json
}

/** The fields of the catalog state about uploads. */
interface Uploads {
  readonly uploads: PersistentMap<Upload>
  readonly endedUploads: Window<EndedUpload>
}

/** Return the slot in which an upload began. Its files were created at that slot or later. */
export function slotOfUpload(id: string): number {
  return parseTransactionId(id)?.slot ?? 0
}

/** Return the uploads after `UploadOp`. `id`: the transaction id of its entry. */
export function beginUpload(before: Uploads, { t, op: _, ...begun }: UploadOp, id: string): Uploads {
  const { uploads, endedUploads } = before
  assert(!uploads.has(id), `the upload ${id} began twice`)
  const upload = { ...begun, id, table: t, parts: PersistentMap.empty<UploadPart>(), rows: 0, bytes: 0 }
  return { uploads: uploads.set(id, upload), endedUploads }
}

/** Return the uploads after `PartOp`. */
export function addPart(before: Uploads, op: PartOp): Uploads {
  const upload = before.uploads.get(op.u)
  assert(upload !== undefined, `a part was added to the upload ${op.u}, which is not open`)
  return { ...before, uploads: before.uploads.set(op.u, withPart(upload, op)) }
}

function withPart(upload: Upload, { part: name, mode, files, fields }: PartOp): Upload {
  const known = upload.parts.get(name)
  const part = {
    name,
    place: known?.place ?? upload.parts.size,
    files,
    ...(fields !== undefined && { fields }),
  }
  const old = sizeOf(known?.files ?? [])
  const size = sizeOf(files)
  return {
    ...upload,
    mode,
    parts: upload.parts.set(name, part),
    rows: upload.rows - old.rows + size.rows,
    bytes: upload.bytes - old.bytes + size.bytes,
  }
}

/** Return the uploads after `UploadedOp`. `ts`: the time of its slot, milliseconds since 1970. */
export function endUpload(before: Uploads, { u, res }: UploadedOp, ts: number): Uploads {
  const ended = res === null ? { outcome: 'aborted' as const } : { outcome: 'completed' as const, res }
  return without(before, u, ended, ts)
}

/** End the uploads that began before the GC watermark `floor`: their files may be deleted. */
export function loseUploads(before: Uploads, floor: number, ts: number): Uploads {
  const lost = [...before.uploads.keys()].filter(id => slotOfUpload(id) < floor).sort()
  return lost.reduce((after, id) => without(after, id, { outcome: 'lost' }, ts), before)
}

function without(before: Uploads, id: string, ended: Omit<EndedUpload, 'table'>, ts: number): Uploads {
  const upload = before.uploads.get(id)
  assert(upload !== undefined, `the upload ${id} ended, but was not open`)
  return {
    uploads: before.uploads.delete(id),
    endedUploads: before.endedUploads.set(id, { table: upload.table, ...ended }, ts),
  }
}

/** Return the rows and bytes of files together. */
export function sizeOf(files: readonly PartFile[]): { readonly rows: number; readonly bytes: number } {
  let [rows, bytes] = [0, 0]
  for (const file of files) {
    rows += file.rows
    bytes += file.bytes
  }
  return { rows, bytes }
}

/** Return the parts of an upload, in their order. */
export function partsOf({ parts }: Upload): readonly UploadPart[] {
  return [...parts].map(([, part]) => part).sort((a, b) => a.place - b.place)
}
