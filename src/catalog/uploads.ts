/**
 * Uploads in parts: what the log says of them, and what is known of one after each entry.
 *
 *     open --part--> open --+--> completed, in the entry of its change
 *                           +--> aborted
 *                           +--> lost: a sweep gave up files as old as the upload
 *
 * An upload that is open has an id, the transaction id of the entry that began it. The slot in the id is older than all of its files, so
 * who pins that slot keeps them. Being open is the right to be completed: no upload is completed twice, however late it is asked for.
 */
import type { Json } from '../commit/machine.js'
import { parseTransactionId } from '../commit/transaction-id.js'
import { assert } from '../errors.js'
import type { ZoneRecords } from '../manifest/change.js'
import type { TableSchema } from '../manifest/table-schema.js'
import { PersistentMap } from '../primitives/persistent-map.js'
import type { Window } from './window.js'

/** What readers of slots and checkpoints must know where there are uploads. */
export const uploadsFeature = 'uploads'

export type UploadMode = 'append' | 'overwrite' | 'merge'

/** An upload begins. Its id is the transaction id of this entry. */
export interface UploadOp {
  readonly op: 'upload'
  readonly t: string
  /** Null: the first part says it. */
  readonly mode: UploadMode | null
  /** Of the table when the upload began: all parts have it. */
  readonly schema: TableSchema
  /** Of a merge: the members of its request. */
  readonly merge?: Json
  /** Tells callers apart, for limits. */
  readonly by?: string
}

/** A data file of a part; nothing refers to it but the upload. */
export interface PartFile {
  readonly rows: number
  readonly file: string
  readonly bytes: number
  readonly crc: number
  readonly zones?: ZoneRecords
}

/** An upload gets a part, or another one under a name that it has. */
export interface PartOp {
  readonly op: 'part'
  readonly u: string
  readonly part: string
  readonly mode: UploadMode
  readonly files: readonly PartFile[]
  /** Ids of the fields in the files, where those are not all of the upload's schema. */
  readonly fields?: readonly number[]
}

/** An upload ends: completed with this answer; or, with null, aborted. */
export interface UploadedOp {
  readonly op: 'uploaded'
  readonly u: string
  readonly res: Json | null
}

export interface UploadPart {
  readonly name: string
  /** Parts have the order in which their names came first. */
  readonly place: number
  readonly files: readonly PartFile[]
  readonly fields?: readonly number[]
}

/** One that is open. */
export interface Upload {
  readonly id: string
  readonly table: string
  readonly mode: UploadMode | null
  readonly schema: TableSchema
  readonly merge?: Json
  readonly by?: string
  /** By name. */
  readonly parts: PersistentMap<UploadPart>
  readonly rows: number
  /** Bytes of the files of all parts. */
  readonly bytes: number
}

/** One that is not open any more. */
export interface EndedUpload {
  readonly table: string
  readonly outcome: 'completed' | 'aborted' | 'lost'
  /** What `complete` answered. */
  readonly res?: Json
}

export interface Uploads {
  readonly uploads: PersistentMap<Upload>
  readonly endedUploads: Window<EndedUpload>
}

/** The slot that an upload began in; all of its files are born then or later. */
export function slotOfUpload(id: string): number {
  return parseTransactionId(id)?.slot ?? 0
}

export function beginUpload(before: Uploads, { t, op: _, ...begun }: UploadOp, id: string): Uploads {
  const { uploads, endedUploads } = before
  assert(!uploads.has(id), `the upload ${id} began twice`)
  const upload = { ...begun, id, table: t, parts: PersistentMap.empty<UploadPart>(), rows: 0, bytes: 0 }
  return { uploads: uploads.set(id, upload), endedUploads }
}

export function addPart(before: Uploads, op: PartOp): Uploads {
  const upload = before.uploads.get(op.u)
  assert(upload !== undefined, `a part comes for the upload ${op.u}, which is not open`)
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

export function endUpload(before: Uploads, { u, res }: UploadedOp, ts: number): Uploads {
  const ended = res === null ? { outcome: 'aborted' as const } : { outcome: 'completed' as const, res }
  return without(before, u, ended, ts)
}

/** After a sweep: files born before its floor may be gone. */
export function loseUploads(before: Uploads, floor: number, ts: number): Uploads {
  const lost = [...before.uploads.keys()].filter(id => slotOfUpload(id) < floor).sort()
  return lost.reduce((after, id) => without(after, id, { outcome: 'lost' }, ts), before)
}

function without(before: Uploads, id: string, ended: Omit<EndedUpload, 'table'>, ts: number): Uploads {
  const upload = before.uploads.get(id)
  assert(upload !== undefined, `the upload ${id} ends, and is not open`)
  return {
    uploads: before.uploads.delete(id),
    endedUploads: before.endedUploads.set(id, { table: upload.table, ...ended }, ts),
  }
}

export function sizeOf(files: readonly PartFile[]): { readonly rows: number; readonly bytes: number } {
  let [rows, bytes] = [0, 0]
  for (const file of files) {
    rows += file.rows
    bytes += file.bytes
  }
  return { rows, bytes }
}

/** In their order. */
export function partsOf({ parts }: Upload): readonly UploadPart[] {
  return [...parts].map(([, part]) => part).sort((a, b) => a.place - b.place)
}
