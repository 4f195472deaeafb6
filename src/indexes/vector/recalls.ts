/** How much of what is nearest a segment finds without tuning, and whether that is enough to ask it. */
import type { SegmentFacts } from './segment.js'

/** Of the ten nearest rows a search without tuning finds so many on average; where a segment does not, all rows are measured. */
export const recallKept = 0.95

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
