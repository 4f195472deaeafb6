/**
 * Graph index over vectors in an arena (HNSW: Malkov & Yashunin, arXiv 1603.09320), by squared Euclidean distance. A
 * node is a row, or several rows with equal vectors. It has up to `2m` edges on the lowest level, and up to `m` edges
 * on each of its higher levels. A search in the graph is called a walk. One kernel call inserts many rows or does a
 * whole walk. The reference implementation is in `graph-plain.ts`.
 *
 * A `Graph` object may contain several separate graphs, each with its own entry. Rows that are inserted from different
 * entries are never connected.
 *
 * Several threads may concurrently insert into a graph and walk in it. Each thread has its own `Graph` object. These
 * objects use the same addresses in a shared arena, but each has its own scratch. The resulting edges then depend on
 * the timing of the threads.
 */
import { assert } from '../errors.js'
import type { GraphArena } from './arena.js'
import { PlainGraph } from './graph-plain.js'
import {
  endOfCount,
  fillScratch,
  type GraphPlaces,
  type GraphShape,
  insertedTogether,
  layScratch,
  locksShared,
  type Scratch,
  type SharedPlaces,
  Word,
} from './graph-shape.js'
import type { GraphKernel, SharedKernel } from './kernel.js'

export type { GraphPlaces, GraphShape, NodeKind, SharedPlaces } from './graph-shape.js'

/** The row from which walks in a graph start. Inserting rows changes it. */
export interface Entry {
  /** Row number. -1: the graph has no rows yet. */
  row: number
  level: number
}

/** The result of a walk. `Graph.rows` and `Graph.distances` return the rows, until the next call. */
export interface Walked {
  /** Number of rows found. */
  readonly found: number
  /** Number of nodes whose distance was computed. */
  readonly measured: number
  readonly ended: WalkEnding
}

/**
 * The reason why a walk ended. `settled`: the rule that ends the walk was fulfilled. `emptied`: there were no more nodes
 * to visit. `spent`: the walk had measured its maximum number of nodes.
 */
type WalkEnding = (typeof walkEndings)[number]

/** The endings in the order of their numbers in `wasm/graph.ts`. */
const walkEndings = ['settled', 'emptied', 'spent'] as const

/**
 * The rule that ends a walk: the nearest nodes no longer change. The rule counts the nodes that the walk has measured,
 * without the nodes from which it starts.
 */
export interface WalkRule {
  /** The walk must measure at least `factor` times the count at the last change of the watched nodes, plus `more`. */
  readonly factor: number
  /** See `factor`. */
  readonly more: number
  /** Number of nearest nodes whose changes the rule watches. */
  readonly watched: number
  /** Number of the last changes that the rule ignores. It must not exceed the width of the walk. */
  readonly late: number
  /**
   * Minimum number of kept nodes, at least 1. The rule does not end the walk before this many kept nodes are nearer
   * than all nodes that the walk has not expanded yet.
   */
  readonly least: number
  /** Maximum number of nodes that the walk measures. */
  readonly most: number
}

const noSeeds = new Uint32Array(0)
/**
 * The rule of the paper: a walk ends when all nodes that it has not expanded are farther than the `width` kept nodes.
 */
const widthRule: WalkRule = { factor: 0, more: 0, watched: 0, late: 0, least: 0, most: 0 }

/** The nodes of a graph. Of several rows with equal vectors, one row represents the node. */
export interface Nodes {
  /** By row: the row that represents its node. `noNode` if the row is not in the graph. */
  readonly nodeOf: Uint32Array
  /** Number of nodes. */
  readonly count: number
  /** Rows whose node is represented by another row. */
  readonly twins: Uint32Array
}

/** Marks a row that is not in the graph. */
export const noNode = 0xffff_ffff

/** The sizes of the sections of a graph in bytes, except the vectors. */
interface GraphSizes {
  readonly links: number
  readonly upperLinks: number
  readonly upperStarts: number
  readonly scratch: number
}

/**
 * Return, for each row, the number of levels above the lowest level. The paper defines the distribution; its factor is
 * 1/ln(m). The number depends only on the row number, so that the same rows give the same graph on every machine.
 */
export function levelsOf(firstRow: number, rows: number, m: number): Uint8Array {
  const levels = new Uint8Array(rows)
  for (let i = 0; i < rows; i++) {
    const drawn = scatter(firstRow + i)
    for (let bound = 2 ** 32 / m; drawn < bound; bound /= m) {
      if (bound < 1) break
      levels[i]!++
    }
  }
  return levels
}

/** Return the sizes of the sections of a graph in bytes, except the vectors. */
export function graphSizes(shape: GraphShape): GraphSizes {
  let upper = 0
  for (const levels of shape.levels) upper += levels
  return {
    links: shape.rows * (1 + 2 * shape.m) * 4,
    upperLinks: upper * (1 + shape.m) * 4,
    upperStarts: shape.rows * 4,
    scratch: layScratch(shape, 0).bytes,
  }
}

/** Return the sizes in bytes of the data that threads share when they insert into `graphs` graphs (`SharedPlaces`). */
export function sharedSizes(graphs: number): { readonly locks: number; readonly entries: number } {
  return { locks: locksShared * 4, entries: graphs * 8 }
}

/** A graph in an arena. Calls are synchronous, so a `Graph` runs only one walk or insertion at a time. */
export class Graph {
  /**
   * The query of the next walks, which the caller writes. It is padded like the rows. For pq it is the table of
   * distances: 256 float32s per part, none of them negative.
   */
  readonly query: Uint8Array

  /** The allowed rows of the next filtered walks, which the caller writes: one bit per row, as in `Bitset.words`. */
  readonly allowed: Uint32Array

  /**
   * The allowed nodes of the next filtered walks, which the caller writes: one bit per row that represents a node. A
   * node is allowed if at least one of the rows with its vector is allowed. If no vectors are equal, `allowedNodes` has
   * the same bits as `allowed`.
   */
  readonly allowedNodes: Uint32Array

  readonly #buffer: ArrayBufferLike
  readonly #shape: GraphShape
  readonly #links: number
  readonly #scratch: Scratch
  readonly #block: Uint32Array
  readonly #blockFloats: Float32Array
  readonly #kernel: GraphKernel
  /** Addresses of the data that threads share. Null if no other thread uses the arena. */
  readonly #shared: SharedPlaces | null

  /**
   * `fresh`: whether to write `upperStarts`, which depends only on the levels; false if it is already written.
   * `shared`: the data that threads share; null if only one thread uses the arena.
   *
   * The lists of a row are written when it is inserted. The lists of other rows stay as they are. In a new arena they
   * are zeros.
   */
  constructor(
    arena: GraphArena,
    shape: GraphShape,
    places: GraphPlaces,
    fresh: boolean,
    shared: SharedPlaces | null = null,
  ) {
    const { buffer } = arena
    const scratch = layScratch(shape, places.scratch)
    assert(shape.levels.length === shape.rows, `levels of ${shape.levels.length} rows for ${shape.rows}`)
    if (fresh) {
      const starts = new Uint32Array(buffer, places.upperStarts, shape.rows)
      let start = 0
      for (let row = 0; row < shape.rows; row++) {
        starts[row] = start
        start += shape.levels[row]! * (1 + shape.m)
      }
    }
    fillScratch(buffer, shape, places, scratch, shared)
    this.#shared = shared
    this.#buffer = buffer
    this.#shape = shape
    this.#links = places.links
    this.#scratch = scratch
    this.#block = new Uint32Array(buffer, scratch.block, Object.keys(Word).length)
    this.#blockFloats = new Float32Array(buffer, scratch.block, this.#block.length)
    this.#kernel = arena.kernel ?? new PlainGraph(buffer, shape, places, scratch)
    this.query = new Uint8Array(
      buffer,
      scratch.query,
      shape.kind === 'pq' ? shape.stride * 1024 : shape.stride,
    )
    this.allowed = new Uint32Array(buffer, scratch.allowed, Math.ceil(shape.rows / 32))
    this.allowedNodes = new Uint32Array(buffer, scratch.allowedNodes, this.allowed.length)
  }

  /**
   * Insert `count` consecutive rows. `efConstruction`: number of candidates for the edges of a row. The heuristic of
   * the paper chooses the edges. If it chooses fewer than a list can have, the nearest of the other candidates are
   * added.
   *
   * 100 rows take about 10 ms, so callers insert many rows in several calls and let the event loop run between them.
   */
  insert(firstRow: number, count: number, entry: Entry, efConstruction: number): void {
    this.insertRows(
      Uint32Array.from({ length: count }, (_, i) => firstRow + i),
      entry,
      efConstruction,
    )
  }

  /** Insert rows that need not be consecutive, like `insert`. Each row must be inserted only once. */
  insertRows(rows: Uint32Array, entry: Entry, efConstruction: number): void {
    const block = this.#block
    block[Word.entryRow] = entry.row
    block[Word.entryLevel] = entry.level
    this.#insert(rows, this.#scratch.block + Word.entryRow * 4, efConstruction)
    if (this.#shared !== null) this.join(rows)
    entry.row = block[Word.entryRow]! | 0
    entry.level = block[Word.entryLevel]! | 0
  }

  /**
   * Insert rows like `insertRows`, concurrently with other threads. `entry`: number of the entry at
   * `SharedPlaces.entries`. When all threads are done, one of them must call `join` with all rows. Before that, a walk
   * does not find a row with the same vector as an earlier row.
   */
  insertBeside(rows: Uint32Array, entry: number, efConstruction: number): void {
    assert(this.#shared !== null, 'only graphs that threads share have insertBeside')
    this.#insert(rows, this.#shared.entries + 8 * entry, efConstruction)
  }

  /**
   * Link rows with equal vectors after `insertBeside`, so that walks find them. No thread may insert at the same time.
   * 1,000 rows take less than 1 ms.
   */
  join(rows: Uint32Array): void {
    assert(this.#shared !== null, 'only graphs that threads share have join')
    const kernel = this.#kernel as SharedKernel
    this.#inLists(rows, (list, count) => kernel.graphJoin(this.#scratch.block, list, count))
  }

  #insert(rows: Uint32Array, entryAt: number, efConstruction: number): void {
    assert(this.#shape.kind !== 'pq', 'rows of codes cannot be inserted into a graph')
    this.#checkWidth(efConstruction)
    const { block } = this.#scratch
    this.#block[Word.entryAt] = entryAt
    this.#inLists(rows, (list, count) => this.#kernel.graphInsert(block, list, count, efConstruction))
  }

  /** Copy rows to the list in the scratch, at most `insertedTogether` at a time, and run `call` for each list. */
  #inLists(rows: Uint32Array, call: (list: number, count: number) => void): void {
    const { list } = this.#scratch
    for (let at = 0; at < rows.length; at += insertedTogether) {
      const some = rows.subarray(at, at + insertedTogether)
      new Uint32Array(this.#buffer, list, some.length).set(some)
      call(list, some.length)
    }
  }

  /**
   * Find at most `k` rows that are probably the nearest to the query.
   *
   * `entries`: entries from which the walk starts. `width`: number of nearest nodes that the walk keeps, at least `k`.
   * `filtered`: whether only rows whose bit in `allowed` is set are returned. `seeds`: other nodes from which the walk
   * starts; if `filtered`, they must be allowed. `rule`: the rule that ends the walk; default: the rule of the paper.
   *
   * A filtered walk measures excluded nodes only if they are entries, or if many neighbours of a node are allowed.
   * Elsewhere it continues to the allowed neighbours of an excluded neighbour. It needs seeds to get past several
   * excluded nodes in a row.
   */
  walk(
    entries: readonly Entry[],
    width: number,
    k: number,
    filtered: boolean,
    seeds: Uint32Array = noSeeds,
    rule: WalkRule = widthRule,
  ): Walked {
    this.#checkWidth(width)
    assert(k <= width, `k is ${k}, more than the ${width} candidates`)
    assert(rule.late <= width, `late is ${rule.late}, more than the ${width} candidates`)
    this.#writeRule(rule)
    const { block, query, foundRows, foundDistances } = this.#scratch
    const kernel = this.#kernel
    kernel.graphOpen(block, width, filtered)
    for (const { row, level } of entries) if (row >= 0) kernel.graphEnter(query, row, level)
    this.#inLists(seeds, (list, count) => kernel.graphSeed(query, list, count))
    const found = kernel.graphClose(block, query, k, foundRows, foundDistances)
    return { found, measured: this.#block[Word.measured]!, ended: walkEndings[this.#block[Word.ended]!]! }
  }

  #writeRule({ factor, more, watched, late, least, most }: WalkRule): void {
    const block = this.#block
    this.#blockFloats[Word.factor] = factor
    block[Word.more] = more
    block[Word.watched] = watched
    block[Word.late] = late
    block[Word.least] = least
    block[Word.most] = most
  }

  /**
   * Return the nodes. A million rows take tens of milliseconds. `entries`: the entries of all graphs in this object.
   */
  nodes(entries: readonly Entry[]): Nodes {
    const { rows, m } = this.#shape
    const words = new Uint32Array(this.#buffer, this.#links, rows * (1 + 2 * m))
    const nodeOf = new Uint32Array(rows).fill(noNode)
    const twins: number[] = []
    let count = 0
    for (const { row } of entries) if (row >= 0) nodeOf[row] = row
    for (let row = 0; row < rows; row++) {
      const list = row * (1 + 2 * m)
      const head = words[list]!
      // Rows without edges are twins, or not in the graph. The only exception is an entry.
      if ((head & endOfCount) === 0 && nodeOf[row] !== row) continue
      nodeOf[row] = row
      count++
      if (head >>> 31 === 0) continue
      for (let twin = words[list + 1]!, last = -1; twin !== last; ) {
        nodeOf[twin] = row
        twins.push(twin)
        last = twin
        twin = words[twin * (1 + 2 * m) + 1]!
      }
    }
    return { nodeOf, count, twins: Uint32Array.from(twins) }
  }

  /**
   * Return the `found` rows of the last walk, sorted by (distance, row). The result is a view, which the next call
   * overwrites.
   */
  rows(found: number): Uint32Array {
    return new Uint32Array(this.#buffer, this.#scratch.foundRows, found)
  }

  /**
   * Return the distances of the rows of the last walk, in the order of `rows`. The result is a view, which the next
   * call overwrites.
   */
  distances(found: number): Float32Array {
    return new Float32Array(this.#buffer, this.#scratch.foundDistances, found)
  }

  #checkWidth(ef: number): void {
    assert(
      ef >= 1 && ef <= this.#shape.efMax,
      `the number of candidates must be from 1 to ${this.#shape.efMax}, got ${ef}`,
    )
  }
}

/** Hash a row number to a pseudorandom number below 2^32 (the finalizer of MurmurHash3). */
function scatter(row: number): number {
  let bits = row + 0x9e3779b9
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
