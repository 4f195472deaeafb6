/**
 * Converts vectors to the Euclidean space of a segment. The order of Euclidean distances in the space is the order of
 * the metric. Therefore partitions, codes and graphs need only one kind of distance. The vectors of the space depend on
 * the metric:
 *
 * - l2: the vectors themselves.
 * - cosine: vectors normalized to length 1, so that |x - q|^2 = 2 (1 - cos).
 * - dot: vectors with an additional element, which extends every vector to the length M of the longest vector. The
 *   additional element of a query is 0, so that |x - q|^2 = |q|^2 + M^2 - 2 x.q (Bachrach et al., RecSys 2014). The
 *   length of a query does not change the order, so queries are scaled to length M. Otherwise a short query would be
 *   equally far from every code, and a long query would be outside the range of the codes.
 * - hamming: the bits of the bytes, lowest bit first, as elements 0 and 1, so that |x - q|^2 is the number of different
 *   bits.
 *
 * A vector cannot be converted if it has no direction (cosine), or if squared distances from it overflow a float32.
 * Such a vector is outside the space, and its row is called apart. All apart vectors are equally far from every other
 * vector.
 */
import type { Metric } from '../../kernels/metric.js'

/** The parameters of a space. The footer of a segment stores them. */
export interface Space {
  readonly metric: Metric
  /** Dimension of the users' vectors. */
  readonly dim: number
  /** Dimension of the space. */
  readonly innerDim: number
  /**
   * dot: the squared length of the longest vector when the space was created. A vector that is added later and is
   * longer gets 0 as additional element. Other metrics: 0.
   */
  readonly greatest: number
}

/** Return the space for vectors of dimension `dim`. `greatest`: see `Space.greatest`; used only for dot. */
export function spaceOf(metric: Metric, dim: number, greatest: number): Space {
  return {
    metric,
    dim,
    innerDim: metric === 'dot' ? dim + 1 : metric === 'hamming' ? dim * 8 : dim,
    greatest: metric === 'dot' ? greatest : 0,
  }
}

/** Return the sum of squares of `dim` elements from `at` on, in float64. */
export function squaredLength(values: ArrayLike<number>, at: number, dim: number): number {
  let sum = 0
  for (let i = at; i < at + dim; i++) sum += values[i]! * values[i]!
  return sum
}

/** Maximum squared length of a vector in the space. Squared distances of longer vectors may overflow a float32. */
const greatestSquare = 1e37
/**
 * Minimum squared length of a vector that can be normalized. Dividing a shorter vector by its length does not give
 * length 1.
 */
const leastSquare = 1e-30

/** Return whether a vector with the squared length `square` is outside the space. */
export function isApart({ metric }: Pick<Space, 'metric'>, square: number): boolean {
  return !(square <= greatestSquare) || (metric === 'cosine' && square < leastSquare)
}

/**
 * Convert a vector to the space. Reads `dim` elements of `values` from `at` on, and writes `innerDim` elements of
 * `target` from `to` on. `square`: the squared length of the vector.
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

/**
 * Convert a query to the space. Return null if the query is outside the space. Every vector is equally far from such a
 * query.
 */
export function placeQuery(space: Space, query: Float32Array): Float32Array | null {
  const square = squaredLength(query, 0, space.dim)
  if (isApart(space, square)) return null
  const placed = new Float32Array(space.innerDim)
  placeVector({ ...space, greatest: 0 }, query, 0, square, placed, 0)
  if (space.metric === 'dot') bringToLength(placed, space.greatest)
  return placed
}

/** Scale a vector to the squared length `square`, unless its length is near zero. */
export function bringToLength(vector: Float32Array, square: number): void {
  const own = squaredLength(vector, 0, vector.length)
  if (own < leastSquare || square < leastSquare) return
  const factor = Math.sqrt(square / own)
  for (let i = 0; i < vector.length; i++) vector[i]! *= factor
}
