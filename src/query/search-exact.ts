/** Exact nearest neighbours: every allowed row is measured. Baseline and oracle of every approximate way. */
import { searchSegment } from '../kernels/exact.js'
import { chooseHits } from '../kernels/exact-plain.js'
import type { Hits } from '../kernels/nearest.js'
import type { Pacer } from '../primitives/pacer.js'
import { RowSet } from '../primitives/row-set.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import { type MaybePromise, runTask, type Task, type TaskStream, wait } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound.js'
import type { Part, TableReader } from '../table/table-reader.js'
import type { VectorField, Vectors } from '../table/vector-column.js'
import type { VectorIndexReader } from '../table/vector-index.js'
import { candidates, passingRows } from './filter.js'
import { madeBySearch, mergeHits, Parts, type RankedHits, type RowHits, ranked } from './hits.js'
import { maxSims } from './max-sim.js'
import type { VectorSearch } from './plan.js'
import type { RowSource } from './source.js'

/** The `limit` nearest rows that are alive, pass `filter`, have a vector, and lie within the bounds. */
export function searchExact(
  search: VectorSearch,
  filter: BoundExpression | null,
  limit: number,
  source: RowSource,
  pacer: Pacer,
): MaybePromise<RowHits> {
  return runTask(searching(search, filter, limit, source, pacer))
}

function* searching(
  search: VectorSearch,
  filter: BoundExpression | null,
  limit: number,
  source: RowSource,
  pacer: Pacer,
): Task<RowHits> {
  const found = new FoundRows()
  const covers = search.fast ? coversOf(search.field, source.reader) : null
  if (limit > 0 && covers?.length !== 0) {
    for (const passing of passingParts(source, filter, [search.field.column.name], pacer)) {
      if (passing instanceof Promise) {
        yield passing
        continue
      }
      const { part, rows } = covers === null ? passing : withinAny(passing, covers)
      if (!rows.isNone) yield* found.measure(part, rows, search, limit, source, pacer)
    }
  }
  return yield* found.merged(limit, pacer)
}

/** Some of the rows of a part. */
export interface PartRows {
  readonly part: Part
  readonly rows: RowSet
}

/** The living rows that pass a filter, part by part. `names`: columns besides those of the filter that will be read. */
export function* passingParts(
  source: RowSource,
  filter: BoundExpression | null,
  names: readonly string[],
  pacer: Pacer,
): TaskStream<PartRows> {
  for (const candidate of candidates(source, { filter, names }, pacer)) {
    if (candidate instanceof Promise) {
      yield candidate
      continue
    }
    const { part } = candidate
    const rows = yield* wait(passingRows(source, candidate, pacer))
    yield { part, rows: rows ?? RowSet.all(part.rows) }
  }
}

/** Knows of fragments which rows it covers. */
export type Cover = Pick<VectorIndexReader, 'covered'>

/** The indexes on a field. */
export function coversOf({ id }: VectorField, { vectorIndexes }: TableReader): readonly Cover[] {
  return vectorIndexes.filter(({ field }) => field === id)
}

/** Those of the rows that something covers. */
export function within({ part, rows }: PartRows, cover: Cover): PartRows {
  const covered = cover.covered(part.fragment)
  return { part, rows: rows.and(covered.slice(part.first, part.first + part.rows)) }
}

function withinAny(passing: PartRows, covers: readonly Cover[]): PartRows {
  const { part } = passing
  const all = covers.map(cover => within(passing, cover).rows)
  return { part, rows: all.reduce((rows, more) => rows.or(more), RowSet.none(part.rows)) }
}

/** Rows that were measured. */
export class FoundRows {
  readonly parts = new Parts()
  readonly #lists: RankedHits[] = []

  /** Adds the `limit` nearest of rows that were measured in any order; their parts are in `parts`. */
  add(hits: RankedHits, limit: number): void {
    this.#lists.push(ranked(hits, limit, this.parts))
  }

  /** Adds the `limit` nearest of some rows of a part that have a vector and lie within the bounds. */
  *measure(
    part: Part,
    rows: RowSet,
    search: VectorSearch,
    limit: number,
    { reader, meter }: RowSource,
    pacer: Pacer,
  ): Task<void> {
    const { field, query, metric, lower, upper, multi } = search
    const { vectors, at } = yield* vectorsAmong(reader, part, field, rows, pacer)
    const ids = yield* wait(reader.rowIds(part.fragment, pacer.signal))
    const bounds = { ...(lower !== undefined && { lower }), ...(upper !== undefined && { upper }) }
    let choose: Choose
    if (multi === null) {
      const { segment, present } = vectors
      const passing = rows.isAll || at !== null ? null : rows.toBits()
      const allowed = present === null ? passing : passing === null ? present : passing.and(present)
      meter?.measured(rows.count, segment)
      const among = allowed === null ? {} : { allowed }
      choose = options => {
        const { ordinals, distances } = searchSegment(segment, query, {
          metric,
          ...bounds,
          ...among,
          ...options,
        })
        return { ordinals: at === null ? ordinals : ordinals.map(row => at[row]!), distances }
      }
    } else {
      const among = at === null ? rows : RowSet.all(at.length)
      const measured = yield* wait(maxSims(vectors, among, multi, metric, meter, pacer))
      const { distances } = measured
      const offsets = at === null ? measured.offsets : measured.offsets.map(row => at[row]!)
      choose = options => chooseHits(distances, offsets, { ...bounds, ...options })
    }
    const found = nearestIn(part, ids, limit, choose)
    const partOf = new Uint32Array(found.offsets.length).fill(this.parts.add(part, ids))
    this.#lists.push({ partOf, ...found })
    if (pacer.due()) yield pacer.pause()
  }

  /** The `limit` nearest of all. */
  *merged(limit: number, pacer: Pacer): Task<RowHits> {
    const { partOf, offsets, distances } = yield* mergeHits(this.parts, this.#lists, limit, pacer)
    return {
      parts: this.parts.all,
      partOf,
      offsets,
      made: [{ name: madeBySearch.distance, values: distances }],
    }
  }
}

/** Rows of a part that are so few are fetched without the others. */
const fewShare = 1 / 16

/** Vectors of a part: of all rows, or where few are wanted of those, whose numbers are `at`, ascending. */
function* vectorsAmong(
  reader: TableReader,
  part: Part,
  field: VectorField,
  rows: RowSet,
  pacer: Pacer,
): Task<{ readonly vectors: Vectors; readonly at: Uint32Array | null }> {
  if (rows.count <= part.rows * fewShare && !reader.holds(part, field.column)) {
    const offsets = rows.toIndices()
    const [found] = yield* wait(reader.vectorsOf([{ part, offsets }], field, pacer))
    const { vectors, rows: own } = found!
    return own === offsets ? { vectors, at: null } : { vectors, at: offsets }
  }
  return { vectors: yield* wait(reader.vectors(part, field, pacer.signal)), at: null }
}

type Nearest = Pick<RankedHits, 'offsets' | 'distances'>

/** The `k` nearest rows of a part by (distance, offset), from the distance `lower` on where that is given. */
type Choose = (options: { readonly k: number; readonly lower?: number }) => Hits

/**
 * The `limit` nearest rows of a part by (distance, row id). The kernel orders equal distances by offset: where that is not the
 * order of the ids, all rows as far as the last one are looked at, and put in order here.
 */
function nearestIn(part: Part, ids: RunSequence, limit: number, search: Choose): Nearest {
  const k = Math.min(limit, part.rows)
  if (ids.isAscending) {
    const { ordinals: offsets, distances } = search({ k })
    return { offsets, distances }
  }
  const found = search({ k: Math.min(k + 1, part.rows) })
  const last = found.distances[k - 1]
  if (found.distances.length <= k || found.distances[k] !== last) return byId(found, part, ids, k)
  const nearer = found.distances.indexOf(last!)
  const others = search({ k: part.rows, lower: last! })
  const asFar = others.distances.lastIndexOf(last!) + 1
  const ordinals = new Uint32Array(nearer + asFar)
  const distances = new Float32Array(nearer + asFar).fill(last!)
  ordinals.set(found.ordinals.subarray(0, nearer))
  distances.set(found.distances.subarray(0, nearer))
  ordinals.set(others.ordinals.subarray(0, asFar), nearer)
  return byId({ ordinals, distances }, part, ids, k)
}

/** The first `k` hits, those of one distance in the order of their ids. */
function byId({ ordinals, distances }: Hits, { first }: Part, ids: RunSequence, k: number): Nearest {
  const offsets = ordinals.slice()
  for (let from = 0, to: number; from < offsets.length; from = to) {
    for (to = from + 1; distances[to] === distances[from]; ) to++
    if (to - from > 1) offsets.subarray(from, to).sort((a, b) => ids.at(first + a) - ids.at(first + b))
  }
  return { offsets: offsets.subarray(0, k), distances: distances.subarray(0, k) }
}
