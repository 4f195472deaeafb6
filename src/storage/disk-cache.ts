/**
 * Copies of blobs that never change, of one root, in a local directory (cache-directory.ts).
 *
 * A file has the copies of bytes of one MiB of one blob, a region:
 *
 *     header   4096 bytes  "SHEAFDC1"   f64 size of the blob (0: unknown)   u32 checksum of the size
 *              at 1024: for each of 256 blocks   u32 number of bytes that are valid   u32 checksum of these bytes
 *     blocks   4096 bytes each, the last one may be shorter; holes where nothing is valid
 *
 * - Each checksum also covers the id of the root, the key of the blob and the number of the block. So the bytes of another
 *   blob are not valid.
 * - Two processes that write the same block write the same bytes, so files are written in place. A block without its
 *   checksum, or with bytes that were written only in part, is a miss. So is every damage.
 * - Absent blobs are not recorded.
 */
import { crc32 } from '../primitives/checksum.js'
import { type MaybePromise, runAll, runTask, type Task, wait } from '../primitives/task.js'
import type { ByteRange } from './blob-store.js'
import { type CacheDirectory, isEmpty, readAt, syncMax, writeAt } from './cache-directory.js'

const magic = Buffer.from('SHEAFDC1')
const headerBytes = 4096
const entriesAt = 1024
const entryBytes = 8
const sizeAt = 8
export const blockBytes = 4096
const regionBytes = 1024 * 1024
/** Longer keys are not cached, because file systems limit names to 255 bytes. */
const keyMax = 200

/** For headers and short reads: each is used before any other code runs. An allocation would take longer than the read. */
const scratch = Buffer.alloc(headerBytes + syncMax)

/** The part of a range that is in one region. `from`: its offset in the region. */
interface RegionPart {
  readonly range: ByteRange
  readonly from: number
  readonly bytes: Uint8Array
}

/** How often the disk cache answered, since the root was opened. */
export interface DiskCacheStats {
  /** Number of ranges that the cache had. */
  readonly hits: number
  /** Number of ranges that were read from the store. */
  readonly misses: number
  /** Number of files that were deleted because their bytes did not match their checksums. */
  readonly damaged: number
}

export class DiskCache {
  readonly counts = { hits: 0, misses: 0, damaged: 0 } satisfies DiskCacheStats
  readonly #directory: CacheDirectory
  readonly #root: string

  /** `root`: the id of the root. */
  constructor(directory: CacheDirectory, root: string) {
    this.#directory = directory
    this.#root = root
  }

  /** Fill the targets of the ranges that the cache has completely, and return the other ranges. */
  read(key: string, ranges: readonly ByteRange[]): MaybePromise<readonly ByteRange[]> {
    return runTask(this.#read(key, ranges))
  }

  /** Return a whole blob. Returns null if the cache does not have all of it. */
  whole(key: string): MaybePromise<Uint8Array | null> {
    return runTask(this.#whole(key))
  }

  /**
   * Keep copies of the bytes in the targets of `ranges`. Returns before they are written. The caller must not change the bytes.
   * Each offset is a multiple of `blockBytes`. `size`: the size of the blob, if it is known.
   */
  keep(key: string, ranges: readonly ByteRange[], size = 0): void {
    if (key.length > keyMax) return
    for (const [region, parts] of partsOf(ranges)) {
      const bytes = parts.reduce((sum, part) => sum + part.bytes.length, headerBytes)
      this.#directory.writeLater(this.#pathOf(key, region), bytes, fd =>
        runTask(this.#write(fd, this.#seedOf(key, region), parts, region === 0 ? size : 0)),
      )
    }
  }

  /** Forget everything, because bytes of the root did not have the checksum that its log names. */
  clear(): void {
    this.#directory.clear(this.#root)
  }

  *#read(key: string, ranges: readonly ByteRange[]): Task<readonly ByteRange[]> {
    const reads = Array.from(
      partsOf(ranges),
      ([region, parts]) =>
        () =>
          runTask(this.#readRegion(key, region, parts)),
    )
    const missing = new Set((yield* runAll(reads)).flat())
    const left = ranges.filter(range => missing.has(range) || range.target.length === 0)
    this.counts.misses += left.length
    this.counts.hits += ranges.length - left.length
    return left
  }

  *#whole(key: string): Task<Uint8Array | null> {
    const size = yield* wait(
      this.#directory.reading(this.#pathOf(key, 0), fd => {
        const header = readHeader(fd)
        return header === null ? null : sizeIn(header, this.#seedOf(key, 0))
      }),
    )
    if (size === null) return null
    const target = new Uint8Array(size)
    const left = yield* this.#read(key, [{ offset: 0, target }])
    return left.length === 0 ? target : null
  }

  /** Read parts of ranges. Returns the ranges whose parts are not there. */
  *#readRegion(key: string, region: number, parts: readonly RegionPart[]): Task<readonly ByteRange[]> {
    const path = this.#pathOf(key, region)
    const seed = this.#seedOf(key, region)
    const missed = yield* wait(this.#directory.reading(path, fd => runTask(readParts(fd, seed, parts))))
    if (missed === null) return parts.map(({ range }) => range)
    if (missed === 'damaged') {
      this.counts.damaged++
      this.#directory.discard(path)
      return parts.map(({ range }) => range)
    }
    if (missed.length < parts.length) this.#directory.touch(path)
    return missed
  }

  *#write(fd: number, seed: number, parts: readonly RegionPart[], size: number): Task<void> {
    const header = Buffer.from(readHeader(fd) ?? newHeader(fd))
    let first = headerBytes
    let end = 0
    for (const { from, bytes } of parts) {
      yield* wait(writeAt(fd, bytes, headerBytes + from))
      for (let at = 0; at < bytes.length; at += blockBytes) {
        const block = (from + at) / blockBytes
        const content = bytes.subarray(at, at + blockBytes)
        const entry = entriesAt + block * entryBytes
        if (header.readUInt32LE(entry) >= content.length) continue
        header.writeUInt32LE(content.length, entry)
        header.writeUInt32LE(sumOf(content, seed, block), entry + 4)
        first = Math.min(first, entry)
        end = Math.max(end, entry + entryBytes)
      }
    }
    if (size > 0) {
      header.writeDoubleLE(size, sizeAt)
      header.writeUInt32LE(sumOf(header.subarray(sizeAt, sizeAt + 8), seed, -1), sizeAt + 8)
      first = sizeAt
      end = Math.max(end, sizeAt + 12)
    }
    // After the bytes, so that a process that dies between the two writes leaves a miss.
    if (end > first) yield* wait(writeAt(fd, header.subarray(first, end), first))
  }

  #pathOf(key: string, region: number): string {
    return this.#directory.pathOf(this.#root, `${key.replaceAll('/', '+')}@${region}.part`)
  }

  /** Return the beginning of all checksums of a region. */
  #seedOf(key: string, region: number): number {
    return crc32(Buffer.from(`${this.#root}/${key}@${region}`))
  }
}

/** Cut ranges at the borders of regions. Returns the parts of each region. */
function partsOf(ranges: readonly ByteRange[]): Map<number, RegionPart[]> {
  const regions = new Map<number, RegionPart[]>()
  for (const range of ranges) {
    const { offset, target } = range
    for (let at = 0; at < target.length; ) {
      const region = Math.floor((offset + at) / regionBytes)
      const from = offset + at - region * regionBytes
      const bytes = target.subarray(at, at + regionBytes - from)
      const parts = regions.get(region)
      if (parts === undefined) regions.set(region, [{ range, from, bytes }])
      else parts.push({ range, from, bytes })
      at += bytes.length
    }
  }
  return regions
}

/** Fill the parts whose bytes are valid. Returns the ranges of the other parts. */
function* readParts(
  fd: number,
  seed: number,
  parts: readonly RegionPart[],
): Task<readonly ByteRange[] | 'damaged'> {
  const shared = readHeader(fd)
  // Another process has just created the file.
  if (shared === null) return isEmpty(fd) ? parts.map(({ range }) => range) : 'damaged'
  // A long read waits, and other reads use the memory of the header meanwhile.
  const isShort = parts.every(({ bytes }) => bytes.length + 2 * blockBytes <= syncMax)
  const header = isShort ? shared : Buffer.from(shared)
  const missed: ByteRange[] = []
  for (const { range, from, bytes } of parts) {
    const first = Math.floor(from / blockBytes)
    const last = Math.floor((from + bytes.length - 1) / blockBytes)
    const validOf = (block: number) => header.readUInt32LE(entriesAt + block * entryBytes)
    let isThere = true
    for (let block = first; block <= last; block++) {
      const valid = validOf(block)
      if (valid > blockBytes) return 'damaged'
      const needed = Math.min(blockBytes, from + bytes.length - block * blockBytes)
      if (valid < needed) isThere = false
    }
    if (!isThere) {
      missed.push(range)
      continue
    }
    const start = first * blockBytes
    const length = last * blockBytes + validOf(last) - start
    const span = isShort ? scratch.subarray(headerBytes, headerBytes + length) : new Uint8Array(length)
    if ((yield* wait(readAt(fd, span, headerBytes + start))) < span.length) return 'damaged'
    for (let block = first; block <= last; block++) {
      const at = block * blockBytes - start
      const sum = header.readUInt32LE(entriesAt + block * entryBytes + 4)
      if (sumOf(span.subarray(at, at + blockBytes), seed, block) !== sum) return 'damaged'
    }
    bytes.set(span.subarray(from - start, from - start + bytes.length))
  }
  return missed
}

/** Return the header of a file, in shared memory. Returns null if the file does not begin with one. */
function readHeader(fd: number): Buffer | null {
  const header = scratch.subarray(0, headerBytes)
  // So few bytes are read synchronously.
  const count = readAt(fd, header, 0) as number
  return count === headerBytes && header.subarray(0, magic.length).equals(magic) ? header : null
}

function newHeader(fd: number): Buffer {
  const header = Buffer.alloc(headerBytes)
  magic.copy(header)
  writeAt(fd, header, 0)
  return header
}

/** Return the size of the blob. Returns null if it is unknown. */
function sizeIn(header: Buffer, seed: number): number | null {
  const size = header.readDoubleLE(sizeAt)
  const sum = sumOf(header.subarray(sizeAt, sizeAt + 8), seed, -1)
  return size > 0 && sum === header.readUInt32LE(sizeAt + 8) ? size : null
}

/** Return the checksum of a block. `block`: its number in the region; -1: the size. */
function sumOf(bytes: Uint8Array, seed: number, block: number): number {
  return crc32(bytes, (seed ^ (block + 1)) >>> 0)
}
