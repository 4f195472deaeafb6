/** A segment whose partitions are lists: those with the nearest centroids are looked through, row by row. */
import { type Arena, Places } from '../../kernels/arena.js'
import { searchSegment } from '../../kernels/exact.js'
import type { Hits } from '../../kernels/nearest.js'
import { closeNearest, nearestBytes, openNearest } from '../../kernels/nearest-lists.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import type { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { begun, type Soon, type Waits } from '../../primitives/soon.js'
import { withApart } from './apart.js'
import { candidatesFor } from './calibrate.js'
import type { Codec } from './codec.js'
import type { Candidates, Probe, SegmentFacts, VectorIndexSegment } from './segment.js'
import { type Laid, laidIn } from './segment-memory.js'
import { placeQuery, type Space } from './space.js'

/** Which rows lie in which partition. */
export interface Partitions {
  /** `count x innerDim`. */
  readonly centroids: Float32Array
  /** Rows of each. */
  readonly counts: Uint32Array
}

/** What is found with no more effort than this is what `facts` say. */
export interface ListEffort {
  readonly probes: number
  readonly candidates: number
}

/** Where things lie in the arena of a segment of lists. */
export interface ListPlaces {
  /** The lists, one after the other, each at a multiple of 64. */
  readonly lists: number
  readonly listsBytes: number
  /** Offset of each list from `lists`. */
  readonly listAt: Float64Array
  /** Rows before each list. */
  readonly rowAt: Uint32Array
  /** u32s: the ordinals of the rows, list by list. */
  readonly ordinals: number
  readonly allowed: number
  readonly heap: number
  readonly query: number
  readonly scratch: number
  readonly end: number
}

/** Candidates that a scan keeps at most; of more, every row may as well be measured. */
const candidatesMax = 16 * 1024
/** Bytes scanned between two turns of the event loop: about three milliseconds. */
const turnBytes = 16 * 1024 * 1024

/** `seats`: threads that ask it in one arena; this is number `seat`. */
export function listPlaces(codec: Codec, counts: Uint32Array, rows: number, seats = 1, seat = 0): ListPlaces {
  const places = new Places()
  const listAt = new Float64Array(counts.length)
  const rowAt = new Uint32Array(counts.length)
  let bytes = 0
  let placed = 0
  for (let p = 0; p < counts.length; p++) {
    listAt[p] = bytes
    rowAt[p] = placed
    bytes += Math.ceil(codec.listBytes(counts[p]!) / 64) * 64
    placed += counts[p]!
  }
  const lists = places.take(bytes)
  const ordinals = places.take(placed * 4)
  const desks = Array.from({ length: seats }, () => ({
    allowed: places.take(Math.ceil(rows / 32) * 4),
    heap: places.take(nearestBytes(Math.min(candidatesMax, Math.max(1, placed)))),
    query: places.take(codec.queryBytes),
    scratch: places.take(codec.scratchBytes),
  }))
  return { lists, listsBytes: bytes, listAt, rowAt, ordinals, ...desks[seat]!, end: places.end }
}

export class ListSegment implements VectorIndexSegment {
  readonly rows: number
  readonly bytes: number
  readonly facts: SegmentFacts
  readonly #space: Space
  readonly #codec: Codec
  readonly #arena: Arena
  readonly #places: ListPlaces
  readonly #counts: Uint32Array
  readonly #centroids: VectorSegment
  readonly #apart: Uint32Array
  readonly #effort: ListEffort
  /** Rows that lie in lists. */
  readonly #placed: number
  readonly #laid: Laid

  constructor(
    rows: number,
    space: Space,
    codec: Codec,
    arena: Arena,
    places: ListPlaces,
    { centroids, counts }: Partitions,
    apart: Uint32Array,
    facts: SegmentFacts,
    effort: ListEffort,
  ) {
    this.rows = rows
    this.facts = facts
    this.#space = space
    this.#codec = codec
    this.#arena = arena
    this.#places = places
    this.#counts = counts
    this.#centroids = VectorSegment.allocate('f32', space.innerDim, counts.length)
    this.#centroids.values.set(centroids)
    this.#apart = apart
    this.#effort = effort
    this.#laid = laidIn(arena.buffer)
    this.#placed = counts.reduce((sum, count) => sum + count, 0)
    this.bytes = arena.buffer.byteLength + this.#centroids.byteLength + apart.byteLength
  }

  candidatesFor(k: number, refineFactor = 0): number {
    return Math.max(candidatesFor(k, this.#effort.candidates), k * refineFactor)
  }

  candidates(probe: Probe, pacer: Pacer): Soon<Candidates> {
    return begun(this.#candidates(probe, pacer))
  }

  *#candidates({ query, count, allowed, effort }: Probe, pacer: Pacer): Waits<Candidates> {
    const placed = placeQuery(this.#space, query)
    const { leastPartitions = this.#effort.probes, mostPartitions = Infinity } = effort
    const least = Math.min(leastPartitions * this.#spread(allowed), mostPartitions)
    const found =
      placed === null
        ? { ordinals: this.#first(count, allowed), partitions: 0, measured: 0 }
        : yield* this.#scan(placed, count, allowed, least, mostPartitions, pacer)
    return { ...found, ordinals: withApart(found.ordinals, this.#apart, count, allowed) }
  }

  /** The nearest rows of the `least` nearest partitions; of more, at most `most`, as long as there are fewer than `count`. */
  *#scan(
    query: Float32Array,
    count: number,
    allowed: Bitset | null,
    least: number,
    most: number,
    pacer: Pacer,
  ): Waits<Candidates> {
    const partitions = this.#counts.length
    const k = Math.min(count, candidatesMax, this.#placed)
    let measured = 0
    let found: Hits = { ordinals: new Uint32Array(0), distances: new Float32Array(0) }
    if (k === 0) return { ordinals: found.ordinals, partitions: 0, measured }
    let looked = 0
    let goal = Math.min(partitions, Math.max(1, Math.ceil(least)))
    let nearest = this.#nearestPartitions(query, goal)
    for (;;) {
      // Between open and close nothing else runs: queries share the arena.
      let bytes = 0
      const before = looked
      this.#begin(k, allowed)
      while (looked < goal && bytes < turnBytes) {
        const partition = nearest[looked]!
        bytes += this.#scanList(query, partition)
        measured += this.#counts[partition]!
        looked++
      }
      const hits = closeNearest(this.#arena)
      found = before === 0 ? hits : merged(found, hits, k)
      if (pacer.due()) yield pacer.pause()
      if (looked < goal) continue
      if (found.ordinals.length >= k || looked >= Math.min(most, partitions)) break
      goal = Math.min(partitions, most, looked * 2)
      nearest = this.#nearestPartitions(query, goal)
    }
    return { ordinals: found.ordinals, partitions: looked, measured }
  }

  #nearestPartitions(query: Float32Array, count: number): Uint32Array {
    return searchSegment(this.#centroids, query, { metric: 'l2', k: count }).ordinals
  }

  #begin(k: number, allowed: Bitset | null): void {
    const { heap, allowed: bits } = this.#places
    if (allowed !== null && allowed !== this.#laid.allowed) {
      new Uint32Array(this.#arena.buffer, bits, allowed.words.length).set(allowed.words)
      this.#laid.allowed = allowed
    }
    openNearest(this.#arena, heap, k, allowed === null ? 0 : bits)
  }

  /** Returns the bytes of the list. */
  #scanList(query: Float32Array, partition: number): number {
    const count = this.#counts[partition]!
    if (count === 0) return 0
    const { lists, listAt, rowAt, ordinals, query: at, scratch } = this.#places
    const codec = this.#codec
    if (codec.ofResiduals) {
      const { innerDim } = this.#space
      const centroid = this.#centroids.values.subarray(partition * innerDim, (partition + 1) * innerDim)
      codec.place(
        this.#arena,
        query.map((value, i) => value - centroid[i]!),
        at,
      )
    } else if (this.#laid.query !== query) {
      codec.place(this.#arena, query, at)
    }
    this.#laid.query = query
    codec.scan(
      this.#arena,
      lists + listAt[partition]!,
      count,
      at,
      scratch,
      ordinals + 4 * rowAt[partition]!,
      0,
    )
    return codec.listBytes(count)
  }

  /** Where few rows are allowed, the nearest of them lie farther: more partitions are looked at. */
  #spread(allowed: Bitset | null): number {
    if (allowed === null) return 1
    const share = allowed.count() / Math.max(1, this.rows)
    return share <= 0 ? 1 : Math.max(1, 1 / Math.sqrt(share))
  }

  /** Any rows: they are all as far. */
  #first(count: number, allowed: Bitset | null): Uint32Array {
    const rows = new Uint32Array(this.#arena.buffer, this.#places.ordinals, this.#placed)
    return rows
      .filter(row => allowed?.has(row) ?? true)
      .sort()
      .slice(0, count)
  }
}

/** The `k` nearest of both. */
function merged(a: Hits, b: Hits, k: number): Hits {
  const length = Math.min(k, a.ordinals.length + b.ordinals.length)
  const ordinals = new Uint32Array(length)
  const distances = new Float32Array(length)
  for (let i = 0, x = 0, y = 0; i < length; i++) {
    const takesA = y >= b.ordinals.length || (x < a.ordinals.length && a.distances[x]! <= b.distances[y]!)
    const [from, at] = takesA ? [a, x++] : [b, y++]
    ordinals[i] = from.ordinals[at]!
    distances[i] = from.distances[at]!
  }
  return { ordinals, distances }
}
