/** Decides whether a query that needs some rows of a column loads the whole column. */
import type { ColumnRange } from '../arrow/file-layout.js'
import type { Memory } from '../primitives/memory.js'
import { blockCost } from './row-fetcher.js'

/** Maximum size in bytes of columns that are always read whole, because several small reads take as long. */
export const smallBytes = 16 * 1024

/**
 * By column. `spent`: the cost of the row reads since the column was last loaded whole. `loads`: the number of
 * times that it was loaded whole.
 */
const spentOn = new WeakMap<object, { readonly spent: number; readonly loads: number }>()

/**
 * Return the limit for reading single rows of a column, as a share of the cost of loading the column. When the cost of
 * row reads reaches this share, the column is loaded whole. The less of the memory budget the columns of a query take,
 * the smaller the share. If they take more than half of the budget, the share is infinite: they are never loaded whole.
 *
 * `bytes`: the size of all columns that the query reads, for the whole table.
 */
export function patienceFor(bytes: number, memory: Memory): number {
  if (memory.canHold(16 * bytes)) return 1 / 64
  if (memory.canHold(2 * bytes)) return 1 / 8
  return memory.canHold(bytes) ? 1 / 2 : Number.POSITIVE_INFINITY
}

/**
 * Return the share of `patienceFor` for pages of a scalar index. A lookup reads one block of a page and caches this
 * block. Therefore the share is larger if memory is scarce: a page is loaded whole when lookups have read about half of
 * its blocks.
 */
export function pagePatienceFor(bytes: number, memory: Memory): number {
  const patience = patienceFor(bytes, memory)
  return memory.canHold(16 * bytes) ? patience : 32 * patience
}

/**
 * Return whether to load a column whole to read `rows`. If not, add the cost of these rows to the column's spent cost.
 * `patience`: the result of `patienceFor`.
 */
export function isLoadedWhole(range: ColumnRange, rows: Uint32Array, patience: number): boolean {
  if (range.bytes <= smallBytes) return true
  return isSpent(range, range.bytes, blockCost(range, rows), patience)
}

/**
 * Return whether to load a column of `bytes` bytes whole, instead of reading rows of it that cost `cost`. `column`: an
 * object that only this column has. Otherwise as `isLoadedWhole`.
 */
export function isSpent(column: object, bytes: number, cost: number, patience: number): boolean {
  if (cost >= bytes) return true
  const { spent, loads } = spentOn.get(column) ?? { spent: 0, loads: 0 }
  // Each load doubles the limit for the next load, so that evicted columns are not loaded too often.
  const isEnough = spent + cost >= bytes * patience * 2 ** loads
  spentOn.set(column, isEnough ? { spent: 0, loads: loads + 1 } : { spent: spent + cost, loads })
  return isEnough
}
