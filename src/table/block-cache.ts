/**
 * Blocks of files that were read and checked, within the one budget of memory. The blocks of a file lie in slabs, in the order in
 * which they came, and leave slab by slab, the slab first that was not asked for the longest: a block of half a kilobyte
 * has no object of its own.
 */
import type { Memory, Partition } from '../primitives/memory.js'

/** Bytes of the first slab of a file; each further one has twice as many, up to the most. */
const firstSlabBytes = 4 * 1024
const slabBytesMax = 64 * 1024
/** About what it costs that a block can be found, for each half kilobyte. */
const placeBytes = 64

interface Slab {
  readonly file: FileBlocks
  /** Among those of its file. */
  readonly number: number
  readonly key: string
  readonly bytes: Uint8Array
  /** Of the blocks that lie in it. */
  readonly numbers: number[]
  filled: number
}

/** What is kept of a file. */
interface FileBlocks {
  readonly path: string
  /** By the number of a block: its slab's number times `slabBytesMax`, plus its offset there. */
  readonly places: Map<number, number>
  readonly slabs: Map<number, Slab>
  /** Slabs that it ever had. */
  count: number
}

export class BlockCache {
  readonly #memory: Memory
  readonly #room: Partition<Slab>
  readonly #files = new Map<string, FileBlocks>()

  constructor(memory: Memory) {
    this.#memory = memory
    const sizeOf = ({ bytes }: Slab) => bytes.length * (1 + placeBytes / 512)
    this.#room = memory.partition<Slab>('blocks', 'data', sizeOf, slab => this.#forget(slab))
  }

  /** Block `number` of a file, which has `length` bytes, not to be written to; undefined where it is not kept. */
  get(path: string, number: number, length: number): Uint8Array | undefined {
    const file = this.#files.get(path)
    const place = file?.places.get(number)
    if (place === undefined) return undefined
    const at = place % slabBytesMax
    const slab = file!.slabs.get((place - at) / slabBytesMax)!
    this.#room.peek(slab.key)
    return slab.bytes.subarray(at, at + length)
  }

  /** Keeps a copy of a block, where there is room for its slab. */
  keep(path: string, number: number, block: Uint8Array): void {
    let file = this.#files.get(path)
    if (file?.places.has(number)) return
    let slab = file?.slabs.get(file.count - 1)
    if (slab === undefined || slab.filled + block.length > slab.bytes.length) {
      file ??= { path, places: new Map(), slabs: new Map(), count: 0 }
      const begun = this.#begin(file, block.length)
      if (begun === null) return
      slab = begun
    }
    slab.bytes.set(block, slab.filled)
    slab.file.places.set(number, slab.number * slabBytesMax + slab.filled)
    slab.numbers.push(number)
    slab.filled += block.length
  }

  /** A new slab for at least `length` bytes; null where it cannot be kept. */
  #begin(file: FileBlocks, length: number): Slab | null {
    const wanted = Math.max(length, Math.min(slabBytesMax, firstSlabBytes * 2 ** file.count))
    if (!this.#memory.canHold(wanted)) return null
    const number = file.count++
    const key = `${file.path}/${number}`
    const slab = { file, number, key, bytes: new Uint8Array(wanted), numbers: [], filled: 0 }
    this.#files.set(file.path, file)
    file.slabs.set(number, slab)
    this.#room.keep(slab.key, slab, file.path)
    return this.#room.has(slab.key) ? slab : null
  }

  #forget({ file, number, numbers }: Slab): void {
    file.slabs.delete(number)
    for (const each of numbers) {
      const place = file.places.get(each)
      if (place !== undefined && Math.floor(place / slabBytesMax) === number) file.places.delete(each)
    }
    if (file.slabs.size === 0 && this.#files.get(file.path) === file) this.#files.delete(file.path)
  }
}
