/**
 * How lists keep vectors, and how the distance of a query from each of a list's rows is guessed. Vectors are float32 and distances
 * squared Euclidean: other metrics are brought to that before (space.ts). Which there are: `codecs/all.ts`.
 */
import type { Arena } from '../../kernels/arena.js'
import type { Blur } from './saturation.js'

/** A codec that was trained. Immutable. */
export interface Codec {
  /** What `openCodec` makes it from again. */
  readonly parameters: Uint8Array
  /** Whether it codes what a vector differs from its partition's centroid by, and queries likewise; else vectors as they are. */
  readonly ofResiduals: boolean
  /** Whether many rows are equally far that are not equal: distances are small whole numbers. */
  readonly hasTies: boolean
  /** How far the order of guessed distances can be trusted. */
  readonly blur: Blur
  /** Bytes of a list of `count` rows. */
  listBytes(count: number): number
  /** Bytes that `place` writes for a query; and that `scan` needs beside. */
  readonly queryBytes: number
  readonly scratchBytes: number

  /**
   * Codes rows of the arena at address `vectors` (float32, `dim` each, one after the other) into rows `first .. first + count - 1` of the list at `list`. Rows of
   * a list may be written in any order, each once; bytes of a list that were never written are zeros.
   */
  encode(arena: Arena, vectors: number, count: number, list: number, listRows: number, first: number): void
  /** Copies `count` rows from one list to another: lists need not keep a row's bytes together. */
  copy(from: Uint8Array, fromFirst: number, to: Uint8Array, toFirst: number, count: number): void
  /** Whether guessed distances from a query have the order of the distances, as far as `blur` says. Absent: from every query. */
  canTell?(query: Float32Array): boolean
  /** Makes a query (a residual where `ofResiduals`) ready at address `at`. */
  place(arena: Arena, query: Float32Array, at: number): void
  /**
   * Guesses the distances of rows `0 .. count - 1` of the list at `list`, and offers each under the number that `ordinals` (address of u32s) has for it to the nearest rows
   * that were opened (`openNearest`). `base`: what is added to every distance.
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

export type CodecName = 'flat' | 'scalar' | 'product' | 'binary' | 'bits'

export interface CodecSettings {
  readonly name: CodecName
  readonly dim: number
  /** scalar: whether the last element is the one that dot has more (space.ts). */
  readonly lastIsRest?: boolean
  /** product: parts and bits (4 or 8) of a code. */
  readonly subVectors: number
  readonly bits: number
  readonly maxIterations: number
}
