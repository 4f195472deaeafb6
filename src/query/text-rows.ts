/** Sets of rows with scores, and what becomes of several of them. */
import { joinNumbers } from '../primitives/join-numbers.js'

/** Rows by where they are (`rowPlace`), each once. */
export interface ScoredPlaces {
  readonly places: Float64Array
  readonly scores: Float32Array
}

export const noPlaces: ScoredPlaces = { places: new Float64Array(0), scores: new Float32Array(0) }

/** Rows that one fragment may have. */
const fragmentSpan = 2 ** 32

/** A number for row `offset` of the fragment that is `fragment`th in the version: the order of these is that of the rows. */
export function rowPlace(fragment: number, offset: number): number {
  return fragment * fragmentSpan + offset
}

export function fragmentOf(place: number): number {
  return Math.floor(place / fragmentSpan)
}

export function offsetOf(place: number): number {
  return place % fragmentSpan
}

/** The same rows, ascending. */
export function ascending(rows: ScoredPlaces): ScoredPlaces {
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

/** Lists of different rows as one, ascending. */
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

/** Which rows of two lists there are together. */
export interface Mixing {
  /** The score of those that both have; null: they are left out. */
  readonly both: ((a: number, b: number) => number) | null
  /** Whether there are those that one list alone has, with the score they have there. */
  readonly onlyA: boolean
  readonly onlyB: boolean
}

const greatestScore = 2 ** 128 - 2 ** 104

/** What is beyond the float32s is the last of them: the difference of two infinities would be no score. */
const bounded = (score: number) => Math.max(-greatestScore, Math.min(greatestScore, score))

const sum = (a: number, b: number) => bounded(a + b)

export const mixings = {
  /** Rows of either, with the better score. */
  best: { both: Math.max, onlyA: true, onlyB: true },
  /** Rows of either, with the sum. */
  any: { both: sum, onlyA: true, onlyB: true },
  /** Rows of both, with the sum. */
  all: { both: sum, onlyA: false, onlyB: false },
  /** Rows of the first, with the sum where the second has them. */
  raised: { both: sum, onlyA: true, onlyB: false },
  /** Rows of the first that the second does not have. */
  without: { both: null, onlyA: true, onlyB: false },
} as const satisfies Record<string, Mixing>

/** Rows of the first, less `share` of what the second gives them. */
export function lowered(share: number): Mixing {
  return { both: (a, b) => bounded(a - share * b), onlyA: true, onlyB: false }
}

/** Both ascending, as is the result. */
export function mixed(a: ScoredPlaces, b: ScoredPlaces, { both, onlyA, onlyB }: Mixing): ScoredPlaces {
  const most = (onlyA ? a.places.length : 0) + (onlyB ? b.places.length : 0)
  const room = onlyA || onlyB ? most : Math.min(a.places.length, b.places.length)
  const places = new Float64Array(room)
  const scores = new Float32Array(room)
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

/** The rows with the `limit` best scores, and all that are as good as the last of them. */
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
