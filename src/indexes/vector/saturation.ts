/**
 * When a search has looked far enough, without a model of the data: when the best rows found no longer change. Work is counted in rows that
 * may be in the answer, or in candidates measured. The search goes on until it has done `factor` times the work that it had done when the best
 * rows last changed, and `more` on top of that. Easy queries stop early; a query whose neighbours a filter excludes goes on by itself.
 */

/** The best rows that are watched are at least so many: the best one alone is found early by chance, and says little. */
const watchedLeast = 10
/** Of so many watched rows one may come late without the search going on. */
const rowsPerLate = 50
/** A search that has looked at this share of the rows that are allowed gives up: to measure all of them costs no more. */
export const mostShare = 1 / 3
/** The factors of segments that were not asked which one is enough. */
export const usualFactors = { lists: 3, graph: 2 }

/** The watched rows lie at so many points at least, or as many rows are watched as `crowdMost` says: copies of one row say no more than one does. */
export const leastPoints = 10
export const crowdMost = 1024

export interface Saturation {
  readonly factor: number
  readonly more: number
}

/** Of candidates in the order of guessed distances: those that are measured go `factor` times as far as the nearest rows lie among them. */
export type Blur = Saturation

/** How many of the best rows are watched where `k` are wanted: `least`, at least. */
export function watchedRows(k: number, least = watchedLeast): number {
  return Math.max(k, least)
}

/** How many of `watched` rows may have come late. */
export function lateRows(watched: number): number {
  return Math.floor(watched / rowsPerLate)
}

/** Work after which a search may stop whose best rows last changed after `changed`. */
export function enoughWork({ factor, more }: Saturation, changed: number): number {
  return Math.ceil(factor * changed + more)
}

/** What may be tried instead of a blur, from itself on to those that trust the guessed distances ever less. */
export function blursFrom({ factor, more }: Blur): readonly Blur[] {
  return [1, 1.5, 2, 3, 5].map(times => ({ factor: factor * times, more: more * times }))
}
