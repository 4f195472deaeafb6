/** Finds which of many rows are near some points. Each point has a bound of its own. */
import { assert } from '../errors.js'
import { type Arena, openArena, Places } from './arena.js'
import { nearPairsPlain, type PairPlaces } from './clusters-plain.js'
import { type Centroids, groupRows, packPanels, panelsBytes, panelsOf, panelWidth } from './panels.js'

/** Pairs contain the numbers of a row and a point in 16 bits each. */
const maxNumbers = 2 ** 16

/** Finds the points near each row, by a matrix product. */
export class NearPoints {
  /** The caller writes up to `maxRows` vectors here. */
  readonly vectors: Float32Array
  readonly #arena: Arena
  readonly #places: PairPlaces
  readonly #points: Centroids
  /** Squared distances of the points from the origin of the panels. */
  readonly #norms: Float64Array
  /** The largest rounding error of a squared norm, as a share of it. */
  readonly #error: number

  /** `plain`: without the SIMD kernel. Throws `ServiceUnavailable` if there is no memory. */
  constructor(points: Centroids, maxRows: number, plain = false) {
    const { count, dim, values } = points
    const rows = Math.ceil(maxRows / groupRows) * groupRows
    assert(count > 0 && count <= maxNumbers && rows <= maxNumbers, `${rows} rows and ${count} points`)
    const places = new Places()
    this.#places = {
      vectors: places.take(rows * dim * 4),
      origin: places.take(dim * 4),
      group: places.take(groupRows * dim * 4),
      panels: places.take(panelsBytes(count, dim)),
      bounds: places.take(panelsOf(count) * panelWidth * 4),
      norms: places.take(groupRows * 4),
      pairs: places.take(rows * count * 4),
    }
    this.#arena = openArena(places.end, plain)
    const { buffer } = this.#arena
    packPanels(points, buffer, this.#places.origin, this.#places.panels)
    this.vectors = new Float32Array(buffer, this.#places.vectors, maxRows * dim)
    this.#points = points
    // Each of the additions has an error of at most 2^-24; twice that.
    this.#error = (dim + 8) * 2 ** -23
    const origin = new Float32Array(buffer, this.#places.origin, dim)
    this.#norms = new Float64Array(count)
    for (let at = 0; at < count * dim; at++)
      this.#norms[Math.floor(at / dim)]! += (values[at]! - origin[at % dim]!) ** 2
  }

  /**
   * Return pairs of one of the first `rows` vectors and a point, as row << 16 | point: all pairs whose squared distance
   * is below the point's bound, and some slightly beyond. `bounds`: by point. The result is a view, valid until the
   * next call.
   */
  find(rows: number, bounds: ArrayLike<number>): Uint32Array {
    const { buffer, kernel } = this.#arena
    const { count, dim } = this.#points
    const places = this.#places
    const halves = new Float32Array(buffer, places.bounds, count)
    for (let p = 0; p < count; p++) halves[p] = bounds[p]! / 2 + 2 * this.#error * this.#norms[p]!
    const share = 0.5 - this.#error
    const panels = panelsOf(count)
    const found =
      kernel === null
        ? nearPairsPlain(buffer, rows, dim, panels, share, places)
        : kernel.nearPairs(
            places.vectors,
            rows,
            dim,
            places.origin,
            places.group,
            places.panels,
            panels,
            places.bounds,
            share,
            places.norms,
            places.pairs,
          )
    return new Uint32Array(buffer, places.pairs, found)
  }
}
