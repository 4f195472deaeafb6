/** Assigns rows to partitions, in steps short enough for the event loop. */
import { Assigner, type Centroids, squaredDistance } from '../../kernels/assigner.js'
import { ShortAssigner } from '../../kernels/short-assigner.js'
import type { Pacer } from '../../primitives/pacer.js'

/**
 * Minimum number of partitions for 16-bit assignment. With fewer, exact assignment is cheap compared to the other work
 * per row.
 */
const leastShorts = 256
/**
 * Maximum crowding (`crowding`) for 16-bit assignment. 16-bit elements change a squared distance by about 1e-5 of the
 * squared distance from the mean of the centroids. If neighbouring centroids are much nearer to each other than to the
 * mean, this is too imprecise.
 */
const mostCrowded = 250
/** Number of centroids that are sampled to measure the crowding. */
const sampledCentroids = 32

/** Assigns vectors to the partition with the nearest centroid. */
export class Divider {
  readonly #dim: number
  readonly #rows: number
  /** Null if there is only one partition. */
  readonly #assigner: Assigner | ShortAssigner | null

  private constructor({ count, dim }: Centroids, assigner: Assigner | ShortAssigner | null) {
    this.#dim = dim
    this.#rows = Assigner.rowsAtOnce(count, dim)
    this.#assigner = assigner
  }

  /** Open a divider. Dividers with equal centroids assign vectors equally in every process. */
  static async open(centroids: Centroids, pacer: Pacer): Promise<Divider> {
    const { count, dim } = centroids
    if (count < 2) return new Divider(centroids, null)
    const rows = Assigner.rowsAtOnce(count, dim)
    const isCoarse = count >= leastShorts && (await crowding(centroids, pacer)) <= mostCrowded
    return new Divider(
      centroids,
      isCoarse ? new ShortAssigner(centroids, rows) : new Assigner(centroids, rows),
    )
  }

  /** Return the partition of each of `count` vectors. */
  async partitionsOf(vectors: Float32Array, count: number, pacer: Pacer): Promise<Uint32Array> {
    const partitions = new Uint32Array(count)
    if (this.#assigner === null) return partitions
    const dim = this.#dim
    for (let from = 0; from < count; from += this.#rows) {
      const rows = Math.min(this.#rows, count - from)
      this.#assigner.vectors.set(vectors.subarray(from * dim, (from + rows) * dim))
      partitions.set(this.#assigner.assign(rows), from)
      await pacer.turn()
    }
    return partitions
  }
}

/**
 * Return how crowded the centroids are. The crowding of a centroid is its squared distance from the mean, divided by
 * its squared distance from the nearest other centroid. The result is the median of sampled centroids.
 */
async function crowding({ count, dim, values }: Centroids, pacer: Pacer): Promise<number> {
  const middle = new Float32Array(dim)
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < dim; i++) middle[i]! += values[row * dim + i]! / count
    await pacer.turn()
  }
  const ratios = new Float64Array(Math.min(count, sampledCentroids))
  for (let i = 0; i < ratios.length; i++) {
    const sampled = Math.floor((i * count) / ratios.length)
    let nearest = Infinity
    for (let other = 0; other < count; other++) {
      if (other === sampled) continue
      nearest = Math.min(nearest, squaredDistance(values, sampled * dim, values, other * dim, dim))
    }
    ratios[i] = squaredDistance(values, sampled * dim, middle, 0, dim) / nearest
    await pacer.turn()
  }
  return ratios.sort()[ratios.length >>> 1]!
}
