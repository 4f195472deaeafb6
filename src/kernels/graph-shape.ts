/**
 * What a graph is made of, and where it lies; the kernel (`wasm/graph.ts`) and the plain twin (`graph-plain.ts`) know it the same.
 *
 * A list is a u32 head and room for u32 edges, zeros where there are none. The lower half of the head is how many there are.
 *
 * Rows with equal vectors are one node, or a crowd of them would be each other's only neighbours, and walks would drown in it. The
 * first of them has the edges; bit 31 of the head of its lowest list says that it has twins, and the first edge is the first twin.
 * The lowest list of a twin begins with a 0 and the next twin, the last with itself; that of the first has the last twin behind.
 */
import { Places } from './arena.js'

/** What the vectors of the nodes are made of: float32s; bytes; or codes of product quantization (walked only, never inserted). */
export type NodeKind = 'f32' | 'u8' | 'pq'

export interface GraphShape {
  readonly kind: NodeKind
  /** Bytes from one vector to the next: a multiple of 64 (f32) or 16 (u8), zeros behind the elements; pq: parts of a vector. */
  readonly stride: number
  /** Rows there is room for. */
  readonly rows: number
  /** 2 .. 16,383 */
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
  /** For each row `1 + 2m` u32s: its lowest list. */
  readonly links: number
  /** For each row with levels above the lowest, those of its level 1, then 2 ..: `1 + m` u32s each. */
  readonly upperLinks: number
  /** For each row a u32: where its upper links begin, counted in u32s from `upperLinks`; unused without levels. */
  readonly upperStarts: number
  readonly scratch: number
}

/** What the threads have in common that insert into one graph; each has scratch of its own. */
export interface SharedPlaces {
  /** `locksShared` u32s, zeros. */
  readonly locks: number
  /** For each graph that shares the rows two u32s: row and level of its entry. */
  readonly entries: number
}

/** Agrees with LOCKS of `wasm/graph.ts`. */
export const locksShared = 4096

/** The part of a head that says how many edges there are. */
export const endOfCount = 0xffff

/** Rows that one call of the kernel inserts at most, or begins from. */
export const insertedTogether = 1024

/** Rows that a walk through excluded rows gathers before it measures them, beside those of one list. */
export const gatheredTogether = 512

/** A walk remembers at least so many rows that it has yet to expand; when there are more, it forgets the farther half. */
const frontierLeast = 16_384

/** With fewer bytes of vectors than this they stay in a cache of our own core, and asking for them early costs more than it saves. */
const touchedFrom = 2 ** 22

/** Addresses in the scratch. */
export interface Scratch {
  /** u32s, in the order of `Word`. */
  readonly block: number
  /** A u8 for each row. */
  readonly levels: number
  /** A u16 for each row: the epoch, a number for each search of a level, in which it was visited last. */
  readonly visited: number
  readonly allowed: number
  /** The same for nodes: whether one of the rows with its vector is allowed. */
  readonly allowedNodes: number
  readonly query: number
  /** Keys of `efMax` rows. */
  readonly kept: number
  readonly frontier: number
  /** Keys there is room for in the frontier. */
  readonly frontierMax: number
  readonly nearby: number
  readonly choices: number
  readonly spare: number
  /** What had been measured when the watched rows changed, the last times. */
  readonly changes: number
  /** Rows to insert, or to begin from. */
  readonly list: number
  readonly foundRows: number
  readonly foundDistances: number
  readonly bytes: number
}

/** Words of the block: what the kernel is told with each call, and from `epoch` on what it leaves for the next. */
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

/** As numbered in `wasm/graph.ts`. */
const kindNumber: Readonly<Record<NodeKind, number>> = { f32: 0, u8: 1, pq: 2 }

export function layScratch({ kind, stride, rows, m, efMax }: GraphShape, at: number): Scratch {
  const places = new Places()
  const take = (bytes: number) => at + places.take(bytes)
  const edges = 2 * m + 1
  const frontierMax = Math.max(2, Math.min(rows, Math.max(frontierLeast, 4 * efMax)))
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

/** Writes what the kernel has to know, and clears what it marks. */
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
    touch: rows * stride > touchedFrom ? 1 : 0,
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
