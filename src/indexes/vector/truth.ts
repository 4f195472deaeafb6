/** The true neighbours of some rows of a segment, found while its rows pass by: what its recall is measured against. */
import type { Centroids } from '../../kernels/clusters.js'
import { searchSegment } from '../../kernels/exact.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { seededRandom } from '../../primitives/seeded-random.js'
import type { Recalls } from './segment.js'
import { bringToLength, type Space } from './space.js'

/** Neighbours looked for: recall is that of the ten nearest. */
export const truthDepth = 10
/** Rows asked about: with ten neighbours each the error of a recall of 0.95 is below 0.01. */
const queriesMax = 100
/** With fewer rows than this there is nothing to be missed. */
const rowsMin = 500
/** Share of the cells whose rows are excluded from a question. */
const excludedShare = 0.1

interface Neighbours {
  readonly ordinals: number[]
  readonly distances: number[]
}

/** A query that a segment is asked while it is built. */
export interface Question {
  /** What it stands for. */
  readonly kind: keyof Recalls
  /** Where it lies as a query, `innerDim` elements. */
  readonly vector: Float32Array
  /** The row that it is; null: it is none. */
  readonly row: number | null
  /** Cells whose rows a filter excludes; null: none. */
  readonly excluded: ReadonlySet<number> | null
}

export class Truth {
  /** The rows asked about: they are nobody's neighbour. */
  readonly rows: ReadonlySet<number>
  readonly questions: readonly Question[]
  readonly #found: readonly Neighbours[]
  readonly #piece: VectorSegment
  readonly #ordinals: Uint32Array
  readonly #cells: Uint32Array
  readonly #dim: number
  readonly #most: number

  /** `most`: rows that are passed at once. */
  constructor(questions: readonly Question[], dim: number, most: number) {
    this.rows = new Set(questions.flatMap(({ row }) => row ?? []))
    this.questions = questions
    this.#found = questions.map(() => ({ ordinals: [], distances: [] }))
    this.#piece = VectorSegment.allocate('f32', dim, most, 0)
    this.#ordinals = new Uint32Array(most)
    this.#cells = new Uint32Array(most)
    this.#dim = dim
    this.#most = most
  }

  /** The nearest of the rows passed that are not excluded, by question. */
  neighbours(question: number): readonly number[] {
    return this.#found[question]!.ordinals
  }

  /** `cells`: the cell of each row; null where no question excludes any. */
  async pass(
    vectors: Float32Array,
    ordinals: Uint32Array,
    cells: Uint32Array | null,
    count: number,
    pacer: Pacer,
  ): Promise<void> {
    const values = this.#piece.values
    let rows = 0
    for (let i = 0; i < count; i++) {
      if (this.rows.has(ordinals[i]!)) continue
      values.set(vectors.subarray(i * this.#dim, (i + 1) * this.#dim), rows * this.#dim)
      this.#cells[rows] = cells?.[i] ?? 0
      this.#ordinals[rows++] = ordinals[i]!
    }
    // So far away that no bound lets them in.
    values.fill(1e30, rows * this.#dim, this.#most * this.#dim)
    for (const [q, { vector, excluded }] of this.questions.entries()) {
      const known = this.#found[q]!
      const worst = known.distances[truthDepth - 1] ?? 3e38
      const hits = searchSegment(this.#piece, vector, {
        metric: 'l2',
        k: truthDepth,
        upper: worst,
        ...(excluded !== null && { allowed: this.#outside(excluded, rows) }),
      })
      for (let i = 0; i < hits.ordinals.length; i++) {
        if (hits.ordinals[i]! < rows) insert(known, this.#ordinals[hits.ordinals[i]!]!, hits.distances[i]!)
      }
      await pacer.turn()
    }
  }

  #outside(excluded: ReadonlySet<number>, rows: number): Bitset {
    const bits = new Bitset(this.#most)
    for (let i = 0; i < rows; i++) if (!excluded.has(this.#cells[i]!)) bits.add(i)
    return bits
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
 * Questions of all kinds, made of sampled rows: rows themselves, spread over all, but at no fixed distance, because rows may come in turns; points
 * between two rows, and points whose elements come from two rows; and rows whose nearest cells are excluded, where there are cells. None
 * where there are too few rows.
 */
export function questionsOf(
  sample: Float32Array,
  sampled: Uint32Array,
  space: Space,
  cells: Centroids | null,
): readonly Question[] {
  const { innerDim: dim, metric } = space
  const count = sampled.length < rowsMin ? 0 : Math.min(queriesMax, Math.floor(sampled.length / 20))
  const random = seededRandom(2)
  const rowAt = (at: number) => sample.slice(at * dim, (at + 1) * dim)
  const asQuery = (vector: Float32Array) => {
    if (metric !== 'dot') return vector
    vector[dim - 1] = 0
    bringToLength(vector, space.greatest)
    return vector
  }
  const questions: Question[] = []
  for (let i = 0; i < count; i++) {
    const at = Math.floor(((i + random()) * sampled.length) / count)
    questions.push({ kind: 'rows', vector: asQuery(rowAt(at)), row: sampled[at]!, excluded: null })
  }
  const asked = questions.slice()
  for (let i = 0; i < count / 2; i++) {
    const one = rowAt(Math.floor(random() * sampled.length))
    const other = rowAt(Math.floor(random() * sampled.length))
    const isMixed = i % 2 === 1 || metric === 'hamming'
    for (let e = 0; e < dim; e++) {
      if (isMixed ? random() < 0.5 : true) one[e] = isMixed ? other[e]! : (one[e]! + other[e]!) / 2
    }
    if (metric === 'cosine') normalize(one)
    questions.push({ kind: 'between', vector: asQuery(one), row: null, excluded: null })
  }
  if (cells === null || cells.count < 2) return questions
  const centroids = VectorSegment.allocate('f32', dim, cells.count)
  centroids.values.set(cells.values)
  const k = Math.ceil(cells.count * excludedShare)
  for (let i = 0; i < asked.length; i += 2) {
    const { vector, row } = asked[i]!
    const { ordinals } = searchSegment(centroids, vector, { metric: 'l2', k })
    questions.push({ kind: 'excluded', vector, row, excluded: new Set(ordinals) })
  }
  return questions
}

function normalize(vector: Float32Array): void {
  const length = Math.hypot(...vector)
  if (length > 0) for (let i = 0; i < vector.length; i++) vector[i]! /= length
}
