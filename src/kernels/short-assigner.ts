/**
 * Assigns vectors to the nearest centroid like `Assigner`, but rounds their elements to 16-bit integers. It is twice as
 * fast, and less exact (`assignShorts` in `wasm/clusters.ts`).
 */
import { type Arena, openArena, Places } from './arena.js'
import { assignShortsPlain, roundedEven, type ShortPlaces, shortNorm } from './clusters-plain.js'
import { type Centroids, groupRows, midstOf, panelsOf, panelWidth } from './panels.js'

/** Bytes of a panel before its elements: two f32s per centroid. */
const headBytes = 2 * panelWidth * 4

/**
 * Minimum distance from the center for the scaling of rows, as a share of the distance of the farthest centroid. A
 * nearer row is scaled as if it had this distance.
 */
const minShare = 2 ** -10

/** Assigns up to `maxRows` vectors per call. */
export class ShortAssigner {
  /** The vectors to assign: up to `maxRows`. The caller writes them before it calls `assign`. */
  readonly vectors: Float32Array
  readonly #arena: Arena
  readonly #places: ShortPlaces
  readonly #assigned: Uint32Array
  readonly #panels: number
  readonly #dim: number
  readonly #least: number

  /** `plain`: see `openArena`. Throws `ServiceUnavailable` if the memory cannot be allocated. */
  constructor(centroids: Centroids, maxRows: number, plain = false) {
    const { count, dim } = centroids
    const capacity = Math.ceil(maxRows / groupRows) * groupRows
    const pairs = Math.ceil(dim / 2)
    const places = new Places()
    this.#places = {
      vectors: places.take(capacity * dim * 4),
      origin: places.take(dim * 4),
      groups: places.take(capacity * pairs * 4),
      scales: places.take(capacity * 4),
      panels: places.take(panelsOf(count) * (headBytes + pairs * panelWidth * 4)),
      bests: places.take(capacity * 32),
      out: places.take(capacity * 4),
    }
    this.#arena = openArena(places.end, plain)
    this.#dim = dim
    this.#panels = panelsOf(count)
    this.vectors = new Float32Array(this.#arena.buffer, this.#places.vectors, maxRows * dim)
    this.#assigned = new Uint32Array(this.#arena.buffer, this.#places.out, capacity)
    this.#least = minShare * this.#pack(centroids) || 1
  }

  /**
   * Return the number of the nearest centroid for each of the first `rows` vectors. Of equally near centroids it is the
   * lowest number. The result is a view, which the next call overwrites.
   */
  assign(rows: number): Uint32Array {
    const { buffer, kernel } = this.#arena
    const places = this.#places
    if (kernel === null) assignShortsPlain(buffer, rows, this.#dim, this.#least, this.#panels, places)
    else
      kernel.assignShorts(
        places.vectors,
        rows,
        this.#dim,
        places.origin,
        this.#least,
        places.groups,
        places.scales,
        places.panels,
        this.#panels,
        places.bests,
        places.out,
      )
    return this.#assigned.subarray(0, rows)
  }

  /** Write the panels of the centroids. Return the distance between the center and the farthest centroid. */
  #pack(centroids: Centroids): number {
    const { buffer } = this.#arena
    const { count, dim, values } = centroids
    const origin = new Float32Array(buffer, this.#places.origin, dim)
    origin.set(midstOf(centroids))
    const pairs = Math.ceil(dim / 2)
    const seen = new Float32Array(dim)
    let farthest = 0
    for (let number = 0; number < this.#panels * panelWidth; number++) {
      const panel =
        this.#places.panels + Math.floor(number / panelWidth) * (headBytes + pairs * panelWidth * 4)
      const lane = number % panelWidth
      const head = new Float32Array(buffer, panel, 2 * panelWidth)
      const elements = new Int16Array(buffer, panel + headBytes, pairs * panelWidth * 2)
      if (number >= count) {
        head[lane] = -Infinity
        continue
      }
      let square = 0
      for (let i = 0; i < dim; i++) {
        seen[i] = values[number * dim + i]! - origin[i]!
        square += seen[i]! * seen[i]!
      }
      const norm = Math.sqrt(square)
      const scale = norm === 0 ? 1 : shortNorm / norm
      for (let i = 0; i < dim; i++)
        elements[(i >> 1) * 2 * panelWidth + lane * 2 + (i & 1)] = roundedEven(seen[i]! * scale)
      head[lane] = -square / 2
      head[panelWidth + lane] = 1 / scale
      farthest = Math.max(farthest, norm)
    }
    return farthest
  }
}
