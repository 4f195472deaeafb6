/**
 * Reads some bytes of a data file block by block. The reader collects the requested blocks. Then it reads them in
 * parallel, together with the pages of their checksums. One read takes several adjacent blocks. The reader checks the
 * blocks and caches them.
 *
 * The number of a block is the number of its checksum in the file. Checksum pages, and columns that are not cut into
 * blocks, have a negative number (`numberAt`).
 */
import { checkPage, pageBytes, type SumsPlace, sumAt, sumsPerPage } from '../arrow/block-sums.js'
import { type ColumnRange, firstSumsOf } from '../arrow/file-layout.js'
import type { BufferBytes } from '../arrow/gather-rows.js'
import { assert, corrupted } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import type { MaybePromise, Task } from '../primitives/task.js'
import type { BlobStore, ByteRange } from '../storage/blob-store.js'
import type { BlockCache } from './block-cache.js'
import type { ChecksumPages, ColumnChecksums } from './checksum-pages.js'
import type { TableSource } from './table-source.js'

/** Maximum bytes of adjacent blocks that one read takes. */
const readBytes = 64 * 1024

/** Bytes to check before asking the time slicer whether to yield. Checking them takes less than a millisecond. */
const checkedBytes = 256 * 1024

/** A column from which blocks are read. */
interface BlockColumn {
  readonly range: ColumnRange
  /**
   * The checksums of all blocks of the column. Null if single checksum pages are read as needed. Undefined until a block
   * is read.
   */
  checksums: ColumnChecksums | null | undefined
  /** By buffer: the checksum number of its first block. */
  readonly firstSums: readonly number[]
}

/** A byte range of the file to read: a block, a checksum page, or a column that is not cut into blocks. */
interface Wanted {
  readonly number: number
  readonly start: number
  readonly bytes: number
  /** The column that the bytes belong to. Null for a checksum page. */
  readonly column: BlockColumn | null
}

/** Reads blocks of one data file: request bytes with `buffersOf`, then call `fetch`, then `check`. */
export class BlockReader {
  readonly #store: BlobStore
  readonly #cache: BlockCache
  readonly #checksums: ChecksumPages
  readonly #path: string
  readonly #layout: SumsPlace
  /** Blocks and checksum pages that were read or found in the cache, by number. */
  readonly #arrivedBlocks = new Map<number, Uint8Array>()
  /** Blocks to read, by number. */
  #wanted = new Map<number, Wanted>()
  #unchecked: readonly Wanted[] = []

  constructor(
    { store, blocks, checksums }: Pick<TableSource, 'store' | 'blocks' | 'checksums'>,
    path: string,
    layout: SumsPlace,
  ) {
    this.#store = store
    this.#cache = blocks
    this.#checksums = checksums
    this.#path = path
    this.#layout = layout
  }

  /** Return the functions that request and copy bytes of one column's buffers. */
  buffersOf(range: ColumnRange): BufferBytes {
    const column: BlockColumn = { range, checksums: undefined, firstSums: firstSumsOf(range) }
    return {
      want: (buffer, from, to) => this.#want(column, buffer, from, to),
      copy: (buffer, from, to, target, at) => this.#copy(column, buffer, from, to, target, at),
    }
  }

  /**
   * Read the blocks that were requested since the last call. Callers must not use the blocks before `check` has
   * finished. Throws Internal ("corrupted") if the file is missing or shorter than recorded.
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
        this.#arrivedBlocks.set(number, own)
      }
    }
    this.#unchecked = stretches
    return this.#store.readRanges(this.#path, ranges, signal)
  }

  /** Add the pages with the checksums of the blocks in `wanted`, except pages that were read or are in the cache. */
  #addPages(wanted: Wanted[]): void {
    const count = wanted.length
    for (let i = 0; i < count; i++) {
      const { number, column } = wanted[i]!
      if (number < 0) continue
      if (column!.checksums === undefined) {
        column!.checksums = this.#checksums.of(this.#path, column!.range)
      }
      if (column!.checksums !== null) continue
      const start = this.#pageStart(number)
      const page = numberAt(start)
      if (this.#arrivedBlocks.has(page)) continue
      const kept = this.#cache.get(this.#path, page, pageBytes)
      this.#arrivedBlocks.set(page, kept ?? pendingPage)
      if (kept !== undefined) continue
      wanted.push({ number: page, start, bytes: pageBytes, column: null })
      this.#checksums.spend(this.#path, this.#layout, column!.range)
    }
  }

  /** Return the address of the page that contains the checksum `number`. */
  #pageStart(number: number): number {
    return this.#layout.sums.start + pageBytes * Math.floor(number / sumsPerPage)
  }

  /** Check the blocks that were read against their checksums. Throws Internal ("corrupted") when a checksum differs. */
  *check(pacer: Pacer): Task<void> {
    const stretches = this.#unchecked
    this.#unchecked = []
    let bytes = 0
    // The stretches are in file order, with the checksum pages last. Begin with the pages, because they check the
    // blocks.
    for (let i = stretches.length - 1; i >= 0; i--) {
      this.#checkOne(stretches[i]!)
      bytes += stretches[i]!.bytes
      if (bytes < checkedBytes) continue
      bytes = 0
      if (pacer.due()) yield pacer.pause()
    }
  }

  #checkOne({ number, start, bytes, column }: Wanted): void {
    const read = this.#arrivedBlocks.get(number)!
    if (column === null) checkPage(read, (start - this.#layout.sums.start) / pageBytes, this.#path)
    else {
      const written = this.#storedChecksum(number, column)
      const found = crc32(read)
      if (found !== written) {
        const where = `bytes ${start} to ${start + bytes} of ${this.#path}`
        throw corrupted(`${where} have checksum ${crcHex(found)}, expected ${crcHex(written)}`)
      }
    }
    this.#cache.keep(this.#path, number, read)
  }

  /** Return the stored checksum of a block, or of a column that is not cut into blocks. */
  #storedChecksum(number: number, { range, checksums }: BlockColumn): number {
    if (number < 0) return range.crc
    if (checksums != null) return checksums.at(number)
    return sumAt(this.#arrivedBlocks.get(numberAt(this.#pageStart(number)))!, number % sumsPerPage)
  }

  #want(column: BlockColumn, buffer: number, from: number, to: number): void {
    const { range, firstSums } = column
    if (range.firstSum === null) {
      this.#wantOne(numberAt(range.start), range.start, range.bytes, column)
      return
    }
    const block = range.blocks[buffer]!
    const bytes = range.buffers[2 * buffer + 1]!
    assert(to <= bytes, `bytes ${from} to ${to} are outside a buffer of ${bytes}`)
    const begin = range.start + range.buffers[2 * buffer]!
    const first = firstSums[buffer]!
    for (let number = Math.floor(from / block); number * block < to; number++) {
      const at = number * block
      this.#wantOne(first + number, begin + at, Math.min(block, bytes - at), column)
    }
  }

  #wantOne(number: number, start: number, bytes: number, column: BlockColumn): void {
    if (this.#arrivedBlocks.has(number) || this.#wanted.has(number)) return
    const kept = this.#cache.get(this.#path, number, bytes)
    if (kept === undefined) this.#wanted.set(number, { number, start, bytes, column })
    else this.#arrivedBlocks.set(number, kept)
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
      target.set(this.#arrivedBlocks.get(numberAt(range.start))!.subarray(begin + from, begin + to), at)
      return
    }
    const block = range.blocks[buffer]!
    const first = firstSums[buffer]!
    for (let next = from; next < to; ) {
      const number = Math.floor(next / block)
      const end = Math.min(to, (number + 1) * block)
      const bytes = this.#arrivedBlocks.get(first + number)!
      const isAll = end - next === bytes.length
      target.set(
        isAll ? bytes : bytes.subarray(next - number * block, end - number * block),
        at + next - from,
      )
      next = end
    }
  }
}

/** Placeholder of a page until its bytes are read. */
const pendingPage = new Uint8Array(0)

/** Return the negative number of a byte range at `start` that is not a block. */
function numberAt(start: number): number {
  return -1 - start
}
