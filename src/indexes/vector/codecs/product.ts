/**
 * Provides the codec of product quantization (Jegou et al. 2011). A vector is divided into parts. For each part, the
 * code has the number of the nearest centroid in 8 or 4 bits. 8-bit codes are stored row by row. 4-bit codes are stored
 * in blocks (`nibbles.ts`). A scan looks up their distances in tables that are rounded to bytes (Andre et al. 2015).
 */
import type { Arena } from '../../../kernels/arena.js'
import type { TrainEach } from '../../../kernels/clusters.js'
import { fastScanScratchBytes, roundedBytes, scanNibbles } from '../../../kernels/fast-scan.js'
import { codesScratchBytes, scanCodes, tableEntries } from '../../../kernels/product.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Codec, CodecSettings } from '../codec.js'
import { Codebooks } from './codebooks.js'
import { copyNibbles, nibbleListBytes, putNibbles } from './nibbles.js'
import { codedRows } from './scratches.js'

/** The PQ codec, with 4 or 8 bits per part. */
export class ProductCodec implements Codec {
  readonly ofResiduals = true
  readonly hasTies = false
  readonly blur = { factor: 2, more: 10 }
  /** Number of parts. `encodeRows` writes one byte per part; `tableOf` returns one table per part. */
  readonly parts: number
  readonly queryBytes: number
  readonly scratchBytes: number
  readonly #books: Codebooks
  readonly #wide: boolean

  constructor(books: Codebooks) {
    this.#books = books
    this.parts = books.parts
    this.#wide = books.bits === 8
    this.queryBytes = this.#wide ? this.parts * tableEntries * 4 : roundedBytes(this.parts)
    this.scratchBytes = this.#wide ? codesScratchBytes : fastScanScratchBytes
  }

  get parameters(): Uint8Array {
    return this.#books.parameters
  }

  listBytes(count: number): number {
    return this.#wide ? count * this.parts : nibbleListBytes(count, this.parts)
  }

  encode(arena: Arena, vectors: number, count: number, list: number, listRows: number, first: number): void {
    const target = new Uint8Array(arena.buffer, list, this.listBytes(listRows))
    const { dim } = this.#books
    for (let begin = 0; begin < count; begin += codedRows) {
      const rows = Math.min(codedRows, count - begin)
      const from = new Float32Array(arena.buffer, vectors + begin * dim * 4, rows * dim)
      const codes = this.#books.codesOf(from, arena.kernel === null)
      if (this.#wide) target.set(codes, (first + begin) * this.parts)
      else putNibbles(codes, rows, this.parts, target, first + begin)
    }
  }

  copy(from: Uint8Array, fromFirst: number, to: Uint8Array, toFirst: number, count: number): void {
    const { parts } = this
    if (this.#wide) to.set(from.subarray(fromFirst * parts, (fromFirst + count) * parts), toFirst * parts)
    else copyNibbles(from, fromFirst, to, toFirst, count, parts)
  }

  place(arena: Arena, query: Float32Array, at: number): void {
    const plain = arena.kernel === null
    const tables = this.#wide ? this.#books.tablesOf(query, plain) : this.#books.roundedTablesOf(query, plain)
    new Uint8Array(arena.buffer, at).set(new Uint8Array(tables.buffer, tables.byteOffset, tables.byteLength))
  }

  scan(
    arena: Arena,
    list: number,
    count: number,
    query: number,
    scratch: number,
    ordinals: number,
    base: number,
  ): void {
    const scan = this.#wide ? scanCodes : scanNibbles
    scan(arena, list, count, this.parts, query, scratch, ordinals, base)
  }

  /** Encode vectors for graphs. The result has one byte per part, row by row, also for 4-bit codes. */
  encodeRows(vectors: Float32Array): Uint8Array {
    const { dim } = this.#books
    const rows = vectors.length / dim
    const codes = new Uint8Array(rows * this.parts)
    for (let begin = 0; begin < rows; begin += codedRows) {
      const end = Math.min(begin + codedRows, rows)
      codes.set(this.#books.codesOf(vectors.subarray(begin * dim, end * dim), false), begin * this.parts)
    }
    return codes
  }

  /**
   * Return the squared distances between the parts of a query and the centroids, as `parts` tables of 256 distances.
   * The codes of `encodeRows` are indexes into these tables.
   */
  tableOf(query: Float32Array): Float32Array {
    const tables = this.#books.tablesOf(query, false)
    const { centroids } = this.#books
    const table = new Float32Array(this.parts * tableEntries)
    for (let p = 0; p < this.parts; p++)
      table.set(tables.subarray(p * centroids, (p + 1) * centroids), p * tableEntries)
    return table
  }
}

/** Train a codec on a sample of `rows` residuals, at least one. `trainEach`: trains the centroids of all parts. */
export async function trainProduct(
  settings: CodecSettings,
  sample: Float32Array,
  rows: number,
  pacer: Pacer,
  trainEach?: TrainEach,
): Promise<ProductCodec> {
  return new ProductCodec(await Codebooks.train(settings, sample, rows, pacer, trainEach))
}

/** Restore a codec from its parameters. Throws Internal if `parameters` are invalid. */
export function openProduct(dim: number, parameters: Uint8Array): ProductCodec {
  return new ProductCodec(new Codebooks(dim, parameters))
}
