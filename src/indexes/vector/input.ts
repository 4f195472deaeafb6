/** Defines the interface through which a caller passes vectors to a segment build. */
import type { ElementKind } from '../../kernels/vector-segment.js'
import type { Bitset } from '../../primitives/bitset.js'

/** The vectors of consecutive rows. */
export interface VectorPiece {
  /** Ordinal of the first row. */
  readonly first: number
  readonly rows: number
  /** `rows` vectors without padding. The elements of rows without a vector are arbitrary. */
  readonly values: Float32Array | Uint8Array
  /** The rows that have a vector, by offset in the piece. Null: all rows have a vector. */
  readonly present: Bitset | null
}

/** The vectors of the rows that a build adds to a segment. */
export interface VectorInput {
  /** Ordinal of the first row: 0, or the number of rows of the segment to extend. */
  readonly first: number
  readonly rows: number
  readonly dim: number
  /** Element kind of all pieces: float32 or uint8. The caller converts float16, float64 and int8 to float32. */
  readonly kind: ElementKind
  /**
   * If table rows hold lists of vectors: for each table row, the ordinal after its last vector. Each vector is one row
   * of the segment.
   */
  readonly ends?: Uint32Array | undefined
  /**
   * Store also the vectors of the rows in the segment (beside-vectors.ts), with at most this many bytes of them in memory.
   * Undefined: do not store them.
   */
  readonly chunkBytes?: number | undefined
  /**
   * Iterate over all rows in the order of their ordinals, in pieces of at most a few thousand rows. Each call starts at
   * the first row.
   */
  pieces(): AsyncIterable<VectorPiece>
}
