/**
 * Provides the codec RaBitQ. It stores the sign of each element of a rotated vector, and two float32 factors per row.
 * `kernels/binary.ts` describes how the distance is computed. The rotation is computed from a fixed seed. So the codec
 * needs no training, and its parameters are only 8 bytes.
 */
import { corrupted } from '../../../errors.js'
import { type Arena, openArena, Places } from '../../../kernels/arena.js'
import {
  encodeSigns,
  factorBytes,
  queryNormAt,
  type Rotation,
  rotate,
  scanSigns,
  tabulateSigns,
} from '../../../kernels/binary.js'
import {
  blockRows,
  fastScanScratchBytes,
  partBytes,
  roundedBytes,
  roundTables,
} from '../../../kernels/fast-scan.js'
import { seededRandom } from '../../../primitives/seeded-random.js'
import type { Codec, CodecSettings } from '../codec.js'
import { copyNibbles, nibbleListBytes, putNibbles } from './nibbles.js'
import { codedRows, Scratches } from './scratches.js'

/**
 * Before the rotation, vectors are padded with zeros to a multiple of `dimsUnit` elements, and to at least `dimsLeast`.
 * The minimum gives short vectors more bits, so that their distances are more exact.
 */
const dimsUnit = 32
const dimsLeast = 64

/** The version of the rotation. Change it whenever one of the constants above or below changes. */
const rotationNumber = 1
const rounds = 4
const seed = 0x5eaf

interface Scratch {
  readonly arena: Arena
  readonly rotation: Rotation
  readonly vectors: number
  readonly work: number
  readonly codes: number
  readonly factors: number
  readonly tables: number
  readonly rounded: number
}

/** The RaBitQ codec. */
class BinaryCodec implements Codec {
  readonly ofResiduals = true
  readonly hasTies = false
  readonly blur = { factor: 2, more: 10 }
  /** Two u32s: dimension and version of the rotation. */
  readonly parameters: Uint8Array
  readonly queryBytes: number
  readonly scratchBytes = fastScanScratchBytes
  readonly #dim: number
  /** Dimension after padding. */
  readonly #dims: number
  /** Number of 4-bit codes of a vector. A 4-bit code has the signs of four elements. */
  readonly #parts: number
  readonly #scratches = new Scratches(plain => this.#lay(plain))

  constructor(dim: number) {
    this.parameters = new Uint8Array(Uint32Array.of(dim, rotationNumber).buffer)
    this.#dim = dim
    this.#dims = Math.max(Math.ceil(dim / dimsUnit) * dimsUnit, dimsLeast)
    this.#parts = this.#dims / 4
    this.queryBytes = roundedBytes(this.#parts)
  }

  listBytes(count: number): number {
    return nibbleListBytes(count, this.#parts, factorBytes)
  }

  encode(arena: Arena, vectors: number, count: number, list: number, listRows: number, first: number): void {
    const target = new Uint8Array(arena.buffer, list, this.listBytes(listRows))
    const scratch = this.#scratches.get(arena.kernel === null)
    for (let begin = 0; begin < count; begin += codedRows) {
      const rows = Math.min(codedRows, count - begin)
      const from = new Uint8Array(arena.buffer, vectors + begin * this.#dim * 4, rows * this.#dim * 4)
      new Uint8Array(scratch.arena.buffer, scratch.vectors).set(from)
      encodeSigns(
        scratch.arena,
        scratch.vectors,
        rows,
        scratch.rotation,
        scratch.work,
        scratch.codes,
        scratch.factors,
      )
      const codes = new Uint8Array(scratch.arena.buffer, scratch.codes, rows * this.#parts)
      putNibbles(codes, rows, this.#parts, target, first + begin, factorBytes)
      const factors = new Uint8Array(scratch.arena.buffer, scratch.factors, rows * 8)
      for (let i = 0; i < rows; i++) this.#putFactors(factors, i * 8, 4, target, first + begin + i)
    }
  }

  copy(from: Uint8Array, fromFirst: number, to: Uint8Array, toFirst: number, count: number): void {
    copyNibbles(from, fromFirst, to, toFirst, count, this.#parts, factorBytes)
    for (let i = 0; i < count; i++)
      this.#putFactors(from, this.#factorAt(fromFirst + i), factorBytes / 2, to, toFirst + i)
  }

  place(arena: Arena, query: Float32Array, at: number): void {
    const scratch = this.#scratches.get(arena.kernel === null)
    const { work, tables, rounded, rotation } = scratch
    const { buffer } = scratch.arena
    const values = new Float32Array(buffer, work, this.#dims)
    values.set(query)
    values.fill(0, this.#dim)
    let norm = 0
    for (let i = 0; i < query.length; i++) norm += query[i]! * query[i]!
    rotate(scratch.arena, work, rotation)
    tabulateSigns(scratch.arena, work, this.#dims, tables)
    roundTables(scratch.arena, tables, this.#parts, rounded)
    new Float32Array(buffer, rounded + queryNormAt, 1)[0] = norm
    new Uint8Array(arena.buffer, at).set(new Uint8Array(buffer, rounded, this.queryBytes))
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
    scanSigns(arena, list, count, this.#parts, query, scratch, ordinals, base)
  }

  /**
   * Write the two factors of a row to `list`. They are the 4 bytes at `at`, and the 4 bytes at `at + apart`, of `from`.
   */
  #putFactors(from: Uint8Array, at: number, apart: number, list: Uint8Array, row: number): void {
    const to = this.#factorAt(row)
    for (let i = 0; i < 4; i++) {
      list[to + i] = from[at + i]!
      list[to + factorBytes / 2 + i] = from[at + apart + i]!
    }
  }

  #factorAt(row: number): number {
    const block = Math.floor(row / blockRows)
    const codes = this.#parts * partBytes
    return block * (codes + factorBytes) + codes + (row % blockRows) * 4
  }

  #lay(plain: boolean): Scratch {
    const dim = this.#dim
    const dims = this.#dims
    const places = new Places()
    const signs = places.take(rounds * dims * 4)
    const vectors = places.take(codedRows * dim * 4)
    const work = places.take(dims * 4)
    const codes = places.take(codedRows * this.#parts)
    const factors = places.take(codedRows * 8)
    const tables = places.take(this.#parts * 64)
    const rounded = places.take(this.queryBytes)
    const arena = openArena(places.end, plain)
    const random = seededRandom(seed)
    new Uint32Array(arena.buffer, signs, rounds * dims).forEach((_, i, turned) => {
      turned[i] = random() < 0.5 ? 0 : 0x8000_0000
    })
    return { arena, rotation: { dim, dims, signs, rounds }, vectors, work, codes, factors, tables, rounded }
  }
}

/** Return a codec. It needs no training. */
export async function trainBinary({ dim }: CodecSettings): Promise<BinaryCodec> {
  return new BinaryCodec(dim)
}

/** Restore a codec from its parameters. Throws Internal if `parameters` are invalid. */
export function openBinary(dim: number, parameters: Uint8Array): BinaryCodec {
  const codec = new BinaryCodec(dim)
  if (Buffer.compare(codec.parameters, parameters) !== 0)
    throw corrupted(
      `the ${parameters.length} bytes of parameters are not a rotation of vectors of ${dim} elements`,
    )
  return codec
}
