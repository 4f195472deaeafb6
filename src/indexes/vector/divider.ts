/** Tells the partitions of rows, in steps short enough for the event loop. */
import { Assigner, type Centroids } from '../../kernels/clusters.js'
import type { Pacer } from '../../primitives/pacer.js'

export class Divider {
  readonly #centroids: Centroids
  /** Null where there is one partition. */
  readonly #assigner: Assigner | null
  readonly #rows: number

  constructor(centroids: Centroids) {
    const { count, dim } = centroids
    this.#centroids = centroids
    this.#rows = Assigner.rowsAtOnce(count, dim)
    this.#assigner = count > 1 ? new Assigner(centroids, this.#rows) : null
  }

  /** The partition of each of `count` vectors. */
  async partitionsOf(vectors: Float32Array, count: number, pacer: Pacer): Promise<Uint32Array> {
    const partitions = new Uint32Array(count)
    if (this.#assigner === null) return partitions
    const { dim } = this.#centroids
    for (let from = 0; from < count; from += this.#rows) {
      const rows = Math.min(this.#rows, count - from)
      this.#assigner.vectors.set(vectors.subarray(from * dim, (from + rows) * dim))
      partitions.set(this.#assigner.assign(rows).subarray(0, rows), from)
      await pacer.turn()
    }
    return partitions
  }
}
