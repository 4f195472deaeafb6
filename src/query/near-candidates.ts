/**
 * The candidates that an index segment returned, sorted by estimated distance. A search measures the exact distances of
 * the first candidates. From these it decides how many more to measure (indexes/vector/saturation.ts).
 */
import {
  type Blur,
  crowdMost,
  enoughWork,
  lateRows,
  leastPoints,
  watchedRows,
} from '../indexes/vector/saturation.js'
import type { RankedHits } from './hits.js'

/**
 * The candidates of one search in one segment. The rank of a candidate is its number in the order of estimates, from 0.
 */
export class NearCandidates {
  /** By rank: the ordinal of the candidate in the segment. */
  readonly ordinals: Uint32Array
  /** By rank: the partition of the candidate. Null: the segment does not have the vectors of all candidates. */
  readonly partitionOf: Uint32Array | null
  /** By rank, for measured candidates: the number of the row's part. */
  readonly partOf: Uint32Array
  /** By rank, for measured candidates: the offset of the row in its part. */
  readonly offsets: Uint32Array
  /** By rank, for measured candidates: the exact distance. */
  readonly distances: Float32Array
  /** Number of measured candidates. They have the ranks from 0 to `measured - 1`. */
  measured = 0

  constructor(ordinals: Uint32Array, partitionOf: Uint32Array | null = null) {
    this.ordinals = ordinals
    this.partitionOf = partitionOf
    this.partOf = new Uint32Array(ordinals.length)
    this.offsets = new Uint32Array(ordinals.length)
    this.distances = new Float32Array(ordinals.length)
  }

  /**
   * Return the candidates with the ranks from `measured` to `to - 1`, sorted by ordinal, so that rows of the same part
   * are consecutive.
   */
  next(to: number): { readonly ranks: Uint32Array; readonly ordinals: Uint32Array } {
    const { measured } = this
    const keys = new Float64Array(to - measured)
    for (let i = 0; i < keys.length; i++) keys[i] = this.ordinals[measured + i]! * rankSpan + i
    keys.sort()
    const ranks = new Uint32Array(keys.length)
    const ordinals = new Uint32Array(keys.length)
    for (let i = 0; i < keys.length; i++) {
      ordinals[i] = keys[i]! / rankSpan
      ranks[i] = measured + keys[i]! - ordinals[i]! * rankSpan
    }
    return { ranks, ordinals }
  }

  /**
   * Return the greatest distance of the watched rows. These are the nearest measured rows, at least `k` of them, whose
   * changes the stopping rule watches.
   */
  farthest(k: number): number {
    const { distances, measured } = this
    return distances.slice(0, measured).sort()[Math.min(measured, watchedRows(k)) - 1] ?? 0
  }

  /** Return how many candidates must be measured, by the stopping rule and the distances measured so far. */
  enoughFor(k: number, { factor, more }: Blur): number {
    // A factor of 1 means that the estimates are exact. Then copies of a row do not make more candidates necessary.
    const { rank, copies } = this.enoughAt(k, factor > 1 ? leastPoints : 1)
    return enoughWork({ factor, more: factor > 1 ? more * copies : more }, rank)
  }

  /**
   * Compute the input of the stopping rule from the measured candidates. `points`: minimum number of distinct distances
   * among the watched rows. Returned `rank`: number of candidates that contain nearly all watched rows. Returned
   * `copies`: average number of watched rows with the same distance.
   */
  enoughAt(k: number, points: number): { readonly rank: number; readonly copies: number } {
    const { distances, measured } = this
    const watched = Math.min(measured, watchedRows(k))
    if (watched === 0) return { rank: 0, copies: 1 }
    const sorted = distances.slice(0, measured).sort()
    const crowd = Math.min(measured, crowdMost)
    let end = 0
    let seen = 0
    for (; end < watched || (end < crowd && seen < points); end++) {
      if (sorted[end] !== sorted[end - 1]) seen++
    }
    const farthest = sorted[end - 1]!
    let tied = 0
    while (sorted[end + tied] === farthest) tied++
    let late = lateRows(watched)
    let rank = measured
    for (; rank > 0; rank--) {
      const distance = distances[rank - 1]!
      if (distance > farthest || (distance === farthest && tied-- > 0)) continue
      if (late-- <= 0) break
    }
    return { rank, copies: end / seen }
  }

  /**
   * Return the measured candidates with a distance below `upper`. Default: no limit. Reuses the arrays of this object,
   * so it must be the last call.
   */
  nearerThan(upper = NaN): RankedHits {
    const { partOf, offsets, distances, measured } = this
    let kept = 0
    for (let i = 0; i < measured; i++) {
      if (distances[i]! >= upper) continue
      partOf[kept] = partOf[i]!
      offsets[kept] = offsets[i]!
      distances[kept++] = distances[i]!
    }
    return {
      partOf: partOf.subarray(0, kept),
      offsets: offsets.subarray(0, kept),
      distances: distances.subarray(0, kept),
    }
  }
}

/** Factor of the ordinal in a sort key. It is greater than the number of candidates of any search. */
const rankSpan = 2 ** 20
