/** Decides whether to load a column whole when only some of its rows are read. */
import type { ColumnRange } from '../arrow/file-layout.js'
import type { Memory } from '../primitives/memory.js'
import { blockCost } from './row-fetcher.js'

/** A column of at most this many bytes is read whole: several small reads take as long. */
export const smallBytes = 16 * 1024

/** By column: the cost of reading some of its rows since it was last loaded whole, and the number of such loads. */
const spentOn = new WeakMap<ColumnRange, { readonly spent: number; readonly loads: number }>()

/**
 * Return the share of a column's loading cost that is spent on its rows before the column is loaded whole. The share is
 * smaller the more memory remains next to all the columns that are read together. If these columns take more than half
 * of the memory budget, they are never loaded whole. `bytes`: of all these columns.
 */
export function patienceFor(bytes: number, memory: Memory): number {
  if (memory.canHold(16 * bytes)) return 1 / 64
  if (memory.canHold(2 * bytes)) return 1 / 8
  return memory.canHold(bytes) ? 1 / 2 : Number.POSITIVE_INFINITY
}

/**
 * Return the share for pages of an index. A lookup reads one block of a page, and the block is cached. So if memory is
 * scarce, a page is loaded whole when about half of its blocks were read.
 */
export function pagePatienceFor(bytes: number, memory: Memory): number {
  const patience = patienceFor(bytes, memory)
  return memory.canHold(16 * bytes) ? patience : 32 * patience
}

/** Return whether to load a column whole for `rows`. If not, the cost of the rows counts as spent. */
export function isLoadedWhole(range: ColumnRange, rows: Uint32Array, patience: number): boolean {
  if (range.bytes <= smallBytes) return true
  const cost = blockCost(range, rows)
  if (cost >= range.bytes) return true
  const { spent, loads } = spentOn.get(range) ?? { spent: 0, loads: 0 }
  // After each eviction, loading the column again requires twice the cost.
  const isEnough = spent + cost >= range.bytes * patience * 2 ** loads
  spentOn.set(range, isEnough ? { spent: 0, loads: loads + 1 } : { spent: spent + cost, loads })
  return isEnough
}
