/**
 * Vector search with an index. Each segment of the index returns candidates, whose exact distances are then measured.
 * All unindexed rows are measured too. If only few rows pass the filter, the search measures all of them and does not
 * use the index. The answer has `limit` rows if there are as many matches, unless the caller limited the effort.
 */
import { assert } from '../errors.js'
import { isFar, isPoor } from '../indexes/vector/recalls.js'
import { type Blur, enoughWork, watchedRows } from '../indexes/vector/saturation.js'
import type { VectorIndexSegment } from '../indexes/vector/segment.js'
import { MeasuredQuery, measureRows } from '../kernels/exact.js'
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { BesideReader } from '../table/beside-vectors.js'
import type { AllowedRows, SegmentReader } from '../table/covered-segment.js'
import type { SomeRows } from '../table/table-reader.js'
import { elementKind, rowsOf, type Vectors, vectorType } from '../table/vector-column.js'
import type { VectorIndexReader } from '../table/vector-index.js'
import type { RowHits } from './hits.js'
import { maxSims } from './max-sim.js'
import { NearCandidates } from './near-candidates.js'
import {
  asking,
  isLittle,
  listBytes,
  type MeasuredColumn,
  measuredColumn,
  measuring,
  proposing,
} from './near-costs.js'
import type { IndexSearch, VectorSearch } from './plan.js'
import { isEffortGiven } from './plan-near-search.js'
import { partialCover } from './probed-rows.js'
import { type Among, type Cover, FoundRows, type PartRows, passingParts, within } from './search-exact.js'
import type { RowSource } from './source.js'

/** Minimum growth factor of the number of measured candidates. */
const leastGrowth = 1.25

/**
 * Return the `limit` nearest rows like `searchExact`, but approximately, with the index `search.index`. `unit`: search
 * only this unit; null: all rows. Unit `i` is segment `i` of the index, and the last unit is the unindexed rows. The
 * result of a unit does not depend on the other units.
 */
export function searchNear(
  search: VectorSearch,
  filter: BoundExpression | null,
  limit: number,
  source: RowSource,
  pacer: Pacer,
  unit: number | null = null,
): MaybePromise<RowHits> {
  const near = new NearSearch(search, filter !== null, limit, source, pacer)
  return runTask(near.hits(filter, unit))
}

type Segment = SegmentReader<VectorIndexSegment>

class NearSearch {
  readonly #found = new FoundRows()
  readonly #search: VectorSearch
  readonly #isFiltered: boolean
  readonly #options: IndexSearch
  readonly #index: VectorIndexReader
  readonly #limit: number
  readonly #source: RowSource
  readonly #pacer: Pacer
  readonly #query: MeasuredQuery

  constructor(search: VectorSearch, isFiltered: boolean, limit: number, source: RowSource, pacer: Pacer) {
    const index = source.reader.vectorIndexes.find(({ name }) => name === search.index?.name)
    assert(
      search.index !== null && index !== undefined,
      'the plan uses an index that the version does not have',
    )
    this.#search = search
    this.#isFiltered = isFiltered
    this.#options = search.index
    this.#index = index
    this.#limit = limit
    this.#source = source
    this.#pacer = pacer
    this.#query = new MeasuredQuery(search.query, search.metric)
  }

  *hits(filter: BoundExpression | null, unit: number | null): Task<RowHits> {
    if (this.#limit > 0) {
      const { segments } = this.#index
      const wanted = unit === null ? segments : segments.slice(unit, unit + 1)
      const isOfRest = !this.#search.fast && (unit === null || unit === segments.length)
      if (filter === null) yield* this.#searchAll(wanted, isOfRest)
      else {
        const fragments = unit === null ? undefined : yield* this.#fragmentsOf(wanted[0])
        yield* this.#searchPassing({ filter, fragments }, wanted, isOfRest)
      }
    }
    return yield* this.#found.merged(this.#limit, this.#pacer)
  }

  /** Return the fragments with rows of a segment. Undefined: the fragments with unindexed rows. */
  *#fragmentsOf(segment: Segment | undefined): Task<readonly Fragment[]> {
    if (segment !== undefined) return segment.fragments
    return [...(yield* partialCover(this.#index, this.#source.reader, this.#pacer)).keys()]
  }

  /** Search all live rows of `segments`. `isOfRest`: whether to measure the unindexed rows, too. */
  *#searchAll(segments: readonly Segment[], isOfRest: boolean): Task<void> {
    const { reader } = this.#source
    // If the caller set an effort, use the index, even if measuring all rows costs less.
    const isEffortGiven = Object.values(this.#options.effort).some(each => each !== undefined)
    for (const segment of segments) {
      const live = yield* wait(segment.liveOrdinals(reader, this.#pacer.signal))
      const { fragments } = segment
      const rows = live?.count ?? segment.rows
      const isWorthwhile = isEffortGiven || (yield* this.#isCheaper(segment, rows, fragments.length))
      if (isWorthwhile && (yield* this.#searchSegment(segment, live))) continue
      for (const fragment of fragments) yield* this.#measureIn(fragment, segment.covered(fragment))
    }
    if (!isOfRest) return
    for (const [fragment, covered] of yield* partialCover(this.#index, reader, this.#pacer)) {
      yield* this.#measureIn(fragment, RowSet.all(fragment.rows).andNot(covered))
    }
  }

  /**
   * Search the rows of `segments` that pass a filter. The filter is evaluated before any distance is measured.
   * `isOfRest`: whether to measure the unindexed rows, too.
   */
  *#searchPassing(among: Among, segments: readonly Segment[], isOfRest: boolean): Task<void> {
    const byFragment = new Map<Fragment, PartRows[]>()
    for (const each of passingParts(this.#source, among, [], this.#pacer)) {
      if (each instanceof Promise) yield each
      else if (!each.rows.isNone) {
        const { fragment } = each.part
        const known = byFragment.get(fragment)
        if (known === undefined) byFragment.set(fragment, [each])
        else known.push(each)
      }
    }
    for (const segment of segments) {
      const passing = passingIn(segment, segment.fragments, byFragment)
      if (!(yield* this.#searchPassingIn(segment, passing))) yield* this.#measure(passing)
    }
    if (!isOfRest) return
    const partial = yield* partialCover(this.#index, this.#source.reader, this.#pacer)
    const covered = (fragment: Fragment) => RowSet.all(fragment.rows).andNot(partial.get(fragment)!)
    yield* this.#measure(passingIn({ covered }, partial.keys(), byFragment))
  }

  /** Search the rows `passing` of a segment. Returns false if the caller must measure these rows instead. */
  *#searchPassingIn(segment: Segment, passing: readonly PartRows[]): Task<boolean> {
    const rows = passing.reduce((sum, { rows }) => sum + rows.count, 0)
    // Opens the segment only if there are many rows.
    if (isLittle(rows, passing.length, this.#column(columnBytes(this.#search)))) return false
    if (!(yield* this.#isCheaper(segment, rows, passing.length))) return false
    const own = rowsByFragment(passing)
    const ownIn = (fragment: Fragment) => own.get(fragment) ?? RowSet.none(fragment.rows)
    const bits = yield* wait(segment.ordinalsOf(ownIn, this.#pacer))
    return yield* this.#searchSegment(segment, { bits, count: bits.count() })
  }

  /**
   * Return whether searching a segment costs less than computing the exact distances of `rows` of its rows in `parts`
   * parts.
   */
  *#isCheaper(segment: Segment, rows: number, parts: number): Task<boolean> {
    const { query, multi } = this.#search
    const column = this.#column(columnBytes(this.#search))
    const share = rows / segment.rows
    const opened = yield* wait(segment.open(this.#pacer.signal))
    const { facts } = opened
    if (this.#isPoor(opened, this.#isFiltered)) return false
    const count = this.#firstCandidates(opened, Math.min(this.#limit, facts.vectors))
    const exact = measuring(rows, parts, column)
    if (opened.vectors === undefined || multi === null) {
      return asking(this.#index.kind, opened, count, share, query.length, column) < exact
    }
    const each = asking(this.#index.kind, opened.vectors, count, share, query.length, {
      rowBytes: vectorBytes(this.#search),
      readRows: 0,
    })
    return multi.length * (each + proposing(count, column)) < exact
  }

  /** Describe the searched column to the cost model. `rowBytes`: bytes per row. */
  #column(rowBytes: number): MeasuredColumn {
    return measuredColumn(rowBytes, this.#source.reader.liveRows)
  }

  /**
   * Return whether the segment must not be used, because its recall is too low and the caller did not set an effort.
   */
  #isPoor({ facts }: VectorIndexSegment, isFiltered: boolean): boolean {
    return !isEffortGiven(this.#options) && isPoor(facts, isFiltered)
  }

  /**
   * Return the number of candidates to request from a segment first, for `k` wanted rows. If the caller set a refine
   * factor, no more candidates are requested later.
   */
  #firstCandidates(opened: VectorIndexSegment, k: number): number {
    const { refineFactor } = this.#options
    return refineFactor === undefined ? opened.candidatesFor(k) : k * refineFactor
  }

  /**
   * Return the number of candidates to measure first. `first`: number of requested candidates. If the column is not in
   * memory, every row is read separately, so the result is the minimum number that can be enough.
   */
  #firstMeasured(first: number, k: number, blur: Blur): number {
    if (this.#options.refineFactor !== undefined) return first
    if (this.#column(columnBytes(this.#search)).readRows === 0) return first
    return Math.min(first, enoughWork(blur, watchedRows(k)))
  }

  /**
   * Search a segment and add the nearest of its candidates. `allowed`: the rows that may be returned; null: all rows of
   * the segment.
   *
   * Returns false if the caller must measure all allowed rows instead. The reason is that this costs no more, or that
   * the segment returns too few rows or too few of the nearest rows.
   */
  *#searchSegment(segment: SegmentReader<VectorIndexSegment>, allowed: AllowedRows | null): Task<boolean> {
    const { effort, refineFactor } = this.#options
    if (allowed?.count === 0) return true
    const opened = yield* wait(segment.open(this.#pacer.signal))
    // A segment with deleted rows counts as filtered, because the deleted rows may be the nearest rows, like rows that
    // a filter excludes.
    if (this.#isPoor(opened, allowed !== null)) return false
    const { facts } = opened
    const { reader } = this.#source
    const blur = opened.blurFor(allowed !== null)
    const passing = Math.min(facts.vectors, allowed?.count ?? facts.vectors)
    if (passing === 0) return true
    const k = Math.min(this.#limit, passing)
    const mayBeShort = effort.mostPartitions !== undefined
    const first = this.#firstCandidates(opened, k)
    const start = this.#firstMeasured(first, k, blur)
    const beside = opened.beside && reader.besideReader(segment.path, opened.beside, this.#pacer)
    for (let count = first, enough = start; count < passing; count = Math.max(enough, 4 * count)) {
      const { query, multi } = this.#search
      const queries = multi === null ? {} : { queries: multi }
      const bits = allowed?.bits ?? null
      const onRead = beside && ((partitions: Uint32Array) => beside.expect(partitions))
      const probe = { query, ...queries, k, count, allowed: bits, passing, effort, onRead }
      const asked = wait(opened.candidates(probe, this.#pacer))
      const proposed = yield* segment.on(asked, this.#pacer.signal)
      this.#source.meter?.probed(proposed, facts.rowBytes)
      const { ordinals, ended } = proposed
      if (ended === 'unsettled' || (ordinals.length < k && !mayBeShort)) return false
      const candidates = new NearCandidates(ordinals, proposed.partitionOf)
      enough = Math.max(enough, start + ordinals.length - count)
      while (candidates.measured < Math.min(enough, ordinals.length)) {
        yield* this.#measureCandidates(segment, beside, candidates, Math.min(enough, ordinals.length))
        if (refineFactor !== undefined) break
        const more = candidates.enoughFor(k, blur)
        if (more > enough) enough = Math.max(more, Math.ceil(leastGrowth * enough))
      }
      if (enough > ordinals.length && ordinals.length >= count) continue
      if (!isEffortGiven(this.#options) && isFar(facts, candidates.farthest(1))) return false
      const found = candidates.nearerThan(this.#search.upper)
      // More rows may be within the range of distances than the segment returned.
      if (this.#search.upper !== undefined && found.offsets.length < k && !mayBeShort) return false
      this.#found.add(found, this.#limit)
      this.#source.meter?.ended(refineFactor === undefined ? ended : 'limited')
      return true
    }
    return false
  }

  /** Compute the exact distances of the candidates with the ranks from `candidates.measured` to `to - 1`. */
  *#measureCandidates(
    segment: SegmentReader<VectorIndexSegment>,
    beside: BesideReader | undefined,
    candidates: NearCandidates,
    to: number,
  ): Task<void> {
    const { reader } = this.#source
    const { signal } = this.#pacer
    const { parts } = this.#found
    const { field } = this.#search
    const { ranks, ordinals } = candidates.next(to)
    const some: SomeRows[] = []
    const numbers: number[] = []
    for (const { fragment, offsets } of yield* wait(segment.place(ordinals))) {
      const ids = yield* wait(reader.rowIds(fragment, signal))
      const all = yield* wait(reader.partsOf(fragment, signal))
      for (let from = 0; from < offsets.length; ) {
        const part = all[partitionPoint(all.length, i => all[i]!.first <= offsets[from]!) - 1]!
        const end = part.first + part.rows
        const begin = from
        while (from < offsets.length && offsets[from]! < end) from++
        const rows = offsets.slice(begin, from)
        for (let i = 0; i < rows.length; i++) rows[i]! -= part.first
        some.push({ part, offsets: rows })
        numbers.push(parts.add(part, ids))
      }
    }
    const { partitionOf } = candidates
    // Vectors in memory need no request.
    const isRead = some.some(({ part }) => !reader.holds(part, field.column))
    const found: { readonly vectors: Vectors; readonly rows: Uint32Array }[] = []
    if (isRead && beside !== undefined && partitionOf !== null) {
      const placed = { ordinals, partitionOf: ranks.map(rank => partitionOf[rank]!) }
      const vectors = { segment: yield* wait(beside.read(placed)), present: null, lists: null }
      let next = 0
      for (const { offsets } of some) found.push({ vectors, rows: offsets.map(() => next++) })
    } else {
      found.push(...(yield* wait(reader.vectorsOf(some, field, this.#pacer))))
    }
    let count = 0
    for (const [i, { vectors, rows }] of found.entries()) {
      const distances = yield* this.#distances(vectors, rows)
      const { offsets } = some[i]!
      for (let row = 0; row < rows.length; row++, count++) {
        const rank = ranks[count]!
        candidates.partOf[rank] = numbers[i]!
        candidates.offsets[rank] = offsets[row]!
        candidates.distances[rank] = distances[row]!
      }
      if (this.#pacer.due()) yield this.#pacer.pause()
    }
    assert(count === ranks.length, 'an index returned a candidate that is not live')
    candidates.measured = to
  }

  /** Compute the exact distances of rows. All rows must have a vector. */
  *#distances(vectors: Vectors, rows: Uint32Array): Task<Float32Array> {
    const { metric, multi } = this.#search
    const { meter } = this.#source
    if (multi === null) {
      const distances = new Float32Array(rows.length)
      meter?.measured(rows.length, vectors.segment, true)
      measureRows(vectors.segment, this.#query, rows, distances)
      return distances
    }
    const all = RowSet.of(rowsOf(vectors), rows)
    const found = yield* wait(maxSims(vectors, all, multi, metric, meter, this.#pacer))
    assert(found.offsets.length === rows.length, 'an index returned a candidate without a vector')
    return found.distances
  }

  /** Compute the exact distances of the live rows of a fragment that are in `rows`. */
  *#measureIn(fragment: Fragment, rows: RowSet): Task<void> {
    const { reader } = this.#source
    for (const part of yield* wait(reader.partsOf(fragment, this.#pacer.signal))) {
      const own = rows.slice(part.first, part.first + part.rows)
      const live = yield* wait(reader.live(part, this.#pacer.signal))
      yield* this.#measure([{ part, rows: live === null ? own : own.within(live) }])
    }
  }

  *#measure(all: readonly PartRows[]): Task<void> {
    for (const { part, rows } of all) {
      if (rows.isNone) continue
      yield* this.#found.measure(part, rows, this.#search, this.#limit, this.#source, this.#pacer)
    }
  }
}

/** Return the rows of `fragments` that pass the filter and that `cover` covers. */
function passingIn(
  cover: Cover,
  fragments: Iterable<Fragment>,
  byFragment: ReadonlyMap<Fragment, readonly PartRows[]>,
): readonly PartRows[] {
  const passing: PartRows[] = []
  for (const fragment of fragments) {
    for (const each of byFragment.get(fragment) ?? []) {
      const own = within(each, cover)
      if (!own.rows.isNone) passing.push(own)
    }
  }
  return passing
}

/**
 * Return the bytes per row for the cost model. A row with a list is assumed to have as many vectors as the query,
 * because their number is not known. Every pair of a query vector and a row vector counts.
 */
export function columnBytes(search: VectorSearch): number {
  const bytes = vectorBytes(search)
  return search.multi === null ? bytes : listBytes(search.multi.length ** 2, bytes)
}

function vectorBytes({ field: { type }, query }: VectorSearch): number {
  return query.length * (elementKind(vectorType(type)!) === 'u8' ? 1 : 4)
}

/** Join the rows of the parts of each fragment, as offsets in the fragment. */
function rowsByFragment(all: readonly PartRows[]): ReadonlyMap<Fragment, RowSet> {
  const bits = new Map<Fragment, Bitset>()
  for (const { part, rows } of all) {
    const { fragment, first } = part
    const known = bits.get(fragment) ?? new Bitset(fragment.rows)
    rows.addTo(known, first)
    bits.set(fragment, known)
  }
  return new Map(Array.from(bits, ([fragment, own]) => [fragment, RowSet.ofBits(own)]))
}
