/** Rows that a segment of an index proposed, in the order of their guessed distances, and how far those that were measured are. */
import { lateRows, watchedRows } from '../indexes/vector/saturation.js'
import type { RankedHits } from './hits.js'

export class NearCandidates {
  readonly ordinals: Uint32Array
  /** By rank, as far as they were measured. */
  readonly partOf: Uint32Array
  readonly offsets: Uint32Array
  readonly distances: Float32Array
  /** How many were measured, from the first on. */
  measured = 0

  constructor(ordinals: Uint32Array) {
    this.ordinals = ordinals
    this.partOf = new Uint32Array(ordinals.length)
    this.offsets = new Uint32Array(ordinals.length)
    this.distances = new Float32Array(ordinals.length)
  }

  /** The ranks `measured .. to - 1`, ascending by ordinal: rows of one part come one after the other. */
  nextRanks(to: number): Uint32Array {
    const { ordinals, measured } = this
    const keys = new Float64Array(to - measured)
    for (let i = 0; i < keys.length; i++) keys[i] = ordinals[measured + i]! * rankSpan + i
    keys.sort()
    return Uint32Array.from(keys, key => measured + (key % rankSpan))
  }

  /** So many candidates would have been enough to find the nearest of those that were measured, but for a few. */
  settledAt(k: number): number {
    const { distances, measured } = this
    const watched = Math.min(measured, watchedRows(k))
    if (watched === 0) return 0
    const farthest = distances.slice(0, measured).sort()[watched - 1]!
    let late = lateRows(watched)
    let rank = measured
    while (distances[rank - 1]! > farthest || late-- > 0) rank--
    return rank
  }

  /** Those that were measured and are nearer than `upper`; nothing can be measured afterwards. */
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

/** More than the candidates of a search. */
const rankSpan = 2 ** 20
