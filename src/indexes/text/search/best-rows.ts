/** The rows of a segment with the best scores. */
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import type { Corpus, ScoredRows, SegmentQuery } from '../query.js'
import type { TextSegment } from '../segment.js'
import { openClauses } from './clauses.js'
import { Found } from './found.js'
import { normsOf } from './norms.js'
import { sweep } from './sweep.js'

/**
 * The `k` best rows of those in `allowed` (null: all), best first, equal ones by ordinal; behind them all that score as much as the last. Fewer
 * where fewer match. `floor`: rows that score less are not wanted, be they among the best here (a float32, like that of the k-th row of
 * other segments). Segments of phrases have positions.
 */
export function* bestRows(
  segment: TextSegment,
  query: SegmentQuery,
  corpus: Corpus,
  k: number,
  allowed: Bitset | null,
  pacer: Pacer,
  floor = -Infinity,
): Task<ScoredRows> {
  const found = new Found(Math.min(k, segment.rows), floor)
  if (k === 0 || segment.rows === 0) return found.best()
  const norms = normsOf(corpus)
  const clauses = yield* openClauses(segment, query, norms, pacer)
  if (clauses !== null) yield* sweep(segment, clauses, norms, allowed, found, true, pacer)
  return found.best()
}
