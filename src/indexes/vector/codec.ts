/**
 * Defines the interface of codecs. A codec encodes the vectors of a list, and approximates the distances between a
 * query and the rows of a list. Vectors are float32, and distances are squared Euclidean distances, because space.ts
 * converts other metrics. `codecs/all.ts` lists the codecs.
 */
import type { Arena } from '../../kernels/arena.js'
import type { Blur } from './saturation.js'

/** A trained codec. It is immutable. */
export interface Codec {
  /** Serialized parameters, from which `openCodec` restores the codec. */
  readonly parameters: Uint8Array
  /**
   * True if the codec encodes residuals of vectors and queries: the vector minus the centroid of the partition. False:
   * whole vectors.
   */
  readonly ofResiduals: boolean
  /** True if many distinct rows have the same distance, because distances are small integers. */
  readonly hasTies: boolean
  /** The default rule for measuring candidates in the order of approximate distances (saturation.ts). */
  readonly blur: Blur
  /** Return the number of bytes of a list of `count` rows. */
  listBytes(count: number): number
  /** Number of bytes that `place` writes for a query, and number of bytes of scratch memory that `scan` needs. */
  readonly queryBytes: number
  readonly scratchBytes: number

  /**
   * Encode `count` vectors as the rows `first` to `first + count - 1` of a list. The rows of a list may be written in
   * any order, each row once. Before its first row is written, a list must consist of zeros.
   *
   * - `vectors`: the address of the vectors. Each has `dim` float32s; there are no gaps between vectors.
   * - `list`: the address of the list.
   * - `listRows`: number of rows of the whole list.
   */
  encode(arena: Arena, vectors: number, count: number, list: number, listRows: number, first: number): void
  /** Copy `count` rows from the list `from` to the list `to`. The bytes of a row in a list need not be contiguous. */
  copy(from: Uint8Array, fromFirst: number, to: Uint8Array, toFirst: number, count: number): void
  /**
   * Return whether the approximate distances from a query are exact enough for a search. If not, the query must measure
   * all rows. The method is absent if they are exact enough for every query.
   */
  canTell?(query: Float32Array): boolean
  /** Write a query to address `at`, in the form that `scan` needs. If `ofResiduals`, `query` must be a residual. */
  place(arena: Arena, query: Float32Array, at: number): void
  /**
   * Approximate the distances of a query from the rows `0` to `count - 1` of a list. Offer each row to the open heap of
   * nearest rows (`openNearest`).
   *
   * - `list`, `query`, `scratch`: the addresses of the list, of the query (`place`) and of scratch memory.
   * - `ordinals`: the address of the ordinals of the rows (u32).
   * - `base`: a number that is added to every distance.
   */
  scan(
    arena: Arena,
    list: number,
    count: number,
    query: number,
    scratch: number,
    ordinals: number,
    base: number,
  ): void
}

/**
 * The name of a codec. `flat` stores float32s, `scalar` a byte per element, `product` codes of product quantization,
 * `binary` codes of RaBitQ, and `bits` the bits of hamming vectors.
 */
export type CodecName = 'flat' | 'scalar' | 'product' | 'binary' | 'bits'

/** Settings for training a codec. */
export interface CodecSettings {
  readonly name: CodecName
  readonly dim: number
  /**
   * Only for `scalar`: whether the last element is the additional element of the dot metric (space.ts). Default false.
   */
  readonly lastIsRest?: boolean
  /** Only for `product`: number of parts of a vector, and number of bits of a code (4 or 8). */
  readonly subVectors: number
  readonly bits: number
  readonly maxIterations: number
}
