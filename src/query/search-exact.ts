/** Exact nearest neighbours: every allowed row is measured. Baseline and oracle of every approximate way. */
import { searchSegment } from '../kernels/exact.js'
import { chooseHits } from '../kernels/exact-plain.js'
import type { Hits } from '../kernels/nearest.js'
import type { Pacer } from '../primitives/pacer.js'
import { RowSet } from '../primitives/row-set.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import { awaited } from '../primitives/soon.js'
import type { BoundExpression } from '../sql/bound.js'
import type { Part } from '../table/table-reader.js'
import { candidates, passingRows } from './filter.js'
import { mergeHits, type PartHits, type RowHits } from './hits.js'
import { maxSims } from './max-sim.js'
import type { VectorSearch } from './plan.js'
import type { RowSource } from './source.js'

/** The `limit` nearest rows that are alive, pass `filter`, have a vector, and lie within the bounds. */
export async function searchExact(
  search: VectorSearch,
  filter: BoundExpression | null,
  limit: number,
  source: RowSource,
  pacer: Pacer,
): Promise<RowHits> {
  const found = new FoundRows()
  if (limit > 0) {
    for await (const { part, rows } of passingParts(source, filter, [search.field.name], pacer)) {
      await found.measure(part, rows, search, limit, source, pacer)
    }
  }
  return found.merged(limit, pacer)
}

/** Some of the rows of a part. */
export interface PartRows {
  readonly part: Part
  readonly rows: RowSet
}

/** The living rows that pass a filter, part by part. `names`: columns besides those of the filter that will be read. */
export async function* passingParts(
  source: RowSource,
  filter: BoundExpression | null,
  names: readonly string[],
  pacer: Pacer,
): AsyncGenerator<PartRows> {
  for await (const candidate of awaited(candidates(source, { filter, names }, pacer))) {
    const { part } = candidate
    yield { part, rows: (await passingRows(source, candidate, pacer)) ?? RowSet.all(part.rows) }
  }
}

/** Rows that were measured, part by part. */
export class FoundRows {
  readonly #parts: Part[] = []
  readonly #lists: PartHits[] = []

  /** Adds rows of a part, ascending by (distance, row id); `ids`: those of its fragment. */
  add(part: Part, ids: RunSequence, nearest: Nearest): void {
    this.#lists.push({ part: this.#parts.push(part) - 1, ids, first: part.first, ...nearest })
  }

  /** Adds the `limit` nearest of some rows of a part that have a vector and lie within the bounds. */
  async measure(
    part: Part,
    rows: RowSet,
    search: VectorSearch,
    limit: number,
    { reader, meter }: RowSource,
    pacer: Pacer,
  ): Promise<void> {
    const { field, query, metric, lower, upper, multi } = search
    const vectors = await reader.vectors(part, field, pacer.signal)
    const ids = await reader.rowIds(part.fragment, pacer.signal)
    const bounds = { ...(lower !== undefined && { lower }), ...(upper !== undefined && { upper }) }
    if (multi !== null) {
      const { offsets, distances } = await maxSims(vectors, rows, multi, metric, meter, pacer)
      const nearest: Choose = options => chooseHits(distances, offsets, { ...bounds, ...options })
      this.add(part, ids, nearestIn(part, ids, limit, nearest))
      return
    }
    const { segment, present } = vectors
    const passing = rows.isAll ? null : rows.toBits()
    const allowed = present === null ? passing : passing === null ? present : passing.and(present)
    meter?.measured(rows.count, segment)
    const found = nearestIn(part, ids, limit, options =>
      searchSegment(segment, query, {
        metric,
        ...bounds,
        ...(allowed === null ? {} : { allowed }),
        ...options,
      }),
    )
    this.add(part, ids, found)
    await pacer.turn()
  }

  /** The `limit` nearest of all. */
  merged(limit: number, pacer: Pacer): Promise<RowHits> {
    return mergeHits(this.#parts, this.#lists, limit, pacer)
  }
}

export type Nearest = Pick<PartHits, 'offsets' | 'distances'>

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
