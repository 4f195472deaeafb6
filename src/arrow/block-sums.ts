/**
 * Checksums of the blocks that the columns of a data file are cut into, so that a few rows can be read and checked without
 * their whole column. Layout: docs/format.md, "Data files".
 *
 * - Every buffer of a column begins a block of its own; the last block of a buffer may be shorter.
 * - The checksums stand in the order of the blocks in pages of 255, each page with a checksum of its own, right before the footer.
 *   So the page of a block is found by arithmetic, and read beside the block.
 * - A column of at most `wholeBytes` has none: it is read whole, under the checksum in the footer.
 */
import { corrupted } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Parts } from './flatten.js'
import { asBytes, cellBytes, hasCells, hasOffsets } from './layout.js'
import type { DataType } from './types.js'
import type { WireField } from './wire-field.js'

/** Bytes of a page of checksums, its own included. */
export const pageBytes = 1024
/** Checksums of blocks in a page. */
export const sumsPerPage = pageBytes / 4 - 1
/** A longer column is cut into blocks. */
export const wholeBytes = 4096
/** Bytes of a block of vectors, or of the one vector that has more. */
const vectorBlockBytes = 512
/** Bytes of other blocks. */
const plainBlockBytes = 1024
const blockBytesMax = 64 * 1024

/** Bytes of a block of each buffer of some fields, in the order of the buffers of a batch. */
export function blocksOf(fields: readonly WireField[]): number[] {
  const out: number[] = []
  for (const field of fields) addBlocks(field, 1, out)
  return out
}

/** `cells`: cells of the field that a row has, where it is the element of vectors. */
function addBlocks({ type, children }: WireField, cells: number, out: number[]): void {
  if (type.kind === 'null') return
  out.push(plainBlockBytes)
  if (hasOffsets(type)) out.push(plainBlockBytes)
  if (type.kind === 'bool' || type.kind === 'utf8' || type.kind === 'binary') out.push(plainBlockBytes)
  else if (hasCells(type)) out.push(cellBlock(type, cells))
  const below = type.kind === 'fixed_size_list' ? cells * type.size : 1
  for (const child of children) addBlocks(child, below, out)
}

/** Whole rows, as many as fit. */
function cellBlock(type: DataType, cells: number): number {
  const rowBytes = Math.max(1, cellBytes(type) * cells)
  const wanted = cells > 1 ? vectorBlockBytes : plainBlockBytes
  return Math.min(blockBytesMax, rowBytes * Math.max(1, Math.floor(wanted / rowBytes)))
}

/** How many blocks the buffers of a column have. `buffers`: pairs of (offset, bytes). */
export function countBlocks(buffers: readonly number[], blocks: readonly number[]): number {
  let count = 0
  for (const [i, block] of blocks.entries()) count += Math.ceil(buffers[2 * i + 1]! / block)
  return count
}

/** Pages that so many checksums take. */
export function pagesFor(sums: number): number {
  return Math.ceil(sums / sumsPerPage)
}

/** Collects the checksums of a file's blocks, in their order. */
export class BlockSums {
  readonly #pages: Uint32Array[] = []
  /** Checksums so far. */
  #count = 0
  /** Of the block that is not whole yet. */
  #crc = 0
  #filled = 0

  /** More bytes of a buffer whose blocks have `block` bytes. */
  add(bytes: Uint8Array, block: number): void {
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + block - this.#filled)
      this.#crc = crc32(bytes.subarray(at, end), this.#crc)
      this.#filled += end - at
      at = end
      if (this.#filled === block) this.endBuffer()
    }
  }

  /** The buffer has no more bytes. */
  endBuffer(): void {
    if (this.#filled === 0) return
    const at = this.#count++ % sumsPerPage
    if (at === 0) this.#pages.push(new Uint32Array(pageBytes / 4))
    this.#pages.at(-1)![at] = this.#crc
    this.#crc = 0
    this.#filled = 0
  }

  /** All pages, the last filled up with zeros. */
  pages(): Uint8Array[] {
    return this.#pages.map((page, number) => {
      const bytes = asBytes(page)
      page[sumsPerPage] = crcOfPage(bytes, number)
      return bytes
    })
  }
}

/** Whether a page is what was written as page `number` of a file; throws corrupted (code 18) where it is not. */
export function checkPage(page: Uint8Array, number: number, path: string): void {
  const written = sumAt(page, sumsPerPage)
  const found = crcOfPage(page, number)
  if (found === written) return
  throw corrupted(
    `page ${number} of the checksums of ${path} has checksum ${crcHex(found)}, written was ${crcHex(written)}`,
  )
}

/** Entry `at` of a page. */
export function sumAt(page: Uint8Array, at: number): number {
  const from = 4 * at
  return (page[from]! | (page[from + 1]! << 8) | (page[from + 2]! << 16) | (page[from + 3]! << 24)) >>> 0
}

/** The checksum of a page begins with its number, so that no page stands for another. */
function crcOfPage(page: Uint8Array, number: number): number {
  return crc32(page.subarray(0, 4 * sumsPerPage), number)
}

/** The blocks of a buffer in parts, added to `sums`. */
export function* addBuffer(parts: Parts, block: number, sums: BlockSums, step: number): Generator<void> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += step) {
      sums.add(part.subarray(at, at + step), block)
      yield
    }
  }
  sums.endBuffer()
}
