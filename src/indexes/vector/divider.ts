/** Tells the partitions of rows, in steps short enough for the event loop. */
import { Assigner, type Centroids, squaredDistance } from '../../kernels/assigner.js'
import { ShortAssigner } from '../../kernels/short-assigner.js'
import type { Pacer } from '../../primitives/pacer.js'

/** With fewer partitions, finding the nearest exactly takes little beside all else that is done with a row. */
const leastShorts = 256
/**
 * Elements of 16 bits move a squared distance by about 1e-5 of the squared distance from the midst of the centroids. Where neighbouring centroids lie this many times
 * nearer to each other than to the midst, in squares, a row could come to another partition than one of the nearest.
 */
const mostCrowded = 250
/** Centroids whose neighbours are looked for. */
const askedCentroids = 32

export class Divider {
  readonly #dim: number
  readonly #rows: number
  /** Null where there is one partition. */
  readonly #assigner: Assigner | ShortAssigner | null

  private constructor({ count, dim }: Centroids, assigner: Assigner | ShortAssigner | null) {
    this.#dim = dim
    this.#rows = Assigner.rowsAtOnce(count, dim)
    this.#assigner = assigner
  }

  /** The same centroids give the same partitions everywhere. */
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

  /** The partition of each of `count` vectors. */
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

/** How many times nearer centroids lie to their neighbours than to the middle of all, in squares: the median of some. */
async function crowding({ count, dim, values }: Centroids, pacer: Pacer): Promise<number> {
  const middle = new Float32Array(dim)
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < dim; i++) middle[i]! += values[row * dim + i]! / count
    await pacer.turn()
  }
  const ratios = new Float64Array(Math.min(count, askedCentroids))
  for (let i = 0; i < ratios.length; i++) {
    const asked = Math.floor((i * count) / ratios.length)
    let nearest = Infinity
    for (let other = 0; other < count; other++) {
      if (other === asked) continue
      nearest = Math.min(nearest, squaredDistance(values, asked * dim, values, other * dim, dim))
    }
    ratios[i] = squaredDistance(values, asked * dim, middle, 0, dim) / nearest
    await pacer.turn()
  }
  return ratios.sort()[ratios.length >>> 1]!
}
