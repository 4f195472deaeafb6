/**
 * Decides when a search may stop: when its best rows no longer change. The rule needs no model of the data.
 *
 * The work of a search is the number of allowed rows that it has seen, or the number of candidates that it has
 * measured. If `w` is the work at which the best rows last changed, the search stops at the work `factor * w + more`.
 * So easy queries stop early, and a query whose filter excludes the nearest rows continues longer.
 */

/**
 * Minimum number of best rows that a search watches for changes. With fewer, a search could find its best rows early by
 * chance.
 */
const watchedLeast = 10
/** Of every 50 watched rows, one row may be found late without prolonging the search. */
const rowsPerLate = 50
/**
 * Share of the allowed rows at which a search gives up, because measuring all allowed rows costs no more than
 * continuing.
 */
export const mostShare = 1 / 3
/** Default factors of segments that were built without tuning. */
export const usualFactors = { lists: 3, graph: 2 }

/**
 * Minimum number of distinct points among the watched rows. Equal rows are one point, because copies add no
 * information.
 */
export const leastPoints = 10
/** Maximum number of watched rows, if many rows are needed for `leastPoints` distinct points. */
export const crowdMost = 1024

/** The parameters of the stopping rule, see the head of this file. */
interface Saturation {
  readonly factor: number
  readonly more: number
}

/**
 * The stopping rule for measuring candidates in the order of their approximate distances. If the last candidate that
 * was among the nearest rows has the rank `r`, the query measures `factor * r + more` candidates. The less exact the
 * approximate distances, the greater these parameters.
 */
export type Blur = Saturation

/** Return the number of best rows that a query for `k` rows watches. It is at least `least`, default 10. */
export function watchedRows(k: number, least = watchedLeast): number {
  return Math.max(k, least)
}

/** Return the number of rows among `watched` rows that may be found late without prolonging the search. */
export function lateRows(watched: number): number {
  return Math.floor(watched / rowsPerLate)
}

/** Return the work at which a search may stop, if its best rows last changed at work `changed`. */
export function enoughWork({ factor, more }: Saturation, changed: number): number {
  return Math.ceil(factor * changed + more)
}

/**
 * Return the blurs to try during tuning: first the given blur, then larger blurs. With a larger blur, queries measure
 * more candidates.
 */
export function blursFrom({ factor, more }: Blur): readonly Blur[] {
  return [1, 1.5, 2, 3, 5].map(times => ({ factor: factor * times, more: more * times }))
}
