/** How much of what is nearest a segment finds without tuning, and whether that is enough to ask the segment. */
import type { SegmentFacts } from './segment.js'

/** Of the ten nearest rows a search without tuning finds so many on average; where a segment does not, all rows are measured. */
const recallKept = 0.95

/** Of the queries of a kind, so many at most may find less than `poorRecall` of their ten nearest rows. */
export const poorKept = 0.02
export const poorRecall = 0.8

/** A query is far from all rows where its nearest are so many times as far from it as most rows are from their middle: real questions to texts reach 1.3. */
const farRadii = 2

/** Whether a query by l2 is so far from all rows that none is much nearer than others, where a search ends too early. `distance`: that of one of its nearest, squared. */
export function isFar({ radius }: Pick<SegmentFacts, 'radius'>, distance: number): boolean {
  return radius !== undefined && distance > (farRadii * radius) ** 2
}

/** The least recall of the kinds of queries that a search may be. `isFiltered`: whether a filter may exclude the rows near the query. */
export function leastRecall(
  { recall, recalls }: Pick<SegmentFacts, 'recall' | 'recalls'>,
  isFiltered: boolean,
): number {
  if (recalls === undefined) return recall ?? 1
  const { rows, between, excluded } = recalls
  return Math.min(rows ?? 1, between ?? 1, isFiltered ? (excluded ?? 1) : 1)
}

/** The greatest part of the queries of a kind that find little. `isFiltered`: as for `leastRecall`. */
export function poorShare({ poor }: Pick<SegmentFacts, 'poor'>, isFiltered: boolean): number {
  if (poor === undefined) return 0
  return Math.max(poor.all, isFiltered ? (poor.filtered ?? 0) : 0)
}

/** Whether a segment finds too few of the nearest rows to be asked: on average, or for too many queries. */
export function isPoor(facts: SegmentFacts, isFiltered: boolean): boolean {
  return leastRecall(facts, isFiltered) < recallKept || poorShare(facts, isFiltered) > poorKept
}
