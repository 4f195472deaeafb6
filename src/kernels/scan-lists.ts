/**
 * Computes the distances between the rows of a list and a query, and offers the rows (`nearest-lists.ts`). The plain
 * loops are the reference implementation of `wasm/lists.ts`: they compute the same bits.
 */
import type { Arena } from './arena.js'
import { differingBits, squaresOfBytes, squaresOfFloats } from './exact-plain.js'
import { offerNearest } from './nearest-lists.js'

/** Number of rows that are measured before they are offered. Must equal BLOCK_ROWS of `wasm/lists.ts`. */
const blockRows = 1024

/** Bytes of scratch that a scan needs (`ListScan.distances`). */
export const scanBlockBytes = blockRows * 4

/** A list to scan. */
interface ListScan {
  /** Address of the rows. */
  readonly list: number
  /** Number of rows. */
  readonly count: number
  /** Bytes of a row, and of the query, including padding with zeros. */
  readonly stride: number
  /** Address of the query. */
  readonly query: number
  /** Address of `scanBlockBytes` bytes of scratch. */
  readonly distances: number
  /** Address of the ordinals of the rows: `count` u32s. */
  readonly ordinals: number
  /** Number to add to every distance. */
  readonly base: number
}

/** Scan rows of float32s. `stride` must be a multiple of 64. A distance is the squared Euclidean distance. */
export function scanFloats(arena: Arena, scan: ListScan): void {
  const { list, count, stride, query, distances, ordinals, base } = scan
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.scanFloats(list, count, stride, query, distances, ordinals, base)
    return
  }
  const width = stride / 4
  const rows = new Float32Array(buffer, list, count * width)
  const elements = new Float32Array(buffer, query, width)
  offerBlocks(arena, scan, row => squaresOfFloats(rows, row * width, elements))
}

/**
 * Scan rows of bytes. `stride` must be a multiple of 16, at most 65,536. A distance is `scale` (a float32) times the
 * exact squared Euclidean distance.
 */
export function scanBytes(arena: Arena, scan: ListScan, scale: number): void {
  const { list, count, stride, query, distances, ordinals, base } = scan
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.scanBytes(list, count, stride, query, scale, distances, ordinals, base)
    return
  }
  const rows = new Uint8Array(buffer, list, count * stride)
  const elements = new Uint8Array(buffer, query, stride)
  offerBlocks(arena, scan, row => Math.fround(squaresOfBytes(rows, row * stride, elements)) * scale)
}

/** Scan rows of bits. `stride` must be a multiple of 16. A distance is the number of different bits. */
export function scanBits(arena: Arena, scan: ListScan): void {
  const { list, count, stride, query, distances, ordinals, base } = scan
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.scanBits(list, count, stride, query, distances, ordinals, base)
    return
  }
  const rows = new Uint8Array(buffer, list, count * stride)
  const elements = new Uint8Array(buffer, query, stride)
  offerBlocks(arena, scan, row => differingBits(rows, row * stride, elements))
}

function offerBlocks(arena: Arena, scan: ListScan, distanceOf: (row: number) => number): void {
  for (let first = 0; first < scan.count; first += blockRows) {
    const block = Math.min(blockRows, scan.count - first)
    const distances = new Float32Array(arena.buffer, scan.distances, block)
    for (let i = 0; i < block; i++) distances[i] = distanceOf(first + i)
    offerNearest(arena, scan.distances, scan.ordinals + first * 4, block, scan.base)
  }
}
