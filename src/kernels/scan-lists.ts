/**
 * Measures the rows of a list against a query, and offers them to the nearest rows (`nearest-lists.ts`). The plain
 * loops are the reference implementation of `wasm/lists.ts`, bit for bit.
 */
import type { Arena } from './arena.js'
import { differingBits, squaresOfBytes, squaresOfFloats } from './exact-plain.js'
import { offerNearest } from './nearest-lists.js'

/** Rows measured in one step. Must equal BLOCK_ROWS of `wasm/lists.ts`. */
const blockRows = 1024

/** Bytes that a scan needs at `distances`. */
export const scanBlockBytes = blockRows * 4

/** A list to scan. All positions are addresses. */
interface ListScan {
  readonly list: number
  readonly count: number
  /** Bytes of a row, and of the query, including zero padding. */
  readonly stride: number
  readonly query: number
  /** `scanBlockBytes` bytes of scratch. */
  readonly distances: number
  /** `count` u32s. */
  readonly ordinals: number
  /** Added to every distance. */
  readonly base: number
}

/** Scan rows of float32s; `stride` is a multiple of 64. */
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
 * Scan rows of bytes; `stride` is a multiple of 16, at most 65,536. A distance is `scale` (a float32) times the exact
 * sum of squares.
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

/** Scan rows of bits; `stride` is a multiple of 16. A distance is the number of different bits. */
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
