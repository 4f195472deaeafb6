/** The true neighbours of some rows of a segment, found while its rows pass by: what its recall is measured against. */
import { type Centroids, squaredDistance } from '../../kernels/assigner.js'
import { searchSegment } from '../../kernels/exact.js'
import { NearPoints } from '../../kernels/near-points.js'
import { VectorSegment } from '../../kernels/vector-segment.js'
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

/** Rows compared with all questions at once: less than a millisecond. */
const comparedRows = 256
/** Distances measured between two looks at the clock. */
const measuredPairs = 1024

/** What was found for a question among some rows: can be posted to another thread. */
export interface FoundRows {
  readonly ordinals: readonly number[]
  readonly distances: readonly number[]
  readonly crowded: number
}

export class Truth {
  /** The rows asked about: they are nobody's neighbour. */
  readonly rows: ReadonlySet<number>
  readonly questions: readonly Question[]
  readonly #found: readonly Nearest[]
  /** Where questions lie; those that differ in what they exclude are at one point. */
  readonly #points: Centroids
  /** Questions at each point. */
  readonly #asked: readonly (readonly number[])[]
  /** Null where there is no question. */
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

  /** The nearest of the rows passed that are not excluded, by question. Null: more rows than are known are as near as the tenth. */
  neighbours(question: number): Neighbours | null {
    return this.#found[question]!.neighbours
  }

  /** What was found among the rows passed, by question. */
  found(): readonly FoundRows[] {
    return this.#found.map(each => each.found)
  }

  /** Adds what another one with the same questions found among other rows. */
  add(found: readonly FoundRows[]): void {
    for (const [q, each] of found.entries()) this.#found[q]!.add(each)
  }

  /** `cells`: the cell of each row; null where no question excludes any. */
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

  get found(): FoundRows {
    return { ordinals: this.#ordinals, distances: this.#distances, crowded: this.#crowded }
  }

  add({ ordinals, distances, crowded }: FoundRows): void {
    this.#crowded = Math.min(this.#crowded, crowded)
    for (let i = 0; i < ordinals.length; i++) this.insert(ordinals[i]!, distances[i]!)
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
