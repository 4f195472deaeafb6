/** Finds the rows of a segment with the best scores. */
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import type { Corpus, ScoredRows, SegmentQuery } from '../query.js'
import type { TextSegment } from '../segment.js'
import { openClauses } from './clauses.js'
import { Found } from './found.js'
import { normsOf } from './norms.js'
import { sweep } from './sweep.js'

/** The rows that `bestRows` returns. */
interface Wanted {
  readonly k: number
  /** The rows that may match; null: all. */
  readonly allowed: Bitset | null
  /** Minimum score (a float32), for example that of the k-th row of other segments. Default: none. */
  readonly floor?: number | undefined
}

/**
 * Return the `k` best matching rows, best first, ties by ordinal, and all further rows with the score of the last one.
 * A phrase query requires a segment with positions.
 */
export function* bestRows(
  segment: TextSegment,
  query: SegmentQuery,
  corpus: Corpus,
  { k, allowed, floor = -Infinity }: Wanted,
  pacer: Pacer,
): Task<ScoredRows> {
  const found = new Found(Math.min(k, segment.rows), floor)
  if (k === 0 || segment.rows === 0) return found.best()
  const norms = normsOf(corpus)
  const clauses = yield* openClauses(segment, query, norms, pacer)
  if (clauses !== null) yield* sweep({ segment, query: clauses, norms, allowed, found }, true, pacer)
  return found.best()
}
