/** Decides whether a column of which some rows are asked for is loaded whole. */
import type { ColumnRange } from '../arrow/file-layout.js'
import type { Memory } from '../primitives/memory.js'
import { blockCost } from './row-fetcher.js'

/** A column of no more bytes is read whole: several small reads take as long. */
export const smallBytes = 16 * 1024

/** By column: bytes spent on reading some of its rows since it was last loaded whole, and how often it was loaded whole. */
const spentOn = new WeakMap<ColumnRange, { readonly spent: number; readonly loads: number }>()

/**
 * A column is loaded whole once this share of the cost of that was spent on its rows: the more room all columns that are asked for together
 * leave in memory, the sooner; never where they take more than half of it. `bytes`: of all these columns.
 */
export function patienceFor(bytes: number, memory: Memory): number {
  if (memory.canHold(16 * bytes)) return 1 / 64
  if (memory.canHold(2 * bytes)) return 1 / 8
  return memory.canHold(bytes) ? 1 / 2 : Number.POSITIVE_INFINITY
}

/**
 * The same of the pages of an index. Lookups ask for one block of a page, which is kept; so where pages do not leave much room, they are loaded whole
 * when about half of their blocks have come.
 */
export function pagePatienceFor(bytes: number, memory: Memory): number {
  const patience = patienceFor(bytes, memory)
  return memory.canHold(16 * bytes) ? patience : 32 * patience
}

/** Whether a column is to be loaded whole for `rows`, which counts as spent where it is not. */
export function isLoadedWhole(range: ColumnRange, rows: Uint32Array, patience: number): boolean {
  if (range.bytes <= smallBytes) return true
  const cost = blockCost(range, rows)
  if (cost >= range.bytes) return true
  const { spent, loads } = spentOn.get(range) ?? { spent: 0, loads: 0 }
  // A column that left memory is loaded again less readily each time.
  const isEnough = spent + cost >= range.bytes * patience * 2 ** loads
  spentOn.set(range, isEnough ? { spent: 0, loads: loads + 1 } : { spent: spent + cost, loads })
  return isEnough
}
