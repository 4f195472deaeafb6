/**
 * Reads data files of Lance tables in object storage, where a request takes as long as the transfer of about a megabyte.
 * A file is read in blocks, which are cached. Blocks that are requested in the same turn of the event loop become one
 * request if they are next to each other. Ranges of many bytes are read past the cache, in several requests at once.
 */
import type { LanceBytes } from '../lance/range-reader.js'
import { systemClock } from '../primitives/clock.js'
import { type Deferred, deferred } from '../primitives/deferred.js'
import { inParallel } from '../primitives/in-parallel.js'
import type { MaybePromise } from '../primitives/task.js'
import type { TableSource } from './table-source.js'

const blockBytes = 256 * 1024
/** Ranges of at least this many bytes are read past the cache. */
const longBytes = 2 * 1024 * 1024
/** Maximum bytes of a request. */
const requestBytes = 8 * 1024 * 1024
/** Maximum number of columns of a file that are read ahead. */
const columnsAtOnce = 32
/** Maximum number of requests for one file that run at the same time. */
const requestsAtOnce = 16

/** A data file of a Lance table in object storage. */
export class FarFile implements LanceBytes {
  readonly bytes: number
  readonly #source: Pick<TableSource, 'store' | 'memory' | 'lanceBlocks'>
  readonly #path: string
  /** By number of the block. */
  #wanted = new Map<number, Deferred<Uint8Array>>()
  /**
   * The places where readers probably continue, oldest first: the number of a block, and the number of blocks that were
   * requested before it. Each column of a scan has one.
   */
  readonly #ahead = new Map<number, number>()

  constructor(source: Pick<TableSource, 'store' | 'memory' | 'lanceBlocks'>, path: string, bytes: number) {
    this.#source = source
    this.#path = path
    this.bytes = bytes
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    if (end - start >= longBytes) {
      const bytes = new Uint8Array(end - start)
      await this.readInto(start, bytes)
      return bytes
    }
    const first = Math.floor(start / blockBytes)
    const last = Math.floor((end - 1) / blockBytes)
    const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i)
    const blocks = await Promise.all(numbers.map(number => this.#block(number)))
    const from = start - first * blockBytes
    if (blocks.length === 1) return blocks[0]!.subarray(from, from + end - start)
    return Buffer.concat(blocks).subarray(from, from + end - start)
  }

  async readInto(start: number, target: Uint8Array): Promise<void> {
    if (target.length < longBytes) {
      if (target.length > 0) target.set(await this.read(start, start + target.length))
      return
    }
    const pieces = Math.ceil(target.length / requestBytes)
    const offsets = Array.from({ length: pieces }, (_, i) => i * requestBytes)
    await inParallel(offsets, requestsAtOnce, offset => {
      const piece = target.subarray(offset, offset + requestBytes)
      return this.#source.store.readInto(this.#path, start + offset, piece)
    })
  }

  async #block(number: number): Promise<Uint8Array> {
    return this.#load(number, () => this.#readAhead(number))
  }

  /** Load a block. `before`: called if the block is not in the cache. */
  #load(number: number, before = () => {}): MaybePromise<Uint8Array> {
    const load = () => {
      before()
      if (this.#wanted.size === 0) void systemClock.yield().then(() => this.#request())
      const block = this.#wanted.get(number) ?? deferred<Uint8Array>()
      this.#wanted.set(number, block)
      return block.promise
    }
    return this.#source.lanceBlocks.get(`${this.#path}/${number}`, load, this.#path)
  }

  /** If a block continues an earlier read, load also the following blocks, twice as many as before. */
  #readAhead(number: number): void {
    if (!this.#source.memory.canHold(4 * requestBytes)) return
    const before = this.#ahead.get(number) ?? 0
    this.#ahead.delete(number)
    const end = Math.ceil(this.bytes / blockBytes)
    const count = Math.min(Math.max(1, 2 * before), requestBytes / blockBytes, end - number)
    this.#ahead.set(number + count, count)
    if (this.#ahead.size > columnsAtOnce) this.#ahead.delete(this.#ahead.keys().next().value!)
    for (let next = number + 1; next < number + count; next++) {
      const loading = this.#load(next)
      if (loading instanceof Promise) loading.catch(() => {})
    }
  }

  /** Request all wanted blocks. */
  async #request(): Promise<void> {
    const wanted = this.#wanted
    this.#wanted = new Map()
    await inParallel(runsOf([...wanted.keys()]), requestsAtOnce, async ([first, count]) => {
      const members = Array.from({ length: count }, (_, i) => wanted.get(first + i)!)
      const start = first * blockBytes
      const length = Math.min(this.bytes, start + count * blockBytes) - start
      try {
        const bytes = await this.#source.store.getRange(this.#path, start, length)
        // Copy the blocks, because a view of the reply would keep all of it in memory.
        for (const [i, { resolve }] of members.entries())
          resolve(count === 1 ? bytes : bytes.slice(i * blockBytes, (i + 1) * blockBytes))
      } catch (error) {
        for (const { reject } of members) reject(error)
      }
    })
  }
}

/** Return the runs of consecutive numbers, each with at most as many numbers as a request may have blocks. */
function runsOf(numbers: readonly number[]): [first: number, count: number][] {
  const runs: [first: number, count: number][] = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = runs.at(-1)
    if (last !== undefined && last[0] + last[1] === number && last[1] < requestBytes / blockBytes) last[1]++
    else runs.push([number, 1])
  }
  return runs
}
