/** Resolves the settings of a segment: the caller's parameters, and defaults that depend on rows, dimension and kind. */
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
  /** Sampled rows for training centroids. */
  readonly centroidRows: number
  /** Sampled rows for training the codec. */
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

/** Minimum average number of rows per partition. With fewer rows, comparing centroids costs more than scanning the rows. */
const leastPartitionRows = 64
const mostPartitions = 4096
/** Training rows per centroid. More rows make training slower without improving the partitions. */
const trainingRate = 64
/** Training rows of each codec. Product quantization trains centroids, scalar quantization a value range, the others nothing. */
const codecRows: Readonly<Record<CodecName, number>> = {
  flat: 1,
  scalar: 16 * 1024,
  product: 64 * 1024,
  binary: 1,
  bits: 1,
}
/** Sampled rows from which tuning takes its questions (truth.ts). */
const questionRows = 2048
/** Centroids of bit vectors are float vectors: comparing one takes as long as comparing this many rows. */
const bitCentroidRows = 8
/** Maximum number of bytes of training rows. */
const trainingBytes = 256 * 1024 * 1024

/** Estimate the bytes of memory per row of a segment during its build; for graphs, also during searches. */
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
  // A graph over PQ codes is built over scalar codes.
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

/** Return the default `efConstruction`. Larger graphs need more candidates to find the distant neighbours of a row. */
function usualCandidates(rows: number): number {
  return Math.round(100 * Math.max(1, rows / 2 ** 18) ** 0.25)
}
