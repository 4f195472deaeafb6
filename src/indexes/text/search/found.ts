/** Rows that a search has found so far: all of them, or the best. */
import type { ScoredRows } from '../query.js'

const firstRoom = 16
/** So many are inserted one by one. */
const fewRows = 32
/** The greatest float32 below Infinity. */
const greatestFloat = 2 ** 128 - 2 ** 104

export class Found {
  /**
   * Who scores less than this, worked out in float64, is not wanted. It lies below the score that is: a sum of bounds may be rounded to
   * a little less than the score it bounds, and a score to a float32 above it.
   */
  least = -Number.MAX_VALUE
  #threshold = -Infinity
  /** Of the best scores so far, the least on top; of no length where all rows are wanted. */
  readonly #heap: Float32Array
  #heaped = 0
  #ordinals = new Uint32Array(firstRoom)
  #scores = new Float32Array(firstRoom)
  #count = 0

  /** `best`: how many are wanted, and those that score as much as the last of them; 0: all. `floor`: who scores less is not wanted. No score is less than 0. */
  constructor(best: number, floor: number) {
    this.#heap = new Float32Array(best)
    if (floor >= 0) this.#raise(floor)
  }

  /** A row, once; `score` is a float32. */
  offer(ordinal: number, score: number): void {
    if (score < this.#threshold) return
    if (this.#count === this.#ordinals.length) this.#makeRoom()
    this.#ordinals[this.#count] = ordinal
    this.#scores[this.#count++] = score
    const heap = this.#heap
    if (heap.length === 0) return
    if (this.#heaped < heap.length) {
      rise(heap, this.#heaped++, score)
      if (this.#heaped < heap.length) return
    } else if (score > heap[0]!) sink(heap, score)
    else return
    if (heap[0]! > this.#threshold) this.#raise(heap[0]!)
  }

  /** In the order in which they were found. */
  all(): ScoredRows {
    return { ordinals: this.#ordinals.slice(0, this.#count), scores: this.#scores.slice(0, this.#count) }
  }

  /** The best first, equal ones by ordinal. */
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

  /** Forgets whom others have outdone. */
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

  #makeRoom(): void {
    this.#drop()
    if (2 * this.#count <= this.#ordinals.length) return
    const [ordinals, scores] = [this.#ordinals, this.#scores]
    this.#ordinals = new Uint32Array(2 * ordinals.length)
    this.#ordinals.set(ordinals)
    this.#scores = new Float32Array(2 * scores.length)
    this.#scores.set(scores)
  }
}

/** The first `count`, the best first, without comparing them one by one. */
function sorted(rows: Uint32Array, scored: Float32Array, count: number): ScoredRows {
  // Numbers whose upper half falls as the score rises: bits of floats that are not negative stand in their order.
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

/** Into the hole behind the others. */
function rise(heap: Float32Array, hole: number, score: number): void {
  while (hole > 0) {
    const parent = (hole - 1) >>> 1
    if (heap[parent]! <= score) break
    heap[hole] = heap[parent]!
    hole = parent
  }
  heap[hole] = score
}

/** In place of the least. */
function sink(heap: Float32Array, score: number): void {
  let hole = 0
  for (let child = 1; child < heap.length; child = 2 * hole + 1) {
    if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++
    if (heap[child]! >= score) break
    heap[hole] = heap[child]!
    hole = child
  }
  heap[hole] = score
}
