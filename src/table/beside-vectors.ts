/**
 * Reads the vectors that a segment of a vector index has beside its lists (indexes/vector/beside-vectors.ts). Most candidates
 * of a search are in the nearest partitions. So the vectors of these partitions are read together with their lists.
 */
import type { ColumnRange } from '../arrow/file-layout.js'
import type { BufferBytes } from '../arrow/gather-rows.js'
import type { VectorsBeside } from '../indexes/vector/segment.js'
import { VectorSegment } from '../kernels/vector-segment.js'
import type { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import { BlockReader } from './block-reader.js'
import type { TableSource } from './table-source.js'

/** Some candidates of a search in one segment. */
interface Candidates {
  readonly ordinals: Uint32Array
  /** The partition of each candidate. */
  readonly partitionOf: Uint32Array
}

/**
 * Maximum bytes of vectors that are read together with lists, before the candidates are known: of the nearest partition
 * alone, and of several partitions.
 */
const nearestBytes = 4 * 1024 * 1024
const expectedBytes = 2 * 1024 * 1024

/** The number of the buffer with the elements of vectors, after two bitmaps. */
const elements = 2

/** Reads vectors of one segment for one search. */
export class BesideReader {
  readonly #beside: VectorsBeside
  readonly #pacer: Pacer
  readonly #arrived: <T>(loading: MaybePromise<T>) => MaybePromise<T>
  readonly #blocks: BlockReader
  /** By chunk: its bytes. */
  readonly #chunks: readonly BufferBytes[]
  #expected: MaybePromise<void> = undefined

  /** `path`: the file of the segment. `arrived`: waits for a load, and explains its error. */
  constructor(
    source: TableSource,
    path: string,
    beside: VectorsBeside,
    pacer: Pacer,
    arrived: <T>(loading: MaybePromise<T>) => MaybePromise<T>,
  ) {
    this.#beside = beside
    this.#pacer = pacer
    this.#arrived = arrived
    this.#blocks = new BlockReader(source, path, { sums: { start: beside.sumsStart } })
    this.#chunks = rangesOf(beside).map(range => this.#blocks.buffersOf(range))
  }

  /** Start to read the vectors of the first of `partitions`, which are in the order in which they are searched. */
  expect(partitions: Uint32Array): void {
    if (this.#expected !== undefined) return
    const { dim, kind } = this.#beside
    const bytes = vectorBytes(kind, dim)
    let sum = 0
    for (const partition of partitions) {
      const stretches = this.#beside.stretchesOf(partition)
      const limit = sum === 0 ? nearestBytes : expectedBytes
      for (const { count } of stretches) sum += count * bytes
      if (sum > limit) break
      for (const { chunk, first, count } of stretches)
        this.#chunks[chunk]!.want(elements, first * bytes, (first + count) * bytes)
    }
    this.#expected = runTask(this.#fetch())
    // The read of the candidates reports the error.
    if (this.#expected instanceof Promise) this.#expected.catch(() => {})
  }

  /** Read the vectors of candidates, in their order. */
  read(candidates: Candidates): MaybePromise<VectorSegment> {
    return this.#arrived(runTask(this.#read(candidates)))
  }

  *#read({ ordinals, partitionOf }: Candidates): Task<VectorSegment> {
    yield* wait(this.#expected)
    const { kind, dim } = this.#beside
    const bytes = vectorBytes(kind, dim)
    const { chunks, rows } = yield* wait(this.#beside.placesOf(ordinals, partitionOf))
    for (let i = 0; i < rows.length; i++)
      this.#chunks[chunks[i]!]!.want(elements, rows[i]! * bytes, (rows[i]! + 1) * bytes)
    yield* this.#fetch()
    // Few vectors are searched faster without the kernel.
    const segment = VectorSegment.allocate(kind, dim, rows.length, Number.POSITIVE_INFINITY)
    const { buffer, byteOffset, byteLength } = segment.values
    const target = new Uint8Array(buffer, byteOffset, byteLength)
    for (let i = 0; i < rows.length; i++)
      this.#chunks[chunks[i]!]!.copy(elements, rows[i]! * bytes, (rows[i]! + 1) * bytes, target, i * bytes)
    return segment
  }

  *#fetch(): Task<void> {
    yield* wait(this.#blocks.fetch(this.#pacer.signal))
    yield* this.#blocks.check(this.#pacer)
  }
}

function vectorBytes(kind: VectorsBeside['kind'], dim: number): number {
  return dim * (kind === 'f32' ? 4 : 1)
}

/** The chunks as columns. The reader of blocks recognizes a column by its object. */
const ranges = new WeakMap<VectorsBeside, readonly ColumnRange[]>()

function rangesOf(beside: VectorsBeside): readonly ColumnRange[] {
  let known = ranges.get(beside)
  if (known === undefined) {
    const { kind, dim, block, chunks } = beside
    known = chunks.map(({ start, rows, firstSum }): ColumnRange => {
      const bytes = rows * vectorBytes(kind, dim)
      return {
        start,
        bytes,
        crc: 0,
        nodes: [rows, 0, rows * dim, 0],
        buffers: [0, 0, 0, 0, 0, bytes],
        blocks: [block, block, block],
        firstSum,
        dictionaries: [],
        cells: null,
        zones: null,
      }
    })
    ranges.set(beside, known)
  }
  return known
}
