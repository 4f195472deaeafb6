/**
 * Exact search in plain TypeScript. It is the reference implementation of `wasm/exact.ts`: it computes the same bits.
 * It is used in tests, for small segments, and on hosts without WebAssembly SIMD.
 */
import type { Bitset } from '../primitives/bitset.js'
import { cosineDistance, holdsBytes, type Metric } from './metric.js'
import { type Hits, Nearest } from './nearest.js'
import type { VectorRows } from './vector-segment.js'

/** Options of an exact search. */
export interface SearchOptions {
  readonly metric: Metric
  /** Maximum number of rows to return. */
  readonly k: number
  /** Minimum distance of the returned rows, inclusive (rule A-047). Default: no minimum. */
  readonly lower?: number | undefined
  /** Maximum distance of the returned rows, exclusive. Default: no maximum. */
  readonly upper?: number | undefined
  /** The rows to search, one bit per row. It must not contain rows without a vector. Default: all rows. */
  readonly allowed?: Bitset | undefined
}

/**
 * Return the `k` nearest rows. Does not check the parameters: the query must have `dim` finite elements, and the
 * options must be valid.
 */
export function searchPlain(rows: VectorRows, query: Float32Array, options: SearchOptions): Hits {
  const ordinals = options.allowed?.toIndices()
  return chooseHits(distancesPlain(rows, query, options.metric, ordinals), ordinals, options)
}

/** Return the distances of the rows `ordinals`, in the same order. Default: all rows. */
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

/** Return the `k` smallest distances within the bounds. `ordinals`: the row of each distance; default: 0, 1, 2, ... */
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

/**
 * Return the sum of the squares of a query's elements, which the kernel needs for cosine. `exact`: whether the rows and
 * the query are bytes, so that the sum is computed exactly.
 */
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

/** Partial sums. Stores into this array round to float32. */
const lanes = new Float32Array(16)

/** Return the squared distance of a row from the query, computed in float32. `at`: index of the row's first element. */
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

/**
 * Return the sum of the lanes, in the order of the kernel: the lanes are four registers r0 to r3 of four lanes. First
 * (r0 + r1) + (r2 + r3) is computed, then (0 + 2) + (1 + 3) of its lanes.
 */
function fold(): number {
  for (let i = 0; i < 4; i++) {
    const low = Math.fround(lanes[i]! + lanes[i + 4]!)
    const high = Math.fround(lanes[i + 8]! + lanes[i + 12]!)
    lanes[i] = low + high
  }
  return Math.fround(Math.fround(lanes[0]! + lanes[2]!) + Math.fround(lanes[1]! + lanes[3]!))
}

/**
 * Return the squared distance of a row of bytes from a query of bytes, an exact integer. `at`: index of the row's first
 * element.
 */
export function squaresOfBytes(values: Elements, at: number, query: Elements): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) {
    const gap = values[at + i]! - query[i]!
    sum += gap * gap
  }
  return sum
}

/**
 * Return the number of bits that differ between a row of bytes and a query of bytes. `at`: index of the row's first
 * element.
 */
export function differingBits(values: Elements, at: number, query: Elements): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) sum += bitsOf[values[at + i]! ^ query[i]!]!
  return sum
}

/** By byte value: the number of set bits. */
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
