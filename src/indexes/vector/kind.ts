/** What vector indexes there are, and what can be said about one when it is made (rule A-088). */
import type { Metric } from '../../kernels/metric.js'

/**
 * All divide their rows into partitions (IVF), each with a centroid near which its rows lie. FLAT keeps vectors, SQ a byte for each
 * element, PQ a code for each of some parts of a vector (product quantization), RQ a bit for each element (RaBitQ); with HNSW the
 * rows of a partition are the nodes of a graph, else they are a list. By hamming, which FLAT alone knows, vectors are bytes and stay so.
 */
export const vectorKinds = [
  'IVF_FLAT',
  'IVF_SQ',
  'IVF_PQ',
  'IVF_RQ',
  'IVF_HNSW_FLAT',
  'IVF_HNSW_SQ',
  'IVF_HNSW_PQ',
] as const
export type VectorKind = (typeof vectorKinds)[number]

/** What the caller has said; what is absent is chosen by `settings.ts`, for each segment by its rows. */
export interface VectorParameters {
  readonly partitions?: number
  readonly targetPartitionSize?: number
  /** PQ: parts of a vector. */
  readonly subVectors?: number
  /** PQ: bits of a code, 4 or 8. */
  readonly bits?: number
  /** Training rows for each centroid. */
  readonly sampleRate?: number
  /** Rounds of k-means at most. */
  readonly maxIterations?: number
  /** HNSW: edges of a node above the lowest level; twice as many on it. */
  readonly m?: number
  /** HNSW: candidates while building. */
  readonly efConstruction?: number
}

/** Everything that decides what a segment is like, but for its rows. */
export interface VectorSpec {
  readonly kind: VectorKind
  readonly metric: Metric
  readonly parameters: VectorParameters
}

export function isVectorKind(kind: string): kind is VectorKind {
  return (vectorKinds as readonly string[]).includes(kind)
}
