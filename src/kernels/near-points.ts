/** Finds the pairs of a row and a point whose distance is below the bound of the point. */
import { assert } from '../errors.js'
import { type Arena, openArena, Places } from './arena.js'
import { nearPairsPlain, type PairPlaces } from './clusters-plain.js'
import { type Centroids, groupRows, packPanels, panelsBytes, panelsOf, panelWidth } from './panels.js'

/** Maximum number of rows, and of points, because a pair has 16 bits for each number. */
const maxNumbers = 2 ** 16

/** Finds pairs of rows and points by a matrix product. */
export class NearPoints {
  /** The rows: up to `maxRows` vectors. The caller writes them before it calls `find`. */
  readonly vectors: Float32Array
  readonly #arena: Arena
  readonly #places: PairPlaces
  readonly #points: Centroids
  /** By point: its squared distance from the origin of the panels. */
  readonly #norms: Float64Array
  /** Maximum rounding error of a squared norm, as a share of the squared norm. */
  readonly #error: number

  /** `plain`: see `openArena`. Throws `ServiceUnavailable` if the memory cannot be allocated. */
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
    // Each addition has a relative error of at most 2^-24. For safety, take twice this error.
    this.#error = (dim + 8) * 2 ** -23
    const origin = new Float32Array(buffer, this.#places.origin, dim)
    this.#norms = new Float64Array(count)
    for (let at = 0; at < count * dim; at++)
      this.#norms[Math.floor(at / dim)]! += (values[at]! - origin[at % dim]!) ** 2
  }

  /**
   * Return all pairs of one of the first `rows` vectors and a point whose squared distance is below the bound of the
   * point. A pair is encoded as row << 16 | point. Because of rounding, the result may have some pairs slightly beyond
   * the bound. `bounds`: the bound of each point. The result is a view, which the next call overwrites.
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
