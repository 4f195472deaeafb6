/**
 * Exact vector search: measures the distance of every row that passes the filter. Tests compare approximate searches
 * with it.
 */
import { searchSegment } from '../kernels/exact.js'
import { chooseHits } from '../kernels/exact-plain.js'
import type { Hits } from '../kernels/nearest.js'
import { lazyImport } from '../lazy-import.js'
import type { Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { RowSet } from '../primitives/row-set.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import { type MaybePromise, runTask, type Task, type TaskStream, wait } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { Part, TableReader } from '../table/table-reader.js'
import type { VectorField, Vectors } from '../table/vector-column.js'
import type { VectorIndexReader } from '../table/vector-index.js'
import { exactUnits } from './exact-units.js'
import { candidates, passingRows } from './filter.js'
import { mergeHits, Parts, type RankedHits, type RowHits, ranked, searchColumns } from './hits.js'
import type { VectorSearch } from './plan.js'
import type { RowSource } from './source.js'

const measuringLists = lazyImport(() => import('./max-sim.js'))

/**
 * Return the `limit` nearest live rows that pass `filter`, have a vector, and whose distance is within the bounds of
 * `search`. `unit`: search only this unit (`exactUnits`); null: all rows.
 */
export function searchExact(
  search: VectorSearch,
  filter: BoundExpression | null,
  limit: number,
  source: RowSource,
  pacer: Pacer,
  unit: number | null = null,
): MaybePromise<RowHits> {
  const fragments = unit === null ? undefined : exactUnits(source.reader.layout)[unit]
  return runTask(searchTask(search, { filter, fragments }, limit, source, pacer))
}

/** The rows that a search may return: live rows of `fragments` (undefined: all fragments) that pass a filter. */
export interface Among {
  readonly filter: BoundExpression | null
  readonly fragments?: readonly Fragment[] | undefined
}

function* searchTask(
  search: VectorSearch,
  among: Among,
  limit: number,
  source: RowSource,
  pacer: Pacer,
): Task<RowHits> {
  const found = new FoundRows()
  const covers = search.fast ? coversOf(search.field, source.reader) : null
  if (limit > 0 && covers?.length !== 0) {
    for (const passing of passingParts(source, among, [search.field.column.name], pacer)) {
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

/** A set of rows of a part. */
export interface PartRows {
  readonly part: Part
  readonly rows: RowSet
}

/**
 * Stream the rows that a search may return, part by part. `names`: columns that the caller will read, in addition to
 * those of the filter.
 */
export function* passingParts(
  source: RowSource,
  among: Among,
  names: readonly string[],
  pacer: Pacer,
): TaskStream<PartRows> {
  for (const candidate of candidates(source, { ...among, names }, pacer)) {
    if (candidate instanceof Promise) {
      yield candidate
      continue
    }
    const { part } = candidate
    const rows = yield* wait(passingRows(source, candidate, pacer))
    yield { part, rows: rows ?? RowSet.all(part.rows) }
  }
}

/** An index or segment that tells which rows of a fragment it covers. */
export type Cover = Pick<VectorIndexReader, 'covered'>

/** Return the vector indexes on a field. */
export function coversOf({ id }: VectorField, { vectorIndexes }: TableReader): readonly Cover[] {
  return vectorIndexes.filter(({ field }) => field === id)
}

/** Return only the rows that `cover` covers. */
export function within({ part, rows }: PartRows, cover: Cover): PartRows {
  const covered = cover.covered(part.fragment)
  return { part, rows: rows.and(covered.slice(part.first, part.first + part.rows)) }
}

function withinAny(passing: PartRows, covers: readonly Cover[]): PartRows {
  const { part } = passing
  const all = covers.map(cover => within(passing, cover).rows)
  return { part, rows: all.reduce((rows, more) => rows.or(more), RowSet.none(part.rows)) }
}

/** Collects rows and their exact distances, part by part. */
export class FoundRows {
  readonly parts = new Parts()
  readonly #lists: RankedHits[] = []

  /** Add the `limit` nearest rows of `hits`, which may be in any order. `hits.partOf` has part numbers of `parts`. */
  add(hits: RankedHits, limit: number): void {
    this.#lists.push(ranked(hits, limit, this.parts))
  }

  /**
   * Compute the exact distances of rows of a part. Add the `limit` nearest rows that have a vector and whose distance
   * is within the bounds.
   */
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
      const { maxSims } = yield* wait(measuringLists())
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

  /** Return the `limit` nearest of all added rows. */
  *merged(limit: number, pacer: Pacer): Task<RowHits> {
    const { partOf, offsets, distances } = yield* mergeHits(this.parts, this.#lists, limit, pacer)
    return {
      parts: this.parts.all,
      partOf,
      offsets,
      computed: [{ name: searchColumns.distance, values: distances }],
    }
  }
}

/** If at most this share of a part's rows is needed, only these rows are read. */
const fewShare = 1 / 16

/**
 * Read the vectors of a part. `rows`: the needed rows. Returns the vectors of all rows with `at` null, or only the
 * needed vectors with `at`: the offsets of their rows, ascending.
 */
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

/** Returns the `k` nearest rows of a part, sorted by (distance, offset). `lower`: minimum distance; default: none. */
type Choose = (options: { readonly k: number; readonly lower?: number }) => Hits

/**
 * Return the `limit` nearest rows of a part, sorted by (distance, row id). The kernel sorts rows of equal distance by
 * offset. If row ids do not ascend with offsets, this function fetches all rows with the last distance and sorts them
 * by row id.
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

/** Sort rows of equal distance by row id, and return the first `k` rows. `ids`: the row ids of the fragment. */
function byId({ ordinals, distances }: Hits, { first }: Part, ids: RunSequence, k: number): Nearest {
  const offsets = ordinals.slice()
  for (let from = 0, to: number; from < offsets.length; from = to) {
    for (to = from + 1; distances[to] === distances[from]; ) to++
    if (to - from > 1) offsets.subarray(from, to).sort((a, b) => ids.at(first + a) - ids.at(first + b))
  }
  return { offsets: offsets.subarray(0, k), distances: distances.subarray(0, k) }
}
