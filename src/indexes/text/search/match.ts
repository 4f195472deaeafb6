/** Searches one segment. */
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import type { Corpus, ScoredRows, SegmentQuery } from '../query.js'
import type { TextSegment } from '../segment.js'
import { openClauses } from './clauses.js'
import { conjunction } from './conjunction.js'
import { Found } from './found.js'
import { normsOf } from './norms.js'
import { sweep } from './sweep.js'

/** Determines which matching rows `matches` returns. */
interface Wanted {
  /**
   * Number of rows with the best scores to return, best first. The search begins with the rows that probably have the best
   * scores. Null: all rows, ascending.
   */
  readonly k: number | null
  /** The rows that may match. Null: all rows. */
  readonly allowed: Bitset | null
  /** Minimum score (a float32). */
  readonly floor: number
}

/** Return the wanted rows of a segment. */
export function* matches(
  segment: TextSegment,
  asked: SegmentQuery,
  corpus: Corpus,
  { k, allowed, floor }: Wanted,
  pacer: Pacer,
): Task<ScoredRows> {
  const found = new Found(k ?? 0, floor)
  const query = k === 0 ? null : yield* openClauses(segment, asked, pacer)
  if (query !== null) {
    const search = { segment, query, norms: normsOf(corpus), allowed, found }
    if (query.clauses === null) yield* sweep(search, k !== null, pacer)
    else yield* conjunction(search, query.clauses, k !== null, pacer)
    query.scratch.giveBack()
  }
  return k === null ? found.all() : found.best()
}
