/**
 * Provides the codebooks of product quantization: the centroids of each part of a vector, in memory that the kernels
 * can read.
 */
import { corrupted } from '../../../errors.js'
import { type Arena, openArena, Places } from '../../../kernels/arena.js'
import { type TrainEach, type TrainingSample, trainEachHere } from '../../../kernels/clusters.js'
import { roundedBytes, roundTables } from '../../../kernels/fast-scan.js'
import { type Columns, nearestColumns, squareColumns } from '../../../kernels/product.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { CodecSettings } from '../codec.js'
import { codedRows, Scratches } from './scratches.js'

/** Number of sampled rows that are divided into parts between two checks of the clock. */
const rowsAtOnce = 1024

/** Maximum number of parts. With more parts, the 16-bit sums of a scan over 4-bit codes would be too inexact. */
const maxParts = 32_768

/** Number of u32s before the counts in the serialized parameters: dim, parts, bits. */
const headWords = 3

interface Scratch {
  readonly arena: Arena
  readonly vectors: number
  /** One byte for each part of each vector. */
  readonly codes: number
  /** One f32 for each centroid of each part. */
  readonly tables: number
  readonly rounded: number
  readonly parts: readonly Columns[]
}

/** The codebooks of all parts. */
export class Codebooks {
  readonly dim: number
  readonly parts: number
  readonly bits: number
  /**
   * Serialized parameters: dim, parts and bits (u32 each), then the number of centroids of each part (u32), then the
   * centroids of each part (float32).
   */
  readonly parameters: Uint8Array
  /**
   * Number of centroids per part. If training found fewer centroids, copies of the first centroid are added. No code
   * uses the copies.
   */
  readonly centroids: number
  readonly #counts: Uint32Array
  readonly #values: Float32Array
  readonly #scratches = new Scratches(plain => this.#lay(plain))

  /** Throws Internal if `parameters` are not valid parameters of codebooks for vectors of `dim` elements. */
  constructor(dim: number, parameters: Uint8Array) {
    const words = new Uint32Array(parameters.slice(0, parameters.length & ~3).buffer)
    const [ofDim = 0, parts = 0, bits = 0] = words
    const counts = words.subarray(headWords, headWords + parts)
    const centroids = 1 << bits
    let elements = 0
    if (ofDim === dim && parts >= 1 && parts <= dim && (bits === 4 || bits === 8))
      counts.forEach((count, part) => {
        elements += count >= 1 && count <= centroids ? count * partWidth(dim, parts, part) : Number.NaN
      })
    if (
      elements === 0 ||
      (headWords + counts.length + elements) * 4 !== parameters.length ||
      counts.length < parts
    )
      throw corrupted(
        `${parameters.length} bytes, ${parts} parts and ${bits} bits are not codebooks for vectors of ${dim} elements`,
      )
    this.dim = dim
    this.parts = parts
    this.bits = bits
    this.centroids = centroids
    this.parameters = parameters
    this.#counts = counts
    this.#values = new Float32Array(words.buffer, (headWords + parts) * 4)
  }

  /**
   * Train codebooks on a sample of `rows` vectors. The widths of two parts differ by at most one element. A part has
   * fewer centroids if the sample has few distinct vectors.
   */
  static async train(
    { dim, subVectors, bits, maxIterations }: CodecSettings,
    sample: Float32Array,
    rows: number,
    pacer: Pacer,
    trainEach: TrainEach = trainEachHere,
  ): Promise<Codebooks> {
    const parts = Math.min(subVectors, dim, maxParts)
    const samples = partsOf(sample, rows, dim, parts, pacer)
    const found = await trainEach(samples, 1 << bits, maxIterations, pacer)
    const head = [dim, parts, bits, ...found.map(({ count }) => count)]
    const values = found.map(part => part.values)
    return new Codebooks(dim, packed(Uint32Array.from(head), values))
  }

  /**
   * Return the number of the nearest centroid for each part of each vector, row by row. At most `codedRows` vectors are
   * allowed. The result is a view of scratch memory, and is valid until the next call. `plain`: see `Scratches`.
   */
  codesOf(vectors: Float32Array, plain: boolean): Uint8Array {
    const { arena, vectors: at, codes, parts } = this.#scratches.get(plain)
    const { dim } = this
    const rows = vectors.length / dim
    new Float32Array(arena.buffer, at, vectors.length).set(vectors)
    parts.forEach((part, p) => {
      const slice = at + partStart(dim, parts.length, p) * 4
      nearestColumns(arena, part, slice, dim * 4, rows, codes + p, parts.length)
    })
    return new Uint8Array(arena.buffer, codes, rows * parts.length)
  }

  /**
   * Return the squared distances between the parts of a query and the centroids: for each part, `centroids` distances.
   * The result is a view of scratch memory, and is valid until the next call.
   */
  tablesOf(query: Float32Array, plain: boolean): Float32Array {
    const { arena, vectors, tables, parts } = this.#scratches.get(plain)
    const { dim, centroids } = this
    new Float32Array(arena.buffer, vectors, dim).set(query)
    parts.forEach((part, p) => {
      squareColumns(arena, part, vectors + partStart(dim, parts.length, p) * 4, tables + p * centroids * 4)
    })
    return new Float32Array(arena.buffer, tables, parts.length * centroids)
  }

  /** Return the distances of `tablesOf` for 4-bit codes, rounded to bytes for a fast scan. */
  roundedTablesOf(query: Float32Array, plain: boolean): Uint8Array {
    this.tablesOf(query, plain)
    const { arena, tables, rounded, parts } = this.#scratches.get(plain)
    roundTables(arena, tables, parts.length, rounded)
    return new Uint8Array(arena.buffer, rounded, roundedBytes(parts.length))
  }

  #lay(plain: boolean): Scratch {
    const { dim, parts, centroids } = this
    const places = new Places()
    const vectors = places.take(codedRows * dim * 4)
    const codes = places.take(codedRows * parts)
    const tables = places.take(parts * centroids * 4)
    const rounded = places.take(centroids === 16 ? roundedBytes(parts) : 0)
    const columns = Array.from({ length: parts }, (_, p): Columns => {
      const width = partWidth(dim, parts, p)
      return {
        columns: places.take(width * centroids * 4),
        halves: places.take(centroids * 4),
        width,
        count: centroids,
      }
    })
    const arena = openArena(places.end, plain)
    let from = 0
    columns.forEach((part, p) => {
      const count = this.#counts[p]!
      fill(arena, part, this.#values.subarray(from, from + count * part.width), count)
      from += count * part.width
    })
    return { arena, vectors, codes, tables, rounded, parts: columns }
  }
}

/** Write `count` centroids of a part to the arena, one centroid per column. Unused columns get the first centroid. */
function fill(arena: Arena, part: Columns, values: Float32Array, count: number): void {
  const columns = new Float32Array(arena.buffer, part.columns, part.width * part.count)
  const halves = new Float32Array(arena.buffer, part.halves, part.count)
  for (let c = 0; c < part.count; c++) {
    const from = c < count ? c * part.width : 0
    let norm = 0
    for (let i = 0; i < part.width; i++) {
      const value = values[from + i]!
      columns[i * part.count + c] = value
      norm += value * value
    }
    halves[c] = norm / 2
  }
}

/** Return a training sample for each part. It has the elements of this part of all rows. */
async function* partsOf(
  sample: Float32Array,
  rows: number,
  dim: number,
  parts: number,
  pacer: Pacer,
): AsyncGenerator<TrainingSample> {
  for (let part = 0; part < parts; part++) {
    const start = partStart(dim, parts, part)
    const width = partWidth(dim, parts, part)
    const values = new Float32Array(rows * width)
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < width; i++) values[row * width + i] = sample[row * dim + start + i]!
      if (row % rowsAtOnce === 0) await pacer.turn()
    }
    yield { values, rows, dim: width }
  }
}

function partStart(dim: number, parts: number, part: number): number {
  return Math.floor((part * dim) / parts)
}

function partWidth(dim: number, parts: number, part: number): number {
  return partStart(dim, parts, part + 1) - partStart(dim, parts, part)
}

function packed(head: Uint32Array, values: readonly Float32Array[]): Uint8Array {
  const words = values.reduce((sum, part) => sum + part.length, head.length)
  const bytes = new Uint8Array(words * 4)
  bytes.set(new Uint8Array(head.buffer))
  let at = head.length
  for (const part of values) {
    new Float32Array(bytes.buffer, at * 4, part.length).set(part)
    at += part.length
  }
  return bytes
}
