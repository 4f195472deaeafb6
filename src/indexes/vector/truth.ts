/** Finds the true neighbours of sampled questions while a build reads the rows. Tuning measures recall against them. */
import { type Centroids, squaredDistance } from '../../kernels/assigner.js'
import { searchSegment } from '../../kernels/exact.js'
import { NearPoints } from '../../kernels/near-points.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
import type { Pacer } from '../../primitives/pacer.js'
import { seededRandom } from '../../primitives/seeded-random.js'
import type { Recalls } from './segment.js'
import { bringToLength, type Space } from './space.js'

/** Neighbours per question: recall is recall@10. */
export const truthDepth = 10
/**
 * Maximum number of rows kept per question, including rows as near as the tenth: a search may return any of these
 * instead of the tenth.
 */
const tiedMost = 256
/**
 * Maximum number of rows that become questions. With ten neighbours each, the standard error of a recall of 0.95 is
 * below 0.01.
 */
const queriesMax = 100
/** With fewer sampled rows than this, there are no questions. */
const rowsMin = 500
/** Share of the cells whose rows a filtered question excludes. */
const excludedShare = 0.1
/** A point away from rows lies behind a row, at this multiple of the distance from another row to the row. */
const awayBy = 0.7

/** The true neighbours of a question. */
interface Neighbours {
  /** The ten nearest rows, and all other rows as near as the tenth. */
  readonly ordinals: readonly number[]
  /** Number of distinct points among them: equal rows are one point. */
  readonly points: number
}

/** A query with which tuning measures a segment. */
export interface Question {
  /** The kind of query that the question represents. */
  readonly kind: keyof Recalls
  /** The query in the segment's space, `innerDim` elements. */
  readonly vector: Float32Array
  /** The row that the question is equal to; null: none. */
  readonly row: number | null
  /** Cells whose rows the filter excludes; null: no filter. */
  readonly excluded: ReadonlySet<number> | null
}

/** Rows compared with all questions together: less than a millisecond. */
const comparedRows = 256
/** Distances measured between two checks of the clock. */
const measuredPairs = 1024

/** The nearest rows to a question among some rows. Can be posted to another thread. */
export interface FoundRows {
  readonly ordinals: readonly number[]
  readonly distances: readonly number[]
  readonly crowded: number
}

/** Collects the true neighbours of all questions. */
export class Truth {
  /** The rows that are questions. They do not count as neighbours. */
  readonly rows: ReadonlySet<number>
  readonly questions: readonly Question[]
  readonly #found: readonly Nearest[]
  /** The distinct query vectors. Questions that differ only in their filter share a point. */
  readonly #points: Centroids
  /** Indexes of the questions at each point. */
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
   * Return the neighbours of a question among the passed rows. Null if more rows are as near as the tenth than were
   * kept.
   */
  neighbours(question: number): Neighbours | null {
    return this.#found[question]!.neighbours
  }

  /** Return the nearest of the passed rows, by question. */
  found(): readonly FoundRows[] {
    return this.#found.map(each => each.found)
  }

  /** Merge the result of another `Truth` with the same questions over other rows. */
  add(found: readonly FoundRows[]): void {
    for (const [q, each] of found.entries()) this.#found[q]!.add(each)
  }

  /** Compare `count` rows with all questions. `cells`: the cell of each row; null if no question has a filter. */
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

/** Collects the nearest rows to one question. */
class Nearest {
  /** Ascending by distance. */
  readonly #ordinals: number[] = []
  readonly #distances: number[] = []
  /** The least distance at which not all rows were kept. */
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

  /** Rows at this distance or farther are not among the nearest. */
  get upper(): number {
    return Math.min(nextFloat(this.#farthest), this.#crowded, 3e38)
  }

  /** Distance of the tenth row. */
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
 * Make questions from sampled rows. Return none if there are too few rows.
 *
 * - `rows`: sampled rows, spread over all at random distances, because the data may be periodic.
 * - `between`: midpoints of two rows, points that mix the elements of two rows, and points behind a row as seen from
 *   another row.
 * - `excluded`: rows whose nearest cells are excluded. Only if `cells` has at least two cells.
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

/** Combine an element of two rows into an element of a point. */
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
