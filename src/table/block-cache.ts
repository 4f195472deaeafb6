/**
 * A cache of checked blocks of files, within the memory budget of the root. The cache copies the blocks of a file into
 * slabs (larger buffers), in the order in which they are read. Therefore a block of half a kilobyte needs no object of
 * its own. The cache evicts whole slabs, the least recently used first.
 */
import type { Memory, Partition } from '../primitives/memory.js'

/** Bytes of the first slab of a file. Each further slab is twice as large as the one before, up to `slabBytesMax`. */
const firstSlabBytes = 4 * 1024
const slabBytesMax = 64 * 1024
/** Approximate bytes of one entry in `FileBlocks.positions`. The cache counts one entry per 512 bytes of a slab. */
const positionBytes = 64

interface Slab {
  readonly file: FileBlocks
  /** Number of this slab among the slabs of the file, from 0. */
  readonly number: number
  readonly key: string
  readonly bytes: Uint8Array
  /** The numbers of the blocks in the slab. */
  readonly numbers: number[]
  /** Bytes of the slab that blocks occupy. */
  filled: number
}

/** The cached blocks of a file. */
interface FileBlocks {
  readonly path: string
  /** By block number: its position, which is the slab's number times `slabBytesMax`, plus the offset in the slab. */
  readonly positions: Map<number, number>
  readonly slabs: Map<number, Slab>
  /** The number of slabs that were created for the file, evicted slabs included. */
  count: number
}

export class BlockCache {
  readonly #memory: Memory
  readonly #partition: Partition<Slab>
  readonly #files = new Map<string, FileBlocks>()

  constructor(memory: Memory) {
    this.#memory = memory
    const sizeOf = ({ bytes }: Slab) => bytes.length * (1 + positionBytes / 512)
    this.#partition = memory.partition<Slab>('blocks', 'data', sizeOf, slab => this.#forget(slab))
  }

  /**
   * Return block `number` of a file, which has `length` bytes. Callers must not write to it. Return undefined if the
   * block is not in the cache.
   */
  get(path: string, number: number, length: number): Uint8Array | undefined {
    const file = this.#files.get(path)
    const position = file?.positions.get(number)
    if (position === undefined) return undefined
    const at = position % slabBytesMax
    const slab = file!.slabs.get((position - at) / slabBytesMax)!
    this.#partition.peek(slab.key)
    return slab.bytes.subarray(at, at + length)
  }

  /** Cache a copy of a block, if the memory budget has space for its slab. */
  keep(path: string, number: number, block: Uint8Array): void {
    let file = this.#files.get(path)
    if (file?.positions.has(number)) return
    let slab = file?.slabs.get(file.count - 1)
    if (slab === undefined || slab.filled + block.length > slab.bytes.length) {
      file ??= { path, positions: new Map(), slabs: new Map(), count: 0 }
      const begun = this.#begin(file, block.length)
      if (begun === null) return
      slab = begun
    }
    slab.bytes.set(block, slab.filled)
    slab.file.positions.set(number, slab.number * slabBytesMax + slab.filled)
    slab.numbers.push(number)
    slab.filled += block.length
  }

  /** Create a slab of at least `length` bytes. Return null if the memory budget has no space for it. */
  #begin(file: FileBlocks, length: number): Slab | null {
    const wanted = Math.max(length, Math.min(slabBytesMax, firstSlabBytes * 2 ** file.count))
    if (!this.#memory.canHold(wanted)) return null
    const number = file.count++
    const key = `${file.path}/${number}`
    const slab = { file, number, key, bytes: new Uint8Array(wanted), numbers: [], filled: 0 }
    this.#files.set(file.path, file)
    file.slabs.set(number, slab)
    this.#partition.keep(slab.key, slab, file.path)
    return this.#partition.has(slab.key) ? slab : null
  }

  #forget({ file, number, numbers }: Slab): void {
    file.slabs.delete(number)
    for (const each of numbers) {
      const position = file.positions.get(each)
      if (position !== undefined && Math.floor(position / slabBytesMax) === number)
        file.positions.delete(each)
    }
    if (file.slabs.size === 0 && this.#files.get(file.path) === file) this.#files.delete(file.path)
  }
}
