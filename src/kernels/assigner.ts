/** Assigns vectors to the nearest centroid, by squared Euclidean distance. */
import { assert } from '../errors.js'
import { type Arena, openArena, Places } from './arena.js'
import { type AssignPlaces, assignRowsPlain } from './clusters-plain.js'
import { type Centroids, groupRows, packPanels, panelsBytes, panelsOf } from './panels.js'

export type { Centroids }

/** Number of multiplications that the SIMD kernel does in a few milliseconds. */
const kernelProducts = 80_000_000
/** Number of multiplications that the plain loops do in a few milliseconds. */
const plainProducts = 4_000_000

/** Maximum number of rows per call of `assign`. More rows per call would not be faster. */
const maxRowsAtOnce = 4096

/** Assigns vectors to centroids by a matrix product. The centroids are packed once for the kernel. */
export class Assigner {
  readonly dim: number
  /**
   * The vectors to assign: up to `maxRows` vectors of `dim` float32s. The caller writes them before it calls `assign`.
   */
  readonly vectors: Float32Array
  /** The arena that contains `vectors`. Codecs encode the vectors in it. */
  readonly arena: Arena
  /** Address of `vectors` in the arena. */
  readonly at: number
  readonly #places: AssignPlaces
  readonly #assigned: Uint32Array
  /** Maximum number of centroids. */
  readonly #most: number
  #centroids: Centroids

  /** `plain`: see `openArena`. Throws `ServiceUnavailable` if the memory cannot be allocated. */
  constructor(centroids: Centroids, maxRows: number, plain = false) {
    const { count, dim } = centroids
    const capacity = Math.ceil(maxRows / groupRows) * groupRows
    const places = new Places()
    this.at = places.take(capacity * dim * 4)
    this.#places = {
      vectors: this.at,
      origin: places.take(dim * 4),
      groups: places.take(capacity * dim * 4),
      panels: places.take(panelsBytes(count, dim)),
      bests: places.take(capacity * 32),
      out: places.take(capacity * 4),
    }
    this.arena = openArena(places.end, plain)
    this.vectors = new Float32Array(this.arena.buffer, this.at, maxRows * dim)
    this.#assigned = new Uint32Array(this.arena.buffer, this.#places.out, capacity)
    this.dim = dim
    this.#most = count
    this.#centroids = centroids
    this.use(centroids)
  }

  /**
   * Return the number of rows that are assigned in about three milliseconds, at most 4,096. It is a good value for
   * `maxRows`.
   */
  static rowsAtOnce(count: number, dim: number, plain = false): number {
    const rows = Math.floor((plain ? plainProducts : kernelProducts) / (count * dim) / groupRows) * groupRows
    return Math.max(groupRows, Math.min(rows, maxRowsAtOnce))
  }

  /** Replace the centroids. Their number must not exceed the number of centroids given to the constructor. */
  use(centroids: Centroids): void {
    const { count, dim } = centroids
    assert(dim === this.dim && count > 0 && count <= this.#most, `${count} centroids of ${dim} elements`)
    packPanels(centroids, this.arena.buffer, this.#places.origin, this.#places.panels)
    this.#centroids = centroids
  }

  /**
   * Return the number of the nearest centroid for each of the first `rows` vectors. Of equally near centroids it is the
   * lowest number. The result is a view, which the next call overwrites.
   */
  assign(rows: number): Uint32Array {
    const { arena, dim } = this
    const places = this.#places
    const panelCount = panelsOf(this.#centroids.count)
    if (arena.kernel === null) assignRowsPlain(arena.buffer, rows, dim, panelCount, places)
    else
      arena.kernel.assignRows(
        places.vectors,
        rows,
        dim,
        places.origin,
        places.groups,
        places.panels,
        panelCount,
        places.bests,
        places.out,
      )
    return this.#assigned.subarray(0, rows)
  }

  /** Return the squared distances between the vectors and the centroids that the last call of `assign` returned. */
  distances(rows: number): Float32Array {
    const { dim, vectors } = this
    const { values } = this.#centroids
    const out = new Float32Array(rows)
    for (let row = 0; row < rows; row++)
      out[row] = squaredDistance(vectors, row * dim, values, this.#assigned[row]! * dim, dim)
    return out
  }
}

/**
 * Return the squared distance of two vectors, computed in float64. `xAt` and `yAt`: index of the first element of each
 * vector.
 */
export function squaredDistance(
  x: Float32Array,
  xAt: number,
  y: Float32Array,
  yAt: number,
  dim: number,
): number {
  let sum = 0
  for (let i = 0; i < dim; i++) {
    const gap = x[xAt + i]! - y[yAt + i]!
    sum += gap * gap
  }
  return sum
}
