/** A segment whose partitions are lists: those with the nearest centroids are looked through, row by row. */
import type { Arena } from '../../kernels/arena.js'
import { searchSegment } from '../../kernels/exact.js'
import type { Hits } from '../../kernels/nearest.js'
import { closeNearest, heldNearest, offerNearest, openNearest } from '../../kernels/nearest-lists.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import { orAborted } from '../../primitives/abort.js'
import type { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { type MaybePromise, runTask, type Task } from '../../primitives/task.js'
import { withApart } from './apart.js'
import { candidatesFor } from './calibrate.js'
import type { Codec } from './codec.js'
import { candidatesMax, type Scratch } from './list-places.js'
import type { Lists, ListView } from './lists.js'
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
/** Bytes scanned between two turns of the event loop: about three milliseconds. */
const turnBytes = 16 * 1024 * 1024
/** Lists that are brought at once, and bytes of their codes: a search holds no more beside what is kept. */
const batchLists = 64
const batchBytes = 16 * 1024 * 1024

export class ListSegment implements VectorIndexSegment {
  readonly rows: number
  readonly bytes: number
  readonly facts: SegmentFacts
  readonly #space: Space
  readonly #codec: Codec
  readonly #arena: Arena
  readonly #lists: Lists
  readonly #places: Scratch
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
    lists: Lists,
    { centroids, counts }: Partitions,
    apart: Uint32Array,
    facts: SegmentFacts,
    effort: ListEffort,
  ) {
    this.rows = rows
    this.facts = facts
    this.#space = space
    this.#codec = codec
    this.#lists = lists
    this.#arena = lists.arena
    this.#places = lists.places
    this.#counts = counts
    this.#centroids = VectorSegment.allocate('f32', space.innerDim, counts.length)
    this.#centroids.values.set(centroids)
    this.#apart = apart
    this.#effort = effort
    this.#laid = laidIn(lists.arena.buffer)
    this.#placed = counts.reduce((sum, count) => sum + count, 0)
    this.bytes = lists.bytes + this.#centroids.byteLength + apart.byteLength
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

  candidates(probe: Probe, pacer: Pacer): MaybePromise<Candidates> {
    return runTask(this.#candidates(probe, pacer))
  }

  *#candidates(probe: Probe, pacer: Pacer): Task<Candidates> {
    const { query, count, allowed } = probe
    const placed = placeQuery(this.#space, query)
    const { leastPartitions, mostPartitions } = probe.effort
    const isTold = leastPartitions !== undefined || mostPartitions !== undefined
    if (placed !== null && !isTold && this.#codec.canTell?.(placed) === false) {
      return { ordinals: new Uint32Array(0), partitions: 0, measured: 0, ended: 'unsettled' }
    }
    const found =
      placed === null
        ? {
            ordinals: yield* this.#first(count, allowed, pacer),
            partitions: 0,
            measured: 0,
            ended: 'saturated' as const,
          }
        : yield* this.#scan(placed, probe, pacer)
    return { ...found, ordinals: withApart(found.ordinals, this.#apart, count, allowed) }
  }

  /** Looks for candidates, and keeps more of them on the way where those it keeps are copies of too few rows. */
  *#scan(query: Float32Array, probe: Probe, pacer: Pacer): Task<Candidates> {
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
  ): Task<Candidates | null> {
    const { k, count, allowed, passing, effort } = probe
    const partitions = this.#counts.length
    const { leastPartitions, mostPartitions } = effort
    const isTold = leastPartitions !== undefined || mostPartitions !== undefined
    const most = Math.min(mostPartitions ?? partitions, partitions)
    const least = Math.min(leastPartitions ?? leastProbes, most)
    const usual = passing / partitions
    const factor = this.#effortFor(allowed !== null).factor ?? usualFactors.lists
    const rule = { factor, more: moreProbes * usual }
    const enough = Math.min(leastPartitions === undefined ? kept : k, passing)
    const all = Math.min(this.#placed, passing)
    /** By partition: rows seen once it was looked at. */
    const seenAt = new Float64Array(partitions)
    const view = this.#lists.view()
    let nearest = this.#nearestPartitions(query, Math.min(partitions, Math.max(firstCentroids, 2 * least)))
    let looked = 0
    let seen = 0
    /** Rows of the partitions so far, whether they pass or not. */
    let met = 0
    let measured = 0
    let bytes = 0
    let goal = 0
    /** Partitions that were brought. */
    let ready = 0
    let ended: Ending = 'saturated'
    let found: Hits | null = null
    this.#begin(kept, allowed)
    for (let next = 0; next < partitions && seen < all; next++) {
      if (next === nearest.length) nearest = this.#nearestPartitions(query, Math.min(partitions, 2 * next))
      const partition = nearest[next]!
      if (this.#counts[partition] === 0) continue
      /** Rows that will be seen before the search may end. */
      let due = Math.max(goal, enough)
      if (looked >= least && (seen >= goal || looked >= most)) {
        const held: Hits = heldNearest(this.#arena)
        if (looked >= most) {
          ended = 'limited'
          break
        }
        const missing = enough - held.ordinals.length
        if (missing > 0) due = seen + missing
        else if (leastPartitions !== undefined) {
          ended = 'limited'
          break
        } else {
          const least = watchedRows(k, leastWatched)
          const partitionOf = view.partitionsOf(held.ordinals)
          const watched = this.#watchedAmong(held, partitionOf, least)
          if (watched === null && mayKeepMore) return null
          const late = lateRows(least)
          const last = watched ?? held.ordinals.length
          goal = enoughWork(rule, this.#settledAt(held, partitionOf, last, late, seenAt))
          if (seen >= goal) break
          due = goal
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
      if (next >= ready) {
        // How many of the next rows pass is known of all rows, or else guessed from those so far: never far ahead.
        const share = allowed === null ? 1 : Math.max(1, seen) / Math.max(1, met)
        const far = allowed === null ? batchLists : Math.max(least, next)
        const wanted = Math.max(least - looked, 1)
        const batch = this.#batch(nearest, next, wanted, (due - seen) / share, Math.min(far, most - looked))
        ready = batch.end
        const coming = view.bring(batch.partitions)
        if (coming !== null) {
          found = closeNearest(this.#arena)
          view.keep(found.ordinals)
          yield orAborted(coming, pacer.signal)
          this.#begin(kept, allowed)
          this.#offer(found)
        }
      }
      const rows = this.#passingIn(view, partition, allowed)
      met += this.#counts[partition]!
      if (rows === 0) continue
      bytes += this.#scanList(view, query, partition)
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
   * The partitions from number `next` of `nearest` on that are to be brought at once, and the number behind the last of them: `lists` that have
   * rows, and more of them until they have `rows` rows, at most `most`.
   */
  #batch(
    nearest: Uint32Array,
    next: number,
    lists: number,
    rows: number,
    most: number,
  ): { readonly partitions: Uint32Array; readonly end: number } {
    const partitions = new Uint32Array(Math.min(batchLists, most, nearest.length - next))
    let count = 0
    let has = 0
    let bytes = 0
    let end = next
    for (; count < partitions.length && end < nearest.length; end++) {
      if ((count >= lists && has >= rows) || bytes >= batchBytes) break
      const partition = nearest[end]!
      const own = this.#counts[partition]!
      if (own === 0) continue
      partitions[count++] = partition
      has += own
      bytes += this.#codec.listBytes(own)
    }
    return { partitions: partitions.subarray(0, count), end }
  }

  /**
   * How many of the nearest rows that are held are watched: `least` where there are so many, and more where these lie at too few points; null
   * where all do. Rows of one partition at one distance count as one point, because copies of a row are that.
   */
  #watchedAmong({ ordinals, distances }: Hits, partitionOf: Uint32Array, least: number): number | null {
    const watched = Math.min(least, distances.length)
    if (this.#codec.hasTies || pointsOf(distances.slice().sort().subarray(0, watched)) >= leastPoints) {
      return watched
    }
    const order = Uint32Array.from(ordinals.keys()).sort((a, b) => distances[a]! - distances[b]!)
    const seen = new Set<number>()
    let points = 0
    for (const [rank, at] of order.entries()) {
      if (rank > 0 && distances[at] !== distances[order[rank - 1]!]) seen.clear()
      const partition = partitionOf[at]!
      if (!seen.has(partition)) points++
      seen.add(partition)
      if (points >= leastWatched && rank + 1 >= watched) return rank + 1
    }
    return null
  }

  /** How many rows had been seen when the `watched` nearest of those that are held last changed, but for `late` of them; of rows as far as the last, the first that were seen. */
  #settledAt(
    { ordinals, distances }: Hits,
    partitionOf: Uint32Array,
    watched: number,
    late: number,
    seenAt: Float64Array,
  ): number {
    const farthest = distances.slice().sort()[watched - 1]!
    const seen = new Float64Array(ordinals.length)
    let nearer = 0
    let last = seen.length
    for (let i = 0; i < ordinals.length; i++) {
      const at = seenAt[partitionOf[i]!]!
      if (distances[i]! < farthest) seen[nearer++] = at
      else if (distances[i] === farthest) seen[--last] = at
    }
    seen.subarray(last).sort()
    seen.copyWithin(nearer, last, last + watched - nearer)
    return seen.subarray(0, watched).sort()[Math.max(0, watched - 1 - late)]!
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
  #passingIn(view: ListView, partition: number, allowed: Bitset | null): number {
    if (allowed === null) return this.#counts[partition]!
    const rows = view.ordinals(partition)
    const { words } = allowed
    let passing = 0
    for (let i = 0; i < rows.length; i++) passing += (words[rows[i]! >>> 5]! >>> (rows[i]! & 31)) & 1
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
  #scanList(view: ListView, query: Float32Array, partition: number): number {
    const count = this.#counts[partition]!
    const { query: at, scratch } = this.#places
    const { codes, ordinals } = view.lay(partition)
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
    codec.scan(this.#arena, codes, count, at, scratch, ordinals, 0)
    return codec.listBytes(count)
  }

  /** The first rows of all: they are all as far. */
  *#first(count: number, allowed: Bitset | null, pacer: Pacer): Task<Uint32Array> {
    const view = this.#lists.view()
    const all = Uint32Array.from(this.#counts.keys())
    let first = new Uint32Array(0)
    for (let next = 0, end: number; next < all.length; next = end) {
      const batch = this.#batch(all, next, batchLists, 0, batchLists)
      end = batch.end
      const coming = view.bring(batch.partitions)
      if (coming !== null) yield orAborted(coming, pacer.signal)
      for (const partition of batch.partitions) {
        const rows = view.ordinals(partition)
        const own = (allowed === null ? rows : rows.filter(row => allowed.has(row))).subarray(0, count)
        const both = new Uint32Array(first.length + own.length)
        both.set(first)
        both.set(own, first.length)
        first = both.sort().subarray(0, count)
        if (pacer.due()) yield pacer.pause()
      }
    }
    return first
  }
}

/** Different values of ascending ones. */
function pointsOf(sorted: Float32Array): number {
  let points = 0
  for (let i = 0; i < sorted.length; i++) if (sorted[i] !== sorted[i - 1]) points++
  return points
}
