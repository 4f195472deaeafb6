/** The true neighbours of some rows of a segment, found while its rows pass by: what its recall is measured against. */
import { searchSegment } from '../../kernels/exact.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import type { Pacer } from '../../primitives/pacer.js'
import { seededRandom } from '../../primitives/seeded-random.js'
import type { Space } from './space.js'

/** Neighbours looked for: recall is that of the ten nearest. */
export const truthDepth = 10
/** Rows asked about: with ten neighbours each the error of a recall of 0.95 is below 0.01. */
const queriesMax = 100
/** With fewer rows than this there is nothing to be missed. */
const rowsMin = 500

interface Neighbours {
  readonly ordinals: number[]
  readonly distances: number[]
}

export class Truth {
  /** The rows asked about: they are nobody's neighbour. */
  readonly rows: ReadonlySet<number>
  readonly #queries: readonly { readonly row: number; readonly vector: Float32Array }[]
  readonly #found: readonly Neighbours[]
  readonly #piece: VectorSegment
  readonly #ordinals: Uint32Array
  readonly #dim: number
  readonly #most: number

  /** `queries`: rows of the segment and their vectors. `most`: rows that are passed at once. */
  constructor(
    queries: readonly { readonly row: number; readonly vector: Float32Array }[],
    dim: number,
    most: number,
  ) {
    this.rows = new Set(queries.map(({ row }) => row))
    this.#queries = queries
    this.#found = queries.map(() => ({ ordinals: [], distances: [] }))
    this.#piece = VectorSegment.allocate('f32', dim, most, 0)
    this.#ordinals = new Uint32Array(most)
    this.#dim = dim
    this.#most = most
  }

  get queries(): readonly { readonly row: number; readonly vector: Float32Array }[] {
    return this.#queries
  }

  /** The nearest of the rows passed, by query. */
  neighbours(query: number): readonly number[] {
    return this.#found[query]!.ordinals
  }

  async pass(vectors: Float32Array, ordinals: Uint32Array, count: number, pacer: Pacer): Promise<void> {
    const values = this.#piece.values
    let rows = 0
    for (let i = 0; i < count; i++) {
      if (this.rows.has(ordinals[i]!)) continue
      values.set(vectors.subarray(i * this.#dim, (i + 1) * this.#dim), rows * this.#dim)
      this.#ordinals[rows++] = ordinals[i]!
    }
    // So far away that no bound lets them in.
    values.fill(1e30, rows * this.#dim, this.#most * this.#dim)
    for (const [q, { vector }] of this.#queries.entries()) {
      const known = this.#found[q]!
      const worst = known.distances[truthDepth - 1] ?? 3e38
      const hits = searchSegment(this.#piece, vector, { metric: 'l2', k: truthDepth, upper: worst })
      for (let i = 0; i < hits.ordinals.length; i++) {
        if (hits.ordinals[i]! < rows) insert(known, this.#ordinals[hits.ordinals[i]!]!, hits.distances[i]!)
      }
      await pacer.turn()
    }
  }
}

function insert({ ordinals, distances }: Neighbours, ordinal: number, distance: number): void {
  let at = distances.length
  while (at > 0 && distances[at - 1]! > distance) at--
  if (at >= truthDepth) return
  distances.splice(at, 0, distance)
  ordinals.splice(at, 0, ordinal)
  if (distances.length > truthDepth) {
    distances.pop()
    ordinals.pop()
  }
}

/**
 * Some of the sampled rows to ask about, each where it lies as a query, spread over all, but at no fixed distance: rows may come in
 * turns. None where there are too few.
 */
export function questions(
  sample: Float32Array,
  sampled: Uint32Array,
  { innerDim: dim, metric }: Space,
): readonly { readonly row: number; readonly vector: Float32Array }[] {
  const count = sampled.length < rowsMin ? 0 : Math.min(queriesMax, Math.floor(sampled.length / 20))
  const random = seededRandom(2)
  return Array.from({ length: count }, (_, i) => {
    const at = Math.floor(((i + random()) * sampled.length) / count)
    const vector = sample.slice(at * dim, (at + 1) * dim)
    if (metric === 'dot') vector[dim - 1] = 0
    return { row: sampled[at]!, vector }
  })
}
