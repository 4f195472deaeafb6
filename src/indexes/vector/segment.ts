/**
 * Defines a segment of a vector index: an immutable file over some rows, which are numbered from 0 (ordinals). A
 * segment proposes candidates, which are likely to be the nearest rows. The caller measures their exact distances with
 * the vectors of the column.
 *
 * table/vector-index maps ordinals to table rows and excludes deleted rows. The segment itself contains no information
 * about table rows or deleted rows.
 */
import type { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { BesidePlaces, BesideStretch, BesideVectors } from './beside-vectors.js'
import type { Blur } from './saturation.js'

/**
 * Search effort that the caller sets. Absent members have the values that tuning chose during the build (calibrate.ts).
 */
export interface Effort {
  /** Graphs: number of candidates that a walk keeps. A walk keeps at least `k` candidates. */
  readonly ef?: number
  /** Minimum number of partitions to search. */
  readonly leastPartitions?: number
  /** Maximum number of partitions to search, if the minimum number does not give enough candidates. */
  readonly mostPartitions?: number
}

/** One search of a segment. */
export interface Probe {
  /** The query vector of the user. It has finite elements and the dimension of the segment. */
  readonly query: Float32Array
  /** If rows hold lists of vectors: all query vectors. The first is `query`. */
  readonly queries?: readonly Float32Array[]
  /** Number of rows that the query returns, at least 1. */
  readonly k: number
  /**
   * Number of candidates, at least `k`. The segment returns fewer only if fewer rows are allowed, if `effort` limits
   * the search, or if the search ends `unsettled`.
   */
  readonly count: number
  /** The rows that may be proposed, by ordinal. Null: all rows with a vector. */
  readonly allowed: Bitset | null
  /** Number of rows in `allowed`. If `allowed` is null: number of rows with a vector. */
  readonly passing: number
  readonly effort: Effort
  /** Called when lists are read from the file: the first time with the partitions that the search visits first. */
  readonly onRead?: ((partitions: Uint32Array) => void) | undefined
}

/**
 * The reason why a search ended.
 *
 * - `saturated`: the best candidates no longer changed (saturation.ts), or the search had seen all rows.
 * - `limited`: the `effort` of the caller limited the search.
 * - `unsettled`: the search gave up. The caller must measure all allowed rows, which costs no more than continuing the
 *   search.
 */
export type Ending = 'saturated' | 'limited' | 'unsettled'

/** The result of a search. */
export interface Candidates {
  /**
   * Distinct ordinals, the likely nearest rows first. Apart rows (apart.ts) precede them, so there may be more ordinals
   * than requested.
   */
  readonly ordinals: Uint32Array
  /** If the segment has the vectors of all candidates: by rank, the partition of the candidate. */
  readonly partitionOf?: Uint32Array
  /** Number of partitions searched. */
  readonly partitions: number
  /** Number of rows whose distance the search computed, exactly or approximately. */
  readonly measured: number
  readonly ended: Ending
}

/**
 * Recall@10 (0 to 1) of searches with default effort, by kind of query. Null: the segment has too few rows to measure
 * it.
 */
export interface Recalls {
  /** Recall of queries that are equal to rows of the segment. */
  readonly rows: number | null
  /** Recall of queries at points between rows or away from rows. */
  readonly between: number | null
  /** Recall of queries that are equal to rows, and whose filter excludes the rows near the query. */
  readonly excluded: number | null
}

/** Share of queries with recall@10 below 0.8 at default effort, for the kind of query with the largest share. */
export interface PoorShares {
  /** The share among queries without a filter. */
  readonly all: number
  /** The share among queries with a filter. Null: not measured. */
  readonly filtered: number | null
}

/** Properties of a segment, measured during its build. */
export interface SegmentFacts {
  /** Number of rows with a vector. */
  readonly vectors: number
  readonly partitions: number
  /**
   * Recall@10 of queries that are equal to sampled rows, at default effort. Null if there are too few rows to measure
   * it.
   */
  readonly recall: number | null
  /** Recall by kind of query. Absent in old segments. */
  readonly recalls?: Recalls
  /** Shares of queries with low recall. Absent in old segments. */
  readonly poor?: PoorShares
  /**
   * Metric l2: a distance from the mean. Most rows are within this distance (radius.ts). Absent in old segments and for
   * other metrics.
   */
  readonly radius?: number
  /** Share of searches that end `unsettled`, so that the query measures all rows. Absent in old segments. */
  readonly unsettled?: number
  /**
   * Average number of rows whose distance a search with default effort computes. It is a measure of the cost of a
   * search.
   */
  readonly measured: number
  /** Number of bytes that a search reads to compute the approximate distance of one row. */
  readonly rowBytes: number
}

/** The vectors of the rows of a segment that its file also has (beside-vectors.ts). */
export interface VectorsBeside
  extends Pick<BesideVectors, 'kind' | 'dim' | 'block' | 'chunks' | 'sumsStart'> {
  /** Return the places of candidates. `partitions`: the partition of each candidate. */
  placesOf(ordinals: Uint32Array, partitions: Uint32Array): MaybePromise<BesidePlaces>
  stretchesOf(partition: number): readonly BesideStretch[]
}

/** An opened segment. */
export interface VectorIndexSegment {
  /** Number of rows. */
  readonly rows: number
  /** Bytes of memory that the segment takes. */
  readonly bytes: number
  readonly facts: SegmentFacts
  /** If rows hold lists of vectors: the inner segment, whose rows are the single vectors. */
  readonly vectors?: VectorIndexSegment
  /** Absent: the file has no vectors. */
  readonly beside?: VectorsBeside
  /** Return the number of candidates that a query for `k` rows requests and measures first. */
  candidatesFor(k: number): number
  /**
   * Return the rule that determines how many more candidates the caller measures, because approximate distances are
   * inexact.
   */
  blurFor(isFiltered: boolean): Blur
  /**
   * Search for candidates. May return the result directly, without a promise. Throws Internal if a list in the file is
   * damaged.
   */
  candidates(probe: Probe, pacer: Pacer): MaybePromise<Candidates>
}
