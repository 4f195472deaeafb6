/**
 * A navigable graph over vectors in an arena (HNSW: Malkov & Yashunin, arXiv 1603.09320), by squared Euclidean distance. Rows are nodes;
 * each has up to `2m` edges on the lowest level and `m` on each level above that it is on. Insertion and walk are one call
 * of the kernel for many rows; the plain twin is in `graph-plain.ts`.
 *
 * Several graphs may share one `Graph`, each with an entry of its own: rows inserted from one entry never meet those of another.
 *
 * Several threads may insert into one graph, and walk in it meanwhile: each with a `Graph` of its own over the same places of one
 * shared arena, but for the scratch. Which edges there are then depends on who came first.
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

/** Where walks begin: changes as rows are inserted. -1: nothing is inserted yet. */
export interface Entry {
  row: number
  level: number
}

/** What a walk found, in the arena: valid until the next call. */
export interface Walked {
  readonly found: number
  /** Nodes whose distance was computed. */
  readonly measured: number
  readonly ended: WalkEnding
}

/**
 * Why a walk ended. `settled`: as it should. `emptied`: it came upon no further node before it was settled. `spent`: it measured as
 * many as it may.
 */
export type WalkEnding = (typeof walkEndings)[number]

/** As numbered in `wasm/graph.ts`. */
const walkEndings = ['settled', 'emptied', 'spent'] as const

/**
 * When a walk has gone far enough whose end is not decided by what it keeps: when the nearest nodes no longer change. All numbers of nodes
 * are counted from where the walk begins, without those it was told to begin from.
 */
export interface WalkRule {
  /** It measures so many times what it had measured when the watched nodes last changed, */
  readonly factor: number
  /** and so many more. */
  readonly more: number
  /** The nearest nodes that are watched; */
  readonly watched: number
  /** so many of them may change late, fewer than a walk may keep. */
  readonly late: number
  /** Nodes to be kept before it ends, at least 1, all nearer than what it has yet to go on from. */
  readonly least: number
  /** Nodes measured at most. */
  readonly most: number
}

const noSeeds = new Uint32Array(0)
/** Ends a walk when it keeps the nearest of all that it came upon. */
const byWidth: WalkRule = { factor: 0, more: 0, watched: 0, late: 0, least: 0, most: 0 }

/** Which rows are nodes: of rows with equal vectors, one. */
export interface Nodes {
  /** By row: the node that stands for it; `noNode` where it is not in the graph. */
  readonly nodeOf: Uint32Array
  readonly count: number
  /** Rows that another one stands for. */
  readonly twins: Uint32Array
}

export const noNode = 0xffff_ffff

export interface GraphSizes {
  readonly links: number
  readonly upperLinks: number
  readonly upperStarts: number
  readonly scratch: number
}

/** Levels above the lowest for each row: as the paper draws them with 1/ln(m), from the row's number alone, so that a graph is the same wherever it is built. */
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

/** Bytes of each place but the vectors. */
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

/** Bytes of what threads share that insert into `graphs` graphs. */
export function sharedSizes(graphs: number): { readonly locks: number; readonly entries: number } {
  return { locks: locksShared * 4, entries: graphs * 8 }
}

export class Graph {
  /**
   * Where the query of the next walks goes: padded elements as the rows have them (pq: `parts x 256` float32s, the table of distances, none
   * of them negative).
   */
  readonly query: Uint8Array

  /** Where the allowed rows of the next walks go: a bit for each row, as `Bitset.words` has them. */
  readonly allowed: Uint32Array

  /** The same for nodes: a node is allowed where one of the rows with its vector is. Where no vectors are equal, it is `allowed`. */
  readonly allowedNodes: Uint32Array

  readonly #buffer: ArrayBufferLike
  readonly #shape: GraphShape
  readonly #links: number
  readonly #scratch: Scratch
  readonly #block: Uint32Array
  readonly #blockFloats: Float32Array
  readonly #kernel: GraphKernel
  /** Null: no other thread knows the arena. */
  readonly #shared: SharedPlaces | null

  /**
   * `fresh`: writes `upperStarts`, which follow from the levels alone; else they are there. Lists are written when their row is inserted:
   * those of rows that never are stay as they are, zeros in a new arena. `shared`: for a shared arena, and for no other.
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
   * Inserts `count` rows that follow each other, with `efConstruction` candidates and edges chosen by the heuristic of the paper (kept pruned ones fill up).
   * A hundred rows take some ten milliseconds: who inserts many calls often, and yields.
   */
  insert(firstRow: number, count: number, entry: Entry, efConstruction: number): void {
    this.insertRows(
      Uint32Array.from({ length: count }, (_, i) => firstRow + i),
      entry,
      efConstruction,
    )
  }

  /** The same for rows that do not follow each other. A row is inserted once. */
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
   * The same beside other threads, from the entry of that number at `SharedPlaces.entries`. When all are done, one of them calls
   * `join` with all rows: until then those are not found that are equal to others.
   */
  insertBeside(rows: Uint32Array, entry: number, efConstruction: number): void {
    assert(this.#shared !== null, 'a graph of one thread')
    this.#insert(rows, this.#shared.entries + 8 * entry, efConstruction)
  }

  /** Makes rows that `insertBeside` has inserted findable that are equal to others, while no thread inserts. A thousand take less than a millisecond. */
  join(rows: Uint32Array): void {
    assert(this.#shared !== null, 'a graph of one thread')
    const kernel = this.#kernel as SharedKernel
    this.#inLists(rows, (list, count) => kernel.graphJoin(this.#scratch.block, list, count))
  }

  #insert(rows: Uint32Array, entryAt: number, efConstruction: number): void {
    assert(this.#shape.kind !== 'pq', 'a graph cannot be made by codes')
    this.#checkWidth(efConstruction)
    const { block } = this.#scratch
    this.#block[Word.entryAt] = entryAt
    this.#inLists(rows, (list, count) => this.#kernel.graphInsert(block, list, count, efConstruction))
  }

  /** Lays as many rows at a time as there is room for where the kernel finds them. */
  #inLists(rows: Uint32Array, call: (list: number, count: number) => void): void {
    const { list } = this.#scratch
    for (let at = 0; at < rows.length; at += insertedTogether) {
      const some = rows.subarray(at, at + insertedTogether)
      new Uint32Array(this.#buffer, list, some.length).set(some)
      call(list, some.length)
    }
  }

  /**
   * The likely nearest rows to the query, at most `k` of the `width` nodes that a walk from `entries` and `seeds` keeps (width >= k; rows with equal
   * vectors count as one). `seeds`: nodes; where `filtered`, allowed ones. `filtered`: only rows whose bit in `allowed` is set are found. Other nodes
   * are measured where many of the nodes around are allowed, and as entries. Elsewhere the walk finds allowed nodes behind an excluded one, but needs
   * seeds where excluded nodes lie between allowed ones.
   */
  walk(
    entries: readonly Entry[],
    width: number,
    k: number,
    filtered: boolean,
    seeds: Uint32Array = noSeeds,
    rule: WalkRule = byWidth,
  ): Walked {
    this.#checkWidth(width)
    assert(k <= width, `${k} rows of ${width} candidates`)
    assert(rule.late <= width, `${rule.late} late rows of ${width} candidates`)
    this.#lay(rule)
    const { block, query, foundRows, foundDistances } = this.#scratch
    const kernel = this.#kernel
    kernel.graphOpen(block, width, filtered)
    for (const { row, level } of entries) if (row >= 0) kernel.graphEnter(query, row, level)
    this.#inLists(seeds, (list, count) => kernel.graphSeed(query, list, count))
    const found = kernel.graphClose(block, query, k, foundRows, foundDistances)
    return { found, measured: this.#block[Word.measured]!, ended: walkEndings[this.#block[Word.ended]!]! }
  }

  #lay({ factor, more, watched, late, least, most }: WalkRule): void {
    const block = this.#block
    this.#blockFloats[Word.factor] = factor
    block[Word.more] = more
    block[Word.watched] = watched
    block[Word.late] = late
    block[Word.least] = least
    block[Word.most] = most
  }

  /** Which rows are nodes. A million rows take some ten milliseconds. `entries`: those of all graphs that share the rows. */
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

  /** Of the last walk: rows, nearest first (ties by row). A view: copy what is kept. */
  rows(found: number): Uint32Array {
    return new Uint32Array(this.#buffer, this.#scratch.foundRows, found)
  }

  /** Of the last walk: the distances that go with `rows`. */
  distances(found: number): Float32Array {
    return new Float32Array(this.#buffer, this.#scratch.foundDistances, found)
  }

  #checkWidth(ef: number): void {
    assert(
      ef >= 1 && ef <= this.#shape.efMax,
      `${ef} candidates, where 1 to ${this.#shape.efMax} may be kept`,
    )
  }
}

/** A number below 2^32 from another: its bits are as if drawn (the finalizer of MurmurHash3). */
function scatter(row: number): number {
  let bits = row + 0x9e3779b9
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
