/**
 * Exact search in plain TypeScript: the reference implementation of `wasm/exact.ts`, bit for bit. Used in its tests,
 * for small segments, and on hosts without WebAssembly SIMD.
 */
import type { Bitset } from '../primitives/bitset.js'
import { cosineDistance, holdsBytes, type Metric } from './metric.js'
import { type Hits, Nearest } from './nearest.js'
import type { VectorRows } from './vector-segment.js'

/** Options of an exact search. */
export interface SearchOptions {
  readonly metric: Metric
  /** The most rows to return. */
  readonly k: number
  /** Return only rows with lower <= distance (rule A-047). Default: no bound. */
  readonly lower?: number | undefined
  /** Return only rows with distance < upper. Default: no bound. */
  readonly upper?: number | undefined
  /** The rows to search, one bit per row. Default: all rows. Rows without a vector must not be in it. */
  readonly allowed?: Bitset | undefined
}

/**
 * Return the `k` nearest rows. The query must have `dim` finite elements and the options must be valid (not checked).
 */
export function searchPlain(rows: VectorRows, query: Float32Array, options: SearchOptions): Hits {
  const ordinals = options.allowed?.toIndices()
  return chooseHits(distancesPlain(rows, query, options.metric, ordinals), ordinals, options)
}

/** Return the distances of all rows, or of the rows `ordinals` in that order. */
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

/** Return the `k` smallest distances within the bounds. `ordinals`: the rows of the distances; default: 0, 1, 2 .. */
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

/** Return the sum of the squares of a query's elements, as the kernel needs it for cosine. */
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

/** Every store into this array rounds to float32. */
const lanes = new Float32Array(16)

/** Return the squared distance of a row of floats from the query. */
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

/** Sum the lanes as four registers of four: (r0 + r1) + (r2 + r3), then (0 + 2) + (1 + 3) of the result. */
function fold(): number {
  for (let i = 0; i < 4; i++) {
    const low = Math.fround(lanes[i]! + lanes[i + 4]!)
    const high = Math.fround(lanes[i + 8]! + lanes[i + 12]!)
    lanes[i] = low + high
  }
  return Math.fround(Math.fround(lanes[0]! + lanes[2]!) + Math.fround(lanes[1]! + lanes[3]!))
}

/** Return the squared distance of a row of bytes from the query, an exact integer. */
export function squaresOfBytes(values: Elements, at: number, query: Elements): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) {
    const gap = values[at + i]! - query[i]!
    sum += gap * gap
  }
  return sum
}

/** Return the number of bits in which a row of bytes differs from the query. */
export function differingBits(values: Elements, at: number, query: Elements): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) sum += bitsOf[values[at + i]! ^ query[i]!]!
  return sum
}

/** The number of set bits of every byte. */
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
