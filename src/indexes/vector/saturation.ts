/**
 * Decides when a search may stop, without a model of the data: when the best rows no longer change. Work is the number
 * of rows seen that may be in the answer, or the number of candidates measured. With `w` the work at which the best
 * rows last changed, the search stops at work `factor * w + more`. Easy queries stop early; a query whose neighbours a
 * filter excludes continues longer.
 */

/** Minimum number of best rows to watch. A single best row may be found early by chance. */
const watchedLeast = 10
/** One of this many watched rows may change late without prolonging the search. */
const rowsPerLate = 50
/** A search that has seen this share of the allowed rows gives up, because measuring all of them costs no more. */
export const mostShare = 1 / 3
/** Default factors of segments that were built without tuning. */
export const usualFactors = { lists: 3, graph: 2 }

/** The watched rows must have at least `leastPoints` distinct points, because copies of a row add no information. */
export const leastPoints = 10
/** Maximum number of rows to watch while looking for enough points. */
export const crowdMost = 1024

/** Parameters of the stopping rule. */
interface Saturation {
  readonly factor: number
  readonly more: number
}

/**
 * The stopping rule for measuring candidates in the order of their approximate distances. If the nearest row so far has
 * rank `r`, the query measures `factor * r + more` candidates.
 */
export type Blur = Saturation

/** Return the number of best rows to watch for a query of `k` rows: at least `least`, default 10. */
export function watchedRows(k: number, least = watchedLeast): number {
  return Math.max(k, least)
}

/** Return how many of `watched` rows may change late without prolonging the search. */
export function lateRows(watched: number): number {
  return Math.floor(watched / rowsPerLate)
}

/** Return the work at which a search may stop, if its best rows last changed at work `changed`. */
export function enoughWork({ factor, more }: Saturation, changed: number): number {
  return Math.ceil(factor * changed + more)
}

/** Return blurs to try during tuning: the given one, then larger ones that trust approximate distances less. */
export function blursFrom({ factor, more }: Blur): readonly Blur[] {
  return [1, 1.5, 2, 3, 5].map(times => ({ factor: factor * times, more: more * times }))
}
