/**
 * Defines the memory layout of a graph, which the kernel (`wasm/graph.ts`) and the reference implementation
 * (`graph-plain.ts`) share.
 *
 * Each row has a list of edges on each of its levels. A list is a u32 head, then a fixed number of u32 edges. Unused
 * edges are zeros. The lower half of the head is the number of edges.
 *
 * Rows with equal vectors form one node. Otherwise many equal rows would have only each other as neighbours, and a walk
 * could not leave them. The first of these rows has the edges of the node; the other rows are its twins. On the lowest
 * level, the lists of these rows are linked:
 *
 * - First row: if it has twins, bit 31 of the head is set, and the first edge is the first twin.
 * - Twin: the head is 0, and the first edge is the next twin. The last twin has itself as first edge.
 * - First twin: its second edge is the last twin.
 */
import { Places } from './arena.js'

/**
 * The elements of vectors: float32s, bytes, or codes of product quantization. Rows of codes cannot be inserted, only
 * searched.
 */
export type NodeKind = 'f32' | 'u8' | 'pq'

/** The parameters that determine the size of a graph. */
export interface GraphShape {
  readonly kind: NodeKind
  /**
   * Bytes from one vector to the next: a multiple of 64 (f32) or 16 (u8), padded with zeros. For pq: number of parts
   * per vector.
   */
  readonly stride: number
  /** Maximum number of rows. */
  readonly rows: number
  /**
   * Maximum number of edges of a row per level above the lowest level, 2 to 16,383. On the lowest level it is twice
   * this number.
   */
  readonly m: number
  /** By row: the number of its levels above the lowest level, as returned by `levelsOf`. */
  readonly levels: Uint8Array
  /** Maximum number of candidates that a walk or an insertion keeps. */
  readonly efMax: number
}

/** Addresses of the sections of a graph. All sections except `scratch` are stored in the index file. */
export interface GraphPlaces {
  /** Section with `rows` vectors. The caller writes a vector before it inserts the row. */
  readonly vectors: number
  /** Section with the list of each row on the lowest level: `1 + 2m` u32s per row. */
  readonly links: number
  /** Section with the other lists of each row, from level 1 upwards: `1 + m` u32s per list. */
  readonly upperLinks: number
  /**
   * Section with a u32 per row: the start of its lists in `upperLinks`, in u32s. Unused for rows without upper levels.
   */
  readonly upperStarts: number
  readonly scratch: number
}

/** Addresses of data that the threads share when they insert into the same graph. Each thread has its own scratch. */
export interface SharedPlaces {
  /** Address of `locksShared` u32s, initially zeros. */
  readonly locks: number
  /** Address of two u32s for each graph that shares the rows: row and level of its entry. */
  readonly entries: number
}

/** Number of locks. Must equal LOCKS of `wasm/graph.ts`. */
export const locksShared = 4096

/** Mask of the number of edges in a head. */
export const endOfCount = 0xffff

/** Maximum number of rows of a kernel call that inserts rows or starts a walk from rows. */
export const insertedTogether = 1024

/**
 * A filtered walk collects the allowed neighbours of excluded rows before it measures them. It measures them as soon as
 * it has more rows than this number.
 */
export const gatheredTogether = 512

/**
 * Minimum capacity of the frontier, the set of rows that a walk has not expanded yet. When the frontier is full, the
 * walk drops its farther half.
 */
const minFrontier = 16_384

/** Minimum bytes of vectors for which prefetching is faster. Fewer bytes stay in the cache of the processor core. */
const minPrefetchBytes = 2 ** 22

/** Addresses in the scratch. */
export interface Scratch {
  /** Address of the parameters of the kernel: u32s in the order of `Word`. */
  readonly block: number
  /** Address of a u8 per row: its number of levels above the lowest level. */
  readonly levels: number
  /** Address of a u16 per row: the epoch in which it was visited last. Every search of a level has a new epoch. */
  readonly visited: number
  /** Address of a bit per row: whether it is allowed. */
  readonly allowed: number
  /** Address of a bit per node: whether at least one of the rows with the node's vector is allowed. */
  readonly allowedNodes: number
  readonly query: number
  /** Address of the keys of the nearest rows so far, at most `efMax`. */
  readonly kept: number
  readonly frontier: number
  /** Maximum number of keys in the frontier. */
  readonly frontierMax: number
  /** Address of rows to measure in a step of a walk. */
  readonly nearby: number
  /** Address of the keys from which edges are chosen. */
  readonly choices: number
  /** Address of rows that were not chosen. */
  readonly spare: number
  /** Address of the numbers of measured nodes at the last changes of the watched rows. */
  readonly changes: number
  /** Address of the rows to insert, or from which a walk starts. */
  readonly list: number
  readonly foundRows: number
  readonly foundDistances: number
  /** Total bytes of the scratch. */
  readonly bytes: number
}

/**
 * Indexes of the words of the block, which has the parameters of the kernel. The kernel also writes some words, such as
 * `epoch`, and reads them in the next call.
 */
export const Word = {
  kind: 0,
  stride: 1,
  m: 2,
  rows: 3,
  vectors: 4,
  links: 5,
  upperLinks: 6,
  upperStarts: 7,
  levels: 8,
  visited: 9,
  allowed: 10,
  kept: 11,
  frontier: 12,
  frontierMax: 13,
  nearby: 14,
  choices: 15,
  spare: 16,
  touch: 17,
  epoch: 18,
  measured: 19,
  entryRow: 20,
  entryLevel: 21,
  locks: 22,
  entryAt: 23,
  allowedNodes: 24,
  changes: 25,
  factor: 26,
  more: 27,
  watched: 28,
  late: 29,
  least: 30,
  most: 31,
  ended: 32,
} as const

const words = 33

/** The numbers of kinds in `wasm/graph.ts`. */
const kindNumber: Readonly<Record<NodeKind, number>> = { f32: 0, u8: 1, pq: 2 }

/** Assign the addresses of a graph's scratch, which begins at address `at`. */
export function layScratch({ kind, stride, rows, m, efMax }: GraphShape, at: number): Scratch {
  const places = new Places()
  const take = (bytes: number) => at + places.take(bytes)
  const edges = 2 * m + 1
  const frontierMax = Math.max(2, Math.min(rows, Math.max(minFrontier, 4 * efMax)))
  return {
    block: take(words * 4),
    levels: take(rows),
    visited: take(rows * 2),
    allowed: take(Math.ceil(rows / 32) * 4),
    allowedNodes: take(Math.ceil(rows / 32) * 4),
    query: take(kind === 'pq' ? stride * 1024 : stride),
    kept: take(efMax * 8),
    frontier: take(frontierMax * 8),
    frontierMax,
    nearby: take((edges + gatheredTogether) * 4),
    choices: take(edges * 8),
    spare: take(Math.max(edges, efMax) * 4),
    changes: take((efMax + 1) * 4),
    list: take(insertedTogether * 4),
    foundRows: take(efMax * 4),
    foundDistances: take(efMax * 4),
    bytes: places.end,
  }
}

/**
 * Write the parameters of the kernel, and mark all rows as not visited. `shared`: null if only one thread uses the
 * graph.
 */
export function fillScratch(
  buffer: ArrayBufferLike,
  shape: GraphShape,
  places: GraphPlaces,
  scratch: Scratch,
  shared: SharedPlaces | null,
): void {
  const { kind, stride, m, rows, levels } = shape
  new Uint8Array(buffer, scratch.levels, rows).set(levels)
  new Uint16Array(buffer, scratch.visited, rows).fill(0)
  const known = {
    ...places,
    ...scratch,
    kind: kindNumber[kind],
    stride,
    m,
    rows,
    touch: rows * stride > minPrefetchBytes ? 1 : 0,
    epoch: 0,
    measured: 0,
    entryRow: 0,
    entryLevel: 0,
    locks: shared?.locks ?? 0,
    entryAt: 0,
    factor: 0,
    more: 0,
    watched: 0,
    late: 0,
    least: 0,
    most: 0,
    ended: 0,
  }
  const block = new Uint32Array(buffer, scratch.block, words)
  for (const [word, at] of Object.entries(Word)) block[at] = known[word as keyof typeof Word]
}
