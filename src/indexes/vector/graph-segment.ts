/** A segment whose partitions are graphs: a walk goes from the entries of the nearest ones to the nearest rows. */
import { type GraphArena, Places } from '../../kernels/arena.js'
import { searchSegment } from '../../kernels/exact.js'
import { type Entry, type Graph, type GraphPlaces, type GraphShape, graphSizes } from '../../kernels/graph.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import type { Bitset } from '../../primitives/bitset.js'
import { withApart } from './apart.js'
import { candidatesFor } from './calibrate.js'
import type { NodeCodec } from './node-codec.js'
import type { Blur } from './saturation.js'
import type { Candidates, Probe, SegmentFacts, VectorIndexSegment } from './segment.js'
import { type Laid, laidIn } from './segment-memory.js'
import { placeQuery, type Space } from './space.js'

/** What is found with no more effort than this is what `facts` say. */
export interface GraphEffort {
  readonly ef: number
  /** Partitions whose entries are walked from. */
  readonly probes: number
  readonly candidates: number
}

/** Candidates that a walk keeps at most, which takes it some ten milliseconds; of more, every row may as well be measured. */
export const walkMax = 4096

/** How far the order of guessed distances reaches, by how nodes are kept. */
const blurs: Readonly<Record<NodeCodec['kind'], Blur>> = {
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
    return candidatesFor(k, this.#effort.candidates)
  }

  get blur(): Blur {
    return blurs[this.#codec.kind]
  }

  /** Does all at once: queries share the arena. */
  candidates({ query, count, allowed, passing, effort }: Probe): Candidates {
    const placed = placeQuery(this.#space, query)
    const { ef, probes, candidates } = this.#effort
    // Beyond what was found out, as many more are kept as are wanted.
    const kept = Math.min(walkMax, effort.ef ?? Math.max(ef, ef + count - candidates))
    const partitions = this.#entries.length
    const most = Math.min(effort.mostPartitions ?? partitions, partitions)
    const entered = Math.max(1, Math.min(effort.leastPartitions ?? probes, most))
    let found = this.#walk(placed, kept, count, allowed, entered)
    // Rows that are allowed may all be elsewhere.
    for (let n = entered; found.ordinals.length < Math.min(kept, count) && n < most; ) {
      n = Math.min(most, 2 * n)
      found = this.#walk(placed, kept, count, allowed, n)
    }
    const ordinals = withApart(found.ordinals, this.#apart, count, allowed)
    const isLimited =
      effort.ef !== undefined || effort.leastPartitions !== undefined || effort.mostPartitions !== undefined
    const ended = isLimited
      ? 'limited'
      : ordinals.length < Math.min(count, passing)
        ? 'unsettled'
        : 'saturated'
    return { ...found, ordinals, ended }
  }

  #walk(
    query: Float32Array | null,
    ef: number,
    count: number,
    allowed: Bitset | null,
    entered: number,
  ): Omit<Candidates, 'ended'> {
    const graph = this.#graph
    if (allowed !== null && allowed !== this.#laid.allowed) {
      graph.allowed.set(allowed.words)
      this.#laid.allowed = allowed
    }
    // Every row is as far from a query that has no place: any will do.
    const inside = query ?? new Float32Array(this.#space.innerDim)
    graph.query.set(this.#codec.query(inside))
    const entries = this.#nearestEntries(inside, entered).filter(({ row }) => row >= 0)
    if (entries.length === 0) return { ordinals: new Uint32Array(0), partitions: entered, measured: 0 }
    const { found, measured } = graph.walk(entries, ef, Math.min(ef, count), allowed !== null)
    return { ordinals: graph.rows(found).slice(), partitions: entered, measured }
  }

  #nearestEntries(query: Float32Array, count: number): readonly Entry[] {
    if (this.#centroids === null) return this.#entries
    const { ordinals } = searchSegment(this.#centroids, query, { metric: 'l2', k: count })
    return Array.from(ordinals, partition => this.#entries[partition]!)
  }
}
