/** Reads single lists from a segment's file. Each list has its own checksum. */
import { crc32 } from '../../primitives/checksum.js'
import type { Pacer } from '../../primitives/pacer.js'
import { type Section, type SectionFile, type SectionPart, sectionOf } from '../sections/section-file.js'
import type { Codec } from './codec.js'
import { storedBytes } from './list-places.js'
import type { StoredList } from './stored-list.js'

/** Maximum bytes of codes and ordinals of adjacent lists that are read together. */
const runBytes = 1024 * 1024

/**
 * Checksums (CRC-32) by list. `ordinals` null: `lists` are the checksums of codes and ordinals, which the section
 * `lists` has together. Otherwise `lists` are those of the codes, and `ordinals` those of the section `ordinals`, as in
 * files of earlier versions.
 */
interface ListSums {
  readonly lists: Uint32Array
  readonly ordinals: Uint32Array | null
}

/** A section with one part for each list. */
interface ListParts {
  readonly section: Section
  /** By partition: offset of the part in the section. The last element is the end of the last part. */
  readonly at: Float64Array
  readonly sums: Uint32Array
}

/** Return the bytes of the ordinals of `count` rows in the section `lists`: padded to a multiple of 64. */
export function ordinalBytes(count: number): number {
  return Math.ceil((4 * count) / 64) * 64
}

/** Reads lists of one segment. */
export class ListReader {
  readonly counts: Uint32Array
  readonly #file: SectionFile
  readonly #codec: Codec
  /** The section `lists`, and the section `ordinals` of files of earlier versions. */
  readonly #parts: readonly ListParts[]

  /**
   * `counts`: number of rows of each list. Throws Internal if a section does not have the size that follows from the
   * counts.
   */
  constructor(file: SectionFile, codec: Codec, counts: Uint32Array, { lists, ordinals }: ListSums) {
    this.#file = file
    this.#codec = codec
    this.counts = counts
    const partsOf = (name: string, bytesOf: (count: number) => number, sums: Uint32Array): ListParts => {
      const at = new Float64Array(counts.length + 1)
      for (let p = 0; p < counts.length; p++) at[p + 1] = at[p]! + bytesOf(counts[p]!)
      return { section: sectionOf(file, name, at[counts.length]!), at, sums }
    }
    const codes = (count: number) => storedBytes(codec, count)
    this.#parts =
      ordinals === null
        ? [partsOf('lists', count => codes(count) + ordinalBytes(count), lists)]
        : [partsOf('lists', codes, lists), partsOf('ordinals', count => 4 * count, ordinals)]
  }

  /** True if all lists together are small enough for a single read. */
  get isSmall(): boolean {
    return this.#parts.reduce((sum, { section }) => sum + section.bytes, 0) <= runBytes
  }

  /** Bytes of memory that the tables of this reader take. */
  get bytes(): number {
    return this.#parts.reduce((sum, { at, sums }) => sum + at.byteLength + sums.byteLength, 0)
  }

  /** Return the number of bytes of a list's codes and ordinals together. */
  bytesOf(partition: number): number {
    return this.#parts.reduce((sum, { at }) => sum + at[partition + 1]! - at[partition]!, 0)
  }

  /** Group partitions into runs whose lists are read together. All partitions must have rows. */
  runs(partitions: readonly number[]): readonly (readonly number[])[] {
    const { at } = this.#parts[0]!
    const runs: number[][] = []
    let end = -1
    let bytes = 0
    for (const p of [...partitions].sort((a, b) => a - b)) {
      if (at[p] === end && bytes + this.bytesOf(p) <= runBytes) runs.at(-1)!.push(p)
      else {
        runs.push([p])
        bytes = 0
      }
      bytes += this.bytesOf(p)
      end = at[p + 1]!
    }
    return runs
  }

  /** Read the lists of a run, each into its own buffer. Throws Internal if a checksum differs. */
  async read(run: readonly number[]): Promise<readonly StoredList[]> {
    const first = run[0]!
    const last = run.at(-1)!
    const read = await Promise.all(
      this.#parts.map(async ({ section, at, sums }) => {
        const bytes = new Uint8Array(at[last + 1]! - at[first]!)
        const parts = run.map(p => ({ start: at[p]!, bytes: at[p + 1]! - at[p]!, crc: sums[p]! }))
        await this.#file.readParts(section, parts, bytes)
        return bytes
      }),
    )
    return run.map(p => {
      const own = this.#parts.map(({ at }, i) => {
        const bytes = read[i]!.subarray(at[p]! - at[first]!, at[p + 1]! - at[first]!)
        return run.length === 1 ? bytes : bytes.slice()
      })
      return this.#listIn(p, own)
    })
  }

  /** Read all lists. Returns a function that returns the list of a partition. Throws Internal if a checksum differs. */
  async readAll(): Promise<(partition: number) => StoredList> {
    const read = await Promise.all(
      this.#parts.map(async ({ section }) => {
        const bytes = new Uint8Array(section.bytes)
        await this.#file.readInto(section, bytes)
        return bytes
      }),
    )
    return p => {
      const own = this.#parts.map(({ at }, i) => read[i]!.subarray(at[p]!, at[p + 1]!))
      return this.#listIn(p, own)
    }
  }

  /** Return, by section, the byte ranges of all lists with their checksums, in file order. */
  parts(): ReadonlyMap<Section, readonly SectionPart[]> {
    return new Map(
      this.#parts.map(({ section, at, sums }) => {
        const parts = Array.from(sums, (crc, p) => ({ start: at[p]!, bytes: at[p + 1]! - at[p]!, crc }))
        return [section, parts]
      }),
    )
  }

  /** Return the list of a partition. `parts`: its bytes in each section. */
  #listIn(partition: number, [first, second]: readonly Uint8Array[]): StoredList {
    const count = this.counts[partition]!
    const codes = storedBytes(this.#codec, count)
    const { buffer, byteOffset } = second ?? first!.subarray(codes)
    return { codes: first!.subarray(0, codes), ordinals: new Uint32Array(buffer, byteOffset, count) }
  }
}

/** Return the checksums of all lists, as bytes of u32s. `bytesOf`: returns the bytes of the list of a partition. */
export async function sumsOf(
  partitions: number,
  bytesOf: (partition: number) => readonly Uint8Array[],
  pacer: Pacer,
): Promise<Uint8Array> {
  const sums = new Uint32Array(partitions)
  for (let p = 0; p < partitions; p++) {
    for (const bytes of bytesOf(p)) sums[p] = crc32(bytes, sums[p])
    await pacer.turn()
  }
  return new Uint8Array(sums.buffer)
}
