/**
 * MaxSim distances of rows with lists of vectors from a query of several vectors (rule A-042). The distance of a query vector
 * from a row is its distance from the nearest vector of the row. The row's distance is the sum over the query vectors, as in Lance.
 */
import { distancesOf } from '../kernels/exact.js'
import type { Metric } from '../kernels/metric.js'
import type { Pacer } from '../primitives/pacer.js'
import type { RowSet } from '../primitives/row-set.js'
import type { Vectors } from '../table/vector-column.js'
import type { Meter } from './meter.js'

/** Bytes of row vectors that are compared with all query vectors together: they stay in the second-level cache. */
const sliceBytes = 256 * 1024

/** Rows of a part that have a vector, by offset, and their distances. */
interface RowDistances {
  readonly offsets: Uint32Array
  readonly distances: Float32Array
}

/** Return the distances of those of `rows` that have a vector. All `queries` must have the right dimension (not checked again). */
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
      // NaN comes from sums beyond float32 in both directions: ranks last, as in `metric.ts`.
      distances[found++] = Number.isNaN(sums[i]!) ? Infinity : sums[i]!
    }
  }
  return { offsets: offsets.subarray(0, found), distances: distances.subarray(0, found) }
}

interface Slice {
  /** Offsets of its rows, all of which have a vector. */
  readonly rows: readonly number[]
  /** Their vectors, row by row, and for each row the end of its vectors. */
  readonly ordinals: Uint32Array
  readonly ends: readonly number[]
  /** Index of the first row after the slice. */
  readonly next: number
}

/** The rows from index `from` on with at most `most` vectors together, or one row with more. */
function sliceFrom({ present, lists }: Vectors, passing: Uint32Array, from: number, most: number): Slice {
  const { offsets, valid } = lists!
  const countOf = (row: number) => (valid?.has(row) === false ? 0 : offsets[row + 1]! - offsets[row]!)
  let next = from
  let total = 0
  do total += countOf(passing[next++]!)
  while (next < passing.length && total + countOf(passing[next]!) <= most)
  const ordinals = new Uint32Array(total)
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

/** Add the least distance of each row's vectors to the row's sum. */
function addLeast(distances: Float32Array, ends: readonly number[], sums: Float64Array): void {
  let at = 0
  for (let row = 0; row < ends.length; row++) {
    let least = Infinity
    for (; at < ends[row]!; at++) if (distances[at]! < least) least = distances[at]!
    sums[row]! += least
  }
}
