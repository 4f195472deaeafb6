/** Decides whether the measured recall of a segment suffices to search the segment instead of measuring all rows. */
import type { SegmentFacts } from './segment.js'

/**
 * Minimum recall@10 of searches with default effort. If the recall of a segment is lower, queries measure all rows
 * instead.
 */
const recallKept = 0.95

/** `poorKept` is the maximum share of the queries of a kind whose recall@10 is below `poorRecall`. */
export const poorKept = 0.02
export const poorRecall = 0.8

/**
 * Distance in radii (radius.ts) from which a query is far from all rows. In real data, text queries are up to 1.3 radii
 * away from their nearest rows.
 */
const farRadii = 2

/**
 * Return whether an l2 query is so far from all rows that no row is much nearer than the other rows. A search for such
 * a query would end too early. `distance`: the squared distance of one of the nearest rows.
 */
export function isFar({ radius }: Pick<SegmentFacts, 'radius'>, distance: number): boolean {
  return radius !== undefined && distance > (farRadii * radius) ** 2
}

/**
 * Return the lowest measured recall of all kinds of queries without a filter. `isFiltered`: include also queries whose
 * filter excludes the nearest rows. A recall that was not measured counts as 1.
 */
export function leastRecall(
  { recall, recalls }: Pick<SegmentFacts, 'recall' | 'recalls'>,
  isFiltered: boolean,
): number {
  if (recalls === undefined) return recall ?? 1
  const { rows, between, excluded } = recalls
  return Math.min(rows ?? 1, between ?? 1, isFiltered ? (excluded ?? 1) : 1)
}

/**
 * Return the share of queries with a recall below `poorRecall`, for the kind of query with the largest share.
 * `isFiltered`: see `leastRecall`.
 */
export function poorShare({ poor }: Pick<SegmentFacts, 'poor'>, isFiltered: boolean): number {
  if (poor === undefined) return 0
  return Math.max(poor.all, isFiltered ? (poor.filtered ?? 0) : 0)
}

/** Return whether the recall of a segment is too low on average, or for too many queries, to search the segment. */
export function isPoor(facts: SegmentFacts, isFiltered: boolean): boolean {
  return leastRecall(facts, isFiltered) < recallKept || poorShare(facts, isFiltered) > poorKept
}
