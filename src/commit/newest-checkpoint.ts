/**
 * The blob `_ckpt/newest`, in stores that can replace blobs. It leads to the newest checkpoint without a listing, and has
 * what a process reads first when it opens the root, so that one request replaces several rounds:
 *
 *     line       {"f":1,"name":<file name of the checkpoint>,"pieces":[[key,offset,bytes,whole],...],
 *                 "manifests":[[uuid,version,bytes],...]}
 *     pieces     parts of files, back to back. `whole` is 1 if a piece is the whole file
 *     manifests  manifests of the newest versions of tables at the checkpoint, in the format of stored manifests
 *     checksum   crc32 of all bytes before, eight hex digits, and "\n"
 *
 * It is a hint. If it is missing, damaged or old, or does not belong to the log, only time is lost.
 */
import { crc32, crcHex } from '../primitives/checksum.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { FilePiece } from '../storage/file-pieces.js'
import { type CheckpointNote, checkpointKey, nameOf } from './checkpoints.js'
import { isCount, isRecord } from './slot.js'

/** The key of the hint. */
export const newestKey = '_ckpt/newest'
/** Length of the checksum at the end. */
const checksumBytes = 9
/** Maximum size in bytes of all pieces and manifests together. */
export const hintBytesMax = 1536 * 1024
/** Maximum size in bytes of the files of the checkpoint if they are pieces. */
const checkpointBytesMax = 256 * 1024

/** The manifest of the newest version of a table, in the format of stored manifests. */
export interface HintedManifest {
  readonly table: string
  readonly version: number
  readonly bytes: Uint8Array
}

/** Parts of files and manifests that a process reads after the checkpoint. */
export interface Foresight {
  readonly pieces: readonly FilePiece[]
  readonly manifests: readonly HintedManifest[]
}

export interface NewestHint extends Foresight {
  /** The file name of the checkpoint. */
  readonly name: string
}

/** Read the hint. Returns null if it is missing, damaged, or was written by a newer Sheaf. */
export async function readNewestHint(store: BlobStore, signal?: AbortSignal): Promise<NewestHint | null> {
  const bytes = store.replace === undefined ? null : await store.get(newestKey, signal)
  return bytes === null ? null : decodeHint(bytes)
}

/**
 * Let the hint lead to a checkpoint that the log names. Does nothing in stores that cannot replace blobs. The calls of
 * several processes may take effect in any order.
 */
export async function announceNewest(
  store: BlobStore,
  { key: own, bytes, parts }: CheckpointNote,
  { pieces, manifests }: Foresight,
  signal?: AbortSignal,
): Promise<void> {
  if (store.replace === undefined) return
  const keys = [...parts.map(({ name }) => checkpointKey(name)), own]
  const size = parts.reduce((sum, part) => sum + part.bytes, bytes)
  const files = size > checkpointBytesMax ? [] : await Promise.all(keys.map(each => store.get(each, signal)))
  // A part may be deleted meanwhile, because there is a newer checkpoint.
  const copies = files.includes(null)
    ? []
    : files.map((file, i): FilePiece => ({ key: keys[i]!, offset: 0, isWhole: true, bytes: file! }))
  await store.replace(
    newestKey,
    encode({ name: nameOf(own), pieces: [...copies, ...pieces], manifests }),
    signal,
  )
}

function encode({ name, pieces, manifests }: NewestHint): Uint8Array {
  const line = {
    f: 1,
    name,
    pieces: pieces.map(({ key, offset, bytes, isWhole }) => [key, offset, bytes.length, isWhole ? 1 : 0]),
    manifests: manifests.map(({ table, version, bytes }) => [table, version, bytes.length]),
  }
  const content = [...pieces, ...manifests].map(({ bytes }) => bytes)
  const all = Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), ...content])
  return Buffer.concat([all, Buffer.from(`${crcHex(crc32(all))}\n`)])
}

/** Return the hint in `bytes`. Returns null if it is damaged, or was written by a newer Sheaf. */
export function decodeHint(bytes: Uint8Array): NewestHint | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const last = bytes.length - checksumBytes
  if (last < 0 || text.toString('latin1', last) !== `${crcHex(crc32(bytes.subarray(0, last)))}\n`) return null
  const end = bytes.indexOf(0x0a)
  let line: unknown
  try {
    line = JSON.parse(text.toString('utf8', 0, end))
  } catch {
    return null
  }
  if (!isRecord(line) || line.f !== 1 || typeof line.name !== 'string') return null
  if (!Array.isArray(line.pieces) || !line.pieces.every(isPiece)) return null
  if (!Array.isArray(line.manifests) || !line.manifests.every(isManifest)) return null
  let at = end + 1
  const next = (length: number) => {
    at += length
    return bytes.subarray(at - length, at)
  }
  const pieces = line.pieces.map(([key, offset, length, whole]): FilePiece => {
    return { key, offset, isWhole: whole === 1, bytes: next(length) }
  })
  const manifests = line.manifests.map(([table, version, length]): HintedManifest => {
    return { table, version, bytes: next(length) }
  })
  return at === last ? { name: line.name, pieces, manifests } : null
}

function isPiece(value: unknown): value is [string, number, number, number] {
  if (!Array.isArray(value)) return false
  const [key, ...numbers] = value
  return typeof key === 'string' && numbers.length === 3 && numbers.every(isCount)
}

function isManifest(value: unknown): value is [string, number, number] {
  if (!Array.isArray(value)) return false
  const [table, ...numbers] = value
  return typeof table === 'string' && numbers.length === 2 && numbers.every(isCount)
}
