/**
 * What reads one dictionary column and nothing else is computed once per entry, not once per row.
 *
 * - Slices of a part share its dictionary: what was computed for one is kept for the others, as long as the expression
 *   and the dictionary live.
 * - Entries are computed once as many rows were asked for as there are entries: that costs at most twice the better way.
 * - An entry that no row uses cannot fail: if one of all entries does, only those in use are computed.
 */
import type { Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { Bound } from './bound.js'
import { costOf } from './cost.js'
import { decoded, dictionaryRows } from './kernels/dictionary.js'
import { bitAt, type RowMask, wordCount } from './values/vector.js'

/** Results by entry. `ofNull` is that of a row without one, in one row; null when there are no such rows. */
export interface PerEntry<T> {
  readonly entries: T
  readonly ofNull: T | null
  /** The entry of every row, -1 for none. */
  readonly entryOf: Int32Array
}

/** Computes a node for rows `0 .. values.length-1` of the column it reads; only `rows` may fail. */
export type OverValues<T> = (values: Column, rows: RowMask) => T

interface Kept<T> {
  /** Rows asked for so far. */
  rows: number
  /** Results of all entries; `fails` if some of them has none. */
  entries: T | 'fails' | null
  ofNull: T | null
}

export class EntryCache<T> {
  readonly #kept = new WeakMap<Bound, WeakMap<Column, Kept<T>>>()

  /** Null when computing row by row costs less, or another result may come each time. `rows`: those that can fail. */
  over(node: Bound, column: Column, rows: RowMask, compute: OverValues<T>): PerEntry<T> | null {
    const { isVolatile, mayFail } = costOf(node)
    const { dictionary, length } = column
    if (dictionary === null || isVolatile) return null
    const kept = this.#keptOf(node, dictionary)
    kept.rows += length
    if (dictionary.length > (kept.entries === 'fails' ? length : kept.rows)) return null
    kept.entries ??= mayFail
      ? unlessFailing(() => compute(decoded(dictionary), null))
      : compute(decoded(dictionary), null)
    const entryOf = dictionaryRows(column)
    let entries = kept.entries
    if (entries === 'fails') {
      entries = compute(decoded(dictionary), entriesInUse(entryOf, dictionary.length, rows))
    }
    if (column.nullCount === 0) return { entries, ofNull: null, entryOf }
    kept.ofNull ??= compute(nullColumn(decoded(dictionary).type, 1), null)
    return { entries, ofNull: kept.ofNull, entryOf }
  }

  #keptOf(node: Bound, dictionary: Column): Kept<T> {
    let byDictionary = this.#kept.get(node)
    if (byDictionary === undefined) {
      byDictionary = new WeakMap()
      this.#kept.set(node, byDictionary)
    }
    let kept = byDictionary.get(dictionary)
    if (kept === undefined) {
      kept = { rows: 0, entries: null, ofNull: null }
      byDictionary.set(dictionary, kept)
    }
    return kept
  }
}

function unlessFailing<T>(run: () => T): T | 'fails' {
  try {
    return run()
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.InvalidInput) return 'fails'
    throw error
  }
}

function entriesInUse(entryOf: Int32Array, count: number, rows: RowMask): Uint32Array {
  const used = new Uint32Array(wordCount(count))
  for (let i = 0; i < entryOf.length; i++) {
    const entry = entryOf[i]!
    if (entry !== -1 && (rows === null || bitAt(rows, i))) used[entry >>> 5]! |= 1 << (entry & 31)
  }
  return used
}
