/** Assigns many vectors to the nearest of some centroids, by squared Euclidean distance. */
import { assert } from '../errors.js'
import { type Arena, openArena, Places } from './arena.js'
import { type AssignPlaces, assignRowsPlain } from './clusters-plain.js'

export interface Centroids {
  readonly count: number
  readonly dim: number
  /** `count x dim`. */
  readonly values: Float32Array
}

/** Centroids that the kernel meets at once, and rows likewise. */
const panelWidth = 8
const groupRows = 4

/** Multiplications of a call that takes a few milliseconds: with the kernel, and without. */
const kernelProducts = 80_000_000
const plainProducts = 4_000_000

/** A row's nearest is found together with others': more would not make it faster. */
const mostRows = 4096

/** Centroids that tell where all of them lie. */
const midstCentroids = 65

/** Register-blocked, with the centroids packed once. */
export class Assigner {
  readonly dim: number
  /** Where the owner puts up to `maxRows` vectors of `dim` float32s. */
  readonly vectors: Float32Array
  /** The arena that `vectors` lies in at address `at`: for codecs, which encode from there. */
  readonly arena: Arena
  readonly at: number
  readonly #places: AssignPlaces
  readonly #assigned: Uint32Array
  /** Centroids there is room for. */
  readonly #most: number
  #centroids: Centroids

  /** `plain`: without the SIMD kernel. Throws a `SheafError` of code 17 when there is no memory. */
  constructor(centroids: Centroids, maxRows: number, plain = false) {
    const { count, dim } = centroids
    const room = Math.ceil(maxRows / groupRows) * groupRows
    const places = new Places()
    this.at = places.take(room * dim * 4)
    this.#places = {
      vectors: this.at,
      origin: places.take(dim * 4),
      groups: places.take(room * dim * 4),
      panels: places.take(panelsOf(count) * panelWidth * (dim + 1) * 4),
      bests: places.take(room * 32),
      out: places.take(room * 4),
    }
    this.arena = openArena(places.end, plain)
    this.vectors = new Float32Array(this.arena.buffer, this.at, maxRows * dim)
    this.#assigned = new Uint32Array(this.arena.buffer, this.#places.out, room)
    this.dim = dim
    this.#most = count
    this.#centroids = centroids
    this.use(centroids)
  }

  /** Rows of which an assignment takes about three milliseconds, at most some thousands: what to make room for. */
  static rowsAtOnce(count: number, dim: number, plain = false): number {
    const rows = Math.floor((plain ? plainProducts : kernelProducts) / (count * dim) / groupRows) * groupRows
    return Math.max(groupRows, Math.min(rows, mostRows))
  }

  /** From now on assigns to these: no more than those it was made with. */
  use(centroids: Centroids): void {
    const { count, dim, values } = centroids
    assert(dim === this.dim && count > 0 && count <= this.#most, `${count} centroids of ${dim} elements`)
    const { buffer } = this.arena
    const origin = new Float32Array(buffer, this.#places.origin, dim)
    origin.set(midstOf(centroids))
    const panels = new Float32Array(buffer, this.#places.panels, panelsOf(count) * panelWidth * (dim + 1))
    panels.fill(0)
    for (let number = 0; number < panelsOf(count) * panelWidth; number++) {
      const begin = (number >>> 3) * (dim + 1) * panelWidth + (number & 7)
      let norm = Infinity
      if (number < count) {
        norm = 0
        for (let i = 0; i < dim; i++) {
          const element = Math.fround(values[number * dim + i]! - origin[i]!)
          panels[begin + (i + 1) * panelWidth] = element
          norm += element * element
        }
      }
      panels[begin] = -norm / 2
    }
    this.#centroids = centroids
  }

  /** The number of the nearest centroid for each of the first `rows` vectors (ties: the lower number); a view, valid until the next call. */
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

  /** Their distances from the centroids that the last call of `assign` gave them. */
  distances(rows: number): Float32Array {
    const { dim, vectors } = this
    const { values } = this.#centroids
    const out = new Float32Array(rows)
    for (let row = 0; row < rows; row++)
      out[row] = squaredDistance(vectors, row * dim, values, this.#assigned[row]! * dim, dim)
    return out
  }
}

/** In float64, from element `xAt` and `yAt` on. */
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

function panelsOf(count: number): number {
  return Math.ceil(count / panelWidth)
}

/** A point that most centroids lie around, wherever a few may be: in each dimension the median of some of them. */
function midstOf({ count, dim, values }: Centroids): Float32Array {
  const some = new Float32Array(Math.min(count, midstCentroids))
  const midst = new Float32Array(dim)
  for (let i = 0; i < dim; i++) {
    for (let j = 0; j < some.length; j++) some[j] = values[Math.floor((j * count) / some.length) * dim + i]!
    midst[i] = some.sort()[some.length >>> 1]!
  }
  return midst
}
