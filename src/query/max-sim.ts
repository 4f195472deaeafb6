/**
 * Computes MaxSim distances: between a query of several vectors and rows with lists of vectors (rule A-042). The
 * distance between a query vector and a row is the distance to the nearest vector of the row. The row's distance is the
 * sum of these distances over all query vectors, as in Lance.
 */
import { distancesOf } from '../kernels/exact.js'
import type { Metric } from '../kernels/metric.js'
import type { Pacer } from '../primitives/pacer.js'
import type { RowSet } from '../primitives/row-set.js'
import type { Vectors } from '../table/vector-column.js'
import type { Meter } from './meter.js'

/** Maximum bytes of row vectors in a slice. All query vectors are compared with a slice while it is in the L2 cache. */
const sliceBytes = 256 * 1024

/** The rows of a part that have a vector, and their distances. */
interface RowDistances {
  /** Offsets of the rows in the part, ascending. */
  readonly offsets: Uint32Array
  readonly distances: Float32Array
}

/**
 * Return the distances of the rows that have a vector. Does not check that all `queries` have the column's dimension.
 */
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
      // NaN is the sum of an infinite and a negatively infinite distance. Replace it by Infinity, as in `metric.ts`, so
      // that the row ranks last.
      distances[found++] = Number.isNaN(sums[i]!) ? Infinity : sums[i]!
    }
  }
  return { offsets: offsets.subarray(0, found), distances: distances.subarray(0, found) }
}

interface Slice {
  /** Offsets of the rows of the slice. All have a vector. */
  readonly rows: readonly number[]
  /** Ordinals of the vectors of all rows, row by row. */
  readonly ordinals: Uint32Array
  /** For each row: the index in `ordinals` after its last vector. */
  readonly ends: readonly number[]
  /** Index in `passing` of the first row after the slice. */
  readonly next: number
}

/**
 * Return a slice of `passing` that starts at index `from`. It has at most `most` vectors, or a single row with more
 * vectors.
 */
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

/** Add to each row's sum the minimum distance of its vectors. */
function addLeast(distances: Float32Array, ends: readonly number[], sums: Float64Array): void {
  let at = 0
  for (let row = 0; row < ends.length; row++) {
    let least = Infinity
    for (; at < ends[row]!; at++) if (distances[at]! < least) least = distances[at]!
    sums[row]! += least
  }
}
