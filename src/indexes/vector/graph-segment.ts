/**
 * A segment whose partitions are graphs. A walk begins from allowed rows that are spread over all allowed ones, and goes to the nearest, until
 * those no longer change (saturation.ts): a graph may have no path from the query to the nearest allowed row but through thousands of excluded
 * ones, or none at all.
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

/** How far a walk goes. */
export interface WalkEffort {
  /** Candidates of a walk at least. */
  readonly ef: number
  /** Of the rule that ends a walk; absent in files that were written before there was one. */
  readonly factor?: number
  /** How far the order of guessed distances can be trusted. Absent: as far as that of such nodes usually can. */
  readonly blur?: Blur
}

/** The effort of a search that is not told any; `facts` hold the recall that it reaches. */
export interface GraphEffort extends WalkEffort {
  /** The same where a filter leaves some rows. Absent: as without. */
  readonly filtered?: WalkEffort
  /** Partitions whose entries are walked from where the caller limits them. */
  readonly probes: number
  readonly candidates: number
}

/** Candidates that a walk keeps at most, which takes it some ten milliseconds; of more, every row may as well be measured. */
export const walkMax = 4096

/** A walk under a filter begins from this many times the square root of the number of passing rows. */
const seedsPerRoot = 4
/** A walk among all rows begins from the entries and this share of that number, at least `leastSeeds`. */
const usualSeeds = 1 / 4
const leastSeeds = 512
/** Where the caller gives `ef`, a walk begins from this share of it; under a filter from `ef` rows, at least `leastToldSeeds`. */
const toldSeeds = 1 / 8
const leastToldSeeds = 64
/** Rows that a walk measures after the nearest last changed; and beside them, times as many as there are rows for each that it may begin from. */
const moreRows = 64
const moreGaps = 2
/**
 * A walk keeps more candidates than it is asked for, so that it need not be repeated when some more are to be measured: three times as many,
 * but no more than `mostSpare`. The time of each step grows with the number of candidates that a walk keeps.
 */
const spareFactor = 3
const mostSpare = 192

/** Candidates that a walk keeps where it is asked for `count`. */
export function keptFor(count: number): number {
  return Math.min(walkMax, count + Math.min(spareFactor * count, mostSpare))
}

/** How far the order of guessed distances reaches, by how nodes are kept. */
export const blurs: Readonly<Record<NodeCodec['kind'], Blur>> = {
  f32: { factor: 1, more: 4 },
  u8: { factor: 1.5, more: 8 },
  pq: { factor: 2, more: 16 },
}

/** Where a graph lies in an arena that has nothing else. `seats`: threads that walk in it; this is number `seat`. */
export function graphPlaces(shape: GraphShape, seats = 1, seat = 0): GraphPlaces & { readonly end: number } {
  const places = new Places()
  const sizes = graphSizes(shape)
  const vectors = places.take(shape.rows * shape.stride)
  const links = places.take(sizes.links)
  const upperLinks = places.take(sizes.upperLinks)
  const upperStarts = places.take(sizes.upperStarts)
  const scratches = Array.from({ length: seats }, () => places.take(sizes.scratch))
  return { vectors, links, upperLinks, upperStarts, scratch: scratches[seat]!, end: places.end }
}

/** Where walks among some rows begin. */
interface Seeds {
  readonly allowed: Bitset | null
  readonly count: number
  readonly rows: Uint32Array
}

const nothing = { ordinals: new Uint32Array(0), partitions: 0, measured: 0 }

export class GraphSegment implements VectorIndexSegment {
  readonly rows: number
  readonly bytes: number
  readonly facts: SegmentFacts
  readonly #space: Space
  readonly #graph: Graph
  readonly #codec: NodeCodec
  readonly #entries: readonly Entry[]
  /** Null where there is one partition. */
  readonly #centroids: VectorSegment | null
  readonly #apart: Uint32Array
  readonly #effort: GraphEffort
  readonly #laid: Laid
  /** Known from the first search on. */
  #nodes: Nodes | null = null
  #seeds: Seeds | null = null
  /** The last search: of which more candidates may be asked for. */
  #last: { readonly probe: Probe; readonly found: Candidates } | null = null

  /** `centroids`: `innerDim` elements for each of `entries`; empty where there is only one. */
  constructor(
    rows: number,
    space: Space,
    graph: Graph,
    arena: GraphArena,
    codec: NodeCodec,
    entries: readonly Entry[],
    centroids: Float32Array,
    apart: Uint32Array,
    facts: SegmentFacts,
    effort: GraphEffort,
  ) {
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

  /** Does all at once: queries share the arena. */
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

  /** The candidates of a probe, and all others that the walk kept; without those that are apart. */
  allKept({ query, k, count, allowed, passing, effort }: Probe): Candidates {
    const { ef } = effort
    const partitions = this.#entries.length
    if (ef === undefined && count > walkMax) return { ...nothing, ended: 'unsettled' }
    // Every row is as far from a query that has no place: any will do.
    const placed = placeQuery(this.#space, query) ?? new Float32Array(this.#space.innerDim)
    if (ef === undefined && this.#codec.canTell?.(placed) === false) return { ...nothing, ended: 'unsettled' }
    this.#graph.query.set(this.#codec.query(placed))
    const isFiltered = allowed !== null
    const seeds = this.#seedsFor(allowed, seedsOf(passing, isFiltered, ef))
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
    // Among few rows the entries lead to where the filter excludes all.
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

  /** Makes the arena ready for walks among the allowed rows, and says where they begin. */
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

  /** `count` of the allowed rows, spread over all of them: the nodes that stand for them. */
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

/** How many rows a walk may begin from, of so many. */
function mostSeeds(rows: number): number {
  return Math.min(rows, Math.ceil(seedsPerRoot * Math.sqrt(rows)))
}

/** How many rows a walk begins from. */
function seedsOf(passing: number, isFiltered: boolean, ef: number | undefined): number {
  const most = mostSeeds(passing)
  if (ef !== undefined)
    return Math.min(most, isFiltered ? Math.max(leastToldSeeds, ef) : Math.ceil(ef * toldSeeds))
  return isFiltered ? most : Math.min(most, Math.max(leastSeeds, Math.ceil(usualSeeds * most)))
}

/** Whether two probes differ in no more than how many candidates they ask for. */
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
