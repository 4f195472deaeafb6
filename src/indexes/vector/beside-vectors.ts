/**
 * The vectors of a segment's rows, in the order of its lists. A search in object storage measures its candidates with
 * them: the candidates of a partition are near each other in the file, so a few requests read them. In the column, each
 * candidate would need a request.
 *
 * Consecutive rows of the segment form a chunk, because a build has only the vectors of one chunk in memory. In a chunk,
 * the vectors are sorted by partition, then by ordinal. Extending a segment appends chunks. Apart rows (apart.ts) count as
 * one more partition, after the others.
 */
import { BlockSums, blocksOf } from '../../arrow/block-sums.js'
import type { Field } from '../../arrow/types.js'
import { wireFields } from '../../arrow/wire-field.js'
import type { ElementKind } from '../../kernels/vector-segment.js'
import type { Pacer } from '../../primitives/pacer.js'
import { lowerBound, partitionPoint } from '../../primitives/partition-point.js'
import { type MaybePromise, runTask, type Task } from '../../primitives/task.js'
import { numbersOf, type SectionContent, type SectionFile, sectionOf } from '../sections/section-file.js'
import type { VectorInput } from './input.js'
import type { Lists } from './lists.js'

/** The part of the footer that describes the vectors. */
export interface BesideHead {
  readonly kind: ElementKind
  /** Bytes of the vectors that have a common checksum: whole vectors. */
  readonly block: number
  /** Ordinal of the first row of each chunk. */
  readonly chunks: readonly number[]
}

/** The vectors of a chunk: a column of vectors without nulls, as in data files. */
interface BesideChunk {
  /** Offset in the file. */
  readonly start: number
  readonly rows: number
  /** Number of the first block among the blocks of all chunks. */
  readonly firstSum: number
}

/** Consecutive rows of a chunk. */
export interface BesideStretch {
  readonly chunk: number
  readonly first: number
  readonly count: number
}

/** The places of rows. By row: the number of its chunk, and its number in the chunk. */
export interface BesidePlaces {
  readonly chunks: Uint32Array
  readonly rows: Uint32Array
}

const sections = { vectors: 'vectors', sums: 'vectorSums', counts: 'vectorCounts' } as const

/** Return the field of a column whose bytes are those of a chunk. */
function besideField(kind: ElementKind, dim: number): Field {
  const element =
    kind === 'f32'
      ? ({ kind: 'float', bits: 32 } as const)
      : ({ kind: 'int', bits: 8, signed: false } as const)
  const child = { name: 'item', type: element, nullable: true }
  return { name: 'vector', type: { kind: 'fixed_size_list', size: dim, child }, nullable: true }
}

function rowBytesOf(kind: ElementKind, dim: number): number {
  return (kind === 'f32' ? 4 : 1) * dim
}

/** Return the number of the partition of apart rows in a segment of `partitions` partitions. */
export function apartIn(partitions: number): number {
  return partitions
}

/** By partition: the ordinals of its rows, ascending. */
type OrdinalsOf = (partition: number) => Uint32Array

/** The vectors in a stored segment. */
export class BesideVectors {
  readonly kind: ElementKind
  readonly dim: number
  readonly block: number
  readonly chunks: readonly BesideChunk[]
  /** Address in the file of the pages of checksums of the blocks. */
  readonly sumsStart: number
  readonly file: SectionFile
  readonly head: BesideHead
  /** For each chunk, the number of its rows in each partition. */
  readonly counts: Uint32Array
  /** By chunk and partition: the number in the chunk of the first row of the partition. */
  readonly #starts: Uint32Array

  private constructor(file: SectionFile, head: BesideHead, dim: number, counts: Uint32Array) {
    this.file = file
    this.head = head
    this.kind = head.kind
    this.dim = dim
    this.block = head.block
    this.counts = counts
    this.sumsStart = sectionOf(file, sections.sums).start
    const bytes = rowBytesOf(head.kind, dim)
    const partitions = counts.length / head.chunks.length
    this.#starts = new Uint32Array(counts.length)
    const chunks: BesideChunk[] = []
    let start = sectionOf(file, sections.vectors).start
    let firstSum = 0
    for (let at = 0; at < counts.length; at += partitions) {
      let rows = 0
      for (let i = at; i < at + partitions; i++) {
        this.#starts[i] = rows
        rows += counts[i]!
      }
      chunks.push({ start, rows, firstSum })
      start += rows * bytes
      firstSum += Math.ceil((rows * bytes) / head.block)
    }
    this.chunks = chunks
    // Check the size.
    sectionOf(file, sections.vectors, start - sectionOf(file, sections.vectors).start)
  }

  /** Open the vectors of a file. Throws Internal if the file is damaged. */
  static async open(
    file: SectionFile,
    head: BesideHead,
    dim: number,
    partitions: number,
  ): Promise<BesideVectors> {
    const counts = await numbersOf(file, sections.counts, head.chunks.length * (partitions + 1))
    return new BesideVectors(file, head, dim, counts)
  }

  /** Bytes of memory that this object takes. */
  get bytes(): number {
    return this.counts.byteLength + this.#starts.byteLength
  }

  /** Return the rows of a partition: for each chunk with such rows, the first row and their count. */
  stretchesOf(partition: number): readonly BesideStretch[] {
    const width = this.counts.length / this.chunks.length
    return this.chunks.flatMap((_, chunk) => {
      const count = this.counts[chunk * width + partition]!
      return count === 0 ? [] : [{ chunk, first: this.#starts[chunk * width + partition]!, count }]
    })
  }

  /**
   * Return the places of rows. `partitions`: the partition of each row. `lists`: the lists of the segment. `apart`: its
   * apart rows.
   */
  placesOf(
    ordinals: Uint32Array,
    partitions: Uint32Array,
    lists: Lists,
    apart: Uint32Array,
  ): MaybePromise<BesidePlaces> {
    return runTask(this.#placesOf(ordinals, partitions, lists, apart))
  }

  *#placesOf(
    ordinals: Uint32Array,
    partitions: Uint32Array,
    lists: Lists,
    apart: Uint32Array,
  ): Task<BesidePlaces> {
    const { chunks: firsts } = this.head
    const width = this.counts.length / firsts.length
    const ofApart = apartIn(width - 1)
    const view = lists.view()
    const wanted = new Set(partitions)
    wanted.delete(ofApart)
    const coming = view.bring(Uint32Array.from(wanted))
    if (coming !== null) yield coming
    const chunks = new Uint32Array(ordinals.length)
    const rows = new Uint32Array(ordinals.length)
    for (let i = 0; i < ordinals.length; i++) {
      const ordinal = ordinals[i]!
      const partition = partitions[i]!
      const list = partition === ofApart ? apart : view.ordinals(partition)
      let rank = lowerBound(list, list.length, ordinal)
      const chunk = partitionPoint(firsts.length, at => firsts[at]! <= ordinal) - 1
      for (let earlier = 0; earlier < chunk; earlier++) rank -= this.counts[earlier * width + partition]!
      chunks[i] = chunk
      rows[i] = this.#starts[chunk * width + partition]! + rank
    }
    return { chunks, rows }
  }
}

/** The rows whose vectors are written. */
export interface BesideRows {
  readonly input: VectorInput
  /** Number of bytes of vectors that are in memory at the same time. */
  readonly chunkBytes: number
  /** Number of partitions, that of apart rows included. */
  readonly partitions: number
  readonly ordinalsOf: OrdinalsOf
  /** The vectors of the segment to extend. Null: a new segment. */
  readonly base: BesideVectors | null
}

/** Return the sections with the vectors of a segment, and the part of its footer that describes them. */
export function besideSections(
  rows: BesideRows,
  pacer: Pacer,
): { readonly head: BesideHead; readonly sections: readonly SectionContent[] } {
  const { input, chunkBytes, partitions, ordinalsOf, base } = rows
  const { kind, dim, first } = input
  const chunkRows = Math.max(1, Math.floor(chunkBytes / rowBytesOf(kind, dim)))
  const added: number[] = []
  for (let at = first; at < first + input.rows; at += chunkRows) added.push(at)
  const before = base?.head.chunks ?? []
  const counts = new Uint32Array((before.length + added.length) * partitions)
  if (base !== null) counts.set(base.counts)
  for (const [i, from] of added.entries()) {
    const at = (before.length + i) * partitions
    for (let p = 0; p < partitions; p++) {
      const [begin, end] = stretchOf(ordinalsOf(p), from, from + chunkRows)
      counts[at + p] = end - begin
    }
  }
  const block = blocksOf(wireFields({ fields: [besideField(kind, dim)] })).at(-1)!
  const sums = new BlockSums()
  const written = { ...rows, added, chunkRows, block, sums }
  return {
    head: { kind, block, chunks: [...before, ...added] },
    sections: [
      { name: sections.vectors, bytes: () => vectorBytes(written, pacer) },
      { name: sections.sums, bytes: async () => sums.pages() },
      { name: sections.counts, bytes: new Uint8Array(counts.buffer) },
    ],
  }
}

interface WrittenRows extends BesideRows {
  /** Ordinal of the first row of each new chunk. */
  readonly added: readonly number[]
  readonly chunkRows: number
  readonly block: number
  readonly sums: BlockSums
}

/** Return the vectors of all chunks in the order of the file. Adds their checksums to `sums`. */
async function* vectorBytes(written: WrittenRows, pacer: Pacer): AsyncGenerator<Uint8Array> {
  const { base, sums, block } = written
  if (base !== null) {
    const bytes = rowBytesOf(base.kind, base.dim)
    let chunk = 0
    let left = base.chunks.length === 0 ? 0 : base.chunks[0]!.rows * bytes
    for await (const piece of base.file.pieces(sectionOf(base.file, sections.vectors))) {
      for (let from = 0; from < piece.length; ) {
        const some = piece.subarray(from, from + left)
        sums.add(some, block)
        from += some.length
        left -= some.length
        if (left > 0) continue
        sums.endBuffer()
        chunk++
        left = (base.chunks[chunk]?.rows ?? 0) * bytes
      }
      yield piece
      await pacer.turn()
    }
  }
  for await (const chunk of addedChunks(written, pacer)) {
    for (let from = 0; from < chunk.length; from += stepBytes) {
      sums.add(chunk.subarray(from, from + stepBytes), block)
      await pacer.turn()
    }
    sums.endBuffer()
    yield chunk
  }
}

/** Bytes of which the checksums are computed in one step. */
const stepBytes = 1024 * 1024

/** Return the vectors of the new chunks, one chunk after the other. */
async function* addedChunks(
  { input, partitions, ordinalsOf, added, chunkRows }: WrittenRows,
  pacer: Pacer,
): AsyncGenerator<Uint8Array> {
  const { kind, dim } = input
  const bytes = rowBytesOf(kind, dim)
  let next = 0
  let chunk = new Uint8Array(0)
  /** By row of the chunk: the position of its vector. `nowhere`: the row is in no list. */
  let places = new Uint32Array(0)
  const begin = () => {
    const from = added[next]!
    places = new Uint32Array(Math.min(chunkRows, input.first + input.rows - from)).fill(nowhere)
    let count = 0
    for (let p = 0; p < partitions; p++) {
      const ordinals = ordinalsOf(p)
      const [start, end] = stretchOf(ordinals, from, from + chunkRows)
      for (let i = start; i < end; i++) places[ordinals[i]! - from] = count++
    }
    chunk = new Uint8Array(count * bytes)
  }
  if (added.length > 0) begin()
  for await (const { first, rows, values } of input.pieces()) {
    const source = new Uint8Array(values.buffer, values.byteOffset, rows * bytes)
    for (let row = 0; row < rows; row++) {
      const offset = first + row - added[next]!
      const place = places[offset]!
      if (place !== nowhere) chunk.set(source.subarray(row * bytes, (row + 1) * bytes), place * bytes)
      if (offset + 1 < places.length) continue
      yield chunk
      next++
      if (next < added.length) begin()
    }
    await pacer.turn()
  }
}

const nowhere = 2 ** 32 - 1

/** Return the positions, in ascending `ordinals`, of the ordinals `from` to `to - 1`: the first, and the end. */
function stretchOf(ordinals: Uint32Array, from: number, to: number): [number, number] {
  return [lowerBound(ordinals, ordinals.length, from), lowerBound(ordinals, ordinals.length, to)]
}
