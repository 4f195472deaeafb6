/** Rows that an index segment proposed, by estimated distance, and the exact distances of those measured so far. */
import {
  type Blur,
  crowdMost,
  enoughWork,
  lateRows,
  leastPoints,
  watchedRows,
} from '../indexes/vector/saturation.js'
import type { RankedHits } from './hits.js'

/** The candidates of one search in one segment, best estimate first. */
export class NearCandidates {
  readonly ordinals: Uint32Array
  /** By rank, for the first `measured` candidates. */
  readonly partOf: Uint32Array
  readonly offsets: Uint32Array
  readonly distances: Float32Array
  /** Number of measured candidates, from the first on. */
  measured = 0

  constructor(ordinals: Uint32Array) {
    this.ordinals = ordinals
    this.partOf = new Uint32Array(ordinals.length)
    this.offsets = new Uint32Array(ordinals.length)
    this.distances = new Float32Array(ordinals.length)
  }

  /** The ranks `measured .. to - 1` and their ordinals, both ascending by ordinal, so that rows of a part are consecutive. */
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

  /** The distance of the last watched row among the measured candidates. */
  farthest(k: number): number {
    const { distances, measured } = this
    return distances.slice(0, measured).sort()[Math.min(measured, watchedRows(k)) - 1] ?? 0
  }

  /** The number of candidates to measure, judged by those measured so far. */
  enoughFor(k: number, { factor, more }: Blur): number {
    // If estimates are exact, equal rows need no further candidates.
    const { rank, copies } = this.enoughAt(k, factor > 1 ? leastPoints : 1)
    return enoughWork({ factor, more: factor > 1 ? more * copies : more }, rank)
  }

  /**
   * `rank`: number of candidates that would have been enough to find nearly all of the nearest rows. `copies`: average number of
   * the nearest rows at one point. `points`: minimum number of distinct points to look at.
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

  /** The measured candidates with a distance below `upper`. Overwrites the candidates, so nothing can be measured afterwards. */
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

/** Greater than the number of candidates of any search. */
const rankSpan = 2 ** 20
