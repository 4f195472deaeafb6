/** The vectors that a segment is built over, as whoever builds it gives them. */
import type { ElementKind } from '../../kernels/vector-segment.js'
import type { Bitset } from '../../primitives/bitset.js'

/** Rows that follow each other. */
export interface VectorPiece {
  /** Ordinal of the first. */
  readonly first: number
  readonly rows: number
  /** `rows` vectors without padding; what stands for rows without a vector means nothing. */
  readonly values: Float32Array | Uint8Array
  /** Rows that have a vector, by offset in the piece; null: all. */
  readonly present: Bitset | null
}

export interface VectorInput {
  /** Ordinal of the first row: 0, or where the rows of a segment end that is extended. */
  readonly first: number
  readonly rows: number
  readonly dim: number
  /** Of all pieces: float32 (float16, float64, int8 come converted), or uint8. */
  readonly kind: ElementKind
  /** Where the rows of a table hold lists of vectors: for each, where its vectors end, which are what counts as rows here. */
  readonly ends?: Uint32Array | undefined
  /** All rows in the order of their ordinals, from the first again with every call; at most a few thousand in each piece. */
  pieces(): AsyncIterable<VectorPiece>
}
