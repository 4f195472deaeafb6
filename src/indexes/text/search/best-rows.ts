/** Finds the rows of a segment with the best scores. */
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import type { Corpus, ScoredRows, SegmentQuery } from '../query.js'
import type { TextSegment } from '../segment.js'
import { matches } from './match.js'

/** Determines which rows `bestRows` returns. */
interface Wanted {
  /** Number of rows to return. */
  readonly k: number
  /** The rows that may match. Null: all rows. */
  readonly allowed: Bitset | null
  /** Minimum score (a float32), for example the score of the k-th best row of other segments. Default: no minimum. */
  readonly floor?: number | undefined
}

/**
 * Return the `k` matching rows with the highest scores. If more rows have the same score as the last of them, return
 * these rows too. The best rows come first; rows with equal scores are sorted by ordinal. A phrase query requires a
 * segment with positions.
 */
export function bestRows(
  segment: TextSegment,
  query: SegmentQuery,
  corpus: Corpus,
  { k, allowed, floor = -Infinity }: Wanted,
  pacer: Pacer,
): Task<ScoredRows> {
  return matches(segment, query, corpus, { k: Math.min(k, segment.rows), allowed, floor }, pacer)
}
