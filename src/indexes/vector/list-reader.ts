/** Reads single lists from a segment's file. Each list has its own checksums. */
import { crc32 } from '../../primitives/checksum.js'
import type { Pacer } from '../../primitives/pacer.js'
import { type Section, type SectionFile, type SectionPart, sectionOf } from '../sections/section-file.js'
import type { Codec } from './codec.js'
import { type ListLayout, listLayout, storedBytes } from './list-places.js'
import type { StoredList } from './stored-list.js'

/** Maximum bytes of codes and ordinals of adjacent lists that are read together. */
const runBytes = 1024 * 1024

/** Checksums (CRC-32) by list: of its codes, including their padding, and of its ordinals. */
interface ListSums {
  readonly codes: Uint32Array
  readonly ordinals: Uint32Array
}

/** Reads lists of one segment. */
export class ListReader {
  readonly counts: Uint32Array
  readonly #file: SectionFile
  readonly #codec: Codec
  readonly #layout: ListLayout
  readonly #sums: ListSums
  readonly #codes: Section
  readonly #ordinals: Section

  /**
   * `counts`: number of rows of each list. Throws Internal if a section does not have the size that follows from the
   * counts.
   */
  constructor(file: SectionFile, codec: Codec, counts: Uint32Array, sums: ListSums) {
    this.#file = file
    this.#codec = codec
    this.counts = counts
    this.#layout = listLayout(codec, counts)
    this.#sums = sums
    const { listsBytes, placed } = this.#layout
    this.#codes = sectionOf(file, 'lists', listsBytes)
    this.#ordinals = sectionOf(file, 'ordinals', 4 * placed)
  }

  /** True if all lists together are small enough for a single read. */
  get isSmall(): boolean {
    const { listsBytes, placed } = this.#layout
    return listsBytes + 4 * placed <= runBytes
  }

  /** Bytes of memory that the tables of this reader take. */
  get bytes(): number {
    const { listAt, rowAt } = this.#layout
    const { codes, ordinals } = this.#sums
    return listAt.byteLength + rowAt.byteLength + codes.byteLength + ordinals.byteLength
  }

  /** Return the number of bytes of a list's codes and ordinals together. */
  bytesOf(partition: number): number {
    return storedBytes(this.#codec, this.counts[partition]!) + 4 * this.counts[partition]!
  }

  /** Group partitions into runs whose lists are read together. All partitions must have rows. */
  runs(partitions: readonly number[]): readonly (readonly number[])[] {
    const { rowAt } = this.#layout
    const runs: number[][] = []
    let rowsEnd = -1
    let bytes = 0
    for (const p of [...partitions].sort((a, b) => a - b)) {
      if (rowAt[p] === rowsEnd && bytes + this.bytesOf(p) <= runBytes) runs.at(-1)!.push(p)
      else {
        runs.push([p])
        bytes = 0
      }
      bytes += this.bytesOf(p)
      rowsEnd = rowAt[p]! + this.counts[p]!
    }
    return runs
  }

  /** Read the lists of a run, each into its own buffer. Throws Internal if a checksum differs. */
  async read(run: readonly number[]): Promise<readonly StoredList[]> {
    const codeParts = run.map(p => this.#codesOf(p))
    const ordinalParts = run.map(p => this.#ordinalsOf(p))
    const codes = new Uint8Array(spanOf(codeParts))
    const ordinals = new Uint32Array(spanOf(ordinalParts) / 4)
    await Promise.all([
      this.#file.readParts(this.#codes, codeParts, codes),
      this.#file.readParts(this.#ordinals, ordinalParts, new Uint8Array(ordinals.buffer)),
    ])
    if (run.length === 1) return [{ codes, ordinals }]
    return run.map((_, i) => {
      const code = codeParts[i]!
      const at = code.start - codeParts[0]!.start
      const row = (ordinalParts[i]!.start - ordinalParts[0]!.start) / 4
      const rows = ordinalParts[i]!.bytes / 4
      return { codes: codes.slice(at, at + code.bytes), ordinals: ordinals.slice(row, row + rows) }
    })
  }

  /** Return, by section, the byte ranges of all lists with their checksums, in file order. */
  parts(): ReadonlyMap<Section, readonly SectionPart[]> {
    const all = Array.from(this.counts.keys())
    return new Map([
      [this.#codes, all.map(p => this.#codesOf(p))],
      [this.#ordinals, all.map(p => this.#ordinalsOf(p))],
    ])
  }

  #codesOf(p: number): SectionPart {
    const bytes = storedBytes(this.#codec, this.counts[p]!)
    return { start: this.#layout.listAt[p]!, bytes, crc: this.#sums.codes[p]! }
  }

  #ordinalsOf(p: number): SectionPart {
    return { start: 4 * this.#layout.rowAt[p]!, bytes: 4 * this.counts[p]!, crc: this.#sums.ordinals[p]! }
  }
}

function spanOf(parts: readonly SectionPart[]): number {
  const last = parts.at(-1)!
  return last.start + last.bytes - parts[0]!.start
}

/** Return the checksums of all lists, as bytes of u32s. `bytesOf`: returns the bytes of the list of a partition. */
export async function sumsOf(
  partitions: number,
  bytesOf: (partition: number) => Uint8Array,
  pacer: Pacer,
): Promise<Uint8Array> {
  const sums = new Uint32Array(partitions)
  for (let p = 0; p < partitions; p++) {
    sums[p] = crc32(bytesOf(p))
    await pacer.turn()
  }
  return new Uint8Array(sums.buffer)
}
