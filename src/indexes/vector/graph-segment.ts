/**
 * Searches a vector segment whose partitions are graphs (HNSW). A search walks from node to node along edges. The walk
 * starts from seeds: allowed rows that are spread evenly over all allowed rows. It ends when its nearest rows no longer
 * change (saturation.ts). Without seeds, a walk might miss the nearest allowed row. The path to this row may lead
 * through thousands of excluded rows, or there may be no path.
 */
import { type GraphArena, Places } from '../../kernels/arena.js'
import { searchSegment } from '../../kernels/exact.js'
import {
  type Entry,
  type Graph,
  type GraphPlaces,
  type GraphShape,
  graphSizes,
  type Nodes,
  noNode,
  type Walked,
  type WalkRule,
} from '../../kernels/graph.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import type { Bitset } from '../../primitives/bitset.js'
import { withApart } from './apart.js'
import { candidatesFor } from './calibrate.js'
import type { NodeCodec } from './node-codec.js'
import { type Blur, enoughWork, lateRows, mostShare, usualFactors, watchedRows } from './saturation.js'
import type { Candidates, Ending, Probe, SegmentFacts, VectorIndexSegment } from './segment.js'
import { type Laid, laidIn } from './segment-memory.js'
import { placeQuery, type Space } from './space.js'

/** The effort of a walk. */
export interface WalkEffort {
  /** Minimum number of candidates that a walk keeps. */
  readonly ef: number
  /** The factor of the stopping rule of a walk (saturation.ts). Absent in old files: `usualFactors.graph`. */
  readonly factor?: number
  /** The rule for measuring candidates (saturation.ts). Absent: the default of the kind of node (`blurs`). */
  readonly blur?: Blur
}

/** The default effort of searches, which tuning chose. `SegmentFacts` has the recall of searches with this effort. */
export interface GraphEffort extends WalkEffort {
  /** The effort of searches with a filter. Absent: the effort of searches without a filter. */
  readonly filtered?: WalkEffort
  /** Number of partitions from whose entry points a walk starts, if the caller does not limit the partitions. */
  readonly probes: number
  /** Number of candidates that a search for ten rows measures first. */
  readonly candidates: number
}

/**
 * Maximum number of candidates that a walk keeps. Such a walk takes about ten milliseconds. If a query needs more
 * candidates, measuring every row is as fast.
 */
export const walkMax = 4096

/** A walk with a filter has this number of seeds times the square root of the number of passing rows. */
const seedsPerRoot = 4
/**
 * A walk without a filter starts from the entry points, and from this share of the seeds of a walk with a filter; at
 * least `leastSeeds`.
 */
const usualSeeds = 1 / 4
const leastSeeds = 512
/**
 * If the caller sets `ef`, a walk without a filter has `efSeeds * ef` seeds. A walk with a filter has `ef` seeds, at
 * least `leastEfSeeds`.
 */
const efSeeds = 1 / 8
const leastEfSeeds = 64
/**
 * Number of rows that a walk measures in addition to those that the saturation factor requires. It is `moreRows`, plus
 * `moreGaps` times the average number of passing rows per seed.
 */
const moreRows = 64
const moreGaps = 2
/**
 * A walk keeps spare candidates: `spareFactor` times the requested number, at most `mostSpare`. Then a later request
 * for more candidates needs no second walk. More spare candidates would slow down each step of the walk.
 */
const spareFactor = 3
const mostSpare = 192

/** Return the number of candidates that a walk keeps for a request of `count` candidates. */
export function keptFor(count: number): number {
  return Math.min(walkMax, count + Math.min(spareFactor * count, mostSpare))
}

/** The default rule for measuring candidates, by kind of node. */
export const blurs: Readonly<Record<NodeCodec['kind'], Blur>> = {
  f32: { factor: 1, more: 4 },
  u8: { factor: 1.5, more: 8 },
  pq: { factor: 2, more: 16 },
}

/**
 * Return the addresses of a graph in its own arena. `workerCount`: number of threads that walk in the arena, default 1.
 * `workerIndex`: the worker index of this thread, from 0 (default).
 */
export function graphPlaces(
  shape: GraphShape,
  workerCount = 1,
  workerIndex = 0,
): GraphPlaces & { readonly end: number } {
  const places = new Places()
  const sizes = graphSizes(shape)
  const vectors = places.take(shape.rows * shape.stride)
  const links = places.take(sizes.links)
  const upperLinks = places.take(sizes.upperLinks)
  const upperStarts = places.take(sizes.upperStarts)
  const scratches = Array.from({ length: workerCount }, () => places.take(sizes.scratch))
  return { vectors, links, upperLinks, upperStarts, scratch: scratches[workerIndex]!, end: places.end }
}

/** The seeds of walks with one filter. `count`: the requested number of seeds. */
interface Seeds {
  readonly allowed: Bitset | null
  readonly count: number
  readonly rows: Uint32Array
}

const empty = { ordinals: new Uint32Array(0), partitions: 0, measured: 0 }

interface GraphSegmentParts {
  readonly rows: number
  readonly space: Space
  readonly graph: Graph
  readonly arena: GraphArena
  readonly codec: NodeCodec
  readonly entries: readonly Entry[]
  /** The centroids of the partitions, `innerDim` elements each. Empty if there is only one partition. */
  readonly centroids: Float32Array
  readonly apart: Uint32Array
  readonly facts: SegmentFacts
  readonly effort: GraphEffort
}

/** An opened segment of graphs. */
export class GraphSegment implements VectorIndexSegment {
  readonly rows: number
  readonly bytes: number
  readonly facts: SegmentFacts
  readonly #space: Space
  readonly #graph: Graph
  readonly #codec: NodeCodec
  readonly #entries: readonly Entry[]
  /** Null if there is only one partition. */
  readonly #centroids: VectorSegment | null
  readonly #apart: Uint32Array
  readonly #effort: GraphEffort
  readonly #laid: Laid
  /** The nodes of the graph. The first search computes them. */
  #nodes: Nodes | null = null
  #seeds: Seeds | null = null
  /** The last search and its candidates. The caller may request more candidates of the same search. */
  #last: { readonly probe: Probe; readonly found: Candidates } | null = null

  constructor({
    rows,
    space,
    graph,
    arena,
    codec,
    entries,
    centroids,
    apart,
    facts,
    effort,
  }: GraphSegmentParts) {
    this.rows = rows
    this.facts = facts
    this.#space = space
    this.#graph = graph
    this.#codec = codec
    this.#entries = entries
    this.#apart = apart
    this.#effort = effort
    this.#laid = laidIn(arena.buffer)
    this.#centroids =
      entries.length > 1 ? VectorSegment.allocate('f32', space.innerDim, entries.length) : null
    this.#centroids?.values.set(centroids)
    this.bytes = arena.buffer.byteLength + (this.#centroids?.byteLength ?? 0) + apart.byteLength
  }

  candidatesFor(k: number): number {
    return Math.max(candidatesFor(k, this.#effort.candidates), enoughWork(this.blurFor(false), k))
  }

  blurFor(isFiltered: boolean): Blur {
    return this.#effortFor(isFiltered).blur ?? blurs[this.#codec.kind]
  }

  #effortFor(isFiltered: boolean): WalkEffort {
    return (isFiltered ? this.#effort.filtered : null) ?? this.#effort
  }

  /** Search for candidates. The search never yields to the event loop, because queries share the arena. */
  candidates(probe: Probe): Candidates {
    const { count, allowed, passing } = probe
    const last = this.#last
    const isKnown = last !== null && isSameSearch(last.probe, probe) && last.found.ordinals.length >= count
    const found = isKnown ? last.found : this.allKept(probe)
    this.#last = { probe: { ...probe, query: probe.query.slice() }, found }
    const ordinals = withApart(found.ordinals.subarray(0, count), this.#apart, count, allowed)
    const isShort = ordinals.length < Math.min(count, passing)
    return { ...found, ordinals, ended: isShort && found.ended === 'saturated' ? 'unsettled' : found.ended }
  }

  /**
   * Return all candidates that the walk for a probe keeps, including spare candidates. They do not include apart rows.
   */
  allKept({ query, k, count, allowed, passing, effort }: Probe): Candidates {
    const { ef } = effort
    const partitions = this.#entries.length
    if (ef === undefined && count > walkMax) return { ...empty, ended: 'unsettled' }
    // A query outside the space is equally far from every row, so search with any vector, for example zeros.
    const placed = placeQuery(this.#space, query) ?? new Float32Array(this.#space.innerDim)
    if (ef === undefined && this.#codec.canTell?.(placed) === false) return { ...empty, ended: 'unsettled' }
    this.#graph.query.set(this.#codec.query(placed))
    const isFiltered = allowed !== null
    const seeds = this.#seedsFor(allowed, seedCount(passing, isFiltered, ef))
    const usual = this.#effortFor(isFiltered)
    const watched = watchedRows(k)
    const width = Math.min(
      walkMax,
      ef === undefined ? Math.max(watched, keptFor(count), usual.ef) : Math.max(ef, k),
    )
    const rule =
      ef === undefined
        ? this.#rule(
            usual,
            watched,
            Math.min(width, Math.max(count, watched, Math.min(usual.ef, passing))),
            passing,
          )
        : undefined
    const most = Math.min(effort.mostPartitions ?? partitions, partitions)
    if (most < partitions) {
      const enough = Math.min(count, passing, width)
      for (let n = Math.min(effort.leastPartitions ?? most, most); ; n = Math.min(most, 2 * n)) {
        const walked = this.#graph.walk(
          this.#nearestEntries(placed, n),
          width,
          width,
          isFiltered,
          undefined,
          rule,
        )
        if (walked.found >= enough || n === most) return this.#candidatesOf(walked, n, 'limited')
      }
    }
    // With a filter, the entry points may lead into regions in which all rows are excluded. So use only the seeds.
    const entries =
      isFiltered && ef === undefined
        ? []
        : this.#nearestEntries(placed, Math.min(partitions, this.#effort.probes))
    const walked = this.#graph.walk(entries, width, width, isFiltered, seeds, rule)
    return this.#candidatesOf(
      walked,
      partitions,
      ef !== undefined ? 'limited' : walked.ended === 'settled' ? 'saturated' : 'unsettled',
    )
  }

  #rule(
    { factor = usualFactors.graph }: WalkEffort,
    watched: number,
    least: number,
    passing: number,
  ): WalkRule {
    return {
      factor,
      more: moreRows + Math.ceil((moreGaps * passing) / Math.max(1, mostSeeds(passing))),
      watched,
      late: lateRows(watched),
      least,
      most: Math.ceil(passing * mostShare),
    }
  }

  #candidatesOf({ found, measured }: Walked, partitions: number, ended: Ending): Candidates {
    return { ordinals: this.#graph.rows(found).slice(), partitions, measured, ended }
  }

  #nearestEntries(query: Float32Array, count: number): readonly Entry[] {
    if (this.#centroids === null) return this.#entries
    const { ordinals } = searchSegment(this.#centroids, query, { metric: 'l2', k: count })
    return Array.from(ordinals, partition => this.#entries[partition]!)
  }

  /** Write the allowed rows and nodes into the arena, and return the seeds. */
  #seedsFor(allowed: Bitset | null, count: number): Uint32Array {
    this.#nodes ??= this.#graph.nodes(this.#entries)
    const { nodeOf, twins } = this.#nodes
    if (allowed !== null && allowed !== this.#laid.allowed) {
      const { allowed: rows, allowedNodes } = this.#graph
      rows.set(allowed.words)
      allowedNodes.set(allowed.words)
      for (const row of twins) {
        if (allowed.has(row)) allowedNodes[nodeOf[row]! >>> 5]! |= 1 << (nodeOf[row]! & 31)
      }
      this.#laid.allowed = allowed
    }
    if (this.#seeds?.allowed !== allowed || this.#seeds.count !== count) {
      this.#seeds = { allowed, count, rows: this.#seedsAmong(allowed, count) }
    }
    return this.#seeds.rows
  }

  /** Return the nodes of `count` allowed rows that are spread evenly over all allowed rows. */
  #seedsAmong(allowed: Bitset | null, count: number): Uint32Array {
    const total = allowed?.count() ?? this.rows
    const wanted = Math.min(total, count)
    const ranks = new Uint32Array(wanted)
    for (let i = 0; i < wanted; i++) ranks[i] = ((i + 0.5) * total) / wanted
    const rows = allowed?.selectAll(ranks) ?? ranks
    const { nodeOf } = this.#nodes!
    let nodes = 0
    for (let i = 0; i < wanted; i++) {
      const node = nodeOf[rows[i]!]!
      if (node !== noNode) rows[nodes++] = node
    }
    return rows.subarray(0, nodes)
  }
}

/** Return the maximum number of seeds of a walk for which `rows` rows pass. */
function mostSeeds(rows: number): number {
  return Math.min(rows, Math.ceil(seedsPerRoot * Math.sqrt(rows)))
}

/**
 * Return the number of seeds of a walk. `passing`: number of allowed rows. `ef`: undefined if the caller does not set
 * it.
 */
function seedCount(passing: number, isFiltered: boolean, ef: number | undefined): number {
  const most = mostSeeds(passing)
  if (ef !== undefined)
    return Math.min(most, isFiltered ? Math.max(leastEfSeeds, ef) : Math.ceil(ef * efSeeds))
  return isFiltered ? most : Math.min(most, Math.max(leastSeeds, Math.ceil(usualSeeds * most)))
}

/** Return whether two probes are equal except for the number of requested candidates. */
function isSameSearch(a: Probe, b: Probe): boolean {
  return (
    a.allowed === b.allowed &&
    a.k === b.k &&
    a.effort.ef === b.effort.ef &&
    a.effort.leastPartitions === b.effort.leastPartitions &&
    a.effort.mostPartitions === b.effort.mostPartitions &&
    a.query.every((value, i) => value === b.query[i])
  )
}
