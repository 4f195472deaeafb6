/** Finds all matching rows of a segment. */
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import type { Corpus, ScoredRows, SegmentQuery } from '../query.js'
import type { TextSegment } from '../segment.js'
import { matches } from './match.js'

/**
 * Return all matching rows in the order of ordinals, with the same scores as `bestRows`. `allowed`: the rows that may
 * match; null: all rows. A phrase query requires a segment with positions.
 */
export function everyRow(
  segment: TextSegment,
  query: SegmentQuery,
  corpus: Corpus,
  allowed: Bitset | null,
  pacer: Pacer,
): Task<ScoredRows> {
  return matches(segment, query, corpus, { k: null, allowed, floor: -Infinity }, pacer)
}
