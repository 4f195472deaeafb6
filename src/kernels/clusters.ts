/** k-means by squared Euclidean distance: Lloyd's rounds from distinct rows that a fixed seed draws. */
import type { Pacer } from '../primitives/pacer.js'
import { seededRandom } from '../primitives/seeded-random.js'
import { Assigner, type Centroids, squaredDistance } from './assigner.js'
import { distinctRows } from './distinct-rows.js'

export { Assigner, type Centroids }

/** Rows between two looks at the clock where a row takes next to nothing. */
const rowsAtOnce = 1024

/** How far the halves of a cluster that is split lie from its middle, as a share of the way to its farthest row. */
const apart = 1 / 8

/**
 * At most `count` centroids of `rows` vectors: fewer where there are fewer distinct ones. The same input gives the same
 * centroids on every machine. Empty clusters are filled by splitting the largest. `plain`: without the SIMD kernel.
 */
export async function trainCentroids(
  sample: Float32Array,
  rows: number,
  dim: number,
  count: number,
  maxIterations: number,
  pacer: Pacer,
  plain = false,
): Promise<Centroids> {
  const beginnings = await distinctRows(sample, dim, shuffled(rows), Math.min(rows, count + 1), pacer)
  // No more distinct ones than asked for: nothing could lie nearer than these.
  const exhausted = beginnings.length <= count
  const clusters = new Clusters(sample, rows, dim, beginnings.subarray(0, count))
  if (exhausted || maxIterations === 0) return clusters.centroids()

  const rowsTogether = Assigner.rowsAtOnce(count, dim, plain)
  const assigner = new Assigner(clusters.centroids(), rowsTogether, plain)
  for (let round = 0; round < maxIterations; round++) {
    assigner.use(clusters.centroids())
    const moved = await clusters.assign(assigner, rowsTogether, pacer)
    clusters.settle()
    if (!moved) break
    await clusters.fillEmpty(pacer)
  }
  return clusters.inhabited()
}

/** All row numbers, in an order drawn from a fixed seed. */
function shuffled(rows: number): Uint32Array {
  const random = seededRandom(rows)
  const order = Uint32Array.from({ length: rows }, (_, row) => row)
  for (let i = rows - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const row = order[i]!
    order[i] = order[j]!
    order[j] = row
  }
  return order
}

class Clusters {
  readonly #sample: Float32Array
  readonly #rows: number
  readonly #dim: number
  readonly #count: number
  readonly #values: Float32Array
  /** The cluster of each row. */
  readonly #clusterOf: Uint32Array
  /** Rows of each cluster, and their sum. */
  readonly #sizes: Uint32Array
  readonly #sums: Float64Array

  /** `beginnings`: the rows that centroids begin as. */
  constructor(sample: Float32Array, rows: number, dim: number, beginnings: Uint32Array) {
    this.#sample = sample
    this.#rows = rows
    this.#dim = dim
    this.#count = beginnings.length
    this.#values = new Float32Array(beginnings.length * dim)
    beginnings.forEach((row, cluster) => {
      this.#values.set(sample.subarray(row * dim, (row + 1) * dim), cluster * dim)
    })
    this.#clusterOf = new Uint32Array(rows).fill(beginnings.length)
    this.#sizes = new Uint32Array(beginnings.length).fill(1)
    this.#sums = new Float64Array(beginnings.length * dim)
  }

  centroids(): Centroids {
    return { count: this.#count, dim: this.#dim, values: this.#values }
  }

  /** Without centroids that no row is nearest to. */
  inhabited(): Centroids {
    const dim = this.#dim
    const kept: number[] = []
    for (let cluster = 0; cluster < this.#count; cluster++) if (this.#sizes[cluster]! > 0) kept.push(cluster)
    const values = new Float32Array(kept.length * dim)
    kept.forEach((cluster, i) => {
      values.set(this.#values.subarray(cluster * dim, (cluster + 1) * dim), i * dim)
    })
    return { count: kept.length, dim, values }
  }

  /** Gives every row to the nearest centroid; whether any came from another. */
  async assign(assigner: Assigner, rowsTogether: number, pacer: Pacer): Promise<boolean> {
    const dim = this.#dim
    let moved = false
    this.#sizes.fill(0)
    this.#sums.fill(0)
    for (let first = 0; first < this.#rows; first += rowsTogether) {
      await pacer.turn()
      const rows = Math.min(rowsTogether, this.#rows - first)
      assigner.vectors.set(this.#sample.subarray(first * dim, (first + rows) * dim))
      const clusters = assigner.assign(rows)
      for (let i = 0; i < rows; i++) {
        const cluster = clusters[i]!
        if (this.#clusterOf[first + i] !== cluster) moved = true
        this.#clusterOf[first + i] = cluster
        this.#add(cluster, (first + i) * dim)
      }
    }
    return moved
  }

  #add(cluster: number, at: number): void {
    const dim = this.#dim
    const sample = this.#sample
    const sums = this.#sums
    this.#sizes[cluster]!++
    for (let i = 0, to = cluster * dim; i < dim; i++) sums[to + i]! += sample[at + i]!
  }

  /** Moves centroids to the middle of their rows. */
  settle(): void {
    const dim = this.#dim
    for (let cluster = 0; cluster < this.#count; cluster++) {
      const size = this.#sizes[cluster]!
      if (size === 0) continue
      for (let at = cluster * dim; at < (cluster + 1) * dim; at++) this.#values[at] = this.#sums[at]! / size
    }
  }

  /**
   * Gives each empty cluster half of one of the largest: their centroids part along the way to its farthest row, so that those on either side
   * of the middle go different ways. A cluster whose rows are all the same has no halves.
   */
  async fillEmpty(pacer: Pacer): Promise<void> {
    const dim = this.#dim
    const values = this.#values
    const empty = [...this.#sizes.keys()].filter(cluster => this.#sizes[cluster] === 0)
    if (empty.length === 0) return
    const farthest = await this.#farthest(pacer)
    const parting = [...this.#sizes.keys()]
      .filter(cluster => farthest[cluster]! >= 0)
      .sort((a, b) => this.#sizes[b]! - this.#sizes[a]! || a - b)
    for (let i = 0; i < Math.min(empty.length, parting.length); i++) {
      const whole = parting[i]!
      const half = empty[i]!
      const row = farthest[whole]!
      for (let j = 0; j < dim; j++) {
        const middle = values[whole * dim + j]!
        const step = (this.#sample[row * dim + j]! - middle) * apart
        values[whole * dim + j] = middle - step
        values[half * dim + j] = middle + step
      }
      this.#sizes[half] = this.#sizes[whole]! >>> 1
    }
  }

  /** For each cluster the row that is farthest from its centroid; -1 where none is away from it. */
  async #farthest(pacer: Pacer): Promise<Int32Array> {
    const dim = this.#dim
    const rows = new Int32Array(this.#count).fill(-1)
    const distances = new Float64Array(this.#count)
    for (let row = 0; row < this.#rows; row++) {
      if (row % rowsAtOnce === 0) await pacer.turn()
      const cluster = this.#clusterOf[row]!
      const distance = squaredDistance(this.#sample, row * dim, this.#values, cluster * dim, dim)
      if (distance <= distances[cluster]!) continue
      distances[cluster] = distance
      rows[cluster] = row
    }
    return rows
  }
}
