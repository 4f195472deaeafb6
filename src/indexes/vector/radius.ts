/** How far rows lie from their middle, by which a query can be seen to lie far from all of them. */
import type { Pacer } from '../../primitives/pacer.js'
import type { SegmentFacts } from './segment.js'
import { type Survey, someOf } from './survey.js'

/** Rows that are asked. */
const mostRows = 2048
/** This part of them lies within the radius: outliers do not. */
const withinShare = 0.9
/** Rows looked at between two turns. */
const turnRows = 256

/**
 * By l2 the distance from the middle of the rows within which most of them lie; rows that are as far as another one do not count again. By other metrics no
 * query is far from all rows.
 */
export async function spreadOf(survey: Survey, pacer: Pacer): Promise<Pick<SegmentFacts, 'radius'>> {
  if (survey.space.metric !== 'l2' || survey.placed === 0) return {}
  const { innerDim: dim } = survey.space
  const some = await someOf(survey, mostRows, pacer)
  const rows = some.length / dim
  const middle = new Float64Array(dim)
  for (let at = 0; at < some.length; at++) middle[at % dim]! += some[at]! / rows
  const distances = new Set<number>()
  for (let row = 0; row < rows; row++) {
    let square = 0
    for (let i = 0; i < dim; i++) square += (some[row * dim + i]! - middle[i]!) ** 2
    distances.add(Math.sqrt(square))
    if (row % turnRows === 0) await pacer.turn()
  }
  const sorted = Float64Array.from(distances).sort()
  return { radius: sorted[Math.floor(sorted.length * withinShare)]! }
}
