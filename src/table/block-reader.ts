/**
 * Reads some bytes of a data file block by block: what is asked for is collected, then read at once, with the pages of the
 * checksums that it is held against. Neighbours are one read. What came is kept in the cache.
 *
 * A block has the number of its checksum. Pages, and columns that are not cut into blocks, have a negative number: `numberAt`.
 */
import { checkPage, countBlocks, pageBytes, sumAt, sumsPerPage } from '../arrow/block-sums.js'
import type { ColumnRange } from '../arrow/file-layout.js'
import type { FileLayout } from '../arrow/file-reader.js'
import type { BufferBytes } from '../arrow/gather-rows.js'
import { assert, corrupted } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import type { MaybePromise, Task } from '../primitives/task.js'
import type { BlobStore, ByteRange } from '../storage/blob-store.js'
import type { BlockCache } from './block-cache.js'
import type { ChecksumPages, ColumnChecksums } from './checksum-pages.js'
import type { TableSource } from './table-source.js'

/** One read takes no more neighbours than that. */
const readBytes = 64 * 1024

/** Bytes checked between two looks at the clock: a fraction of a millisecond. */
const checkedBytes = 256 * 1024

/** A column that blocks are read of. */
interface BlockColumn {
  readonly range: ColumnRange
  /** Checksums of all its blocks; null where they are read page by page. */
  readonly checksums: ColumnChecksums | null
  /** By buffer, the number of the checksum of its first block. */
  readonly firstSums: readonly number[]
}

/** A stretch of the file that is checked as one. */
interface Wanted {
  readonly number: number
  readonly start: number
  readonly bytes: number
  /** The column that it is a block of; null for a page of checksums. */
  readonly column: BlockColumn | null
}

export class BlockReader {
  readonly #store: BlobStore
  readonly #cache: BlockCache
  readonly #checksums: ChecksumPages
  readonly #path: string
  readonly #layout: Pick<FileLayout, 'sums'>
  /** Blocks and pages that have come, by number. */
  readonly #there = new Map<number, Uint8Array>()
  /** Blocks that are asked for, by number. */
  #wanted = new Map<number, Wanted>()
  #unchecked: readonly Wanted[] = []

  constructor(
    { store, blocks, checksums }: Pick<TableSource, 'store' | 'blocks' | 'checksums'>,
    path: string,
    layout: Pick<FileLayout, 'sums'>,
  ) {
    this.#store = store
    this.#cache = blocks
    this.#checksums = checksums
    this.#path = path
    this.#layout = layout
  }

  /** The buffers of one column. */
  buffersOf(range: ColumnRange): BufferBytes {
    const { firstSum, buffers, blocks } = range
    const column: BlockColumn = {
      range,
      checksums: firstSum === null ? null : this.#checksums.of(this.#path, range),
      firstSums: blocks.map((_, i) => (firstSum ?? 0) + countBlocks(buffers, blocks.slice(0, i))),
    }
    return {
      want: (buffer, from, to) => this.#want(column, buffer, from, to),
      copy: (buffer, from, to, target, at) => this.#copy(column, buffer, from, to, target, at),
    }
  }

  /**
   * Reads what was asked for since the last call; it counts once `check` is through.
   * @throws corrupted (code 18) where the file is missing or cut off.
   */
  fetch(signal?: AbortSignal): MaybePromise<void> {
    if (this.#wanted.size === 0) return
    const stretches = [...this.#wanted.values()]
    this.#wanted = new Map()
    this.#addPages(stretches)
    stretches.sort((a, b) => a.start - b.start)
    const ranges: ByteRange[] = []
    for (let i = 0; i < stretches.length; ) {
      const { start } = stretches[i]!
      let end = start
      let next = i
      for (; next < stretches.length && stretches[next]!.start === end; next++) {
        if (next > i && end + stretches[next]!.bytes - start > readBytes) break
        end += stretches[next]!.bytes
      }
      const target = new Uint8Array(end - start)
      ranges.push({ offset: start, target })
      const isOne = next === i + 1
      for (; i < next; i++) {
        const { number, start: begin, bytes } = stretches[i]!
        const own = isOne ? target : target.subarray(begin - start, begin - start + bytes)
        this.#there.set(number, own)
      }
    }
    this.#unchecked = stretches
    return this.#store.readRanges(this.#path, ranges, signal)
  }

  /** Adds the pages with the checksums of blocks, but for those that have come. */
  #addPages(wanted: Wanted[]): void {
    const count = wanted.length
    for (let i = 0; i < count; i++) {
      const { number, column } = wanted[i]!
      if (number < 0 || column!.checksums !== null) continue
      const start = this.#pageStart(number)
      const page = numberAt(start)
      if (this.#there.has(page)) continue
      const kept = this.#cache.get(this.#path, page, pageBytes)
      this.#there.set(page, kept ?? notYet)
      if (kept !== undefined) continue
      wanted.push({ number: page, start, bytes: pageBytes, column: null })
      this.#checksums.spend(this.#path, this.#layout, column!.range)
    }
  }

  /** Where the page begins that has a checksum. */
  #pageStart(number: number): number {
    return this.#layout.sums.start + pageBytes * Math.floor(number / sumsPerPage)
  }

  /**
   * Holds what was read against its checksums.
   * @throws corrupted (code 18) where it is not what was written.
   */
  *check(pacer: Pacer): Task<void> {
    const stretches = this.#unchecked
    this.#unchecked = []
    let bytes = 0
    // Pages come after all columns, but what they say is needed first.
    for (let i = stretches.length - 1; i >= 0; i--) {
      this.#checkOne(stretches[i]!)
      bytes += stretches[i]!.bytes
      if (bytes < checkedBytes) continue
      bytes = 0
      if (pacer.due()) yield pacer.pause()
    }
  }

  #checkOne({ number, start, bytes, column }: Wanted): void {
    const read = this.#there.get(number)!
    if (column === null) checkPage(read, (start - this.#layout.sums.start) / pageBytes, this.#path)
    else {
      const written = this.#written(number, column)
      const found = crc32(read)
      if (found !== written) {
        const where = `bytes ${start} to ${start + bytes} of ${this.#path}`
        throw corrupted(`${where} have checksum ${crcHex(found)}, written was ${crcHex(written)}`)
      }
    }
    this.#cache.keep(this.#path, number, read)
  }

  /** The checksum that was written for a block, or for a column that is not cut into blocks. */
  #written(number: number, { range, checksums }: BlockColumn): number {
    if (number < 0) return range.crc
    if (checksums !== null) return checksums.at(number)
    return sumAt(this.#there.get(numberAt(this.#pageStart(number)))!, number % sumsPerPage)
  }

  #want(column: BlockColumn, buffer: number, from: number, to: number): void {
    const { range, firstSums } = column
    if (range.firstSum === null) {
      this.#wantOne(numberAt(range.start), range.start, range.bytes, column)
      return
    }
    const block = range.blocks[buffer]!
    const bytes = range.buffers[2 * buffer + 1]!
    assert(to <= bytes, `bytes ${from} to ${to} of a buffer of ${bytes} are asked for`)
    const begin = range.start + range.buffers[2 * buffer]!
    const first = firstSums[buffer]!
    for (let number = Math.floor(from / block); number * block < to; number++) {
      const at = number * block
      this.#wantOne(first + number, begin + at, Math.min(block, bytes - at), column)
    }
  }

  #wantOne(number: number, start: number, bytes: number, column: BlockColumn): void {
    if (this.#there.has(number) || this.#wanted.has(number)) return
    const kept = this.#cache.get(this.#path, number, bytes)
    if (kept === undefined) this.#wanted.set(number, { number, start, bytes, column })
    else this.#there.set(number, kept)
  }

  #copy(
    { range, firstSums }: BlockColumn,
    buffer: number,
    from: number,
    to: number,
    target: Uint8Array,
    at: number,
  ): void {
    if (range.firstSum === null) {
      const begin = range.buffers[2 * buffer]!
      target.set(this.#there.get(numberAt(range.start))!.subarray(begin + from, begin + to), at)
      return
    }
    const block = range.blocks[buffer]!
    const first = firstSums[buffer]!
    for (let next = from; next < to; ) {
      const number = Math.floor(next / block)
      const end = Math.min(to, (number + 1) * block)
      const bytes = this.#there.get(first + number)!
      const isAll = end - next === bytes.length
      target.set(
        isAll ? bytes : bytes.subarray(next - number * block, end - number * block),
        at + next - from,
      )
      next = end
    }
  }
}

/** Stands for a page until its bytes have come. */
const notYet = new Uint8Array(0)

/** The number of bytes that have no checksum among those of blocks. */
function numberAt(start: number): number {
  return -1 - start
}
