/**
 * Fast scan of 4-bit codes (Andre et al., VLDB 2015). The table of a part has 16 entries, which are rounded to bytes.
 * So a table fits in a register, and one instruction looks up the entries of 16 rows. Buffers are passed as addresses
 * in the arena. The plain loops are the reference implementation of `wasm/fast-scan.ts`: they compute the same bits.
 *
 * Rows are stored in blocks of 32. Each part takes 16 bytes of a block. The low bits of byte i are the code of row i.
 * The high bits are the code of row 16 + i. If the last block has fewer than 32 rows, the other codes have no meaning.
 */
import type { Arena } from './arena.js'
import { offerNearest } from './nearest-lists.js'

/** Number of rows per block. */
export const blockRows = 32
/** Bytes of a part in a block. A rounded table has the same number of bytes. */
export const partBytes = 16

/** Bytes of scratch that a scan needs. */
export const fastScanScratchBytes = blockRows * 4

/** Bytes of the head before the rounded tables. The head has the f32s `bias` and `step`. */
const headBytes = 64

/** Maximum sum of the rounded entries of a row: the maximum u16. */
const sumMax = 65_535
/** Maximum rounded entry: the maximum u8. */
const entryMax = 255
const floatMax = 3.4028234663852886e38

/** Return the bytes of the head and the rounded tables. `parts`: number of parts of a row. */
export function roundedBytes(parts: number): number {
  return headBytes + parts * partBytes
}

/**
 * Round tables of 16 f32s per part to bytes. Entries that are rounded to the bytes b1, b2, ... have a sum of about bias
 * + step * (b1 + b2 + ...). The sum of the bytes fits a u16 for any codes. `out`: address of `roundedBytes(parts)`
 * bytes. Infinity and NaN count as the greatest finite float32, and -Infinity as the least.
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

/** Return the sum of a row's entries in rounded tables. `blockBytes`: bytes from one block to the next. */
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

/**
 * Estimate the distances of the rows of a list with the rounded tables of a query, add `base`, and offer the rows
 * (`nearest-lists.ts`).
 */
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

/** Clamp a value to the range of finite float32 values. NaN counts as Infinity. */
function finite(entry: number): number {
  return Number.isNaN(entry) ? floatMax : Math.max(-floatMax, Math.min(entry, floatMax))
}
