/** Decides whether the measured recall of a segment suffices to search the segment instead of measuring all rows. */
import type { SegmentFacts } from './segment.js'

/** Minimum recall@10 of a default search. If a segment's recall is lower, queries measure all rows instead. */
const recallKept = 0.95

/** At most the share `poorKept` of the queries of a kind may have a recall@10 below `poorRecall`. */
export const poorKept = 0.02
export const poorRecall = 0.8

/**
 * A query is far from all rows if its nearest rows are more than this many radii away. Real text queries reach 1.3.
 */
const farRadii = 2

/**
 * Whether an l2 query is so far from all rows that no row is much nearer than the others. A search would then end too
 * early. `distance`: squared distance of one of the nearest rows.
 */
export function isFar({ radius }: Pick<SegmentFacts, 'radius'>, distance: number): boolean {
  return radius !== undefined && distance > (farRadii * radius) ** 2
}

/**
 * Return the lowest recall of the relevant kinds of queries. `isFiltered`: include queries whose filter excludes the
 * nearest rows.
 */
export function leastRecall(
  { recall, recalls }: Pick<SegmentFacts, 'recall' | 'recalls'>,
  isFiltered: boolean,
): number {
  if (recalls === undefined) return recall ?? 1
  const { rows, between, excluded } = recalls
  return Math.min(rows ?? 1, between ?? 1, isFiltered ? (excluded ?? 1) : 1)
}

/** Return the greatest share of queries with recall below `poorRecall`. `isFiltered`: see `leastRecall`. */
export function poorShare({ poor }: Pick<SegmentFacts, 'poor'>, isFiltered: boolean): number {
  if (poor === undefined) return 0
  return Math.max(poor.all, isFiltered ? (poor.filtered ?? 0) : 0)
}

/** Whether the recall of a segment is too low to search it: on average, or for too many queries. */
export function isPoor(facts: SegmentFacts, isFiltered: boolean): boolean {
  return leastRecall(facts, isFiltered) < recallKept || poorShare(facts, isFiltered) > poorKept
}
