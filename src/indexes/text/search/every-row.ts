/** All rows of a segment that match. */
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import type { Corpus, ScoredRows, SegmentQuery } from '../query.js'
import type { TextSegment } from '../segment.js'
import { openClauses } from './clauses.js'
import { Found } from './found.js'
import { normsOf } from './norms.js'
import { sweep } from './sweep.js'

/** The rows in `allowed` (null: all) that match, by ordinal, with the scores that `bestRows` gives them. Segments of phrases have positions. */
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
  if (clauses !== null) yield* sweep(segment, clauses, norms, allowed, found, false, pacer)
  return found.all()
}
