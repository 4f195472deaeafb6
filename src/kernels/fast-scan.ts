/**
 * Fast scan (Andre et al., VLDB 2015) of 4-bit codes, with tables rounded to bytes: a table of 16 entries fits a
 * register, and one instruction looks up 16 rows. All parameters for positions are addresses. The plain loops are the
 * reference implementation of `wasm/fast-scan.ts`, bit for bit.
 *
 * Rows are stored in blocks of 32. Each part takes 16 bytes of a block: byte i has the codes of rows i (low bits) and
 * 16 + i (high bits). Rows missing in the last block have meaningless codes.
 */
import type { Arena } from './arena.js'
import { offerNearest } from './nearest-lists.js'

/** Rows per block. */
export const blockRows = 32
/** Bytes of a part in a block, and of its rounded table. */
export const partBytes = 16

/** Bytes of scratch that a scan needs. */
export const fastScanScratchBytes = blockRows * 4

/** Bytes before the rounded tables: f32s `bias` and `step`, padded to 64 bytes. */
const headBytes = 64

const sumMax = 65_535
const entryMax = 255
const floatMax = 3.4028234663852886e38

/** Return the bytes of rounded tables. */
export function roundedBytes(parts: number): number {
  return headBytes + parts * partBytes
}

/**
 * Round tables of 16 f32s per part to bytes. Entries with the bytes b1, b2 .. have a sum of about bias + step * (b1 +
 * b2 ..). The sum of the bytes fits a u16 for any codes. `out`: `roundedBytes(parts)` bytes. Values that are not finite
 * count as the largest float32.
 */
export function roundTables(arena: Arena, table: number, parts: number, out: number): void {
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.roundTables(table, parts, out)
    return
  }
  const entries = new Float32Array(buffer, table, parts * 16).map(finite)
  const lows = new Float32Array(parts)
  let bias = 0
  let widest = 0
  let total = 0
  for (let p = 0; p < parts; p++) {
    const part = entries.subarray(p * 16, p * 16 + 16)
    const low = Math.min(...part)
    const range = Math.max(...part) - low
    lows[p] = low
    bias += low
    widest = Math.max(widest, range)
    total += range
  }
  let scale = Math.min(entryMax / widest, (sumMax - parts) / total)
  let step = 1 / scale
  if (!(scale < 1e38)) {
    scale = 0
    step = 1
  }
  new Float32Array(buffer, out, 2).set([bias, step])
  const factor = Math.fround(scale)
  const rounded = new Uint8Array(buffer, out + headBytes, entries.length)
  for (let i = 0; i < entries.length; i++) {
    const gap = Math.fround(entries[i]! - lows[i >> 4]!)
    rounded[i] = Math.min(Math.trunc(Math.fround(Math.fround(gap * factor) + 0.5)), entryMax)
  }
}

/** Return the sum of a row's entries in rounded tables. `blockBytes`: distance between two blocks. */
export function sumRow(
  bytes: Uint8Array,
  list: number,
  row: number,
  parts: number,
  blockBytes: number,
  tables: number,
): number {
  const high = (row & 16) >> 2
  let code = list + Math.floor(row / blockRows) * blockBytes + (row & 15)
  let table = tables + headBytes
  let sum = 0
  for (let p = 0; p < parts; p++) {
    sum += bytes[table + ((bytes[code]! >> high) & 15)]!
    code += partBytes
    table += partBytes
  }
  return sum
}

/** Offer the rows of a list (`nearest-lists.ts`), by the sums of `tables`, with `base` added. */
export function scanNibbles(
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
    kernel.scanNibbles(list, count, parts, tables, scratch, ordinals, base)
    return
  }
  const bytes = new Uint8Array(buffer)
  const [ownBias = 0, step = 0] = new Float32Array(buffer, tables, 2)
  const bias = Math.fround(Math.fround(base) + ownBias)
  for (let first = 0; first < count; first += blockRows) {
    const rows = Math.min(blockRows, count - first)
    const distances = new Float32Array(buffer, scratch, rows)
    for (let i = 0; i < rows; i++) {
      const sum = sumRow(bytes, list, first + i, parts, parts * partBytes, tables)
      distances[i] = bias + Math.fround(sum * step)
    }
    offerNearest(arena, scratch, ordinals + first * 4, rows, 0)
  }
}

/** NaN counts as Infinity. */
function finite(entry: number): number {
  return Number.isNaN(entry) ? floatMax : Math.max(-floatMax, Math.min(entry, floatMax))
}
