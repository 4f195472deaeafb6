/** Collects the matching rows of a search: all rows, or only the rows with the best scores. */
import type { ScoredRows } from '../query.js'

/** Initial capacity in rows. */
const firstCapacity = 64
/** Maximum capacity of memory that is kept for the next search. */
const keptCapacity = 4096
/** Maximum number of rows that are sorted by insertion sort. */
const fewRows = 32
/** The greatest float32 below Infinity. */
const greatestFloat = 2 ** 128 - 2 ** 104

/** The memory of one search. */
interface FoundMemory {
  readonly heap: Float32Array
  readonly ordinals: Uint32Array
  readonly scores: Float32Array
}

/** The memory that the next search uses, because an allocation takes longer than many searches (see scratch.ts). */
let spare: FoundMemory | null = null

function takeMemory(): FoundMemory {
  const memory = spare ?? {
    heap: new Float32Array(firstCapacity),
    ordinals: new Uint32Array(firstCapacity),
    scores: new Float32Array(firstCapacity),
  }
  spare = null
  return memory
}

/** Collects rows and their scores. `best` or `all` is the last call: the next search then uses the memory. */
export class Found {
  /**
   * The required score, in float64. The search may skip a row if its upper bound is lower. `least` is slightly lower
   * than the float32 threshold. This is necessary because a sum of bounds may be rounded below the score that it
   * bounds, and because rounding to float32 may increase a score.
   */
  least = -Number.MAX_VALUE
  /** Rows with a lower score are not among the best rows. A float32. */
  #threshold = -Infinity
  /** Number of best rows to collect; 0: all rows. */
  readonly #best: number
  /** Min-heap of the `#best` best scores so far. */
  readonly #heap: Float32Array
  #heaped = 0
  #ordinals: Uint32Array
  #scores: Float32Array
  #count = 0

  /**
   * `best`: number of best rows to collect, in addition to rows with the same score as the last of them; 0: collect all
   * rows. `floor`: minimum score. Scores are not negative.
   */
  constructor(best: number, floor: number) {
    const { heap, ordinals, scores } = takeMemory()
    this.#best = best
    this.#heap = heap.length < best ? new Float32Array(best) : heap
    this.#ordinals = ordinals
    this.#scores = scores
    if (floor >= 0) this.#raise(floor)
  }

  /** Whether rows with a low score are not among the best rows. */
  get hasThreshold(): boolean {
    return this.#threshold >= 0
  }

  /** Add a row, if its score is high enough. Each row may be added only once. `score`: a float32. */
  offer(ordinal: number, score: number): void {
    if (score < this.#threshold) return
    if (this.#count === this.#ordinals.length) this.#grow()
    this.#ordinals[this.#count] = ordinal
    this.#scores[this.#count++] = score
    const heap = this.#heap
    const best = this.#best
    if (best === 0) return
    if (this.#heaped < best) {
      rise(heap, this.#heaped++, score)
      if (this.#heaped < best) return
    } else if (score > heap[0]!) sink(heap, best, score)
    else return
    if (heap[0]! > this.#threshold) this.#raise(heap[0]!)
  }

  /** Return all rows, in the order in which they were added. */
  all(): ScoredRows {
    const [heap, ordinals, scores] = [this.#heap, this.#ordinals, this.#scores]
    if (Math.max(heap.length, ordinals.length) <= keptCapacity) spare = { heap, ordinals, scores }
    return { ordinals: ordinals.slice(0, this.#count), scores: scores.slice(0, this.#count) }
  }

  /** Return the collected rows, best first. Rows with equal scores are sorted by ordinal. */
  best(): ScoredRows {
    this.#drop()
    if (this.#count > fewRows) return sorted(this.#ordinals, this.#scores, this.#count)
    const [ordinals, scores] = [this.#ordinals, this.#scores]
    for (let i = 1; i < this.#count; i++) {
      const ordinal = ordinals[i]!
      const score = scores[i]!
      let hole = i
      for (; hole > 0; hole--) {
        const before = scores[hole - 1]!
        if (before > score || (before === score && ordinals[hole - 1]! < ordinal)) break
        ordinals[hole] = ordinals[hole - 1]!
        scores[hole] = before
      }
      ordinals[hole] = ordinal
      scores[hole] = score
    }
    return this.all()
  }

  #raise(threshold: number): void {
    this.#threshold = threshold
    this.least = Math.min(threshold, greatestFloat) * (1 - 2 ** -23) - 2 ** -149
  }

  /** Remove the rows whose score is below the threshold. */
  #drop(): void {
    const [ordinals, scores, threshold] = [this.#ordinals, this.#scores, this.#threshold]
    let kept = 0
    for (let i = 0; i < this.#count; i++) {
      if (scores[i]! < threshold) continue
      ordinals[kept] = ordinals[i]!
      scores[kept++] = scores[i]!
    }
    this.#count = kept
  }

  #grow(): void {
    this.#drop()
    if (this.#count <= 0.75 * this.#ordinals.length) return
    const [ordinals, scores] = [this.#ordinals, this.#scores]
    this.#ordinals = new Uint32Array(2 * ordinals.length)
    this.#ordinals.set(ordinals)
    this.#scores = new Float32Array(2 * scores.length)
    this.#scores.set(scores)
  }
}

/**
 * Sort the first `count` rows, best first. Rows with equal scores are sorted by ordinal. Sorts integer keys, because
 * this is faster than sorting with a comparison function.
 */
function sorted(rows: Uint32Array, scored: Float32Array, count: number): ScoredRows {
  // The upper half of a key has the inverted bits of the score, so that greater scores come first. This works because
  // the bits of non-negative floats have the same order as the floats.
  const keys = new BigUint64Array(count)
  const halves = new Uint32Array(keys.buffer)
  const bits = new Uint32Array(scored.buffer)
  for (let i = 0; i < count; i++) {
    halves[2 * i] = rows[i]!
    halves[2 * i + 1] = ~bits[i]!
  }
  keys.sort()
  const ordinals = new Uint32Array(count)
  const scores = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    ordinals[i] = halves[2 * i]!
    scores[i] = ~halves[2 * i + 1]!
  }
  return { ordinals, scores: new Float32Array(scores.buffer) }
}

/** Insert a score at the end of the heap and restore the order. */
function rise(heap: Float32Array, hole: number, score: number): void {
  while (hole > 0) {
    const parent = (hole - 1) >>> 1
    if (heap[parent]! <= score) break
    heap[hole] = heap[parent]!
    hole = parent
  }
  heap[hole] = score
}

/** Replace the lowest score of a heap of `count` scores by `score`, and restore the order. */
function sink(heap: Float32Array, count: number, score: number): void {
  let hole = 0
  for (let child = 1; child < count; child = 2 * hole + 1) {
    if (child + 1 < count && heap[child + 1]! < heap[child]!) child++
    if (heap[child]! >= score) break
    heap[hole] = heap[child]!
    hole = child
  }
  heap[hole] = score
}
