/**
 * Product quantization with centroids that are stored by columns. Buffers are passed as addresses in the arena. The
 * plain loops are the reference implementation of `wasm/product.ts`: they compute the same bits.
 */
import type { Arena } from './arena.js'
import { offerNearest } from './nearest-lists.js'

/** Number of entries per part in the table of `scanCodes`. */
export const tableEntries = 256

/** Number of rows that the plain loops measure before they offer them. */
const offeredRows = 32
/** Bytes of scratch that `scanCodes` needs. */
export const codesScratchBytes = offeredRows * 4

/** The centroids of one part of the vectors. */
export interface Columns {
  /**
   * Address of `width` times `count` f32s: the first elements of all centroids, then their second elements, and so on.
   */
  readonly columns: number
  /** Address of `count` f32s: half of the squared norm of each centroid. */
  readonly halves: number
  /** Number of elements of a centroid. */
  readonly width: number
  /** Number of centroids: a multiple of 16, at most 256. */
  readonly count: number
}

/**
 * Write the squared distances between the part of a query and all centroids. `query`: address of the part. `out`:
 * address of `count` f32s.
 */
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
 * Find the nearest centroid for one part of each of `rows` vectors. Of equally near centroids it is the one with the
 * lowest number. `vectors`: address of the part of the first vector. `stride`: bytes from one vector to the next.
 * `out`: address of the results. Each result is a byte, and the next result is `step` bytes after it.
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
 * Estimate the distances of the rows of a list and offer the rows (`nearest-lists.ts`). A row is `parts` bytes, one
 * code per part. The distance is `base` plus the sum of the entries of the row's codes in `table`, which has
 * `tableEntries` f32s per part.
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
