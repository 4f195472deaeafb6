/**
 * Compute expressions over one dictionary column once per dictionary entry, instead of once per row.
 *
 * - Slices of a chunk share its dictionary. A result for one slice is reused for the others, as long as the
 *   expression and the dictionary are alive.
 * - Entries are computed as soon as the requested rows outnumber them. This costs at most twice the cheaper
 *   way.
 * - An entry that no row uses must not fail. If computing all entries fails, only the entries in use are
 *   computed.
 */
import type { Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { Cost } from './cost.js'
import { decoded, dictionaryRows } from './kernels/dictionary.js'
import { bitAt, type RowMask, wordCount } from './values/vector.js'

/** Results by entry. `ofNull` is the result for NULL, as one row; null if no row is NULL. */
interface PerEntry<T> {
  readonly entries: T
  readonly ofNull: T | null
  /** The dictionary entry of every row, -1 for NULL. */
  readonly entryOf: Int32Array
}

/** Computes a node for rows `0 .. values.length-1` of the column it reads. Only rows in `rows` may fail. */
type OverValues<T> = (values: Column, rows: RowMask) => T

interface CachedResults<T> {
  /** Rows requested so far. */
  rows: number
  /** Results of all entries; `fails` if computing some entry fails. */
  entries: T | 'fails' | null
  ofNull: T | null
}

/** The results of one node by dictionary. */
export class EntryCache<T> {
  readonly #cost: Cost
  /** Weak, because dictionaries belong to the data: the results live as long as their dictionary. */
  readonly #cache = new WeakMap<Column, CachedResults<T>>()

  constructor(cost: Cost) {
    this.#cost = cost
  }

  /**
   * Return the results per entry. Return null if computing per row costs less, or if the node is volatile.
   * Only rows in `rows` may fail.
   */
  over(column: Column, rows: RowMask, compute: OverValues<T>): PerEntry<T> | null {
    const { isVolatile, mayFail } = this.#cost
    const { dictionary, length } = column
    if (dictionary === null || isVolatile) return null
    const cached = this.#cachedFor(dictionary)
    cached.rows += length
    if (dictionary.length > (cached.entries === 'fails' ? length : cached.rows)) return null
    cached.entries ??= mayFail
      ? orFails(() => compute(decoded(dictionary), null))
      : compute(decoded(dictionary), null)
    const entryOf = dictionaryRows(column)
    let entries = cached.entries
    if (entries === 'fails') {
      entries = compute(decoded(dictionary), entriesInUse(entryOf, dictionary.length, rows))
    }
    if (column.nullCount === 0) return { entries, ofNull: null, entryOf }
    cached.ofNull ??= compute(nullColumn(decoded(dictionary).type, 1), null)
    return { entries, ofNull: cached.ofNull, entryOf }
  }

  #cachedFor(dictionary: Column): CachedResults<T> {
    let cached = this.#cache.get(dictionary)
    if (cached === undefined) {
      cached = { rows: 0, entries: null, ofNull: null }
      this.#cache.set(dictionary, cached)
    }
    return cached
  }
}

function orFails<T>(run: () => T): T | 'fails' {
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
