/**
 * Where segments look for neighbours: a Euclidean space in which the order of distances is that of the metric, so that
 * partitions, codes and graphs know one distance only.
 *
 * - l2: vectors as they are.
 * - cosine: vectors of length 1; |x - q|^2 = 2 (1 - cos).
 * - dot: one more element, which brings every vector to the length of the longest; the query has 0 there, so that
 *   |x - q|^2 = |q|^2 + M^2 - 2 x.q (Bachrach et al., RecSys 2014). How long a query is does not change the order: it is brought to the
 *   length of the longest vector too, because short ones are as far from every code, and long ones lie beyond all codes.
 * - hamming: the bits of the bytes, the lowest first, as elements 0 and 1; |x - q|^2 is how many differ.
 *
 * A vector that has no place there (no direction, or a length beyond float32) is apart: it is as far from everything
 * as any such other.
 */
import type { Metric } from '../../kernels/metric.js'

export interface Space {
  readonly metric: Metric
  /** Elements of the vectors that users know. */
  readonly dim: number
  /** Elements of those of the space. */
  readonly innerDim: number
  /** dot: the square of the greatest length there was when the space was made; longer ones come to lie as if they had it. */
  readonly greatest: number
}

/** `greatest`: see there; only dot asks. */
export function spaceOf(metric: Metric, dim: number, greatest: number): Space {
  return {
    metric,
    dim,
    innerDim: metric === 'dot' ? dim + 1 : metric === 'hamming' ? dim * 8 : dim,
    greatest: metric === 'dot' ? greatest : 0,
  }
}

/** The sum of squares of `dim` elements from `at` on, in float64. */
export function squaredLength(values: ArrayLike<number>, at: number, dim: number): number {
  let sum = 0
  for (let i = at; i < at + dim; i++) sum += values[i]! * values[i]!
  return sum
}

/** Beyond it squared distances are no float32s any more. */
const greatestSquare = 1e37
/** Below it a vector divided by its length is not of length 1. */
const leastSquare = 1e-30

/** Whether a vector has no place in the space. */
export function isApart({ metric }: Pick<Space, 'metric'>, square: number): boolean {
  return !(square <= greatestSquare) || (metric === 'cosine' && square < leastSquare)
}

/**
 * Brings a vector, `dim` elements of `values` from `at` on, into the space, to `innerDim` elements of `target` from `to` on. `square`: its squared length.
 */
export function placeVector(
  { metric, dim, greatest }: Space,
  values: ArrayLike<number>,
  at: number,
  square: number,
  target: Float32Array,
  to: number,
): void {
  if (metric === 'hamming') {
    for (let i = 0; i < dim * 8; i++) target[to + i] = (values[at + (i >> 3)]! >> (i & 7)) & 1
    return
  }
  const factor = metric === 'cosine' ? 1 / Math.sqrt(square) : 1
  for (let i = 0; i < dim; i++) target[to + i] = values[at + i]! * factor
  if (metric === 'dot') target[to + dim] = Math.sqrt(Math.max(0, greatest - square))
}

/** A query in the space; null where every vector is as far from it as any other. */
export function placeQuery(space: Space, query: Float32Array): Float32Array | null {
  const square = squaredLength(query, 0, space.dim)
  if (isApart(space, square)) return null
  const placed = new Float32Array(space.innerDim)
  placeVector({ ...space, greatest: 0 }, query, 0, square, placed, 0)
  if (space.metric === 'dot') bringToLength(placed, space.greatest)
  return placed
}

/** Makes the squared length of a vector `square`, where it has a direction. */
export function bringToLength(vector: Float32Array, square: number): void {
  const own = squaredLength(vector, 0, vector.length)
  if (own < leastSquare || square < leastSquare) return
  const factor = Math.sqrt(square / own)
  for (let i = 0; i < vector.length; i++) vector[i]! *= factor
}
