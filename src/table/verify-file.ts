/** Checks every byte of data files and section files, without caching them. */
import { BlockSums } from '../arrow/block-sums.js'
import { type FramePiece, fileFrame } from '../arrow/file-frame.js'
import type { ColumnRange } from '../arrow/file-layout.js'
import { corrupted } from '../errors.js'
import { type SectionPart, sectionFrame } from '../indexes/sections/section-file.js'
import { checkedParts } from '../indexes/vector/stored-lists.js'
import type { StoredFile } from '../manifest/layout.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import type { BlobStore } from '../storage/blob-store.js'
import { readFooter } from './data-file.js'
import { openSectionFile } from './section-file.js'
import type { CheckedRange } from './verified-range.js'

/** Number of bytes that are read and checked in one step. */
const pieceBytes = 1024 * 1024

/**
 * Check a data file, and return the number of rows of each record batch. `file`: the record of the file in the
 * manifest; `fields` is absent for files of scalar indexes. Throws Internal ("corrupted") if the file is missing, has
 * another size, or if any byte differs.
 */
export async function verifyFile(
  store: BlobStore,
  path: string,
  file: Omit<StoredFile, 'fields'> & Partial<Pick<StoredFile, 'fields'>>,
  pacer: Pacer,
): Promise<readonly number[]> {
  await verifySize(store, path, file.bytes, pacer)
  const layout = await readFooter(store, path, file)
  const { schema, batches } = layout
  const { fields } = file
  if (fields !== undefined && schema.fields.length !== fields.length) {
    throw corrupted(`${path} has ${schema.fields.length} columns, but its record lists ${fields.length}`)
  }
  const sums = new BlockSums()
  /** Start addresses of the dictionaries that are already checked. All batches share them. */
  const checkedDictionaries = new Set<number>()
  for (const { columns } of batches) {
    for (const range of columns) {
      for (const { range: values } of range.dictionaries) {
        if (checkedDictionaries.has(values.start)) continue
        checkedDictionaries.add(values.start)
        await verifyRange(store, path, values, pacer)
      }
      if (range.firstSum === null) await verifyRange(store, path, range, pacer)
      else await verifyRange(store, path, range, pacer, (piece, at) => addBlocks(sums, range, piece, at))
    }
  }
  let at = layout.sums.start
  for (const bytes of sums.pages()) {
    await verifyPiece(store, path, { start: at, bytes }, pacer)
    at += bytes.length
  }
  for (const piece of fileFrame(layout)) await verifyPiece(store, path, piece, pacer)
  return batches.map(({ length }) => length)
}

/** Check a section file, as `verifyFile` does. */
export async function verifySections(
  store: BlobStore,
  path: string,
  file: Omit<StoredFile, 'fields'>,
  pacer: Pacer,
): Promise<void> {
  await verifySize(store, path, file.bytes, pacer)
  const opened = await openSectionFile(store, path, file)
  const { footer } = opened
  const parts = await checkedParts(opened)
  for (const section of footer.sections) {
    const checking = checkingParts(path, section.start, parts.get(section))
    await verifyRange(store, path, section, pacer, checking)
  }
  for (const piece of sectionFrame(footer)) await verifyPiece(store, path, piece, pacer)
}

/**
 * Add the bytes of a column's buffers in `piece` to the checksums of blocks. `at`: the offset of the piece in the
 * column.
 */
function addBlocks(sums: BlockSums, { buffers, blocks }: ColumnRange, piece: Uint8Array, at: number): void {
  for (const [i, block] of blocks.entries()) {
    const [begin, end] = [buffers[2 * i]! - at, buffers[2 * i]! + buffers[2 * i + 1]! - at]
    if (begin >= piece.length || end <= 0) continue
    sums.add(piece.subarray(Math.max(0, begin), end), block)
    if (end <= piece.length) sums.endBuffer()
  }
}

/**
 * Check bytes that have no checksum of their own. Their expected contents were computed from the footer, or from the
 * blocks of the columns for checksum pages.
 */
async function verifyPiece(
  store: BlobStore,
  path: string,
  { start, bytes }: FramePiece,
  pacer: Pacer,
): Promise<void> {
  if (bytes.length === 0) return
  const found = await store.getRange(path, start, bytes.length, pacer.signal)
  await pacer.turn()
  if (Buffer.compare(found, bytes) === 0) return
  const where = `bytes ${start} to ${start + bytes.length} of ${path}`
  throw corrupted(`${where} differ from the bytes that its footer and its columns require`)
}

async function verifySize(store: BlobStore, path: string, bytes: number, pacer: Pacer): Promise<void> {
  const info = await store.stat(path, pacer.signal)
  if (info === null) throw corrupted(`${path} is missing`)
  if (info.size !== bytes) throw corrupted(`${path} has ${info.size} bytes, expected ${bytes}`)
}

/**
 * Check a byte range against its checksum. Calls `onPiece` with each piece and the offset of the piece in the range.
 */
async function verifyRange(
  store: BlobStore,
  path: string,
  { start, bytes, crc }: CheckedRange,
  pacer: Pacer,
  onPiece?: (piece: Uint8Array, at: number) => void,
): Promise<void> {
  let found = 0
  for (let at = 0; at < bytes; at += pieceBytes) {
    const piece = await store.getRange(path, start + at, Math.min(pieceBytes, bytes - at), pacer.signal)
    found = crc32(piece, found)
    onPiece?.(piece, at)
    await pacer.turn()
  }
  compare(path, start, bytes, found, crc)
}

/**
 * Return a function that checks the parts of a section against their checksums. It must be called with the pieces of
 * the section in order. `start`: the address of the section in the file.
 */
function checkingParts(
  path: string,
  start: number,
  parts: readonly SectionPart[] = [],
): (piece: Uint8Array, at: number) => void {
  let next = 0
  /** Checksum of the bytes of the current part that were seen so far. */
  let partial = 0
  return (piece, at) => {
    const end = at + piece.length
    for (let part = parts[next]; part !== undefined && part.start < end; part = parts[next]) {
      const partEnd = part.start + part.bytes
      partial = crc32(piece.subarray(Math.max(0, part.start - at), partEnd - at), partial)
      if (partEnd > end) break
      compare(path, start + part.start, part.bytes, partial, part.crc)
      partial = 0
      next++
    }
  }
}

function compare(path: string, start: number, bytes: number, found: number, crc: number): void {
  if (found === crc) return
  const where = `bytes ${start} to ${start + bytes} of ${path}`
  throw corrupted(`${where} have checksum ${crcHex(found)}, expected ${crcHex(crc)}`)
}
