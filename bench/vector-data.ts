/** Loads or generates vectors and queries, and computes the exact nearest rows. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { dataPath } from '../scripts/data.js'
import { searchSegment } from '../src/kernels/exact.js'
import type { Metric } from '../src/kernels/metric.js'
import { Nearest } from '../src/kernels/nearest.js'
import { segmentBytes, VectorSegment } from '../src/kernels/vector-segment.js'
import { seededRandom } from './random.js'

export interface VectorData {
  readonly name: string
  readonly dim: number
  /** The elements of all rows (`rows x dim`). */
  readonly rows: Float32Array
  /** The elements of all queries (`queries x dim`). */
  readonly queries: Float32Array
}

/**
 * Generate vectors that are normally distributed around `centres` random centres, with the standard deviation `sigma`.
 * With a larger `sigma`, clusters overlap more.
 */
export function clusteredData(
  rows: number,
  dim: number,
  centres: number,
  sigma: number,
  queries: number,
): VectorData {
  const middle = normal(new Float32Array(centres * dim), seededRandom(42))
  const around = (count: number, seed: number) => {
    const random = seededRandom(seed)
    const values = normal(new Float32Array(count * dim), random)
    for (let row = 0; row < count; row++) {
      const centre = Math.floor(random() * centres) * dim
      for (let i = 0; i < dim; i++)
        values[row * dim + i] = middle[centre + i]! + sigma * values[row * dim + i]!
    }
    return values
  }
  return {
    name: `${rows} x ${dim}, ${centres} clusters`,
    dim,
    rows: around(rows, 1),
    queries: around(queries, 2),
  }
}

/**
 * Load the pixels of 60,000 images of clothes as rows, and of other images as queries. Returns null if the files are
 * not on this machine.
 */
export function fashionData(queries: number): VectorData | null {
  const pixels = (file: string, count: number) => {
    const path = dataPath('vectors', 'fashion-mnist', file)
    if (path === null) return null
    const bytes = gunzipSync(readFileSync(path))
    return Float32Array.from(bytes.subarray(16, 16 + count * 784))
  }
  const rows = pixels('train-images-idx3-ubyte.gz', 60_000)
  const others = pixels('t10k-images-idx3-ubyte.gz', queries)
  if (rows === null || others === null) return null
  return { name: 'Fashion-MNIST, 60000 x 784', dim: 784, rows, queries: others }
}

/** Return for each query the numbers of the `k` nearest rows for which `allowed` returns true, by an exact scan. */
export function trueNeighbours(
  { dim, rows, queries }: VectorData,
  metric: Metric,
  k: number,
  allowed: (row: number) => boolean = () => true,
): readonly ReadonlySet<number>[] {
  const count = rows.length / dim
  const chosen: number[] = []
  for (let row = 0; row < count; row++) if (allowed(row)) chosen.push(row)
  const most = Math.floor(segmentBytes / (dim * 4))
  const nearest = Array.from({ length: queries.length / dim }, () => new Nearest(k))
  for (let first = 0; first < chosen.length; first += most) {
    const some = chosen.slice(first, first + most)
    const segment = VectorSegment.allocate('f32', dim, some.length)
    for (const [i, row] of some.entries())
      segment.values.set(rows.subarray(row * dim, (row + 1) * dim), i * dim)
    for (const [q, best] of nearest.entries()) {
      const query = queries.subarray(q * dim, (q + 1) * dim)
      const { ordinals, distances } = searchSegment(segment, query, { metric, k })
      for (let i = 0; i < ordinals.length; i++) best.offer(distances[i]!, some[ordinals[i]!]!)
    }
  }
  return nearest.map(best => new Set(best.take().ordinals))
}

/** Return the recall: the share of the true nearest rows that were found. */
export function recallOf(
  truth: readonly ReadonlySet<number>[],
  found: readonly (readonly number[])[],
): number {
  let wanted = 0
  let right = 0
  for (const [q, neighbours] of truth.entries()) {
    wanted += neighbours.size
    right += found[q]!.filter(row => neighbours.has(row)).length
  }
  return wanted === 0 ? 1 : right / wanted
}

/** Fill `values` with normally distributed random numbers (Box and Muller 1958). */
function normal(values: Float32Array, random: () => number): Float32Array {
  for (let i = 0; i < values.length; i += 2) {
    const length = Math.sqrt(-2 * Math.log(1 - random()))
    const angle = 2 * Math.PI * random()
    values[i] = length * Math.cos(angle)
    if (i + 1 < values.length) values[i + 1] = length * Math.sin(angle)
  }
  return values
}
