/**
 * A segment of a vector index: an immutable file over some rows, numbered from 0 (ordinals). A segment proposes rows that are
 * likely to be the nearest. The caller measures their exact distances in the column.
 * table/vector-index maps ordinals to table rows and excludes deleted rows; the segment knows neither.
 */
import type { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { Blur } from './saturation.js'

/** Search effort given by the caller. Absent members: the effort found by tuning. */
export interface Effort {
  /** Graphs: candidates that a walk keeps, at least `k`. */
  readonly ef?: number
  /** Minimum number of partitions to search. */
  readonly leastPartitions?: number
  /** Maximum number of partitions to search if candidates are missing. */
  readonly mostPartitions?: number
}

/** One search of a segment. */
export interface Probe {
  /** The query vector as the user gave it: finite elements, the dimension of the segment. */
  readonly query: Float32Array
  /** If rows hold lists of vectors: all query vectors. The first is `query`. */
  readonly queries?: readonly Float32Array[]
  /** Number of rows that the query returns, at least 1. */
  readonly k: number
  /** Number of candidates, at least `k`. The segment returns fewer only if there are fewer, or if `effort` limits the search. */
  readonly count: number
  /** The rows that may be proposed, by ordinal. Null: all rows with a vector. */
  readonly allowed: Bitset | null
  /** Number of rows in `allowed`, or of rows with a vector if `allowed` is null. */
  readonly passing: number
  readonly effort: Effort
}

/**
 * Why a search ended.
 *
 * - `saturated`: the best candidates no longer changed (saturation.ts), or no rows were left.
 * - `limited`: `effort` limited the search.
 * - `unsettled`: neither; measuring all allowed rows costs no more than continuing.
 */
export type Ending = 'saturated' | 'limited' | 'unsettled'

/** The result of a search. */
export interface Candidates {
  /**
   * Distinct ordinals, the likely nearest first. There may be more than requested: apart rows, which have no approximate distance,
   * come before the others.
   */
  readonly ordinals: Uint32Array
  /** Number of partitions searched. */
  readonly partitions: number
  /** Number of rows whose distance the search approximated or measured. */
  readonly measured: number
  readonly ended: Ending
}

/** Recall@10 (0 to 1) of a search with default effort, by kind of query. Null: too few rows to measure. */
export interface Recalls {
  /** Queries equal to rows of the segment. */
  readonly rows: number | null
  /** Queries at points between rows or away from rows. */
  readonly between: number | null
  /** Queries equal to rows, with a filter that excludes the rows near them. */
  readonly excluded: number | null
}

/** Share of queries with recall@10 below 0.8 at default effort, for the worst kind of query. */
export interface PoorShares {
  /** Queries without a filter. */
  readonly all: number
  /** Queries with a filter. Null: not measured. */
  readonly filtered: number | null
}

/** Properties of a segment, measured during its build. */
export interface SegmentFacts {
  /** Number of rows with a vector. */
  readonly vectors: number
  readonly partitions: number
  /** Recall@10 of sampled rows at default effort. Null if searches measure every row, or if there are too few rows. */
  readonly recall: number | null
  /** Recall by kind of query. Absent in old segments. */
  readonly recalls?: Recalls
  /** Shares of queries with low recall. Absent in old segments. */
  readonly poor?: PoorShares
  /** Metric l2: the distance from the mean within which most rows lie (radius.ts). Absent in old segments and for other metrics. */
  readonly radius?: number
  /** Share of searches that end `unsettled`; the query then measures all rows. Absent in old segments. */
  readonly unsettled?: number
  /** Average number of rows that a search with default effort measures: its cost. */
  readonly measured: number
  /** Bytes read to approximate the distance of one row. */
  readonly rowBytes: number
}

/** An opened segment. */
export interface VectorIndexSegment {
  /** Number of rows. */
  readonly rows: number
  /** Bytes of memory. */
  readonly bytes: number
  readonly facts: SegmentFacts
  /** If rows hold lists of vectors: the inner segment over the single vectors. */
  readonly vectors?: VectorIndexSegment
  /** Return the number of candidates to request and measure first for a query of `k` rows. */
  candidatesFor(k: number): number
  /** Return how far the order of approximate distances can be trusted. It determines how many more candidates the caller measures. */
  blurFor(isFiltered: boolean): Blur
  /** Search for candidates. Synchronous if the work is small. Throws Internal if a list in the file is damaged. */
  candidates(probe: Probe, pacer: Pacer): MaybePromise<Candidates>
}
