/**
 * Exact search in plain TypeScript: twin of `wasm/exact.ts`, bit for bit. The oracle of its tests, and what
 * answers for small segments and where WebAssembly SIMD is missing.
 */
import type { Bitset } from '../primitives/bitset.js'
import { cosineDistance, holdsBytes, type Metric } from './metric.js'
import { type Hits, Nearest } from './nearest.js'
import type { VectorRows } from './vector-segment.js'

export interface SearchOptions {
  readonly metric: Metric
  /** How many hits at most. */
  readonly k: number
  /** Hits have lower <= distance (rule A-047); absent: no bound. */
  readonly lower?: number | undefined
  /** Hits have distance < upper; absent: no bound. */
  readonly upper?: number | undefined
  /** The rows to look at, as many bits as rows; absent: all. Rows without a vector must not be in it. */
  readonly allowed?: Bitset | undefined
}

/** The `k` nearest rows. The query has `dim` finite elements and the options are sound (not re-checked). */
export function searchPlain(rows: VectorRows, query: Float32Array, options: SearchOptions): Hits {
  const ordinals = options.allowed?.toIndices()
  return chooseHits(distancesPlain(rows, query, options.metric, ordinals), ordinals, options)
}

/** The distances of all rows, or of those in `ordinals` and in that order. */
export function distancesPlain(
  rows: VectorRows,
  query: Float32Array,
  metric: Metric,
  ordinals?: Uint32Array,
): Float32Array {
  const exact = rows.kind === 'u8' && holdsBytes(query)
  const norm = metric === 'cosine' ? squaredNorm(query, exact) : 0
  const distances = new Float32Array(ordinals?.length ?? rows.rows)
  for (let i = 0; i < distances.length; i++) {
    const at = (ordinals?.[i] ?? i) * rows.dim
    const distance = exact
      ? distanceOfBytes(rows.values, at, query, metric, norm)
      : distanceOfFloats(rows.values, at, query, metric, norm)
    distances[i] = Number.isNaN(distance) ? Infinity : distance
  }
  return distances
}

/** The `k` smallest of some rows' distances that lie within the bounds; `ordinals` absent: rows 0, 1, 2 .. */
export function chooseHits(
  distances: Float32Array,
  ordinals: Uint32Array | undefined,
  { k, lower = -Infinity, upper }: Omit<SearchOptions, 'metric' | 'allowed'>,
): Hits {
  const nearest = new Nearest(Math.min(k, distances.length))
  for (let i = 0; i < distances.length; i++) {
    const distance = distances[i]!
    if (distance >= lower && !(upper !== undefined && distance >= upper))
      nearest.offer(distance, ordinals?.[i] ?? i)
  }
  return nearest.take()
}

/** The sum of the squares of a query's elements, as the kernel wants it for cosine. */
export function squaredNorm(query: Float32Array, exact: boolean): number {
  return (exact ? productOfBytes : productOfFloats)(query, 0, query, 0, query.length)
}

type Elements = Float32Array | Uint8Array

function distanceOfFloats(
  values: Elements,
  at: number,
  query: Elements,
  metric: Metric,
  norm: number,
): number {
  if (metric === 'l2') return squaresOfFloats(values, at, query)
  const product = productOfFloats(values, at, query, 0, query.length)
  if (metric === 'dot') return 1 - product
  return cosineDistance(product, productOfFloats(values, at, values, at, query.length), norm)
}

function distanceOfBytes(
  values: Elements,
  at: number,
  query: Elements,
  metric: Metric,
  norm: number,
): number {
  if (metric === 'hamming') return differingBits(values, at, query)
  if (metric === 'l2') return squaresOfBytes(values, at, query)
  const product = productOfBytes(values, at, query, 0, query.length)
  if (metric === 'dot') return 1 - product
  return cosineDistance(product, productOfBytes(values, at, values, at, query.length), norm)
}

/** Every store into it rounds to float32. */
const lanes = new Float32Array(16)

/** The squared distance of a row of floats from the query. */
export function squaresOfFloats(values: Elements, at: number, query: Elements): number {
  lanes.fill(0)
  for (let i = 0; i < query.length; i++) {
    const gap = Math.fround(values[at + i]! - query[i]!)
    lanes[i & 15] = lanes[i & 15]! + Math.fround(gap * gap)
  }
  return fold()
}

function productOfFloats(x: Elements, xAt: number, y: Elements, yAt: number, count: number): number {
  lanes.fill(0)
  for (let i = 0; i < count; i++) lanes[i & 15] = lanes[i & 15]! + Math.fround(x[xAt + i]! * y[yAt + i]!)
  return fold()
}

/** Sums the lanes as four registers of four: (r0 + r1) + (r2 + r3), and of the result (0 + 2) + (1 + 3). */
function fold(): number {
  for (let i = 0; i < 4; i++) {
    const low = Math.fround(lanes[i]! + lanes[i + 4]!)
    const high = Math.fround(lanes[i + 8]! + lanes[i + 12]!)
    lanes[i] = low + high
  }
  return Math.fround(Math.fround(lanes[0]! + lanes[2]!) + Math.fround(lanes[1]! + lanes[3]!))
}

/** The same of bytes, an exact integer. */
export function squaresOfBytes(values: Elements, at: number, query: Elements): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) {
    const gap = values[at + i]! - query[i]!
    sum += gap * gap
  }
  return sum
}

/** Of a row of bytes from the query. */
export function differingBits(values: Elements, at: number, query: Elements): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) sum += bitsOf[values[at + i]! ^ query[i]!]!
  return sum
}

/** Of every byte, how many are set. */
const bitsOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  let bits = 0
  for (let rest = byte; rest > 0; rest &= rest - 1) bits++
  return bits
})

function productOfBytes(x: Elements, xAt: number, y: Elements, yAt: number, count: number): number {
  let sum = 0
  for (let i = 0; i < count; i++) sum += x[xAt + i]! * y[yAt + i]!
  return sum
}
