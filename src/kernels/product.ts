/**
 * Product quantization with centroids that lie by columns. All places are addresses. The plain loops are twins of
 * `wasm/product.ts`, bit for bit.
 */
import type { Arena } from './arena.js'
import { offerNearest } from './nearest-lists.js'

/** Entries that a part has in the table of `scanCodes`. */
export const tableEntries = 256

/** Rows that plain loops measure before they offer them. */
const offeredRows = 32
/** Bytes that `scanCodes` needs at `scratch`. */
export const codesScratchBytes = offeredRows * 4

/** Centroids of one part of vectors. */
export interface Columns {
  /** `width` times `count` f32s: the first elements of all, then the second ones ... */
  readonly columns: number
  /** Half of the squared norm of each. */
  readonly halves: number
  readonly width: number
  /** A multiple of 16, at most 256. */
  readonly count: number
}

/** The squared distances of a query's part from the centroids, to f32s at `out`. */
export function squareColumns(arena: Arena, part: Columns, query: number, out: number): void {
  const { columns, width, count } = part
  const { buffer, kernel } = arena
  if (kernel !== null) return kernel.squareColumns(columns, width, count, query, out)
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
 * The number of the nearest centroid (ties: the lower) for one part of each of `rows` vectors, which are `stride` bytes apart: bytes at
 * `out`, `step` apart.
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
  if (kernel !== null)
    return kernel.nearestColumns(columns, halves, width, count, vectors, stride, rows, out, step)
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
 * Offers the rows of a list (`nearest-lists.ts`), `parts` bytes each: the sum of the entries that `table` has for them (`tableEntries`
 * f32s for each part), and `base`.
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
  if (kernel !== null) return kernel.scanCodes(list, count, parts, table, ordinals, base)
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
