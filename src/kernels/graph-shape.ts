/**
 * The layout of a graph in memory, which the kernel (`wasm/graph.ts`) and the reference implementation
 * (`graph-plain.ts`) share.
 *
 * A list is a u32 head, followed by room for u32 edges; unused edges are zeros. The lower half of the head is the
 * number of edges.
 *
 * Rows with equal vectors ("twins") form one node. Otherwise a crowd of equal rows would be each other's only
 * neighbours, and no walk would leave the crowd. Their lowest lists are linked:
 *
 * - The first of the rows has the edges. If it has twins, bit 31 of the head is set, and the first edge is the first twin.
 * - The list of a twin has a head of 0, followed by the next twin. The last twin is followed by itself.
 * - In the list of the first twin, the last twin comes after that.
 */
import { Places } from './arena.js'

/** The elements of vectors: float32s; bytes; or codes of product quantization, which can be walked but not inserted. */
export type NodeKind = 'f32' | 'u8' | 'pq'

/** The parameters that determine the size of a graph. */
export interface GraphShape {
  readonly kind: NodeKind
  /** Bytes from one vector to the next: a multiple of 64 (f32) or 16 (u8), padded with zeros. pq: parts per vector. */
  readonly stride: number
  /** The most rows. */
  readonly rows: number
  /** Edges per level, 2 .. 16,383. */
  readonly m: number
  /** Levels of each row above the lowest, as returned by `levelsOf`. */
  readonly levels: Uint8Array
  /** The most candidates that a walk or an insertion keeps. */
  readonly efMax: number
}

/** Addresses of a graph: sections that are stored, and scratch that is not. */
export interface GraphPlaces {
  /** `rows` vectors. The caller writes a vector before it inserts the row. */
  readonly vectors: number
  /** `1 + 2m` u32s per row: its lowest list. */
  readonly links: number
  /** For each row with levels above the lowest, its lists of level 1, 2 ..: `1 + m` u32s each. */
  readonly upperLinks: number
  /** A u32 per row: the start of its upper links, in u32s from `upperLinks`. Unused for rows without upper levels. */
  readonly upperStarts: number
  readonly scratch: number
}

/** Data shared by the threads that insert into one graph. Each thread has scratch of its own. */
export interface SharedPlaces {
  /** `locksShared` u32s, initially zeros. */
  readonly locks: number
  /** For each graph that shares the rows two u32s: row and level of its entry. */
  readonly entries: number
}

/** Must equal LOCKS of `wasm/graph.ts`. */
export const locksShared = 4096

/** Mask of the number of edges in a head. */
export const endOfCount = 0xffff

/** The most rows that one call of the kernel inserts or starts from. */
export const insertedTogether = 1024

/** Rows that a walk through excluded rows gathers before it measures them, in addition to those of one list. */
export const gatheredTogether = 512

/**
 * The smallest capacity of the frontier: rows that a walk has yet to expand. When it is full, the walk forgets the
 * farther half.
 */
const minFrontier = 16_384

/** Fewer bytes of vectors stay in the cache of the core. Prefetching them costs more than it saves. */
const minPrefetchBytes = 2 ** 22

/** Addresses in the scratch. */
export interface Scratch {
  /** u32s, in the order of `Word`. */
  readonly block: number
  /** A u8 per row. */
  readonly levels: number
  /** A u16 per row: the epoch in which it was visited last. Each search of a level has an epoch. */
  readonly visited: number
  readonly allowed: number
  /** The same for nodes: whether one of the rows with the node's vector is allowed. */
  readonly allowedNodes: number
  readonly query: number
  /** Keys of `efMax` rows. */
  readonly kept: number
  readonly frontier: number
  /** The most keys in the frontier. */
  readonly frontierMax: number
  readonly nearby: number
  readonly choices: number
  readonly spare: number
  /** The counts of measured nodes at the last changes of the watched rows. */
  readonly changes: number
  /** Rows to insert, or to start from. */
  readonly list: number
  readonly foundRows: number
  readonly foundDistances: number
  readonly bytes: number
}

/** Words of the block: parameters of the kernel, and from `epoch` on also state that it keeps for the next call. */
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

/** Numbered as in `wasm/graph.ts`. */
const kindNumber: Readonly<Record<NodeKind, number>> = { f32: 0, u8: 1, pq: 2 }

/** Assign the addresses of a graph's scratch, from `at` on. */
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

/** Write the parameters of the kernel, and clear its marks. */
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
