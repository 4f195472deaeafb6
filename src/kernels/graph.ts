/**
 * A navigable graph over vectors in an arena (HNSW: Malkov & Yashunin, arXiv 1603.09320), by squared Euclidean
 * distance. Rows are nodes. Each has up to `2m` edges on the lowest level, and `m` on each of its levels above. One
 * kernel call inserts many rows, or does a whole walk. The reference implementation is in `graph-plain.ts`.
 *
 * Several graphs may share one `Graph`, each with an entry of its own: rows inserted from one entry never meet those of
 * another.
 *
 * Several threads may insert into one graph and walk in it meanwhile. Each thread has a `Graph` of its own over the
 * same addresses of one shared arena, except for the scratch. The resulting edges then depend on the timing.
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

/** Where walks start. Changes as rows are inserted. A row of -1 means that nothing is inserted yet. */
export interface Entry {
  row: number
  level: number
}

/** The result of a walk. The rows are in the arena, valid until the next call. */
export interface Walked {
  readonly found: number
  /** Nodes whose distance was computed. */
  readonly measured: number
  readonly ended: WalkEnding
}

/**
 * Why a walk ended. `settled`: normally. `emptied`: there was no further node before the walk settled. `spent`: it
 * measured the most nodes allowed.
 */
type WalkEnding = (typeof walkEndings)[number]

/** Numbered as in `wasm/graph.ts`. */
const walkEndings = ['settled', 'emptied', 'spent'] as const

/**
 * When a walk ends that is not bounded by its width: when the nearest nodes no longer change. Counts of nodes start
 * with the walk, after the nodes from which it starts.
 */
export interface WalkRule {
  /** The walk measures at least `factor` times the count at the last change of the watched nodes, plus `more` nodes. */
  readonly factor: number
  /** Nodes to measure in addition; see `factor`. */
  readonly more: number
  /** The number of nearest nodes that are watched. */
  readonly watched: number
  /** This many changes of watched nodes may come later. Less than the width of the walk. */
  readonly late: number
  /** The walk must keep at least this many nodes, at least 1, all nearer than the rest of the frontier. */
  readonly least: number
  /** The most nodes that the walk measures. */
  readonly most: number
}

const noSeeds = new Uint32Array(0)
/** Ends a walk when it keeps the nearest of all nodes that it found. */
const widthRule: WalkRule = { factor: 0, more: 0, watched: 0, late: 0, least: 0, most: 0 }

/** Which rows are nodes: one of each set of rows with equal vectors. */
export interface Nodes {
  /** The node of each row; `noNode` if the row is not in the graph. */
  readonly nodeOf: Uint32Array
  readonly count: number
  /** Rows that another row represents. */
  readonly twins: Uint32Array
}

/** Marks a row that is not in the graph. */
export const noNode = 0xffff_ffff

/** Bytes of each section of a graph, except the vectors. */
interface GraphSizes {
  readonly links: number
  readonly upperLinks: number
  readonly upperStarts: number
  readonly scratch: number
}

/**
 * Return the number of levels above the lowest for each row, distributed as in the paper with 1/ln(m). They depend only
 * on the row number, so a graph is the same wherever it is built.
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

/** Return the bytes of each section except the vectors. */
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

/** Return the bytes of the data that threads share when they insert into `graphs` graphs. */
export function sharedSizes(graphs: number): { readonly locks: number; readonly entries: number } {
  return { locks: locksShared * 4, entries: graphs * 8 }
}

/** A graph in an arena. One walk or insertion at a time per `Graph`. */
export class Graph {
  /**
   * The query of the next walks: elements padded like the rows (pq: `parts x 256` float32s, the table of distances,
   * none of them negative).
   */
  readonly query: Uint8Array

  /** The allowed rows of the next walks: one bit per row, as in `Bitset.words`. */
  readonly allowed: Uint32Array

  /**
   * The allowed nodes: a node is allowed if one of the rows with its vector is. Equal to `allowed` if no vectors are
   * equal.
   */
  readonly allowedNodes: Uint32Array

  readonly #buffer: ArrayBufferLike
  readonly #shape: GraphShape
  readonly #links: number
  readonly #scratch: Scratch
  readonly #block: Uint32Array
  readonly #blockFloats: Float32Array
  readonly #kernel: GraphKernel
  /** Null if no other thread uses the arena. */
  readonly #shared: SharedPlaces | null

  /**
   * `fresh`: write `upperStarts`, which depend only on the levels; otherwise they exist. Lists are written when their
   * row is inserted. Lists of rows that are never inserted stay unchanged, zeros in a new arena. `shared`: required for
   * a shared arena, null otherwise.
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
   * Insert `count` consecutive rows with `efConstruction` candidates. Edges are chosen by the heuristic of the paper;
   * free places are filled with the nearest of the other candidates. A hundred rows take some ten milliseconds, so
   * insert many rows in several calls, and yield between them.
   */
  insert(firstRow: number, count: number, entry: Entry, efConstruction: number): void {
    this.insertRows(
      Uint32Array.from({ length: count }, (_, i) => firstRow + i),
      entry,
      efConstruction,
    )
  }

  /** Like `insert`, for rows that are not consecutive. A row must be inserted only once. */
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
   * Like `insertRows`, concurrently with other threads, from entry number `entry` at `SharedPlaces.entries`. When all
   * threads are done, one of them calls `join` with all rows. Until then, walks do not find rows whose vectors equal
   * those of other rows.
   */
  insertBeside(rows: Uint32Array, entry: number, efConstruction: number): void {
    assert(this.#shared !== null, 'a graph of one thread')
    this.#insert(rows, this.#shared.entries + 8 * entry, efConstruction)
  }

  /**
   * Make rows with equal vectors findable after `insertBeside`, while no thread inserts. A thousand rows take less than
   * a millisecond.
   */
  join(rows: Uint32Array): void {
    assert(this.#shared !== null, 'a graph of one thread')
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

  /** Copy the rows to the kernel in parts, and call it for each part. */
  #inLists(rows: Uint32Array, call: (list: number, count: number) => void): void {
    const { list } = this.#scratch
    for (let at = 0; at < rows.length; at += insertedTogether) {
      const some = rows.subarray(at, at + insertedTogether)
      new Uint32Array(this.#buffer, list, some.length).set(some)
      call(list, some.length)
    }
  }

  /**
   * Return the likely nearest rows to the query: at most `k` of the `width` nodes that a walk from `entries` and
   * `seeds` keeps (width >= k; rows with equal vectors count as one). `seeds`: nodes to start from; if `filtered`, only
   * allowed ones. `filtered`: return only rows whose bit in `allowed` is set. Excluded nodes are measured as entries,
   * and where many nodes around are allowed. Elsewhere the walk finds allowed nodes behind one excluded node, but needs
   * seeds to get past several excluded nodes.
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
   * Return which rows are nodes. A million rows take some ten milliseconds. `entries`: the entries of all graphs that
   * share the rows.
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
      // Only an entry may have no edges.
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

  /** Return the rows of the last walk, nearest first (ties by row). A view, valid until the next call. */
  rows(found: number): Uint32Array {
    return new Uint32Array(this.#buffer, this.#scratch.foundRows, found)
  }

  /** Return the distances of `rows`, of the last walk. A view, valid until the next call. */
  distances(found: number): Float32Array {
    return new Float32Array(this.#buffer, this.#scratch.foundDistances, found)
  }

  #checkWidth(ef: number): void {
    assert(ef >= 1 && ef <= this.#shape.efMax, `${ef} candidates, allowed are 1 to ${this.#shape.efMax}`)
  }
}

/** Hash a row number to a number below 2^32 with random-looking bits (the finalizer of MurmurHash3). */
function scatter(row: number): number {
  let bits = row + 0x9e3779b9
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
