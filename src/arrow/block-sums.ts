/**
 * Checksums of the blocks of a data file's columns. With block checksums a reader can read and check a few rows without
 * the whole column. Format: docs/format.md, "Data files".
 *
 * - Each buffer of a column starts a new block. The last block of a buffer may be shorter.
 * - The checksums are in the order of the blocks, in pages of 255 checksums, directly before the footer. Each page also
 *   has its own checksum. A reader computes which page has the checksum of a block, and reads this page and the block.
 * - A column of at most `wholeBytes` bytes has no block checksums. A reader reads the whole column, and checks it
 *   against the checksum in the footer.
 */
import { corrupted } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Parts } from './flatten.js'
import { asBytes, cellBytes, hasCells, hasOffsets } from './layout.js'
import type { DataType } from './types.js'
import type { WireField } from './wire-field.js'

/** Where a file has the checksums of its blocks: the address of their first page. */
export interface SumsPlace {
  readonly sums: { readonly start: number }
}

/** Bytes of a page of checksums, including the page's own checksum. */
export const pageBytes = 1024
/** Block checksums per page. */
export const sumsPerPage = pageBytes / 4 - 1
/** Maximum size in bytes of a column without block checksums. */
export const wholeBytes = 4096
/** Maximum bytes of a block of vectors. A vector with more bytes has its own block. */
const vectorBlockBytes = 512
/** Maximum bytes of a block of other values. */
const plainBlockBytes = 1024
const blockBytesMax = 64 * 1024

/** Return the block size in bytes of each buffer of the fields, in the order of the buffers of a batch. */
export function blocksOf(fields: readonly WireField[]): number[] {
  const out: number[] = []
  for (const field of fields) addBlocks(field, 1, out)
  return out
}

/** `cells`: number of cells per row. It is 1, except for the element field of vectors. */
function addBlocks({ type, children }: WireField, cells: number, out: number[]): void {
  if (type.kind === 'null') return
  out.push(plainBlockBytes)
  if (hasOffsets(type)) out.push(plainBlockBytes)
  if (type.kind === 'bool' || type.kind === 'utf8' || type.kind === 'binary') out.push(plainBlockBytes)
  else if (hasCells(type)) out.push(cellBlock(type, cells))
  const below = type.kind === 'fixed_size_list' ? cells * type.size : 1
  for (const child of children) addBlocks(child, below, out)
}

/** Return the block size: the largest multiple of the bytes of a row that fits, but at least one row. */
function cellBlock(type: DataType, cells: number): number {
  const rowBytes = Math.max(1, cellBytes(type) * cells)
  const wanted = cells > 1 ? vectorBlockBytes : plainBlockBytes
  return Math.min(blockBytesMax, rowBytes * Math.max(1, Math.floor(wanted / rowBytes)))
}

/**
 * Return the number of blocks of a column. `buffers`: (offset, bytes) of each buffer, flat. `blocks`: block size of
 * each buffer.
 */
export function countBlocks(buffers: readonly number[], blocks: readonly number[]): number {
  let count = 0
  for (const [i, block] of blocks.entries()) count += Math.ceil(buffers[2 * i + 1]! / block)
  return count
}

/** Return the number of pages for `sums` checksums. */
export function pagesFor(sums: number): number {
  return Math.ceil(sums / sumsPerPage)
}

/** Collects the checksums of the blocks of a file, in order. */
export class BlockSums {
  readonly #pages: Uint32Array[] = []
  /** Number of checksums collected so far. */
  #count = 0
  /** CRC-32 of the bytes of the incomplete block. `#filled` is their number. */
  #crc = 0
  #filled = 0

  /** Add the next bytes of the current buffer, whose blocks have `block` bytes. */
  add(bytes: Uint8Array, block: number): void {
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + block - this.#filled)
      this.#crc = crc32(bytes.subarray(at, end), this.#crc)
      this.#filled += end - at
      at = end
      if (this.#filled === block) this.endBuffer()
    }
  }

  /** End the current buffer, and with it an incomplete block. The next bytes start a new block. */
  endBuffer(): void {
    if (this.#filled === 0) return
    const at = this.#count++ % sumsPerPage
    if (at === 0) this.#pages.push(new Uint32Array(pageBytes / 4))
    this.#pages.at(-1)![at] = this.#crc
    this.#crc = 0
    this.#filled = 0
  }

  /** Return all pages. The last page is padded with zeros. */
  pages(): Uint8Array[] {
    return this.#pages.map((page, number) => {
      const bytes = asBytes(page)
      page[sumsPerPage] = crcOfPage(bytes, number)
      return bytes
    })
  }
}

/** Check the checksum of page `number` of a file. Throws `Internal` if the page is damaged or is another page. */
export function checkPage(page: Uint8Array, number: number, path: string): void {
  const written = sumAt(page, sumsPerPage)
  const found = crcOfPage(page, number)
  if (found === written) return
  throw corrupted(
    `checksum page ${number} of ${path} has the checksum ${crcHex(found)}, expected ${crcHex(written)}`,
  )
}

/** Return the checksum with the number `at` in a page, from 0. */
export function sumAt(page: Uint8Array, at: number): number {
  const from = 4 * at
  return (page[from]! | (page[from + 1]! << 8) | (page[from + 2]! << 16) | (page[from + 3]! << 24)) >>> 0
}

/** Compute the checksum of a page. It includes the page number, so a check detects a page at the wrong position. */
function crcOfPage(page: Uint8Array, number: number): number {
  return crc32(page.subarray(0, 4 * sumsPerPage), number)
}

/**
 * Add the checksums of the blocks of a buffer to `sums`. Yields after at most `step` bytes. `block`: bytes of a block.
 */
export function* addBuffer(parts: Parts, block: number, sums: BlockSums, step: number): Generator<void> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += step) {
      sums.add(part.subarray(at, at + step), block)
      yield
    }
  }
  sums.endBuffer()
}
