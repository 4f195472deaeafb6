/** Searches one segment. */
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import type { Corpus, SegmentQuery } from '../query.js'
import type { TextSegment } from '../segment.js'
import { openClauses } from './clauses.js'
import { conjunction } from './conjunction.js'
import type { Found } from './found.js'
import { normsOf } from './norms.js'
import { sweep } from './sweep.js'

/** Determines which matching rows `offerMatches` offers. */
export interface Wanted {
  /** The rows that may match. Null: all rows. */
  readonly allowed: Bitset | null
  /** Gets the rows. Rows that cannot reach its required score may be omitted. */
  readonly found: Found
  /** Whether to begin with the rows that probably have the best scores. Otherwise rows ascend. */
  readonly wantsBest: boolean
}

/** Offer the matching rows of a segment to `wanted.found`. */
export function* offerMatches(
  segment: TextSegment,
  asked: SegmentQuery,
  corpus: Corpus,
  { allowed, found, wantsBest }: Wanted,
  pacer: Pacer,
): Task<void> {
  const query = yield* openClauses(segment, asked, pacer)
  if (query === null) return
  const search = { segment, query, norms: normsOf(corpus), allowed, found }
  if (query.clauses === null) yield* sweep(search, wantsBest, pacer)
  else yield* conjunction(search, query.clauses, wantsBest, pacer)
  query.scratch.giveBack()
}
