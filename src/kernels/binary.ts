/**
 * One bit for each element of a vector (RaBitQ: Gao & Long, SIGMOD 2024, arXiv 2405.12497). All places are addresses. The plain loops are
 * twins of `wasm/binary.ts`, bit for bit.
 *
 * Vectors and queries differ from a centroid by o and q; P is a rotation, b the signs of Po (each 1 or -1). Of |o - q|^2 = |o|^2 + |q|^2 - 2 o.q only
 * the product is not known. Its estimate (|o|^2 / b.Po) (b.Pq) errs as often this way as that, because b / (b.Po / |o|^2) differs from Po by something at a right angle
 * to it, of which the rotation makes a random direction; b.Po is the sum of what Po's elements are without their signs. So a row has two factors,
 * |o|^2 and 2 |o|^2 / b.Po.
 *
 * b.Pq is read out of tables, each for four elements of Pq (`fast-scan.ts`). Behind the codes of a block are the first factors of its 32 rows, then the second ones.
 */
import type { Arena } from './arena.js'
import { blockRows, partBytes, sumRow } from './fast-scan.js'
import { offerNearest } from './nearest-lists.js'

/** What a block has behind its codes. */
export const factorBytes = blockRows * 8

/** Where |q|^2 is in the head of rounded tables: an f32. */
export const queryNormAt = 8

/** How vectors are rotated. */
export interface Rotation {
  /** Elements of a vector; those up to `dims` are zeros before it is rotated. */
  readonly dim: number
  /** A multiple of 32. */
  readonly dims: number
  /** Address of `dims` u32s for each round, 0 or 2^31: the signs that are turned. */
  readonly signs: number
  readonly rounds: number
}

const halfRoot = Math.fround(Math.SQRT1_2)

/**
 * Rotates `dims` f32s where they lie: in each round some signs turn, then the first elements or (every other round) the last ones are mixed by a Walsh-Hadamard
 * transform, as many as the largest power of two has; where that is not all, the halves are mixed, too.
 */
export function rotate(arena: Arena, vector: number, { dims, signs, rounds }: Rotation): void {
  const { buffer, kernel } = arena
  if (kernel !== null) return kernel.rotate(vector, dims, signs, rounds)
  const values = new Float32Array(buffer, vector, dims)
  const block = 2 ** Math.floor(Math.log2(dims))
  const half = dims / 2
  for (let round = 0; round < rounds; round++) {
    const turned = new Uint32Array(buffer, signs + round * dims * 4, dims)
    for (let i = 0; i < dims; i++) if (turned[i] !== 0) values[i] = -values[i]!
    const first = round % 2 === 1 ? dims - block : 0
    mix(values.subarray(first, first + block))
    for (let i = 0; block < dims && i < half; i++) butterfly(values, i, i + half, halfRoot)
  }
}

function mix(values: Float32Array): void {
  const scale = Math.fround(1 / Math.sqrt(values.length))
  for (let i = 0; i < values.length; i++) values[i] = values[i]! * scale
  for (let step = 1; step < values.length; step *= 2)
    for (let i = 0; i < values.length; i++) if ((i & step) === 0) butterfly(values, i, i + step, 1)
}

function butterfly(values: Float32Array, i: number, j: number, scale: number): void {
  const a = values[i]!
  const b = values[j]!
  values[i] = Math.fround(a + b) * scale
  values[j] = Math.fround(a - b) * scale
}

/**
 * Codes and factors of `rows` vectors of `dim` f32s, row by row: at `codes` a byte for each four of `dims` elements, whose lowest bits tell which are not negative,
 * and at `factors` two f32s. `work`: room for `dims` f32s.
 */
export function encodeSigns(
  arena: Arena,
  vectors: number,
  rows: number,
  rotation: Rotation,
  work: number,
  codes: number,
  factors: number,
): void {
  const { buffer, kernel } = arena
  const { dim, dims, signs, rounds } = rotation
  if (kernel !== null)
    return kernel.encodeSigns(vectors, rows, dim, dims, signs, rounds, work, codes, factors)
  const values = new Float32Array(buffer, work, dims)
  const squares = new Float32Array(8)
  const sizes = new Float32Array(8)
  for (let row = 0; row < rows; row++) {
    values.set(new Float32Array(buffer, vectors + row * dim * 4, dim))
    values.fill(0, dim)
    rotate(arena, work, rotation)
    const bits = new Uint8Array(buffer, codes + (row * dims) / 4, dims / 4).fill(0)
    squares.fill(0)
    sizes.fill(0)
    for (let i = 0; i < dims; i++) {
      const value = values[i]!
      if (value >= 0) bits[i >> 2] = bits[i >> 2]! | (1 << (i & 3))
      squares[i & 7] = squares[i & 7]! + Math.fround(value * value)
      sizes[i & 7] = sizes[i & 7]! + Math.abs(value)
    }
    const square = fold(squares)
    const size = fold(sizes)
    const pair = new Float32Array(buffer, factors + row * 8, 2)
    pair[0] = square
    pair[1] = size > 0 ? Math.fround(2 * square) / size : 0
  }
}

function fold(lanes: Float32Array): number {
  const [a, b, c, d] = [0, 1, 2, 3].map(i => Math.fround(lanes[i]! + lanes[i + 4]!)) as [
    number,
    number,
    number,
    number,
  ]
  return Math.fround(Math.fround(a + c) + Math.fround(b + d))
}

/** Of a rotated query, tables of 16 f32s for each four elements: what they add up to, each with the sign that a code has for it. */
export function tabulateSigns(arena: Arena, query: number, dims: number, tables: number): void {
  const { buffer, kernel } = arena
  if (kernel !== null) return kernel.tabulateSigns(query, dims, tables)
  const values = new Float32Array(buffer, query, dims)
  const entries = new Float32Array(buffer, tables, dims * 4)
  for (let i = 0; i < entries.length; i++) {
    const first = (i >> 4) * 4
    const signed = (element: number) =>
      (i >> element) & 1 ? values[first + element]! : -values[first + element]!
    entries[i] = Math.fround(signed(0) + signed(1)) + Math.fround(signed(2) + signed(3))
  }
}

/** Offers the rows of a list (`nearest-lists.ts`) by rounded tables of a query, and `base`. `parts`: a quarter of `dims`. */
export function scanSigns(
  arena: Arena,
  list: number,
  count: number,
  parts: number,
  tables: number,
  scratch: number,
  ordinals: number,
  base: number,
): void {
  const { buffer, kernel } = arena
  if (kernel !== null) return kernel.scanSigns(list, count, parts, tables, scratch, ordinals, base)
  const bytes = new Uint8Array(buffer)
  const [bias = 0, step = 0] = new Float32Array(buffer, tables, 2)
  const norm = Math.fround(Math.fround(base) + new Float32Array(buffer, tables + queryNormAt, 1)[0]!)
  const blockBytes = parts * partBytes + factorBytes
  for (let first = 0; first < count; first += blockRows) {
    const rows = Math.min(blockRows, count - first)
    const distances = new Float32Array(buffer, scratch, rows)
    const factors = new Float32Array(
      buffer,
      list + (first / blockRows) * blockBytes + parts * partBytes,
      2 * blockRows,
    )
    for (let i = 0; i < rows; i++) {
      const sum = sumRow(bytes, list, first + i, parts, blockBytes, tables)
      const product = Math.fround(bias + Math.fround(sum * step))
      distances[i] = Math.fround(norm + factors[i]!) - Math.fround(factors[blockRows + i]! * product)
    }
    offerNearest(arena, scratch, ordinals + first * 4, rows, 0)
  }
}
