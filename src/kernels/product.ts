/**
 * Product quantization with centroids stored by columns. All parameters for positions are addresses. The plain loops
 * are the reference implementation of `wasm/product.ts`, bit for bit.
 */
import type { Arena } from './arena.js'
import { offerNearest } from './nearest-lists.js'

/** Entries per part in the table of `scanCodes`. */
export const tableEntries = 256

/** Rows that the plain loops measure before they offer them. */
const offeredRows = 32
/** Bytes of scratch that `scanCodes` needs. */
export const codesScratchBytes = offeredRows * 4

/** Centroids of one part of vectors. */
export interface Columns {
  /** `width` times `count` f32s: the first elements of all centroids, then the second elements ... */
  readonly columns: number
  /** Half of the squared norm of each centroid. */
  readonly halves: number
  readonly width: number
  /** A multiple of 16, at most 256. */
  readonly count: number
}

/** Write the squared distances of a query's part from the centroids to f32s at `out`. */
export function squareColumns(arena: Arena, part: Columns, query: number, out: number): void {
  const { columns, width, count } = part
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.squareColumns(columns, width, count, query, out)
    return
  }
  const values = new Float32Array(buffer, columns, width * count)
  const elements = new Float32Array(buffer, query, width)
  const distances = new Float32Array(buffer, out, count).fill(0)
  for (let i = 0; i < values.length; i++) {
    const gap = Math.fround(values[i]! - elements[Math.floor(i / count)]!)
    const centroid = i % count
    distances[centroid] = distances[centroid]! + Math.fround(gap * gap)
  }
}

/**
 * Find the nearest centroid (ties: the lower number) for one part of each of `rows` vectors, which are `stride` bytes
 * apart. Writes the numbers as bytes at `out`, `step` apart.
 */
export function nearestColumns(
  arena: Arena,
  part: Columns,
  vectors: number,
  stride: number,
  rows: number,
  out: number,
  step: number,
): void {
  const { columns, halves, width, count } = part
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.nearestColumns(columns, halves, width, count, vectors, stride, rows, out, step)
    return
  }
  const values = new Float32Array(buffer, columns, width * count)
  const norms = new Float32Array(buffer, halves, count)
  const numbers = new Uint8Array(buffer)
  for (let row = 0; row < rows; row++) {
    const vector = new Float32Array(buffer, vectors + row * stride, width)
    let least = Infinity
    let best = 0
    for (let c = 0; c < count; c++) {
      let rest = norms[c]!
      for (let i = 0; i < width; i++)
        rest = Math.fround(rest - Math.fround(values[i * count + c]! * vector[i]!))
      if (rest < least) {
        least = rest
        best = c
      }
    }
    numbers[out + row * step] = best
  }
}

/**
 * Offer the rows of a list (`nearest-lists.ts`) of `parts` bytes each. The distance is the sum of the row's entries in
 * `table` (`tableEntries` f32s per part), plus `base`.
 */
export function scanCodes(
  arena: Arena,
  list: number,
  count: number,
  parts: number,
  table: number,
  scratch: number,
  ordinals: number,
  base: number,
): void {
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.scanCodes(list, count, parts, table, ordinals, base)
    return
  }
  const codes = new Uint8Array(buffer, list, count * parts)
  const entries = new Float32Array(buffer, table, parts * tableEntries)
  const sums = new Float32Array(4)
  for (let first = 0; first < count; first += offeredRows) {
    const rows = Math.min(offeredRows, count - first)
    const distances = new Float32Array(buffer, scratch, rows)
    for (let i = 0; i < rows; i++) {
      sums.fill(0)
      for (let p = 0; p < parts; p++)
        sums[p & 3] = sums[p & 3]! + entries[p * tableEntries + codes[(first + i) * parts + p]!]!
      distances[i] = Math.fround(sums[0]! + sums[2]!) + Math.fround(sums[1]! + sums[3]!)
    }
    offerNearest(arena, scratch, ordinals + first * 4, rows, base)
  }
}
