/**
 * Recall of searches that say nothing but filter and limit, cell by cell, against a slow oracle: all distances in float64. A row as near
 * as the true k-th counts as found.
 */
import type { Filter, LabelledVectors } from '../../../bench/labelled-data.js'
import type { Table } from '../../../src/index.js'
import type { Metric } from '../../../src/kernels/metric.js'

export interface Cell {
  readonly filter: string
  readonly k: number
  readonly mean: number
  /** Part of the queries with a recall below 0.8. */
  readonly poor: number
}

/** Whether a cell keeps the guarantee of vector indexes. */
export function isKept({ k, mean, poor }: Cell): boolean {
  return mean >= 0.95 && (k < 10 || poor <= 0.02)
}

/** Distances of all rows from all queries, in float64: what is smaller is nearer. */
export function distancesOf(
  { dim, rows, queries }: LabelledVectors,
  metric: Metric,
): readonly Float64Array[] {
  const count = rows.length / dim
  const squares = Float64Array.from({ length: count }, (_, row) =>
    productAt(rows, row * dim, rows, row * dim, dim),
  )
  return Array.from({ length: queries.length / dim }, (_, q) => {
    const query = queries.subarray(q * dim, (q + 1) * dim)
    const own = productAt(query, 0, query, 0, dim)
    const distances = new Float64Array(count)
    for (let row = 0; row < count; row++) {
      const at = row * dim
      if (metric === 'l2') {
        distances[row] = gapAt(rows, at, query)
        continue
      }
      const dot = productAt(rows, at, query, 0, dim)
      distances[row] = metric === 'dot' ? -dot : 1 - dot / Math.sqrt(squares[row]! * own)
    }
    return distances
  })
}

function gapAt(rows: Float32Array, at: number, query: Float32Array): number {
  let gap = 0
  for (let i = 0; i < query.length; i++) gap += (rows[at + i]! - query[i]!) ** 2
  return gap
}

function productAt(a: Float32Array, aAt: number, b: Float32Array, bAt: number, dim: number): number {
  let product = 0
  for (let i = 0; i < dim; i++) product += a[aAt + i]! * b[bAt + i]!
  return product
}

/** What `passingOf` found: all kinds of indexes are asked the same. */
const passing = new WeakMap<readonly Float64Array[], WeakMap<Filter, readonly Float64Array[]>>()

/** By query, the distances of the rows that pass a filter, ascending. */
function passingOf(distances: readonly Float64Array[], filter: Filter): readonly Float64Array[] {
  const byFilter = passing.get(distances) ?? new WeakMap<Filter, readonly Float64Array[]>()
  passing.set(distances, byFilter)
  const known = byFilter.get(filter)
  if (known !== undefined) return known
  const found = distances.map((own, q) => own.filter((_, row) => filter.passes(q, row)).sort())
  byFilter.set(filter, found)
  return found
}

/** Asks every query with a filter and each limit, and says how well it is answered. */
export async function asked(
  table: Table,
  { dim, queries }: LabelledVectors,
  distances: readonly Float64Array[],
  filter: Filter,
  limits: readonly number[],
): Promise<readonly Cell[]> {
  const recalls: number[][] = limits.map(() => [])
  const allPassing = passingOf(distances, filter)
  for (const [q, own] of distances.entries()) {
    const passing = allPassing[q]!
    if (passing.length === 0) continue
    const where = filter.where(q)
    const search = table.search(queries.slice(q * dim, (q + 1) * dim)).select(['id'])
    for (const [i, k] of limits.entries()) {
      const wanted = Math.min(k, passing.length)
      // What the database measures in float32 may come out as a tie.
      const near = passing[wanted - 1]! + 1e-6 * (passing.at(-1)! - passing[0]!)
      const rows = await (where === null ? search : search.where(where)).limit(k).toArray()
      recalls[i]!.push(Math.min(1, rows.filter(({ id }) => own[id as number]! <= near).length / wanted))
    }
  }
  return limits.map((k, i) => {
    const all = recalls[i]!
    const count = Math.max(1, all.length)
    const mean = all.length === 0 ? 1 : all.reduce((sum, recall) => sum + recall, 0) / count
    return { filter: filter.name, k, mean, poor: all.filter(recall => recall < 0.8).length / count }
  })
}
