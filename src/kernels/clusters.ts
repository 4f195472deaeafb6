/** Centroids: k-means (Lloyd, with k-means++ or random beginnings) and the assignment of many vectors, by squared Euclidean distance. */
import type { Pacer } from '../primitives/pacer.js'
import type { Arena } from './arena.js'

export interface Centroids {
  readonly count: number
  readonly dim: number
  /** `count x dim`. */
  readonly values: Float32Array
}

/**
 * At most `count` centroids of `rows` vectors: fewer where there are fewer distinct ones. The same input gives the same
 * centroids on every machine. Empty clusters are filled by splitting the largest.
 */
export declare function trainCentroids(
  sample: Float32Array,
  rows: number,
  dim: number,
  count: number,
  maxIterations: number,
  pacer: Pacer,
): Promise<Centroids>

/** Assigns vectors to the nearest of some centroids: register-blocked, with the centroids packed once. */
export declare class Assigner {
  constructor(centroids: Centroids, maxRows: number)
  /** Where the owner puts up to `maxRows` vectors of `dim` float32s. */
  readonly vectors: Float32Array
  /** The number of the nearest centroid for each of the first `rows` vectors (ties: the lower number); a view, valid until the next call. */
  assign(rows: number): Uint32Array
  /** And their distances. */
  distances(rows: number): Float32Array
  /** The arena that `vectors` lies in at address `at`: for codecs, which encode from there. */
  readonly arena: Arena
  readonly at: number
}
