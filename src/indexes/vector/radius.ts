/**
 * Measures the radius of a segment's rows around their mean. A query that is many radii away is far from all rows
 * (recalls.ts).
 */
import type { Pacer } from '../../primitives/pacer.js'
import type { SegmentFacts } from './segment.js'
import { type Survey, someOf } from './survey.js'

/** Maximum number of sampled rows. */
const mostRows = 2048
/** Share of the rows that are within the radius. The other rows are outliers. */
const withinShare = 0.9
/** Number of rows processed between two turns of the event loop. */
const turnRows = 256

/**
 * Return the radius: most rows are within this distance from the mean. Rows at equal distances count once. Return no
 * radius for metrics other than l2, because with these metrics no query is far from all rows.
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
