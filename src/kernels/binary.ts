/**
 * Binary quantization: one bit per element of a vector (RaBitQ: Gao & Long, SIGMOD 2024, arXiv 2405.12497). Buffers are
 * passed as addresses in the arena. The plain loops are the reference implementation of `wasm/binary.ts`: they compute
 * the same bits.
 *
 * Let o be the difference between a vector and a centroid, and q the difference between a query and the centroid. Let P
 * be a rotation, and b the signs of the elements of Po (1 or -1). In |o - q|^2 = |o|^2 + |q|^2 - 2 o.q only the product
 * o.q is unknown. Its estimate is (|o|^2 / b.Po) (b.Pq).
 *
 * The estimate is unbiased: b / (b.Po / |o|^2) differs from Po by a vector that is orthogonal to Po. The rotation gives
 * this vector a random direction. b.Po is the sum of the absolute elements of Po. So each row has two factors: |o|^2
 * and 2 |o|^2 / b.Po.
 *
 * b.Pq is computed from tables, one table for every four elements of Pq (`fast-scan.ts`). A block has the codes of 32
 * rows, then the first factors of these rows, then the second factors.
 */
import type { Arena } from './arena.js'
import { blockRows, partBytes, sumRow } from './fast-scan.js'
import { offerNearest } from './nearest-lists.js'

/** Bytes of the factors of a block, which follow the codes. */
export const factorBytes = blockRows * 8

/** Offset of |q|^2 (an f32) in the head of rounded tables. */
export const queryNormAt = 8

/** The parameters of a rotation. */
export interface Rotation {
  /** Number of elements of a vector. Before the rotation, the vector is padded with zeros to `dims` elements. */
  readonly dim: number
  /** Number of elements of a rotated vector, a multiple of 32. */
  readonly dims: number
  /** Address of `dims` u32s per round: 2^31 flips the sign of an element, 0 does not. */
  readonly signs: number
  readonly rounds: number
}

const halfRoot = Math.fround(Math.SQRT1_2)

/**
 * Rotate `dims` f32s at the address `vector` in place. Each round flips signs and then applies a Walsh-Hadamard
 * transform. The transform covers n elements, where n is the greatest power of two up to `dims`: the first n elements
 * in even rounds, the last n in odd rounds. If n is less than `dims`, each round also mixes the two halves of the
 * vector.
 */
export function rotate(arena: Arena, vector: number, { dims, signs, rounds }: Rotation): void {
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.rotate(vector, dims, signs, rounds)
    return
  }
  const values = new Float32Array(buffer, vector, dims)
  const block = 2 ** Math.floor(Math.log2(dims))
  const half = dims / 2
  for (let round = 0; round < rounds; round++) {
    const flips = new Uint32Array(buffer, signs + round * dims * 4, dims)
    for (let i = 0; i < dims; i++) if (flips[i] !== 0) values[i] = -values[i]!
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
 * Encode `rows` vectors of `dim` f32s at the address `vectors`. Writes the codes and factors of each row. `codes`:
 * address of `dims` / 4 bytes per row. Each byte has the bits of four elements; a bit is 1 if its element is not
 * negative. `factors`: address of two f32s per row. `work`: address of scratch for `dims` f32s.
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
  if (kernel !== null) {
    kernel.encodeSigns(vectors, rows, dim, dims, signs, rounds, work, codes, factors)
    return
  }
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

/**
 * Write a table of 16 f32s for every four elements of a rotated query. Entry number c is the sum of the four elements
 * with the signs of code c. `tables`: address of the tables.
 */
export function tabulateSigns(arena: Arena, query: number, dims: number, tables: number): void {
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.tabulateSigns(query, dims, tables)
    return
  }
  const values = new Float32Array(buffer, query, dims)
  const entries = new Float32Array(buffer, tables, dims * 4)
  for (let i = 0; i < entries.length; i++) {
    const first = (i >> 4) * 4
    const signed = (element: number) =>
      (i >> element) & 1 ? values[first + element]! : -values[first + element]!
    entries[i] = Math.fround(signed(0) + signed(1)) + Math.fround(signed(2) + signed(3))
  }
}

/**
 * Estimate the distances of the rows of a list with the rounded tables of a query, add `base`, and offer the rows
 * (`nearest-lists.ts`). `parts`: `dims` / 4.
 */
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
  if (kernel !== null) {
    kernel.scanSigns(list, count, parts, tables, scratch, ordinals, base)
    return
  }
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
