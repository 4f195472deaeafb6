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

/** What a walk found, in the arena: valid until the next call. */
export interface Walked {
  readonly found: number
  /** Rows whose distance was computed. */
  readonly measured: number
}

export interface GraphSizes {
  readonly links: number
  readonly upperLinks: number
  readonly upperStarts: number
  readonly scratch: number
}

/** Levels above the lowest for each row: as the paper draws them with 1/ln(m), from the row's number alone, so that a graph is the same wherever it is built. */
export declare function levelsOf(firstRow: number, rows: number, m: number): Uint8Array

/** Bytes of each place but the vectors. */
export declare function graphSizes(shape: GraphShape): GraphSizes

export declare class Graph {
  /** `fresh`: writes the empty lists and `upperStarts`; else they are there. */
  constructor(arena: Arena, shape: GraphShape, places: GraphPlaces, fresh: boolean)

  /**
   * Inserts `count` rows that follow each other, with `efConstruction` candidates and edges chosen by the heuristic of the paper (kept pruned ones fill up).
   * A few hundred rows take milliseconds: who inserts many calls often, and yields.
   */
  insert(firstRow: number, count: number, entry: Entry, efConstruction: number): void

  /** The same for rows that do not follow each other. */
  insertRows(rows: Uint32Array, entry: Entry, efConstruction: number): void

  /**
   * Where the query of the next walks goes: padded elements as the rows have them (pq: `parts x 256` float32s, the table of distances).
   */
  readonly query: Uint8Array

  /** Where the allowed rows of the next walks go: a bit for each row, as `Bitset.words` has them. */
  readonly allowed: Uint32Array

  /**
   * The likely nearest rows to the query, at most `k` of the `ef` that a walk from each of `entries` keeps (ef >= k; they share what is kept). `filtered`: only rows
   * whose bit in `allowed` is set are kept; others are walked over.
   */
  walk(entries: readonly Entry[], ef: number, k: number, filtered: boolean): Walked

  /** Of the last walk: rows, nearest first (ties by row). A view: copy what is kept. */
  rows(found: number): Uint32Array

  /** Of the last walk: the distances that go with `rows`. */
  distances(found: number): Float32Array
}
