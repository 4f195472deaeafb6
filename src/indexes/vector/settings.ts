/**
 * Resolves the settings of a segment from the caller's parameters. The defaults depend on the number of rows, on the
 * dimension and on the kind of index.
 */
import type { CodecName } from './codec.js'
import type { VectorKind, VectorSpec } from './kind.js'
import { spaceOf } from './space.js'

/** Resolved settings of one segment. */
export interface Settings {
  readonly codec: CodecName
  readonly isGraph: boolean
  readonly partitions: number
  readonly subVectors: number
  readonly bits: number
  readonly m: number
  readonly efConstruction: number
  /** Number of sampled rows for training centroids. */
  readonly centroidRows: number
  /** Number of sampled rows for training the codec. */
  readonly codecRows: number
  readonly maxIterations: number
}

const codecs: Readonly<Record<VectorKind, CodecName>> = {
  IVF_FLAT: 'flat',
  IVF_SQ: 'scalar',
  IVF_PQ: 'product',
  IVF_RQ: 'binary',
  IVF_HNSW_FLAT: 'flat',
  IVF_HNSW_SQ: 'scalar',
  IVF_HNSW_PQ: 'product',
}

/**
 * Minimum average number of rows per partition, if the caller sets no number of partitions. With fewer rows, comparing
 * the centroids costs more than scanning the rows.
 */
const leastPartitionRows = 64
const mostPartitions = 4096
/** Number of training rows per centroid. More rows would make training slower without improving the partitions. */
const trainingRate = 64
/**
 * Number of training rows of each codec. Product quantization trains centroids, and scalar quantization a value range.
 * The other codecs train nothing.
 */
const codecRows: Readonly<Record<CodecName, number>> = {
  flat: 1,
  scalar: 16 * 1024,
  product: 64 * 1024,
  binary: 1,
  bits: 1,
}
/** Minimum number of sampled rows. Tuning takes its sampled queries from them (truth.ts). */
const questionRows = 2048
/** Number of bit vectors that are compared in the time of one comparison with a centroid, which is a float vector. */
const bitCentroidRows = 8
/** Maximum bytes of training rows. */
const trainingBytes = 256 * 1024 * 1024

/**
 * Estimate the memory of a segment during its build, in bytes per row. A graph takes the same memory during searches.
 */
export function rowBytes(spec: VectorSpec, dim: number): number {
  const { innerDim } = spaceOf(spec.metric, dim, 0)
  const { codec, isGraph, subVectors, m } = resolveSettings(spec, 2 ** 20, innerDim)
  const coded = {
    flat: 4 * innerDim,
    scalar: innerDim,
    product: subVectors,
    binary: innerDim / 8 + 16,
    bits: innerDim / 8,
  }[codec]
  // The build of a graph over PQ codes uses scalar codes.
  return isGraph ? Math.max(coded, codec === 'product' ? innerDim : 0) + 4 * (2 + 2 * m) * 1.1 : coded + 8
}

/** Resolve the settings. `rows`: rows with a vector. `dim`: dimension of the segment's space. */
export function resolveSettings(
  { kind, metric, parameters }: VectorSpec,
  rows: number,
  dim: number,
): Settings {
  const {
    partitions,
    targetPartitionSize,
    subVectors = Math.ceil(dim / 8),
    bits = 8,
    sampleRate = trainingRate,
    maxIterations = 12,
    m = 16,
  } = parameters
  const isGraph = kind.startsWith('IVF_HNSW')
  const codec = metric === 'hamming' ? 'bits' : codecs[kind]
  const worth = codec === 'bits' ? rows / bitCentroidRows : rows
  const usual = isGraph ? 1 : Math.min(mostPartitions, Math.sqrt(worth), rows / leastPartitionRows)
  const asked = targetPartitionSize === undefined ? partitions : rows / targetPartitionSize
  const count = Math.max(1, Math.min(rows, Math.round(asked ?? usual)))
  const most = Math.max(1, Math.min(rows, Math.floor(trainingBytes / (4 * dim))))
  return {
    codec,
    isGraph,
    partitions: count,
    subVectors: Math.min(subVectors, dim),
    bits,
    m,
    efConstruction: parameters.efConstruction ?? usualCandidates(rows / count),
    centroidRows: Math.min(most, Math.max(questionRows, count === 1 ? 1 : count * sampleRate)),
    codecRows: Math.min(most, codecRows[codec]),
    maxIterations,
  }
}

/**
 * Return the default `efConstruction`. `rows`: average number of rows of a graph. Larger graphs need more candidates to
 * find distant neighbours of a row.
 */
function usualCandidates(rows: number): number {
  return Math.round(100 * Math.max(1, rows / 2 ** 18) ** 0.25)
}
