/**
 * Reads some bytes of a data file block by block: what is asked for is collected, then read at once, with the pages of the
 * checksums that it is held against. Neighbours are one read. What came is kept in the cache.
 */
import { checkPage, pageBytes, sumAt, sumsPerPage } from '../arrow/block-sums.js'
import { type ColumnRange, sumOf } from '../arrow/file-layout.js'
import type { FileLayout } from '../arrow/file-reader.js'
import type { BufferBytes } from '../arrow/gather-rows.js'
import { assert, corrupted } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import type { Soon, Waits } from '../primitives/soon.js'
import type { BlobStore, ByteRange } from '../storage/blob-store.js'
import type { BlockCache } from './block-cache.js'

/** One read takes no more neighbours than that. */
const readBytes = 64 * 1024

/** Bytes checked between two looks at the clock: a fraction of a millisecond. */
const checkedBytes = 256 * 1024

/** A stretch of the file that is checked as one. */
interface Wanted {
  readonly start: number
  readonly bytes: number
  /** Number of its checksum among those of the file's blocks; null where `crc` is it. */
  readonly sum: number | null
  readonly crc: number
}

export class BlockReader {
  readonly #store: BlobStore
  readonly #cache: BlockCache
  readonly #path: string
  readonly #sums: FileLayout['sums']
  /** What has come, by where it begins. */
  readonly #there = new Map<number, Uint8Array>()
  #wanted = new Map<number, Wanted>()
  #unchecked: readonly Wanted[] = []

  constructor(store: BlobStore, cache: BlockCache, path: string, { sums }: Pick<FileLayout, 'sums'>) {
    this.#store = store
    this.#cache = cache
    this.#path = path
    this.#sums = sums
  }

  /** The buffers of one column. */
  buffersOf(range: ColumnRange): BufferBytes {
    return {
      want: (buffer, from, to) => this.#want(range, buffer, from, to),
      copy: (buffer, from, to, target, at) => this.#copy(range, buffer, from, to, target, at),
    }
  }

  /**
   * Reads what was asked for since the last call; it counts once `check` is through.
   * @throws corrupted (code 18) where the file is missing or cut off.
   */
  fetch(signal?: AbortSignal): Soon<void> {
    if (this.#wanted.size === 0) return
    const wanted = [...this.#wanted.values()]
    this.#wanted = new Map()
    const stretches = [...wanted, ...this.#pagesFor(wanted)].sort((a, b) => a.start - b.start)
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
      for (; i < next; i++) {
        const from = stretches[i]!.start - start
        this.#there.set(stretches[i]!.start, target.subarray(from, from + stretches[i]!.bytes))
      }
    }
    this.#unchecked = stretches
    return this.#store.readRanges(this.#path, ranges, signal)
  }

  /** The pages with the checksums of blocks, but for those that are there. */
  #pagesFor(wanted: readonly Wanted[]): Wanted[] {
    const pages = new Map<number, Wanted>()
    for (const { sum } of wanted) {
      if (sum === null) continue
      const start = this.#pageStart(sum)
      if (this.#there.has(start) || pages.has(start)) continue
      const kept = this.#cache.get(this.#path, start, pageBytes)
      if (kept !== undefined) this.#there.set(start, kept)
      else pages.set(start, { start, bytes: pageBytes, sum: null, crc: 0 })
    }
    return [...pages.values()]
  }

  #pageStart(sum: number): number {
    return this.#sums.start + pageBytes * Math.floor(sum / sumsPerPage)
  }

  /**
   * Holds what was read against its checksums.
   * @throws corrupted (code 18) where it is not what was written.
   */
  *check(pacer: Pacer): Waits<void> {
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

  #checkOne({ start, bytes, sum, crc }: Wanted): void {
    const block = this.#there.get(start)!
    if (sum === null && start >= this.#sums.start) {
      checkPage(block, (start - this.#sums.start) / pageBytes, this.#path)
    } else {
      const written = sum === null ? crc : sumAt(this.#there.get(this.#pageStart(sum))!, sum % sumsPerPage)
      const found = crc32(block)
      if (found !== written) {
        const where = `bytes ${start} to ${start + bytes} of ${this.#path}`
        throw corrupted(`${where} have checksum ${crcHex(found)}, written was ${crcHex(written)}`)
      }
    }
    this.#cache.keep(this.#path, start, block)
  }

  #want(range: ColumnRange, buffer: number, from: number, to: number): void {
    if (range.firstSum === null) {
      this.#wantOne({ start: range.start, bytes: range.bytes, sum: null, crc: range.crc })
      return
    }
    const block = range.blocks[buffer]!
    const bytes = range.buffers[2 * buffer + 1]!
    assert(to <= bytes, `bytes ${from} to ${to} of a buffer of ${bytes} are asked for`)
    const begin = range.start + range.buffers[2 * buffer]!
    for (let number = Math.floor(from / block); number * block < to; number++) {
      const start = begin + number * block
      if (this.#there.has(start) || this.#wanted.has(start)) continue
      const length = Math.min(block, bytes - number * block)
      this.#wantOne({ start, bytes: length, sum: sumOf(range, buffer, number), crc: 0 })
    }
  }

  #wantOne(wanted: Wanted): void {
    const { start, bytes } = wanted
    if (this.#there.has(start)) return
    const kept = this.#cache.get(this.#path, start, bytes)
    if (kept === undefined) this.#wanted.set(start, wanted)
    else this.#there.set(start, kept)
  }

  #copy(range: ColumnRange, buffer: number, from: number, to: number, target: Uint8Array, at: number): void {
    if (range.firstSum === null) {
      const begin = range.buffers[2 * buffer]!
      target.set(this.#there.get(range.start)!.subarray(begin + from, begin + to), at)
      return
    }
    const block = range.blocks[buffer]!
    const begin = range.start + range.buffers[2 * buffer]!
    for (let next = from; next < to; ) {
      const number = Math.floor(next / block)
      const end = Math.min(to, (number + 1) * block)
      const bytes = this.#there.get(begin + number * block)!
      target.set(bytes.subarray(next - number * block, end - number * block), at + next - from)
      next = end
    }
  }
}
