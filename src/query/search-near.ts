/**
 * Nearest neighbours by an index: its segments propose rows, whose distances are measured in the column. Rows that it does
 * not cover are all measured, and so are those that pass a filter where they are few. Never fewer rows than there are, unless
 * the caller limited the effort.
 */
import { assert } from '../errors.js'
import type { VectorIndexSegment } from '../indexes/vector/segment.js'
import { distancesOf } from '../kernels/exact.js'
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import { begun } from '../primitives/soon.js'
import type { BoundExpression } from '../sql/bound.js'
import type { Part } from '../table/table-reader.js'
import { elementKind } from '../table/vector-column.js'
import type { AllowedRows, PlacedRows, SegmentReader, VectorIndexReader } from '../table/vector-index.js'
import type { RowHits } from './hits.js'
import { asking, isLittle, measuring } from './near-costs.js'
import type { IndexSearch, VectorSearch } from './plan.js'
import { partialCover } from './probed-rows.js'
import { FoundRows, type Nearest, type PartRows, passingParts } from './search-exact.js'
import type { RowSource } from './source.js'

/** As `searchExact`, with the index of `search`. */
export async function searchNear(
  search: VectorSearch,
  filter: BoundExpression | null,
  limit: number,
  source: RowSource,
  pacer: Pacer,
): Promise<RowHits> {
  const near = new NearSearch(search, limit, source, pacer)
  if (limit > 0) await (filter === null ? near.all() : near.passing(filter))
  return near.found.merged(limit, pacer)
}

class NearSearch {
  readonly found = new FoundRows()
  readonly #search: VectorSearch
  readonly #options: IndexSearch
  readonly #index: VectorIndexReader
  readonly #limit: number
  readonly #source: RowSource
  readonly #pacer: Pacer

  constructor(search: VectorSearch, limit: number, source: RowSource, pacer: Pacer) {
    const index = source.reader.vectorIndexes.find(({ name }) => name === search.index?.name)
    assert(search.index !== null && index !== undefined, 'the plan asks an index that is not there')
    this.#search = search
    this.#options = search.index
    this.#index = index
    this.#limit = limit
    this.#source = source
    this.#pacer = pacer
  }

  /** Looks among all living rows. */
  async all(): Promise<void> {
    const { reader } = this.#source
    const { signal } = this.#pacer
    for (const segment of this.#index.segments) {
      const living = await segment.living(fragment => reader.liveIn(fragment), signal)
      if (await this.#ask(segment, living)) continue
      for (const fragment of segment.fragments) await this.#measureIn(fragment, segment.covered(fragment))
    }
    if (this.#options.fast) return
    for (const [fragment, covered] of await begun(partialCover(this.#index, reader, this.#pacer))) {
      await this.#measureIn(fragment, RowSet.all(fragment.rows).andNot(covered))
    }
  }

  /** Looks among the rows that pass a filter: which those are is known before anything is measured. */
  async passing(filter: BoundExpression): Promise<void> {
    const passing: PartRows[] = []
    for await (const each of passingParts(this.#source, filter, [], this.#pacer)) {
      if (each.rows.count > 0) passing.push(each)
    }
    if (!(await this.#isWorthAsking(passing))) {
      await this.#measure(this.#options.fast ? within(passing, this.#index) : passing)
      return
    }
    const byFragment = rowsByFragment(passing)
    const rowsOf = (fragment: Fragment) => byFragment.get(fragment) ?? RowSet.none(fragment.rows)
    for (const segment of this.#index.segments) {
      const bits = await segment.ordinalsOf(rowsOf, this.#pacer)
      const asked = await this.#ask(segment, { bits, count: bits.count() })
      if (!asked) await this.#measure(within(passing, segment))
    }
    if (this.#options.fast) return
    const partial = await begun(partialCover(this.#index, this.#source.reader, this.#pacer))
    const covered = (fragment: Fragment) => {
      const own = partial.get(fragment)
      return own === undefined ? RowSet.none(fragment.rows) : RowSet.all(fragment.rows).andNot(own)
    }
    await this.#measure(within(passing, { covered }))
  }

  /** Whether asking the index costs less than measuring all rows that pass. Opens it only where that takes a thought. */
  async #isWorthAsking(passing: readonly PartRows[]): Promise<boolean> {
    const { reader } = this.#source
    const rows = passing.reduce((sum, { rows }) => sum + rows.count, 0)
    const rowBytes = columnBytes(this.#search)
    if (isLittle(rows, passing.length, rowBytes)) return false
    let cost = 0
    for (const segment of this.#index.segments) {
      const opened = await segment.open(this.#pacer.signal)
      cost += asking(opened, this.#candidates(opened, this.#limit), rows / reader.liveRows, rowBytes)
    }
    return cost < measuring(rows, passing.length, rowBytes)
  }

  /** How many candidates `k` rows take. */
  #candidates(opened: VectorIndexSegment, k: number): number {
    return opened.candidatesFor(Math.min(k, opened.facts.vectors), this.#options.refineFactor)
  }

  /**
   * Adds the rows that a segment proposes; `allowed`: the only ones, null for all. False where all that are allowed must be
   * measured: because so many are wanted, or because it proposes fewer than are wanted although there are more.
   */
  async #ask(segment: SegmentReader, allowed: AllowedRows | null): Promise<boolean> {
    const { effort } = this.#options
    if (allowed?.count === 0) return true
    const opened = await segment.open(this.#pacer.signal)
    const { facts } = opened
    const most = Math.min(facts.vectors, allowed?.count ?? facts.vectors)
    if (most === 0) return true
    const wanted = Math.min(this.#limit, most)
    const count = this.#candidates(opened, wanted)
    if (count >= most) return false
    const probe = { query: this.#search.query, count, allowed: allowed?.bits ?? null, effort }
    const proposed = await opened.candidates(probe, this.#pacer)
    this.#source.meter?.probed(proposed, facts.rowBytes)
    if (proposed.ordinals.length < wanted && effort.mostPartitions === undefined) return false
    for (const placed of await segment.place(proposed.ordinals)) await this.#rank(placed)
    return true
  }

  /** Measures rows that were proposed. */
  async #rank({ fragment, offsets }: PlacedRows): Promise<void> {
    const { field, query, metric, upper } = this.#search
    const { reader, meter } = this.#source
    const { signal } = this.#pacer
    const ids = await reader.rowIds(fragment, signal)
    for (const { part, rows } of inParts(await reader.partsOf(fragment, signal), offsets)) {
      const { segment } = await reader.vectors(part, field, signal)
      meter?.measured(rows.length, segment, true)
      const distances = distancesOf(segment, query, metric, rows)
      this.found.add(
        part,
        ids,
        inOrder(rows, distances, upper, row => ids.at(part.first + row)),
      )
      await this.#pacer.turn()
    }
  }

  /** Measures those of some rows of a fragment that live. */
  async #measureIn(fragment: Fragment, rows: RowSet): Promise<void> {
    const { reader } = this.#source
    for (const part of await reader.partsOf(fragment, this.#pacer.signal)) {
      const own = rows.slice(part.first, part.first + part.rows)
      const live = await reader.live(part, this.#pacer.signal)
      await this.#measure([{ part, rows: live === null ? own : own.within(live) }])
    }
  }

  async #measure(all: readonly PartRows[]): Promise<void> {
    for (const { part, rows } of all) {
      if (rows.count === 0) continue
      await this.found.measure(part, rows, this.#search, this.#limit, this.#source, this.#pacer)
    }
  }
}

function columnBytes({ field: { type }, query }: VectorSearch): number {
  return query.length * (elementKind(type) === 'u8' ? 1 : 4)
}

/** Those of the rows that something covers. */
function within(all: readonly PartRows[], cover: Pick<SegmentReader, 'covered'>): readonly PartRows[] {
  return all.map(({ part, rows }) => {
    const covered = cover.covered(part.fragment)
    return { part, rows: rows.and(covered.slice(part.first, part.first + part.rows)) }
  })
}

/** The rows by fragment, counted in it. */
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

/** Rows of a fragment as rows of its parts. */
function inParts(
  parts: readonly Part[],
  offsets: Uint32Array,
): readonly { readonly part: Part; readonly rows: Uint32Array }[] {
  if (parts.length === 1) return [{ part: parts[0]!, rows: offsets }]
  const own = parts.map((): number[] => [])
  for (const offset of offsets) {
    const number = partitionPoint(parts.length, i => parts[i]!.first <= offset) - 1
    own[number]!.push(offset - parts[number]!.first)
  }
  return parts.flatMap((part, i) => (own[i]!.length === 0 ? [] : { part, rows: new Uint32Array(own[i]!) }))
}

/** Those nearer than `upper`, by (distance, row id). */
function inOrder(
  rows: Uint32Array,
  distances: Float32Array,
  upper: number | undefined,
  idOf: (row: number) => number,
): Nearest {
  const order: number[] = []
  for (let i = 0; i < rows.length; i++) if (upper === undefined || distances[i]! < upper) order.push(i)
  order.sort((a, b) => {
    const near = distances[a]!
    const far = distances[b]!
    return near === far ? idOf(rows[a]!) - idOf(rows[b]!) : near - far
  })
  const sorted = { offsets: new Uint32Array(order.length), distances: new Float32Array(order.length) }
  for (let i = 0; i < order.length; i++) {
    sorted.offsets[i] = rows[order[i]!]!
    sorted.distances[i] = distances[order[i]!]!
  }
  return sorted
}
