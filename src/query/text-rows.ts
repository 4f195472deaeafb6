/** Combines sets of rows with scores. */
import { joinNumbers } from '../primitives/join-numbers.js'

/** A set of rows with scores. */
export interface ScoredPlaces {
  /** Positions of the rows as encoded by `rowPlace`, without duplicates. */
  readonly places: Float64Array
  /** The score of each row. */
  readonly scores: Float32Array
}

/** The empty set. */
export const noPlaces: ScoredPlaces = { places: new Float64Array(0), scores: new Float32Array(0) }

/** Factor of the fragment number in an encoded position. It is greater than the number of rows of any fragment. */
const fragmentSpan = 2 ** 32

/**
 * Encode the position of a row as one number. `fragment`: position of the fragment in the manifest. `offset`: offset of
 * the row in the fragment. The numbers sort in row order.
 */
export function rowPlace(fragment: number, offset: number): number {
  return fragment * fragmentSpan + offset
}

/** Return the fragment's position in the manifest, from a position that `rowPlace` encoded. */
export function fragmentOf(place: number): number {
  return Math.floor(place / fragmentSpan)
}

/** Return the offset in the fragment, from a position that `rowPlace` encoded. */
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

/** Join sets of rows into one set, in row order. A row must be in only one of the sets. */
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

/** The rule that combines two sets of rows, A and B. */
export interface Mixing {
  /** Computes the score of a row that is in both sets. Null: leave out such rows. */
  readonly both: ((a: number, b: number) => number) | null
  /** Whether to keep rows that are only in A, with their score. */
  readonly onlyA: boolean
  /** Whether to keep rows that are only in B, with their score. */
  readonly onlyB: boolean
}

/** Greatest finite float32. */
const greatestScore = 2 ** 128 - 2 ** 104

/** Clamp a score to the range of finite float32 values, because the difference of two infinite scores would be NaN. */
const bounded = (score: number) => Math.max(-greatestScore, Math.min(greatestScore, score))

const sum = (a: number, b: number) => bounded(a + b)

/** The combinations that operators use. */
export const mixings = {
  /** All rows of A and B. The score is the greater one. */
  best: { both: Math.max, onlyA: true, onlyB: true },
  /** All rows of A and B. The scores are added. */
  any: { both: sum, onlyA: true, onlyB: true },
  /** The rows that are in A and in B. The scores are added. */
  all: { both: sum, onlyA: false, onlyB: false },
  /** The rows of A. If B has a row too, the scores are added. */
  raised: { both: sum, onlyA: true, onlyB: false },
  /** The rows of A that are not in B. */
  without: { both: null, onlyA: true, onlyB: false },
} as const satisfies Record<string, Mixing>

/** Return the rule for the rows of A whose score is reduced by `share` times their score in B. */
export function lowered(share: number): Mixing {
  return { both: (a, b) => bounded(a - share * b), onlyA: true, onlyB: false }
}

/** Combine two sets of rows. Both and the result are in row order. */
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

/** Return the best `limit` rows, and all other rows with the same score as the last of them. */
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
