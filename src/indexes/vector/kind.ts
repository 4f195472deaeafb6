/** Defines the kinds of vector indexes and their parameters (rule A-088). */
import type { Metric } from '../../kernels/metric.js'

/**
 * The kinds of vector indexes. All kinds divide their rows into partitions (IVF). A row belongs to the partition with
 * the nearest centroid. The rest of the name says how the rows of a partition are stored:
 *
 * - FLAT stores the vectors. IVF_FLAT is the only kind that supports the hamming metric, for which vectors are bytes.
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

/**
 * Parameters that the caller sets. `settings.ts` chooses absent parameters for each segment, according to its number of
 * rows.
 */
export interface VectorParameters {
  readonly partitions?: number
  readonly targetPartitionSize?: number
  /** PQ: number of parts of a vector. */
  readonly subVectors?: number
  /** PQ: number of bits of a code, 4 or 8. */
  readonly bits?: number
  /** Number of training rows per centroid. */
  readonly sampleRate?: number
  /** Maximum number of k-means iterations. */
  readonly maxIterations?: number
  /**
   * HNSW: maximum number of edges of a node on each level above the lowest. Nodes of the lowest level have twice as
   * many.
   */
  readonly m?: number
  /** HNSW: number of candidates that the build keeps while it searches the neighbours of a new row. */
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
