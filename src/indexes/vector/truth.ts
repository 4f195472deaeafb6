/**
 * Makes the questions of a build and finds their true neighbours. A question is a sampled query with which tuning
 * (calibrate.ts) searches the new segment. The build compares all rows that it reads with the questions. Tuning then
 * measures the recall: the share of the true neighbours that a search finds.
 */
import { type Centroids, squaredDistance } from '../../kernels/assigner.js'
import { searchSegment } from '../../kernels/exact.js'
import { NearPoints } from '../../kernels/near-points.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import type { Pacer } from '../../primitives/pacer.js'
import { seededRandom } from '../../primitives/seeded-random.js'
import type { Recalls } from './segment.js'
import { bringToLength, type Space } from './space.js'

/** Number of neighbours per question. It is ten, because tuning measures recall@10. */
export const truthDepth = 10
/**
 * Maximum number of rows kept per question. Rows that are as near as the tenth row are kept too, because a search may
 * return any of them instead of the tenth row.
 */
const tiedMost = 256
/**
 * Maximum number of rows that become questions. With ten neighbours each, the standard error of a measured recall of
 * 0.95 is below 0.01.
 */
const queriesMax = 100
/** Minimum number of sampled rows from which questions are made. */
const rowsMin = 500
/** Share of the cells whose rows the filter of a question excludes. */
const excludedShare = 0.1
/**
 * Distance of a question away from rows. Such a question is a point on the line through two rows, but not between them.
 * Its distance from the nearer row is this multiple of the distance between the rows.
 */
const awayBy = 0.7

/** The true neighbours of a question. */
interface Neighbours {
  /** The ten nearest rows, and all other rows that are as near as the tenth row. */
  readonly ordinals: readonly number[]
  /** Number of distinct points among these rows. Equal rows are one point. */
  readonly points: number
}

/** A query with which tuning searches a segment. */
export interface Question {
  /** The kind of query that the question represents. */
  readonly kind: keyof Recalls
  /** The query in the segment's space, `innerDim` elements. */
  readonly vector: Float32Array
  /** The row to which the question is equal. Null: the question is not equal to a row. */
  readonly row: number | null
  /**
   * The cells whose rows the filter of the question excludes. A cell is a set of near rows. Null: the question has no
   * filter.
   */
  readonly excluded: ReadonlySet<number> | null
}

/** Number of rows that are compared with all questions in one step. A step takes less than a millisecond. */
const comparedRows = 256
/** Number of distances computed between two checks of the clock. */
const measuredPairs = 1024

/** The rows nearest to a question among the rows that one thread has seen. Can be posted to another thread. */
export interface FoundRows {
  readonly ordinals: readonly number[]
  readonly distances: readonly number[]
  /** The smallest distance at which not all rows were kept. Infinity if all rows were kept. */
  readonly crowded: number
}

/** Collects the true neighbours of all questions. */
export class Truth {
  /** The rows from which questions were made. They do not count as neighbours of any question. */
  readonly rows: ReadonlySet<number>
  readonly questions: readonly Question[]
  readonly #found: readonly Nearest[]
  /** The distinct query vectors. Questions that differ only in their filter share a point. */
  readonly #points: Centroids
  /** For each point: the indexes of the questions at this point. */
  readonly #asked: readonly (readonly number[])[]
  /** Null if there are no questions. */
  readonly #near: NearPoints | null
  readonly #bounds: Float64Array

  constructor(questions: readonly Question[], dim: number) {
    this.rows = new Set(questions.flatMap(({ row }) => row ?? []))
    this.questions = questions
    this.#found = questions.map(() => new Nearest())
    const asked = new Map<Float32Array, number[]>()
    for (const [q, { vector }] of questions.entries()) asked.set(vector, [...(asked.get(vector) ?? []), q])
    const values = new Float32Array(asked.size * dim)
    for (const [p, vector] of [...asked.keys()].entries()) values.set(vector, p * dim)
    this.#points = { count: asked.size, dim, values }
    this.#asked = [...asked.values()]
    this.#near = asked.size === 0 ? null : new NearPoints(this.#points, comparedRows)
    this.#bounds = new Float64Array(asked.size)
  }

  /**
   * Return the neighbours of a question among the rows that were passed to `pass`. Return null if more than `tiedMost`
   * rows are as near as the tenth row.
   */
  neighbours(question: number): Neighbours | null {
    return this.#found[question]!.neighbours
  }

  /** Return, by question, the nearest rows among the rows that were passed to `pass`. */
  found(): readonly FoundRows[] {
    return this.#found.map(each => each.found)
  }

  /** Add the result of another `Truth`, which has the same questions and has seen other rows. */
  add(found: readonly FoundRows[]): void {
    for (const [q, each] of found.entries()) this.#found[q]!.add(each)
  }

  /** Compare `count` rows with all questions. `cells`: the cell of each row. Null if no question has a filter. */
  async pass(
    vectors: Float32Array,
    ordinals: Uint32Array,
    cells: Uint32Array | null,
    count: number,
    pacer: Pacer,
  ): Promise<void> {
    const near = this.#near
    if (near === null) return
    const { dim, values } = this.#points
    for (let first = 0; first < count; first += comparedRows) {
      const rows = Math.min(comparedRows, count - first)
      near.vectors.set(vectors.subarray(first * dim, (first + rows) * dim))
      for (const [p, asked] of this.#asked.entries()) {
        this.#bounds[p] = 0
        for (const q of asked) this.#bounds[p] = Math.max(this.#bounds[p]!, this.#found[q]!.upper)
      }
      const pairs = near.find(rows, this.#bounds)
      for (let i = 0; i < pairs.length; i++) {
        if (i % measuredPairs === 0) await pacer.turn()
        const row = first + (pairs[i]! >>> 16)
        const point = pairs[i]! & 0xffff
        if (this.rows.has(ordinals[row]!)) continue
        const distance = Math.fround(squaredDistance(vectors, row * dim, values, point * dim, dim))
        for (const q of this.#asked[point]!) {
          if (cells !== null && this.questions[q]!.excluded?.has(cells[row]!)) continue
          this.#found[q]!.insert(ordinals[row]!, distance)
        }
      }
      await pacer.turn()
    }
  }
}

/** Collects the rows nearest to one question. */
class Nearest {
  /** The nearest rows and their distances, ascending by distance. */
  readonly #ordinals: number[] = []
  readonly #distances: number[] = []
  /** The smallest distance at which not all rows were kept. */
  #crowded = Infinity

  get neighbours(): Neighbours | null {
    if (this.#crowded <= this.#farthest && this.#crowded < Infinity) return null
    return { ordinals: this.#ordinals, points: new Set(this.#distances).size }
  }

  get found(): FoundRows {
    return { ordinals: this.#ordinals, distances: this.#distances, crowded: this.#crowded }
  }

  add({ ordinals, distances, crowded }: FoundRows): void {
    this.#crowded = Math.min(this.#crowded, crowded)
    for (let i = 0; i < ordinals.length; i++) this.insert(ordinals[i]!, distances[i]!)
  }

  /** The distance from which rows are not among the nearest rows. */
  get upper(): number {
    return Math.min(nextFloat(this.#farthest), this.#crowded, 3e38)
  }

  /** Distance of the tenth row. Infinity while there are fewer rows. */
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

/** Return the next float32 above a non-negative value. */
function nextFloat(value: number): number {
  floats[0] = value
  if (floats[0] < Infinity) bits[0]! += 1
  return floats[0]
}

/**
 * Make questions from sampled rows. Return an empty array if there are too few sampled rows. The kinds of questions
 * are:
 *
 * - `rows`: sampled rows. They are spread over the sample at random distances, because the data may be periodic.
 * - `between`: midpoints of two rows, points with some elements of one row and some of another, and points away from
 *   rows (`awayBy`).
 * - `excluded`: sampled rows with a filter that excludes the rows of the nearest cells. Only if there are at least two
 *   cells.
 *
 * `cells`: the centroids of the cells. Null: make no questions with a filter.
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
    const combine = metric === 'hamming' ? mixed : combinations[i % combinations.length]!
    for (let e = 0; e < dim; e++) one[e] = combine(one[e]!, other[e]!, random)
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

/** Computes an element of a point from the elements of two rows. */
type Combine = (one: number, other: number, random: () => number) => number

const mixed: Combine = (one, other, random) => (random() < 0.5 ? one : other)
const combinations: readonly Combine[] = [
  (one, other) => (one + other) / 2,
  mixed,
  (one, other) => one + awayBy * (one - other),
]

function normalize(vector: Float32Array): void {
  const length = Math.hypot(...vector)
  if (length > 0) for (let i = 0; i < vector.length; i++) vector[i]! /= length
}
