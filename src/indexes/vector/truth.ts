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
/** Rows that are known at most where several are as near as the tenth: any of these may be found in its place. */
const tiedMost = 256
/** Rows asked about: with ten neighbours each the error of a recall of 0.95 is below 0.01. */
const queriesMax = 100
/** With fewer rows than this there is nothing to be missed. */
const rowsMin = 500
/** Share of the cells whose rows are excluded from a question. */
const excludedShare = 0.1
/** Of the way from another row to a row, so far behind the row lie points away from rows. */
const awayBy = 0.7

/** What is nearest to a question. */
export interface Neighbours {
  /** The ten nearest rows, and all others that are as near as the tenth. */
  readonly ordinals: readonly number[]
  /** Points at which these lie: equal rows are one. */
  readonly points: number
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
  readonly #found: readonly Nearest[]
  readonly #piece: VectorSegment
  readonly #ordinals: Uint32Array
  readonly #cells: Uint32Array
  readonly #dim: number
  readonly #most: number

  /** `most`: rows that are passed at once. */
  constructor(questions: readonly Question[], dim: number, most: number) {
    this.rows = new Set(questions.flatMap(({ row }) => row ?? []))
    this.questions = questions
    this.#found = questions.map(() => new Nearest())
    this.#piece = VectorSegment.allocate('f32', dim, most, 0)
    this.#ordinals = new Uint32Array(most)
    this.#cells = new Uint32Array(most)
    this.#dim = dim
    this.#most = most
  }

  /** The nearest of the rows passed that are not excluded, by question. Null: more rows than are known are as near as the tenth. */
  neighbours(question: number): Neighbours | null {
    return this.#found[question]!.neighbours
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
      const hits = searchSegment(this.#piece, vector, {
        metric: 'l2',
        k: tiedMost + 1,
        upper: known.upper,
        ...(excluded !== null && { allowed: this.#outside(excluded, rows) }),
      })
      for (let i = 0; i < hits.ordinals.length; i++) {
        if (hits.ordinals[i]! < rows) known.insert(this.#ordinals[hits.ordinals[i]!]!, hits.distances[i]!)
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

/** The nearest rows to a question, while rows pass by. */
class Nearest {
  /** Ascending by distance. */
  readonly #ordinals: number[] = []
  readonly #distances: number[] = []
  /** The least distance at which not all rows are known. */
  #crowded = Infinity

  get neighbours(): Neighbours | null {
    if (this.#crowded <= this.#farthest && this.#crowded < Infinity) return null
    return { ordinals: this.#ordinals, points: new Set(this.#distances).size }
  }

  /** Rows from this distance on are not among the nearest. */
  get upper(): number {
    return Math.min(nextFloat(this.#farthest), this.#crowded, 3e38)
  }

  /** That of the tenth. */
  get #farthest(): number {
    return this.#distances[truthDepth - 1] ?? Infinity
  }

  insert(ordinal: number, distance: number): void {
    const distances = this.#distances
    if (distance > this.#farthest || distance >= this.#crowded) return
    let at = distances.length
    while (at > 0 && distances[at - 1]! > distance) at--
    distances.splice(at, 0, distance)
    this.#ordinals.splice(at, 0, ordinal)
    if (distances.length > tiedMost) this.#crowded = this.#farthest
    while (distances.length > truthDepth && !(distances.at(-1)! < this.upper)) {
      distances.pop()
      this.#ordinals.pop()
    }
  }
}

const floats = new Float32Array(1)
const bits = new Uint32Array(floats.buffer)

/** The least float32 above one that is not negative. */
function nextFloat(value: number): number {
  floats[0] = value
  if (floats[0] < Infinity) bits[0]! += 1
  return floats[0]
}

/**
 * Questions of all kinds, made of sampled rows: rows themselves, spread over all, but at no fixed distance, because rows may come in turns; points
 * between two rows, points whose elements come from two rows, and points that lie away from a row on the side where another does not; and rows whose nearest cells are excluded, where there are cells. None
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
  for (let i = 0; i < (3 * count) / 4; i++) {
    const one = rowAt(Math.floor(random() * sampled.length))
    const other = rowAt(Math.floor(random() * sampled.length))
    const makes = metric === 'hamming' ? mixed : made[i % made.length]!
    for (let e = 0; e < dim; e++) one[e] = makes(one[e]!, other[e]!, random)
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

/** Makes an element of a point from those of two rows. */
type Makes = (one: number, other: number, random: () => number) => number

const mixed: Makes = (one, other, random) => (random() < 0.5 ? one : other)
const made: readonly Makes[] = [
  (one, other) => (one + other) / 2,
  mixed,
  (one, other) => one + awayBy * (one - other),
]

function normalize(vector: Float32Array): void {
  const length = Math.hypot(...vector)
  if (length > 0) for (let i = 0; i < vector.length; i++) vector[i]! /= length
}
