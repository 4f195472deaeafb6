/** Sets of rows with scores, and their combinations. */
import { joinNumbers } from '../primitives/join-numbers.js'

/** Rows by position (`rowPlace`), each once. */
export interface ScoredPlaces {
  readonly places: Float64Array
  readonly scores: Float32Array
}

/** The empty set. */
export const noPlaces: ScoredPlaces = { places: new Float64Array(0), scores: new Float32Array(0) }

/** Upper bound of the rows of one fragment. */
const fragmentSpan = 2 ** 32

/** Encode the position of row `offset` of fragment number `fragment` as one number. The numbers sort in row order. */
export function rowPlace(fragment: number, offset: number): number {
  return fragment * fragmentSpan + offset
}

/** Return the fragment's index of a position. */
export function fragmentOf(place: number): number {
  return Math.floor(place / fragmentSpan)
}

/** Return the offset in the fragment of a position. */
export function offsetOf(place: number): number {
  return place % fragmentSpan
}

/** Sort rows into row order. */
function ascending(rows: ScoredPlaces): ScoredPlaces {
  const { places, scores } = rows
  let i = 1
  while (i < places.length && places[i - 1]! < places[i]!) i++
  if (i >= places.length) return rows
  const order = Uint32Array.from(places.keys()).sort((a, b) => places[a]! - places[b]!)
  return {
    places: Float64Array.from(order, row => places[row]!),
    scores: Float32Array.from(order, row => scores[row]!),
  }
}

/** Join lists without common rows into one, in row order. */
export function joined(lists: readonly ScoredPlaces[]): ScoredPlaces {
  if (lists.length === 1) return ascending(lists[0]!)
  return ascending({
    places: joinNumbers(
      Float64Array,
      lists.map(({ places }) => places),
    ),
    scores: joinNumbers(
      Float32Array,
      lists.map(({ scores }) => scores),
    ),
  })
}

/** How two lists of rows are combined. */
export interface Mixing {
  /** The score of rows in both lists; null: leave them out. */
  readonly both: ((a: number, b: number) => number) | null
  /** Whether to keep rows that are only in one list, with their score. */
  readonly onlyA: boolean
  readonly onlyB: boolean
}

const greatestScore = 2 ** 128 - 2 ** 104

/** Clamp a score to the range of float32: the difference of two infinities would be NaN. */
const bounded = (score: number) => Math.max(-greatestScore, Math.min(greatestScore, score))

const sum = (a: number, b: number) => bounded(a + b)

/** The combinations that operators use. */
export const mixings = {
  /** Rows of either list, with the better score. */
  best: { both: Math.max, onlyA: true, onlyB: true },
  /** Rows of either list, with the sum. */
  any: { both: sum, onlyA: true, onlyB: true },
  /** Rows in both lists, with the sum. */
  all: { both: sum, onlyA: false, onlyB: false },
  /** Rows of the first list, with the sum if the second list has them. */
  raised: { both: sum, onlyA: true, onlyB: false },
  /** Rows of the first list that are not in the second. */
  without: { both: null, onlyA: true, onlyB: false },
} as const satisfies Record<string, Mixing>

/** Rows of the first list, less `share` of their score in the second. */
export function lowered(share: number): Mixing {
  return { both: (a, b) => bounded(a - share * b), onlyA: true, onlyB: false }
}

/** Combine two lists in row order into one in row order. */
export function mixed(a: ScoredPlaces, b: ScoredPlaces, { both, onlyA, onlyB }: Mixing): ScoredPlaces {
  const most = (onlyA ? a.places.length : 0) + (onlyB ? b.places.length : 0)
  const capacity = onlyA || onlyB ? most : Math.min(a.places.length, b.places.length)
  const places = new Float64Array(capacity)
  const scores = new Float32Array(capacity)
  let count = 0
  let i = 0
  let j = 0
  while (i < a.places.length || j < b.places.length) {
    const left = i < a.places.length ? a.places[i]! : Infinity
    const right = j < b.places.length ? b.places[j]! : Infinity
    const isBoth = left === right
    if (isBoth ? both !== null : left < right ? onlyA : onlyB) {
      places[count] = Math.min(left, right)
      scores[count++] = isBoth
        ? both!(a.scores[i]!, b.scores[j]!)
        : left < right
          ? a.scores[i]!
          : b.scores[j]!
    }
    if (left <= right) i++
    if (right <= left) j++
  }
  return { places: places.subarray(0, count), scores: scores.subarray(0, count) }
}

/** Return the rows with the `limit` best scores and all ties of the last one. */
export function bestOf(rows: ScoredPlaces, limit: number): ScoredPlaces {
  const { places, scores } = rows
  if (scores.length <= limit) return rows
  const least = scores.slice().sort()[scores.length - limit]!
  let count = 0
  const kept = { places: new Float64Array(places.length), scores: new Float32Array(scores.length) }
  for (let row = 0; row < scores.length; row++) {
    if (scores[row]! < least) continue
    kept.places[count] = places[row]!
    kept.scores[count++] = scores[row]!
  }
  return { places: kept.places.subarray(0, count), scores: kept.scores.subarray(0, count) }
}
