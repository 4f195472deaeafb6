/**
 * Searches a vector segment whose partitions are lists (IVF). A search scans the lists of the nearest partitions, row
 * by row.
 */
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
import { apartIn, type BesideVectors } from './beside-vectors.js'
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
import type { Candidates, Ending, Probe, SegmentFacts, VectorIndexSegment, VectorsBeside } from './segment.js'
import { type Laid, laidIn } from './segment-memory.js'
import { placeQuery, type Space } from './space.js'

/** Centroids and row counts of the partitions. */
interface Partitions {
  /** The centroids of the partitions, `innerDim` elements each. */
  readonly centroids: Float32Array
  /** Number of rows of each partition. */
  readonly counts: Uint32Array
}

/** The default effort of searches, found by tuning. */
export interface ListEffort {
  /** Number of candidates that a search for ten rows measures first. */
  readonly candidates: number
  /** The factor of the stopping rule of a scan (saturation.ts). Absent in old segments: `usualFactors.lists`. */
  readonly factor?: number
  /** The rule for measuring candidates (saturation.ts). Absent: the default of the codec. */
  readonly blur?: Blur
  /** The effort of searches with a filter. Absent: the effort of searches without a filter. */
  readonly filtered?: Pick<ListEffort, 'factor' | 'blur'>
}

/**
 * `leastProbes`: minimum number of partitions that a search scans. `moreProbes`: number of partitions that a search
 * scans in addition to those that the saturation factor requires.
 */
const leastProbes = 6
const moreProbes = 4
/**
 * Minimum number of watched rows. With fewer, the last change says too little about the partitions that are not scanned
 * yet.
 */
const leastWatched = 20
/**
 * Growth factor of the number of kept rows. A scan is repeated with more rows if its best rows have too few distinct
 * points.
 */
const moreKept = 4
/** Number of rows that are offered to the heap together. They fit into the scratch memory of every codec. */
const offeredRows = 16
/**
 * Minimum number of nearest partitions that a search determines first. It determines more partitions when it needs
 * them.
 */
const firstCentroids = 32
/** Number of bytes scanned between two checks of the clock. Scanning them takes about three milliseconds. */
const turnBytes = 16 * 1024 * 1024
/**
 * Maximum number of lists, and maximum bytes of their codes, that a search loads together. A search keeps no other
 * lists in memory than these and the cached lists.
 */
const batchLists = 64
const batchBytes = 16 * 1024 * 1024

/** The limits of a scan. */
interface ScanLimits {
  /** True if the caller limits the number of partitions. */
  readonly isLimited: boolean
  /** Minimum and maximum number of partitions to scan. */
  readonly least: number
  readonly most: number
  /** The stopping rule (saturation.ts). */
  readonly rule: Blur
  /** Number of rows that the scan must find. */
  readonly enough: number
  /** Number of rows in lists that may pass the filter. The scan ends when it has seen this number of passing rows. */
  readonly all: number
  /** True if the scan may be repeated with a greater number of kept rows. */
  readonly mayKeepMore: boolean
}

/** The progress of a scan. */
class Scan {
  /** Number of scanned partitions. */
  scanned = 0
  /** Number of rows of the scanned partitions (`measured`), and number of these rows that pass the filter (`seen`). */
  measured = 0
  seen = 0
  /** By partition: the value of `seen` after the partition was scanned. */
  readonly seenAt: Float64Array
  /** Number of rows of all partitions that were reached, including partitions in which no row passes the filter. */
  visited = 0
  /** The value of `seen` at which the stopping rule ends the scan, as far as it is known. */
  goal = 0
  /** A value of `seen` that the scan will reach before it ends. It determines how many lists are loaded together. */
  due = 0
  ended: Ending = 'saturated'

  constructor(partitions: number) {
    this.seenAt = new Float64Array(partitions)
  }

  /** Count a partition of `rows` rows, of which `passing` pass the filter. */
  add(partition: number, rows: number, passing: number): void {
    this.scanned++
    this.measured += rows
    this.seen += passing
    this.seenAt[partition] = this.seen
  }
}

/** Partitions whose lists are loaded together. */
interface Batch {
  readonly partitions: Uint32Array
  /** Position after the last of these partitions in the order of nearest partitions. */
  readonly end: number
}

interface ListSegmentParts {
  readonly rows: number
  readonly space: Space
  readonly codec: Codec
  readonly lists: Lists
  readonly partitions: Partitions
  readonly apart: Uint32Array
  readonly facts: SegmentFacts
  readonly effort: ListEffort
  /** The vectors of the rows. Null: the file does not have them. */
  readonly beside: BesideVectors | null
}

/** An opened segment of lists. */
export class ListSegment implements VectorIndexSegment {
  readonly rows: number
  readonly bytes: number
  readonly facts: SegmentFacts
  readonly beside?: VectorsBeside
  readonly #space: Space
  readonly #codec: Codec
  readonly #arena: Arena
  readonly #lists: Lists
  readonly #places: Scratch
  readonly #counts: Uint32Array
  readonly #centroids: VectorSegment
  readonly #apart: Uint32Array
  readonly #effort: ListEffort
  /** Number of rows in all lists. */
  readonly #placed: number
  readonly #laid: Laid

  constructor({ rows, space, codec, lists, partitions, apart, facts, effort, beside }: ListSegmentParts) {
    const { centroids, counts } = partitions
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
    this.bytes = lists.bytes + this.#centroids.byteLength + apart.byteLength + (beside?.bytes ?? 0)
    if (beside === null) return
    const { kind, dim, block, chunks, sumsStart } = beside
    const placesOf: VectorsBeside['placesOf'] = (ordinals, partitionOf) =>
      beside.placesOf(ordinals, partitionOf, lists, apart)
    const stretchesOf: VectorsBeside['stretchesOf'] = partition => beside.stretchesOf(partition)
    this.beside = { kind, dim, block, chunks, sumsStart, placesOf, stretchesOf }
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
    const isLimited = leastPartitions !== undefined || mostPartitions !== undefined
    if (placed !== null && !isLimited && this.#codec.canTell?.(placed) === false) {
      return { ordinals: new Uint32Array(0), partitions: 0, measured: 0, ended: 'unsettled' }
    }
    const found: Candidates =
      placed === null
        ? {
            ordinals: yield* this.#firstRows(count, allowed, pacer),
            partitions: 0,
            measured: 0,
            ended: 'saturated',
          }
        : yield* this.#scan(placed, probe, pacer)
    const ordinals = withApart(found.ordinals, this.#apart, count, allowed)
    const { partitionOf } = found
    if (partitionOf === undefined || ordinals === found.ordinals) return { ...found, ordinals }
    const all = new Uint32Array(ordinals.length).fill(apartIn(this.#counts.length))
    all.set(partitionOf, ordinals.length - partitionOf.length)
    return { ...found, ordinals, partitionOf: all }
  }

  /**
   * Scan the lists for candidates. If the kept rows have too few distinct points, repeat the scan with more kept rows.
   */
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
   * Scan partitions, nearest first, until the best rows no longer change or the caller's limits are reached. `kept`:
   * number of best rows to keep. Return null if `mayKeepMore` and the kept rows have too few distinct points for the
   * stopping rule.
   */
  *#scanKeeping(
    kept: number,
    mayKeepMore: boolean,
    query: Float32Array,
    probe: Probe,
    pacer: Pacer,
  ): Task<Candidates | null> {
    const { count, allowed } = probe
    const partitions = this.#counts.length
    const limits = this.#limitsOf(kept, mayKeepMore, probe)
    const scan = new Scan(partitions)
    const view = this.#lists.view()
    let nearest = this.#nearestPartitions(
      query,
      Math.min(partitions, Math.max(firstCentroids, 2 * limits.least)),
    )
    let bytes = 0
    /** Number of partitions, in the order of `nearest`, whose lists are loaded. */
    let ready = 0
    let found: Hits | null = null
    this.#openHeap(kept, allowed)
    for (let next = 0; next < partitions && scan.seen < limits.all; next++) {
      if (next === nearest.length) nearest = this.#nearestPartitions(query, Math.min(partitions, 2 * next))
      const partition = nearest[next]!
      if (this.#counts[partition] === 0) continue
      const verdict = this.#judge(scan, limits, probe, view)
      if (verdict === 'over') break
      if (verdict === 'too few points') return null
      if (next >= ready) {
        const batch = this.#nextBatch(nearest, next, scan, limits, allowed !== null)
        ready = batch.end
        const coming = view.bring(batch.partitions)
        if (coming !== null) {
          probe.onRead?.(batch.partitions)
          found = closeNearest(this.#arena)
          view.keep(found.ordinals)
          yield orAborted(coming, pacer.signal)
          this.#openHeap(kept, allowed)
          this.#offer(found)
        }
      }
      const rows = this.#passingIn(view, partition, allowed)
      scan.visited += this.#counts[partition]!
      if (rows === 0) continue
      bytes += this.#scanList(view, query, partition)
      scan.add(partition, this.#counts[partition]!, rows)
      if (bytes < turnBytes) continue
      bytes = 0
      if (!pacer.due()) continue
      // Close the heap before yielding to the event loop, because other queries use the same arena.
      found = closeNearest(this.#arena)
      yield pacer.pause()
      this.#openHeap(kept, allowed)
      this.#offer(found)
    }
    const ordinals = closeNearest(this.#arena).ordinals.subarray(0, Math.max(count, 1))
    const { scanned, measured, ended } = scan
    const partitionOf = this.beside === undefined ? {} : { partitionOf: view.partitionsOf(ordinals) }
    return { ordinals, ...partitionOf, partitions: scanned, measured, ended }
  }

  #limitsOf(kept: number, mayKeepMore: boolean, { k, allowed, passing, effort }: Probe): ScanLimits {
    const { leastPartitions, mostPartitions } = effort
    const partitions = this.#counts.length
    const most = Math.min(mostPartitions ?? partitions, partitions)
    const usual = passing / partitions
    const factor = this.#effortFor(allowed !== null).factor ?? usualFactors.lists
    return {
      isLimited: leastPartitions !== undefined || mostPartitions !== undefined,
      most,
      least: Math.min(leastPartitions ?? leastProbes, most),
      rule: { factor, more: moreProbes * usual },
      enough: Math.min(leastPartitions === undefined ? kept : k, passing),
      all: Math.min(this.#placed, passing),
      mayKeepMore,
    }
  }

  /** Decide whether to scan another partition. Updates the members `goal`, `due` and `ended` of `scan`. */
  #judge(
    scan: Scan,
    { isLimited, most, least, rule, enough, mayKeepMore }: ScanLimits,
    { k, passing, effort }: Probe,
    view: ListView,
  ): 'continue' | 'over' | 'too few points' {
    scan.due = Math.max(scan.goal, enough)
    if (scan.scanned < least || (scan.seen < scan.goal && scan.scanned < most)) return 'continue'
    const best: Hits = heldNearest(this.#arena)
    const missing = enough - best.ordinals.length
    if (scan.scanned >= most || (missing <= 0 && effort.leastPartitions !== undefined)) {
      scan.ended = 'limited'
      return 'over'
    }
    if (missing > 0) scan.due = scan.seen + missing
    else {
      const rows = watchedRows(k, leastWatched)
      const partitionOf = view.partitionsOf(best.ordinals)
      const watched = this.#watchedAmong(best, partitionOf, rows)
      if (watched === null && mayKeepMore) return 'too few points'
      const last = watched ?? best.ordinals.length
      scan.goal = enoughWork(rule, this.#lastChangeAt(best, partitionOf, last, lateRows(rows), scan.seenAt))
      if (scan.seen >= scan.goal) return 'over'
      scan.due = scan.goal
    }
    const isLong = !isLimited && Math.max(scan.seen, scan.goal) >= passing * mostShare
    if (!isLong || this.#isScanningCheaper(scan.measured, passing)) return 'continue'
    scan.ended = 'unsettled'
    return 'over'
  }

  /**
   * Return the partitions to load next. The number of rows to load is estimated from the share of rows that pass the
   * filter. Without a filter, all rows pass. With a filter, the share so far may be misleading, so the search loads at
   * most as many partitions as it has already reached.
   */
  #nextBatch(
    nearest: Uint32Array,
    next: number,
    { scanned, seen, visited, due }: Scan,
    { least, most }: ScanLimits,
    isFiltered: boolean,
  ): Batch {
    const share = isFiltered ? Math.max(1, seen) / Math.max(1, visited) : 1
    const far = isFiltered ? Math.max(least, next) : batchLists
    const lists = Math.max(least - scanned, 1)
    return this.#batch(nearest, next, lists, (due - seen) / share, Math.min(far, most - scanned))
  }

  /**
   * Return the partitions to load together, from position `next` of `nearest` on. The batch has at least `lists`
   * partitions with rows. It has more partitions until they have `rows` rows together, but at most `most` partitions
   * and `batchBytes` bytes.
   */
  #batch(nearest: Uint32Array, next: number, lists: number, rows: number, most: number): Batch {
    const partitions = new Uint32Array(Math.min(batchLists, most, nearest.length - next))
    let count = 0
    let batchRows = 0
    let bytes = 0
    let end = next
    for (; count < partitions.length && end < nearest.length; end++) {
      if ((count >= lists && batchRows >= rows) || bytes >= batchBytes) break
      const partition = nearest[end]!
      const own = this.#counts[partition]!
      if (own === 0) continue
      partitions[count++] = partition
      batchRows += own
      bytes += this.#codec.listBytes(own)
    }
    return { partitions: partitions.subarray(0, count), end }
  }

  /**
   * Return the number of watched rows. It is `least`, or greater if the `least` nearest rows have too few distinct
   * points. Return null if all kept rows together have too few distinct points. Rows in the same partition and at the
   * same distance count as one point, because this is true of equal rows.
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

  /**
   * Return the value of `Scan.seen` at which the `watched` nearest rows last changed. Ignores the last `late` changes.
   * If several rows have the same distance as the last watched row, the rows that were seen first count as watched.
   */
  #lastChangeAt(
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
   * Return whether scanning all remaining lists costs less than measuring all passing rows. Return false for codecs of
   * residuals, because they encode the query again for each partition, which costs more than scanning the rows.
   */
  #isScanningCheaper(measured: number, passing: number): boolean {
    if (this.#codec.ofResiduals) return false
    const { metric, dim } = this.#space
    const { rowBytes } = this.facts
    return (this.#placed - measured) * rowBytes < passing * (metric === 'hamming' ? rowBytes : 4 * dim)
  }

  /** Return the number of allowed rows of a partition. */
  #passingIn(view: ListView, partition: number, allowed: Bitset | null): number {
    if (allowed === null) return this.#counts[partition]!
    const rows = view.ordinals(partition)
    const { words } = allowed
    let passing = 0
    for (let i = 0; i < rows.length; i++) passing += (words[rows[i]! >>> 5]! >>> (rows[i]! & 31)) & 1
    return passing
  }

  /** Offer the rows that the closed heap contained to the new heap. */
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

  #openHeap(k: number, allowed: Bitset | null): void {
    const { heap, allowed: bits } = this.#places
    if (allowed !== null && allowed !== this.#laid.allowed) {
      new Uint32Array(this.#arena.buffer, bits, allowed.words.length).set(allowed.words)
      this.#laid.allowed = allowed
    }
    openNearest(this.#arena, heap, k, allowed === null ? 0 : bits)
  }

  /** Scan the list of a partition. Return the size of the list in bytes. */
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

  /**
   * Return the `count` allowed rows with the lowest ordinals. For a query outside the space, to which all rows are
   * equally far.
   */
  *#firstRows(count: number, allowed: Bitset | null, pacer: Pacer): Task<Uint32Array> {
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

/** Count the distinct values of a sorted array. */
function pointsOf(sorted: Float32Array): number {
  let points = 0
  for (let i = 0; i < sorted.length; i++) if (sorted[i] !== sorted[i - 1]) points++
  return points
}
