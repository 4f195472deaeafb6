/**
 * The interface of codecs: how lists store vectors, and how a scan approximates the distances of a list's rows from a
 * query. Vectors are float32, and distances are squared Euclidean; space.ts converts other metrics. `codecs/all.ts`
 * lists the codecs.
 */
import type { Arena } from '../../kernels/arena.js'
import type { Blur } from './saturation.js'

/** A trained codec. Immutable. */
export interface Codec {
  /** Serialized parameters, from which `openCodec` restores the codec. */
  readonly parameters: Uint8Array
  /**
   * Whether the codec encodes residuals (vector minus centroid of the partition), also of queries. False: it encodes
   * the vectors.
   */
  readonly ofResiduals: boolean
  /** Whether many distinct rows have the same distance, because distances are small integers. */
  readonly hasTies: boolean
  /** How far the order of approximate distances can be trusted. */
  readonly blur: Blur
  /** Bytes of a list of `count` rows. */
  listBytes(count: number): number
  /** Bytes that `place` writes for a query, and bytes of scratch memory that `scan` needs. */
  readonly queryBytes: number
  readonly scratchBytes: number

  /**
   * Encode `count` vectors into rows `first` to `first + count - 1` of the list at address `list`. The vectors are at
   * address `vectors`: `dim` float32s each, without gaps. Rows may be written in any order, each once. Unwritten bytes
   * of a list are zeros.
   */
  encode(arena: Arena, vectors: number, count: number, list: number, listRows: number, first: number): void
  /** Copy `count` rows from one list to another. The bytes of a row need not be contiguous. */
  copy(from: Uint8Array, fromFirst: number, to: Uint8Array, toFirst: number, count: number): void
  /** Whether approximate distances from a query are ordered as `blur` states. Absent: they are, for every query. */
  canTell?(query: Float32Array): boolean
  /** Prepare a query at address `at` for scans. If `ofResiduals`, `query` is a residual. */
  place(arena: Arena, query: Float32Array, at: number): void
  /**
   * Approximate the distances of rows `0` to `count - 1` of the list at address `list`, and offer each row to the open
   * heap of nearest rows (`openNearest`). `ordinals`: address of the rows' ordinals (u32). `base`: added to every
   * distance.
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

/** flat: float32; scalar: a byte per element; product: PQ; binary: RaBitQ; bits: the bits of hamming vectors. */
export type CodecName = 'flat' | 'scalar' | 'product' | 'binary' | 'bits'

/** Settings for training a codec. */
export interface CodecSettings {
  readonly name: CodecName
  readonly dim: number
  /** scalar: whether the last element is the additional element of the dot metric (space.ts). Default false. */
  readonly lastIsRest?: boolean
  /** product: number of parts of a vector, and bits (4 or 8) of a code. */
  readonly subVectors: number
  readonly bits: number
  readonly maxIterations: number
}
