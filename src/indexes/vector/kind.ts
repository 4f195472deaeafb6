/** The kinds of vector indexes and their parameters (rule A-088). */
import type { Metric } from '../../kernels/metric.js'

/**
 * All kinds divide their rows into partitions (IVF). A row belongs to the partition with the nearest centroid.
 *
 * - FLAT stores the vectors. It is the only kind with the hamming metric, for which vectors are bytes.
 * - SQ stores a byte per element (scalar quantization).
 * - PQ stores a code per part of a vector (product quantization).
 * - RQ stores a bit per element (RaBitQ).
 * - With HNSW, the rows of a partition are the nodes of a graph; otherwise they are a list.
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

/** Parameters given by the caller. `settings.ts` chooses absent parameters for each segment, by its number of rows. */
export interface VectorParameters {
  readonly partitions?: number
  readonly targetPartitionSize?: number
  /** PQ: number of parts of a vector. */
  readonly subVectors?: number
  /** PQ: bits of a code, 4 or 8. */
  readonly bits?: number
  /** Training rows per centroid. */
  readonly sampleRate?: number
  /** Maximum number of k-means iterations. */
  readonly maxIterations?: number
  /** HNSW: maximum number of edges of a node on each level above the lowest. Nodes of the lowest level have twice as many. */
  readonly m?: number
  /** HNSW: candidates that a walk keeps while rows are inserted. */
  readonly efConstruction?: number
}

/** Everything that determines a segment, except its rows. */
export interface VectorSpec {
  readonly kind: VectorKind
  readonly metric: Metric
  readonly parameters: VectorParameters
}

export function isVectorKind(kind: string): kind is VectorKind {
  return (vectorKinds as readonly string[]).includes(kind)
}
