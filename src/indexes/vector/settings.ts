/** What a segment is like: what the caller said, and for the rest one rule over rows, dimension and kind. */
import type { CodecName } from './codec.js'
import type { VectorKind, VectorSpec } from './kind.js'
import { spaceOf } from './space.js'

export interface Settings {
  readonly codec: CodecName
  readonly isGraph: boolean
  readonly partitions: number
  readonly subVectors: number
  readonly bits: number
  readonly m: number
  readonly efConstruction: number
  /** Rows to find centroids with. */
  readonly centroidRows: number
  /** Rows to train the codec with. */
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

/** With fewer rows than this in each, partitions do not pay: rows are looked through sooner than centroids. */
const leastPartitionRows = 64
const mostPartitions = 4096
/** Training rows for each centroid: with more, partitions get no better, and training takes most of the time. */
const trainingRate = 64
/** Training rows of a codec: product quantization finds centroids of its own, a range takes few, and the others take none. */
const codecRows: Readonly<Record<CodecName, number>> = {
  flat: 1,
  scalar: 16 * 1024,
  product: 64 * 1024,
  binary: 1,
  bits: 1,
}
/** Rows to ask about when the effort is found out (truth.ts). */
const questionRows = 2048
/** Centroids of bits are floats: to measure one takes as long as so many rows. */
const bitCentroidRows = 8
/** Bytes of training rows at most. */
const trainingBytes = 256 * 1024 * 1024

/** About the bytes of memory that a row takes in a segment while it is built; of a graph also when it is asked. */
export function rowBytes(spec: VectorSpec, dim: number): number {
  const { innerDim } = spaceOf(spec.metric, dim, 0)
  const { codec, isGraph, subVectors, m } = settle(spec, 2 ** 20, innerDim)
  const coded = {
    flat: 4 * innerDim,
    scalar: innerDim,
    product: subVectors,
    binary: innerDim / 8 + 16,
    bits: innerDim / 8,
  }[codec]
  // While a graph over codes of parts is built, its nodes are coded by element.
  return isGraph ? Math.max(coded, codec === 'product' ? innerDim : 0) + 4 * (2 + 2 * m) * 1.1 : coded + 8
}

/** `rows`: those that have a vector; `dim`: elements in the segment's space. */
export function settle({ kind, metric, parameters }: VectorSpec, rows: number, dim: number): Settings {
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

/** Candidates to choose the edges of a row from: with as many in a larger graph, what is far costs more to find, and some of it is not found. */
function usualCandidates(rows: number): number {
  return Math.round(100 * Math.max(1, rows / 2 ** 18) ** 0.25)
}
