/** Finds all matching rows of a segment. */
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
 * Return all matching rows in the order of ordinals, with the same scores as `bestRows`. `allowed`: the rows that may
 * match; null: all rows. A phrase query requires a segment with positions.
 */
export function* everyRow(
  segment: TextSegment,
  query: SegmentQuery,
  corpus: Corpus,
  allowed: Bitset | null,
  pacer: Pacer,
): Task<ScoredRows> {
  const found = new Found(0, -Infinity)
  const norms = normsOf(corpus)
  const clauses = yield* openClauses(segment, query, norms, pacer)
  if (clauses !== null) yield* sweep({ segment, query: clauses, norms, allowed, found }, false, pacer)
  return found.all()
}
