/** A segment whose partitions are lists: those with the nearest centroids are looked through, row by row. */
import { type Arena, Places } from '../../kernels/arena.js'
import { searchSegment } from '../../kernels/exact.js'
import type { Hits } from '../../kernels/nearest.js'
import {
  closeNearest,
  heldNearest,
  nearestBytes,
  offerNearest,
  openNearest,
} from '../../kernels/nearest-lists.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import type { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { begun, type Soon, type Waits } from '../../primitives/soon.js'
import { withApart } from './apart.js'
import { candidatesFor } from './calibrate.js'
import type { Codec } from './codec.js'
import {
  type Blur,
  crowdMost,
  enoughWork,
  lateRows,
  leastPoints,
  mostShare,
  usualFactors,
  watchedRows,
} from './saturation.js'
import type { Candidates, Ending, Probe, SegmentFacts, VectorIndexSegment } from './segment.js'
import { type Laid, laidIn } from './segment-memory.js'
import { placeQuery, type Space } from './space.js'

/** Which rows lie in which partition. */
export interface Partitions {
  /** `count x innerDim`. */
  readonly centroids: Float32Array
  /** Rows of each. */
  readonly counts: Uint32Array
}

/** How hard a segment looks unless it is told. */
export interface ListEffort {
  /** Candidates that are measured first for ten rows. */
  readonly candidates: number
  /** How many times as far as the nearest rows lie partitions are looked at. Absent: the segment was built before there was a choice. */
  readonly factor?: number
  /** How far the order of guessed distances can be trusted. Absent: as far as that of the codec usually can. */
  readonly blur?: Blur
  /** The same where a filter leaves some rows. Absent: as without. */
  readonly filtered?: Pick<ListEffort, 'factor' | 'blur'>
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
  /** u32s: the partition of each row, by ordinal. Not in the file. */
  readonly partitionOf: number
  readonly allowed: number
  readonly heap: number
  readonly query: number
  readonly scratch: number
  readonly end: number
}

/** Candidates that a scan keeps at most; of more, every row may as well be measured. */
const candidatesMax = 16 * 1024
/** Partitions that are looked at in any case, and how many more than `factor` says. */
const leastProbes = 6
const moreProbes = 4
/** Rows that are watched at least: of fewer, the last change says too little of what lies in the next partitions. */
const leastWatched = 20
/** Where the best rows lie at too few points, the next scan keeps this many times as many rows. */
const moreKept = 4
/** Rows offered at once: what fits the scratch of every codec. */
const offeredRows = 16
/** Centroids that are put in order first. */
const firstCentroids = 32
/** Rows whose partitions are noted between two looks at the clock: less than a millisecond. */
const mappedRows = 64 * 1024
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
  const partitionOf = places.take(rows * 4)
  const desks = Array.from({ length: seats }, () => ({
    allowed: places.take(Math.ceil(rows / 32) * 4),
    heap: places.take(nearestBytes(Math.min(candidatesMax, Math.max(1, placed)))),
    query: places.take(codec.queryBytes),
    scratch: places.take(codec.scratchBytes),
  }))
  return { lists, listsBytes: bytes, listAt, rowAt, ordinals, partitionOf, ...desks[seat]!, end: places.end }
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

  candidatesFor(k: number): number {
    return candidatesFor(k, this.#effort.candidates)
  }

  blurFor(isFiltered: boolean): Blur {
    return this.#effortFor(isFiltered).blur ?? this.#codec.blur
  }

  #effortFor(isFiltered: boolean): Pick<ListEffort, 'factor' | 'blur'> {
    return (isFiltered ? this.#effort.filtered : null) ?? this.#effort
  }

  candidates(probe: Probe, pacer: Pacer): Soon<Candidates> {
    return begun(this.#candidates(probe, pacer))
  }

  *#candidates(probe: Probe, pacer: Pacer): Waits<Candidates> {
    const { query, count, allowed } = probe
    const placed = placeQuery(this.#space, query)
    const { leastPartitions, mostPartitions } = probe.effort
    const isTold = leastPartitions !== undefined || mostPartitions !== undefined
    if (placed !== null && !isTold && this.#codec.canTell?.(placed) === false) {
      return { ordinals: new Uint32Array(0), partitions: 0, measured: 0, ended: 'unsettled' }
    }
    const found =
      placed === null
        ? { ordinals: this.#first(count, allowed), partitions: 0, measured: 0, ended: 'saturated' as const }
        : yield* this.#scan(placed, probe, pacer)
    return { ...found, ordinals: withApart(found.ordinals, this.#apart, count, allowed) }
  }

  /** Looks for candidates, and keeps more of them on the way where those it keeps are copies of too few rows. */
  *#scan(query: Float32Array, probe: Probe, pacer: Pacer): Waits<Candidates> {
    const { k, count, passing } = probe
    const most = Math.min(candidatesMax, this.#placed)
    let kept = Math.min(Math.max(count, watchedRows(k, leastWatched)), most)
    if (kept === 0) return { ordinals: new Uint32Array(0), partitions: 0, measured: 0, ended: 'saturated' }
    const crowd = Math.min(crowdMost, passing, most)
    for (;;) {
      const found = yield* this.#scanKeeping(kept, kept < crowd, query, probe, pacer)
      if (found !== null) return found
      kept = Math.min(crowd, moreKept * kept)
    }
  }

  /**
   * Looks through partitions, the nearest first, until the best rows no longer change, or the caller's effort is spent. Null: the `kept` best rows
   * lie at so few points that they say too little, and `mayKeepMore`.
   */
  *#scanKeeping(
    kept: number,
    mayKeepMore: boolean,
    query: Float32Array,
    probe: Probe,
    pacer: Pacer,
  ): Waits<Candidates | null> {
    const { k, count, allowed, passing, effort } = probe
    const partitions = this.#counts.length
    const { leastPartitions, mostPartitions } = effort
    const isTold = leastPartitions !== undefined || mostPartitions !== undefined
    const most = Math.min(mostPartitions ?? partitions, partitions)
    const least = Math.min(leastPartitions ?? leastProbes, most)
    const usual = passing / partitions
    const factor = this.#effortFor(allowed !== null).factor ?? usualFactors.lists
    const rule = { factor, more: moreProbes * usual }
    const enough = Math.min(kept, passing)
    /** By partition: rows seen once it was looked at. */
    const seenAt = new Float64Array(partitions)
    let nearest = this.#nearestPartitions(query, Math.min(partitions, Math.max(firstCentroids, 2 * least)))
    let looked = 0
    let seen = 0
    let measured = 0
    let bytes = 0
    let goal = 0
    let ended: Ending = 'saturated'
    let found: Hits | null = null
    this.#begin(kept, allowed)
    for (let next = 0; next < partitions; next++) {
      if (next === nearest.length) nearest = this.#nearestPartitions(query, Math.min(partitions, 2 * next))
      const partition = nearest[next]!
      const rows = this.#passingIn(partition, allowed)
      if (rows === 0) continue
      if (looked >= least && (seen >= goal || looked >= most)) {
        const held: Hits = heldNearest(this.#arena)
        if (looked >= most) {
          ended = 'limited'
          break
        }
        if (leastPartitions !== undefined) {
          if (held.ordinals.length >= Math.min(k, passing)) {
            ended = 'limited'
            break
          }
        } else if (held.ordinals.length >= enough) {
          const least = watchedRows(k, leastWatched)
          const watched = this.#watchedAmong(held, least)
          if (watched === null && mayKeepMore) return null
          const late = lateRows(least)
          goal = enoughWork(rule, this.#settledAt(held, watched ?? held.ordinals.length, late, seenAt))
          if (seen >= goal) break
        }
        if (
          !isTold &&
          Math.max(seen, goal) >= passing * mostShare &&
          !this.#isWorthGoingOn(measured, passing)
        ) {
          ended = 'unsettled'
          break
        }
      }
      bytes += this.#scanList(query, partition)
      measured += this.#counts[partition]!
      looked++
      seen += rows
      seenAt[partition] = seen
      if (bytes < turnBytes) continue
      bytes = 0
      if (!pacer.due()) continue
      // Between open and close nothing else runs: queries share the arena.
      found = closeNearest(this.#arena)
      yield pacer.pause()
      this.#begin(kept, allowed)
      this.#offer(found)
    }
    const { ordinals } = closeNearest(this.#arena)
    return { ordinals: ordinals.subarray(0, Math.max(count, 1)), partitions: looked, measured, ended }
  }

  /**
   * How many of the nearest rows that are held are watched: `least` where there are so many, and more where these lie at too few points; null
   * where all do. Rows of one partition at one distance count as one point, because copies of a row are that.
   */
  #watchedAmong({ ordinals, distances }: Hits, least: number): number | null {
    const watched = Math.min(least, distances.length)
    if (this.#codec.hasTies || pointsOf(distances.slice().sort().subarray(0, watched)) >= leastPoints) {
      return watched
    }
    const partitions = this.#partitionOf
    const order = Uint32Array.from(ordinals.keys()).sort((a, b) => distances[a]! - distances[b]!)
    const seen = new Set<number>()
    let points = 0
    for (const [rank, at] of order.entries()) {
      if (rank > 0 && distances[at] !== distances[order[rank - 1]!]) seen.clear()
      const partition = partitions[ordinals[at]!]!
      if (!seen.has(partition)) points++
      seen.add(partition)
      if (points >= leastWatched && rank + 1 >= watched) return rank + 1
    }
    return null
  }

  /** How many rows had been seen when the `watched` nearest of those that are held last changed, but for `late` of them; of rows as far as the last, the first that were seen. */
  #settledAt({ ordinals, distances }: Hits, watched: number, late: number, seenAt: Float64Array): number {
    const farthest = distances.slice().sort()[watched - 1]!
    const partitions = this.#partitionOf
    const seen = new Float64Array(ordinals.length)
    let nearer = 0
    let last = seen.length
    for (let i = 0; i < ordinals.length; i++) {
      const at = seenAt[partitions[ordinals[i]!]!]!
      if (distances[i]! < farthest) seen[nearer++] = at
      else if (distances[i] === farthest) seen[--last] = at
    }
    seen.subarray(last).sort()
    seen.copyWithin(nearer, last, last + watched - nearer)
    return seen.subarray(0, watched).sort()[Math.max(0, watched - 1 - late)]!
  }

  /** The partition of each row. */
  get #partitionOf(): Uint32Array {
    return new Uint32Array(this.#arena.buffer, this.#places.partitionOf, this.rows)
  }

  /**
   * Whether to look through all lists that are left costs less than to measure the rows that pass. Never where queries are coded anew for each
   * partition: that costs more than its rows.
   */
  #isWorthGoingOn(measured: number, passing: number): boolean {
    if (this.#codec.ofResiduals) return false
    const { metric, dim } = this.#space
    const { rowBytes } = this.facts
    return (this.#placed - measured) * rowBytes < passing * (metric === 'hamming' ? rowBytes : 4 * dim)
  }

  /** How many rows of a partition are allowed. */
  #passingIn(partition: number, allowed: Bitset | null): number {
    const count = this.#counts[partition]!
    if (allowed === null) return count
    const { ordinals, rowAt } = this.#places
    const rows = new Uint32Array(this.#arena.buffer, ordinals + 4 * rowAt[partition]!, count)
    const { words } = allowed
    let passing = 0
    for (let i = 0; i < count; i++) passing += (words[rows[i]! >>> 5]! >>> (rows[i]! & 31)) & 1
    return passing
  }

  /** Offers rows that were found before. */
  #offer({ ordinals, distances }: Hits): void {
    const { scratch } = this.#places
    const { buffer } = this.#arena
    for (let from = 0; from < ordinals.length; from += offeredRows) {
      const count = Math.min(offeredRows, ordinals.length - from)
      new Float32Array(buffer, scratch, count).set(distances.subarray(from, from + count))
      new Uint32Array(buffer, scratch + 4 * offeredRows, count).set(ordinals.subarray(from, from + count))
      offerNearest(this.#arena, scratch, scratch + 4 * offeredRows, count, 0)
    }
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

  /** Any rows: they are all as far. */
  #first(count: number, allowed: Bitset | null): Uint32Array {
    const rows = new Uint32Array(this.#arena.buffer, this.#places.ordinals, this.#placed)
    return rows
      .filter(row => allowed?.has(row) ?? true)
      .sort()
      .slice(0, count)
  }
}

/** Different values of ascending ones. */
function pointsOf(sorted: Float32Array): number {
  let points = 0
  for (let i = 0; i < sorted.length; i++) if (sorted[i] !== sorted[i - 1]) points++
  return points
}

/** Fills the map from rows to partitions that an arena has beside its lists. */
export async function mapPartitions(
  buffer: ArrayBufferLike,
  places: ListPlaces,
  counts: Uint32Array,
  rows: number,
  pacer: Pacer,
): Promise<void> {
  const partitionOf = new Uint32Array(buffer, places.partitionOf, rows)
  for (let p = 0; p < counts.length; p++) {
    for (let from = 0; from < counts[p]!; from += mappedRows) {
      const count = Math.min(mappedRows, counts[p]! - from)
      const ordinals = new Uint32Array(buffer, places.ordinals + 4 * (places.rowAt[p]! + from), count)
      for (let i = 0; i < count; i++) partitionOf[ordinals[i]!] = p
      await pacer.turn()
    }
  }
}
