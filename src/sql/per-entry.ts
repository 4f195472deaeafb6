/**
 * Evaluates expressions over one dictionary column once per dictionary entry, instead of once per row.
 *
 * - Slices of a column share its dictionary. So the results are cached with the expression, by dictionary.
 * - An expression is first evaluated per row. When the number of requested rows exceeds the number of entries, it is
 *   evaluated for all entries. So the cost is at most twice the cost of the cheaper way.
 * - An entry that no row uses must not make a query fail. So if evaluating all entries fails, the expression is
 *   evaluated only for the entries that the rows use.
 */
import type { Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { Cost } from './cost.js'
import { decoded, dictionaryRows } from './kernels/dictionary.js'
import { bitAt, type RowMask, wordCount } from './values/vector.js'

/** The results of an expression for the entries of a dictionary. */
interface PerEntry<T> {
  /** The result for each entry. */
  readonly entries: T
  /** The result for NULL, as a single row. Null if no row is NULL. */
  readonly ofNull: T | null
  /** The dictionary entry of every row; -1 if the row is NULL. */
  readonly entryOf: Int32Array
}

/**
 * Evaluates an expression with `values` in place of the column that it reads. `rows`: the rows of `values` to evaluate;
 * only these may fail.
 */
type OverValues<T> = (values: Column, rows: RowMask) => T

interface CachedResults<T> {
  /** Number of rows for which results were requested so far. */
  rows: number
  /** Results of all entries. 'fails': the evaluation fails for at least one entry. Null: not evaluated yet. */
  entries: T | 'fails' | null
  /** The result for NULL. Null: not evaluated yet. */
  ofNull: T | null
}

/** Caches the results of one expression by dictionary. */
export class EntryCache<T> {
  readonly #cost: Cost
  /** The map is weak, so results are dropped with their dictionary. */
  readonly #cache = new WeakMap<Column, CachedResults<T>>()

  constructor(cost: Cost) {
    this.#cost = cost
  }

  /**
   * Return the results per entry. Return null if the caller must evaluate the expression per row, because this costs
   * less or because the expression is volatile. `rows`: the rows to evaluate; only these may fail.
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
