/**
 * Uploads in parts: the operations of uploads in the log, and the state of an upload after each operation.
 *
 *     open --part--> open --+--> completed, in the entry of its change
 *                           +--> aborted
 *                           +--> lost: the GC watermark passed the upload, so its files may be deleted
 *
 * The id of an upload is the transaction id of the entry that began it. The id contains a slot. All files of the upload
 * were created at this slot or later, so a pin of the slot protects them. Only an open upload can be completed, so an
 * upload is never completed twice.
 */
import type { Json } from '../commit/machine.js'
import { parseTransactionId } from '../commit/transaction-id.js'
import { assert } from '../errors.js'
import type { ZoneRecords } from '../manifest/change.js'
import type { TableSchema } from '../manifest/table-schema.js'
import { PersistentMap } from '../primitives/persistent-map.js'
import type { Window } from './window.js'

/** The feature that readers of slots and checkpoints with uploads must support. */
export const uploadsFeature = 'uploads'

export type UploadMode = 'append' | 'overwrite' | 'merge'

/** Begins an upload. The id of the upload is the transaction id of this entry. */
export interface UploadOp {
  readonly op: 'upload'
  readonly t: string
  /** The mode of the upload. Null: the first part determines it. */
  readonly mode: UploadMode | null
  /** The table's schema when the upload began. All parts are written with this schema. */
  readonly schema: TableSchema
  /** Only for a merge: the fields of the request. */
  readonly merge?: Json
  /** Identifies the caller, to limit the uploads of one caller. */
  readonly by?: string
}

/** A data file of a part. Only the upload refers to the file. */
export interface PartFile {
  readonly rows: number
  readonly file: string
  readonly bytes: number
  readonly crc: number
  readonly zones?: ZoneRecords
}

/** Adds a part to an upload, or replaces the part with the same name. */
export interface PartOp {
  readonly op: 'part'
  readonly u: string
  readonly part: string
  readonly mode: UploadMode
  readonly files: readonly PartFile[]
  /** The ids of the fields in the files. Absent if the files have all fields of the upload's schema. */
  readonly fields?: readonly number[]
}

/** Ends an upload. `res`: the reply if the upload is completed; null if it is aborted. */
export interface UploadedOp {
  readonly op: 'uploaded'
  readonly u: string
  readonly res: Json | null
}

/** A part of an open upload. */
export interface UploadPart {
  readonly name: string
  /** The position among the parts. Parts are ordered by the time when their names were first used. */
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
  /** By name: the parts. */
  readonly parts: PersistentMap<UploadPart>
  readonly rows: number
  /** Size in bytes of the files of all parts. */
  readonly bytes: number
}

/** An ended upload. */
export interface EndedUpload {
  readonly table: string
  readonly outcome: 'completed' | 'aborted' | 'lost'
  /** The reply of `complete`. Only for a completed upload. */
  readonly res?: Json
}

/** The fields of the catalog state about uploads. */
interface Uploads {
  readonly uploads: PersistentMap<Upload>
  readonly endedUploads: Window<EndedUpload>
}

/** Return the slot in which an upload began. The creation slots of its files are this slot or later. */
export function slotOfUpload(id: string): number {
  return parseTransactionId(id)?.slot ?? 0
}

/** Apply an `UploadOp`. `id`: the transaction id of its entry. */
export function beginUpload(before: Uploads, { t, op: _, ...begun }: UploadOp, id: string): Uploads {
  const { uploads, endedUploads } = before
  assert(!uploads.has(id), `the upload ${id} began twice`)
  const upload = { ...begun, id, table: t, parts: PersistentMap.empty<UploadPart>(), rows: 0, bytes: 0 }
  return { uploads: uploads.set(id, upload), endedUploads }
}

/** Apply a `PartOp`. */
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

/** Apply an `UploadedOp`. `ts`: the time of its slot, in milliseconds since 1970. */
export function endUpload(before: Uploads, { u, res }: UploadedOp, ts: number): Uploads {
  const ended = res === null ? { outcome: 'aborted' as const } : { outcome: 'completed' as const, res }
  return without(before, u, ended, ts)
}

/** End the uploads that began before the GC watermark `floor`, because garbage collection may delete their files. */
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

/** Return the sums of the rows and bytes of files. */
export function sizeOf(files: readonly PartFile[]): { readonly rows: number; readonly bytes: number } {
  let [rows, bytes] = [0, 0]
  for (const file of files) {
    rows += file.rows
    bytes += file.bytes
  }
  return { rows, bytes }
}

/** Return the parts of an upload, ordered by position. */
export function partsOf({ parts }: Upload): readonly UploadPart[] {
  return [...parts].map(([, part]) => part).sort((a, b) => a.place - b.place)
}
