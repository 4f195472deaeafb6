/**
 * Distances of rows that hold lists of vectors from a query of several (rule A-042). Each vector of the query is as far from a row as
 * from the nearest of the row's vectors. The row's distance is the sum of these distances, as in Lance.
 */
import { distancesOf } from '../kernels/exact.js'
import type { Metric } from '../kernels/metric.js'
import type { Pacer } from '../primitives/pacer.js'
import type { RowSet } from '../primitives/row-set.js'
import type { Vectors } from '../table/vector-column.js'
import type { Meter } from './meter.js'

/** Bytes of vectors that all of a query meet before the next are looked at: they stay in the second-level cache. */
const sliceBytes = 256 * 1024

/** Rows of a part that have a vector, by offset, and how far each is. */
export interface RowDistances {
  readonly offsets: Uint32Array
  readonly distances: Float32Array
}

/** Of those of `rows` that have a vector. No vector of `queries` is of another dimension (not re-checked). */
export async function maxSims(
  vectors: Vectors,
  rows: RowSet,
  queries: readonly Float32Array[],
  metric: Metric,
  meter: Meter | null,
  pacer: Pacer,
): Promise<RowDistances> {
  const { segment } = vectors
  const passing = rows.toIndices()
  const offsets = new Uint32Array(passing.length)
  const distances = new Float32Array(passing.length)
  const most = Math.max(1, Math.floor((sliceBytes * segment.rows) / Math.max(1, segment.bytes.length)))
  let found = 0
  for (let from = 0; from < passing.length; ) {
    const slice = sliceFrom(vectors, passing, from, most)
    from = slice.next
    meter?.measured(slice.ordinals.length, segment)
    const sums = new Float64Array(slice.rows.length)
    for (const query of queries) {
      addLeast(distancesOf(segment, query, metric, slice.ordinals), slice.ends, sums)
      await pacer.turn()
    }
    for (let i = 0; i < sums.length; i++) {
      offsets[found] = slice.rows[i]!
      // Beyond float32 either way: ranks last, as in `metric.ts`.
      distances[found++] = Number.isNaN(sums[i]!) ? Infinity : sums[i]!
    }
  }
  return { offsets: offsets.subarray(0, found), distances: distances.subarray(0, found) }
}

interface Slice {
  /** Offsets of its rows, all of which have a vector. */
  readonly rows: readonly number[]
  /** Their vectors, row by row, and for each row where those end. */
  readonly ordinals: Uint32Array
  readonly ends: readonly number[]
  /** Number of the first row that is not in it. */
  readonly next: number
}

/** Rows from number `from` on with at most `most` vectors together, or one row with more. */
function sliceFrom({ present, lists }: Vectors, passing: Uint32Array, from: number, most: number): Slice {
  const { offsets, valid } = lists!
  const countOf = (row: number) => (valid?.has(row) === false ? 0 : offsets[row + 1]! - offsets[row]!)
  let next = from
  let room = 0
  do room += countOf(passing[next++]!)
  while (next < passing.length && room + countOf(passing[next]!) <= most)
  const ordinals = new Uint32Array(room)
  const rows: number[] = []
  const ends: number[] = []
  let count = 0
  for (let i = from; i < next; i++) {
    const row = passing[i]!
    const first = offsets[row]!
    const before = count
    for (let vector = first; vector < first + countOf(row); vector++)
      if (present === null || present.has(vector)) ordinals[count++] = vector
    if (count === before) continue
    rows.push(row)
    ends.push(count)
  }
  return { rows, ordinals: ordinals.subarray(0, count), ends, next }
}

/** Adds to the sum of each row the least of its vectors' distances. */
function addLeast(distances: Float32Array, ends: readonly number[], sums: Float64Array): void {
  let at = 0
  for (let row = 0; row < ends.length; row++) {
    let least = Infinity
    for (; at < ends[row]!; at++) if (distances[at]! < least) least = distances[at]!
    sums[row]! += least
  }
}
