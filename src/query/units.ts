/** Types of the units of a search, and of their results (spread.ts). */

/** Statistics of the live rows of some units of a text search in one column. */
export interface TextStatistics {
  /** Number of rows whose text has at least one term. */
  readonly docs: number
  /** Total number of terms in the texts. */
  readonly tokens: number
  /** For each term of `termsOf` (text-statistics.ts): the number of rows with the term. */
  readonly having: readonly number[]
}

/** One unit of a search. Its number is its position in the list of units. */
export interface SearchUnit {
  /** Name of the data that the unit reads. Equal data have the same name in all versions. */
  readonly shard: string
  /** Number of rows, including rows that were deleted since the unit was built. */
  readonly rows: number
  /** Estimated time of the search of the unit on one core, nanoseconds. */
  readonly work: number
}

/** The search of one unit, as it is sent to another node. */
export type UnitQuery =
  | { readonly search: 'vector' | 'statistics'; readonly unit: number }
  | { readonly search: 'text'; readonly unit: number; readonly statistics: TextStatistics }

/**
 * The best rows of a unit, the best row first. Row `i` is row `offsets[i]` of the fragment at position `fragments[i]` of
 * the version. Its value is a distance or a score.
 */
export interface UnitRows {
  readonly fragments: Uint32Array
  readonly offsets: Uint32Array
  readonly values: Float32Array
}

/** The result of a `UnitQuery`: statistics for the query `statistics`, else rows. */
export type UnitAnswer = UnitRows | TextStatistics

/** Sends the units of a search to other nodes. */
export interface Spread {
  /** A search with less estimated work, or with less than a fifth of it per unit, is not sent. Milliseconds. */
  readonly minWorkMs: number
  /**
   * Return the answers of `queries`, in this order. `units`: the units of the search. `local`: computes an answer in this
   * process. An answer that no other node returns is computed in this process.
   */
  answers(
    queries: readonly UnitQuery[],
    units: readonly SearchUnit[],
    local: (query: UnitQuery, signal: AbortSignal) => Promise<UnitAnswer>,
  ): Promise<readonly UnitAnswer[]>
  /** Describe the sent queries, one line for each call of `answers`. */
  report(): readonly string[]
}
