/**
 * A navigable graph over vectors in an arena (HNSW: Malkov & Yashunin, arXiv 1603.09320), by squared Euclidean distance. Rows are nodes;
 * each has up to `2m` edges on the lowest level and `m` on each level above that it is on. Insertion and walk are one call
 * of the kernel for many rows; the plain twin is in `graph-plain.ts`.
 *
 * Several graphs may share one `Graph`, each with an entry of its own: rows inserted from one entry never meet those of another.
 */
import type { Arena } from './arena.js'

/** What the vectors of the nodes are made of: float32s; bytes; or codes of product quantization (walked only, never inserted). */
export type NodeKind = 'f32' | 'u8' | 'pq'

export interface GraphShape {
  readonly kind: NodeKind
  /** Bytes from one vector to the next: a multiple of 64 (f32) or 16 (u8), zeros behind the elements; pq: parts of a vector. */
  readonly stride: number
  /** Rows there is room for. */
  readonly rows: number
  readonly m: number
  /** Levels of each row above the lowest, as `levelsOf` draws them. */
  readonly levels: Uint8Array
  /** Candidates that a walk or an insertion keeps at most. */
  readonly efMax: number
}

/** Where a graph lies: sections that are stored, and scratch that is not. */
export interface GraphPlaces {
  /** `rows` vectors; the owner fills them before a row is inserted. */
  readonly vectors: number
  /** For each row `1 + 2m` u32s: how many edges, and the rows they lead to. */
  readonly links: number
  /** For each row with levels above the lowest, those of its level 1, then 2 ..: `1 + m` u32s each. */
  readonly upperLinks: number
  /** For each row a u32: where its upper links begin, counted in u32s from `upperLinks`; unused without levels. */
  readonly upperStarts: number
  readonly scratch: number
}

/** Where walks begin: changes as rows are inserted. -1: nothing is inserted yet. */
export interface Entry {
  row: number
  level: number
}
