/**
 * Trains centroids by k-means with squared Euclidean distance. Lloyd's algorithm begins with rows that are far apart
 * (k-means++), chosen with a fixed seed.
 */
import type { Pacer } from '../primitives/pacer.js'
import { seededRandom } from '../primitives/seeded-random.js'
import { Assigner, type Centroids, squaredDistance } from './assigner.js'
import { distinctRows } from './distinct-rows.js'
import { spreadRows } from './spread-rows.js'

export { Assigner, type Centroids }

/**
 * Number of rows that are processed between two checks whether to let the event loop run, in loops that need almost no
 * time per row.
 */
const rowsAtOnce = 1024

/**
 * When a cluster is split, its two centroids move away from the old centroid by this share of the distance to the
 * farthest row.
 */
const splitShare = 1 / 8

/**
 * Maximum number of centroids that are trained in one stage. More centroids are trained in two stages, see
 * `trainApart`.
 */
const maxTogether = 1024

/** Number of rows per centroid from which the initial centroids are chosen. */
const seedRowsPerCentroid = 4

/** Number of rows per cluster from which the clusters of the first stage are trained. */
const rowsPerCluster = 256

/** Number of rounds over all rows after the second stage. */
const finalRounds = 1

/**
 * Writes the number of the nearest centroid of each row of a sample to `out`. Of equally near centroids it writes the
 * lowest number.
 */
type AssignRows = (centroids: Centroids, out: Uint32Array, pacer: Pacer) => Promise<void>

/**
 * Prepares the assignment of the `rows` vectors of a sample. The returned function can be called with different
 * centroids, but not with more centroids than `most` has.
 */
export type OpenSample = (sample: Float32Array, rows: number, most: Centroids) => AssignRows

/** Return an `OpenSample` that assigns on the calling thread. `plain`: see `openArena`. */
export function assigningHere(plain: boolean): OpenSample {
  return (sample, rows, most) => {
    const { count, dim } = most
    const rowsTogether = Assigner.rowsAtOnce(count, dim, plain)
    const assigner = new Assigner(most, rowsTogether, plain)
    return async (centroids, out, pacer) => {
      assigner.use(centroids)
      for (let first = 0; first < rows; first += rowsTogether) {
        await pacer.turn()
        const some = Math.min(rowsTogether, rows - first)
        assigner.vectors.set(sample.subarray(first * dim, (first + some) * dim))
        out.set(assigner.assign(some), first)
      }
    }
  }
}

/**
 * Train centroids of `rows` vectors. Returns `count` centroids, or fewer if there are fewer distinct vectors. The same
 * input gives the same centroids on every machine. If a cluster becomes empty, one of the largest clusters is split.
 *
 * `open`: prepares the assignment of rows; default: on the calling thread. Every implementation of it gives the same
 * centroids.
 */
export function trainCentroids(
  sample: Float32Array,
  rows: number,
  dim: number,
  count: number,
  maxIterations: number,
  pacer: Pacer,
  open: OpenSample = assigningHere(false),
): Promise<Centroids> {
  const train = count > maxTogether ? trainApart : trainTogether
  return train(sample, rows, dim, count, maxIterations, pacer, open)
}

/** Vectors whose centroids are trained independently of other samples. */
export interface TrainingSample {
  readonly values: Float32Array
  readonly rows: number
  readonly dim: number
}

/** Trains centroids for each sample separately, like `trainCentroids`. Returns them in the order of the samples. */
export type TrainEach = (
  samples: AsyncIterable<TrainingSample>,
  count: number,
  maxIterations: number,
  pacer: Pacer,
) => Promise<readonly Centroids[]>

/** Train on the calling thread, one sample after the other. */
export const trainEachHere: TrainEach = async (samples, count, maxIterations, pacer) => {
  const trained: Centroids[] = []
  for await (const { values, rows, dim } of samples)
    trained.push(await trainCentroids(values, rows, dim, count, maxIterations, pacer))
  return trained
}

async function trainTogether(
  sample: Float32Array,
  rows: number,
  dim: number,
  count: number,
  maxIterations: number,
  pacer: Pacer,
  open: OpenSample,
): Promise<Centroids> {
  const distinct = await distinctRows(
    sample,
    dim,
    shuffledRows(rows),
    Math.min(rows, count * seedRowsPerCentroid),
    pacer,
  )
  const some = await gather(sample, dim, distinct, pacer)
  // There are at most as many distinct rows as centroids, so the rows themselves are the best centroids.
  if (some.count <= count) return some
  const spread = await spreadRows(some, count, seededRandom(count), pacer)
  const beginnings = await gather(some.values, dim, spread, pacer)
  return improve(sample, rows, beginnings, maxIterations, pacer, open)
}

/**
 * Train in two stages. The first stage divides the rows into a few clusters. The second stage trains centroids for each
 * cluster separately; their number is proportional to the number of rows. This takes much less time than one stage, but
 * the mean distance to the nearest centroid is a few percent greater. The final rounds over all rows halve this loss.
 */
async function trainApart(
  sample: Float32Array,
  rows: number,
  dim: number,
  count: number,
  maxIterations: number,
  pacer: Pacer,
  open: OpenSample,
): Promise<Centroids> {
  const clusters = Math.ceil(Math.sqrt(count))
  const few = new Uint32Array(Math.min(rows, clusters * rowsPerCluster))
  const order = shuffledRows(rows)
  for (let i = 0; i < few.length; i++) few[i] = order.next().value
  const some = await gather(sample, dim, few, pacer)
  const first = await trainTogether(some.values, some.count, dim, clusters, maxIterations, pacer, open)
  const members = await membersOf(sample, rows, first, pacer, open)

  // Begin with the largest clusters. If many rows of a cluster are equal, it needs fewer centroids, and later clusters
  // get more.
  const parts: Float32Array[] = []
  let left = count
  let rowsLeft = rows
  for (const own of members.filter(({ length }) => length > 0).sort((a, b) => b.length - a.length)) {
    if (left === 0) break
    const wanted = Math.min(left, Math.max(1, Math.round((left * own.length) / rowsLeft)))
    const { values } = await gather(sample, dim, own, pacer)
    const found = await trainTogether(values, own.length, dim, wanted, maxIterations, pacer, open)
    parts.push(found.values)
    left -= found.count
    rowsLeft -= own.length
  }
  const values = new Float32Array(parts.reduce((length, part) => length + part.length, 0))
  let end = 0
  for (const part of parts) {
    values.set(part, end)
    end += part.length
  }
  return improve(
    sample,
    rows,
    { count: end / dim, dim, values },
    Math.min(finalRounds, maxIterations),
    pacer,
    open,
  )
}

/** Run rounds of Lloyd's algorithm until no row changes its cluster, at most `rounds` rounds. */
async function improve(
  sample: Float32Array,
  rows: number,
  beginnings: Centroids,
  rounds: number,
  pacer: Pacer,
  open: OpenSample,
): Promise<Centroids> {
  if (rounds === 0) return beginnings
  const clusters = new Clusters(sample, rows, beginnings)
  const assign = open(sample, rows, beginnings)
  for (let round = 0; round < rounds; round++) {
    const moved = await clusters.assign(assign, pacer)
    clusters.moveToMeans()
    if (!moved) break
    await clusters.fillEmpty(pacer)
  }
  return clusters.nonEmpty(pacer)
}

/** Return, for each centroid, the rows whose nearest centroid it is. */
async function membersOf(
  sample: Float32Array,
  rows: number,
  centroids: Centroids,
  pacer: Pacer,
  open: OpenSample,
): Promise<Uint32Array[]> {
  const clusters = new Clusters(sample, rows, centroids)
  await clusters.assign(open(sample, rows, centroids), pacer)
  return clusters.members()
}

async function gather(
  sample: Float32Array,
  dim: number,
  rows: Uint32Array,
  pacer: Pacer,
): Promise<Centroids> {
  const values = new Float32Array(rows.length * dim)
  for (let i = 0; i < rows.length; i++) {
    if (i % rowsAtOnce === 0) await pacer.turn()
    const from = rows[i]! * dim
    values.set(sample.subarray(from, from + dim), i * dim)
  }
  return { count: rows.length, dim, values }
}

/** Yield all row numbers in a pseudorandom order, which depends only on `rows`. */
function* shuffledRows(rows: number): Generator<number> {
  const random = seededRandom(rows)
  const order = new Uint32Array(rows)
  for (let row = 0; row < rows; row++) order[row] = row
  for (let i = 0; i < rows; i++) {
    const j = i + Math.floor(random() * (rows - i))
    const row = order[j]!
    order[j] = order[i]!
    yield row
  }
}

class Clusters {
  readonly #sample: Float32Array
  readonly #rows: number
  readonly #dim: number
  readonly #count: number
  readonly #values: Float32Array
  /** By row: its cluster. */
  #clusterOf: Uint32Array
  /** By cluster: the number of its rows. */
  readonly #sizes: Uint32Array
  /** By cluster: the sum of its rows. */
  readonly #sums: Float64Array

  constructor(sample: Float32Array, rows: number, { count, dim, values }: Centroids) {
    this.#sample = sample
    this.#rows = rows
    this.#dim = dim
    this.#count = count
    this.#values = values.slice()
    this.#clusterOf = new Uint32Array(rows).fill(count)
    this.#sizes = new Uint32Array(count)
    this.#sums = new Float64Array(count * dim)
  }

  /** Return a view of the centroids. `moveToMeans` and `fillEmpty` change it. */
  centroids(): Centroids {
    return { count: this.#count, dim: this.#dim, values: this.#values }
  }

  /** Return the rows of each cluster. */
  members(): Uint32Array[] {
    const members = Array.from(this.#sizes, size => new Uint32Array(size))
    const written = new Uint32Array(this.#count)
    this.#clusterOf.forEach((cluster, row) => {
      members[cluster]![written[cluster]!++] = row
    })
    return members
  }

  /** Return the centroids of all clusters that have rows. */
  nonEmpty(pacer: Pacer): Promise<Centroids> {
    const kept = Uint32Array.from(this.#sizes.keys()).filter(cluster => this.#sizes[cluster]! > 0)
    return gather(this.#values, this.#dim, kept, pacer)
  }

  /** Assign every row to the nearest centroid. Returns whether any row changed its cluster. */
  async assign(assign: AssignRows, pacer: Pacer): Promise<boolean> {
    const dim = this.#dim
    const before = this.#clusterOf
    this.#clusterOf = new Uint32Array(this.#rows)
    await assign(this.centroids(), this.#clusterOf, pacer)
    let moved = false
    this.#sizes.fill(0)
    this.#sums.fill(0)
    for (let row = 0; row < this.#rows; row++) {
      if (row % rowsAtOnce === 0) await pacer.turn()
      const cluster = this.#clusterOf[row]!
      if (before[row] !== cluster) moved = true
      this.#add(cluster, row * dim)
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

  /** Move each centroid to the mean of its cluster's rows. */
  moveToMeans(): void {
    const dim = this.#dim
    for (let cluster = 0; cluster < this.#count; cluster++) {
      const size = this.#sizes[cluster]!
      if (size === 0) continue
      for (let at = cluster * dim; at < (cluster + 1) * dim; at++) this.#values[at] = this.#sums[at]! / size
    }
  }

  /**
   * Fill each empty cluster: split one of the largest clusters into two. Their centroids are the old centroid, moved in
   * opposite directions along the line to the cluster's farthest row. So the next assignment divides the rows. A
   * cluster whose rows are all equal cannot be split.
   */
  async fillEmpty(pacer: Pacer): Promise<void> {
    const dim = this.#dim
    const values = this.#values
    const empty = [...this.#sizes.keys()].filter(cluster => this.#sizes[cluster] === 0)
    if (empty.length === 0) return
    const farthest = await this.#farthest(pacer)
    const splittable = [...this.#sizes.keys()]
      .filter(cluster => farthest[cluster]! >= 0)
      .sort((a, b) => this.#sizes[b]! - this.#sizes[a]! || a - b)
    for (let i = 0; i < Math.min(empty.length, splittable.length); i++) {
      const whole = splittable[i]!
      const half = empty[i]!
      const row = farthest[whole]!
      for (let j = 0; j < dim; j++) {
        const middle = values[whole * dim + j]!
        const step = (this.#sample[row * dim + j]! - middle) * splitShare
        values[whole * dim + j] = middle - step
        values[half * dim + j] = middle + step
      }
      this.#sizes[half] = this.#sizes[whole]! >>> 1
    }
  }

  /**
   * Return, for each cluster, the row that is farthest from its centroid. Return -1 if all its rows equal the centroid.
   */
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
