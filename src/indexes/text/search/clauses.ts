/** Opens a query for one segment: looks up its terms and reads their postings. */
import { assert } from '../../../errors.js'
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import { type Task, wait } from '../../../primitives/task.js'
import { checkRows, type Postings } from '../postings.js'
import type { SegmentQuery, WeightedTerm, WeightedUnion } from '../query.js'
import type { TermEntry, TextSegment } from '../segment.js'
import type { Found } from './found.js'
import { Leaf } from './leaf.js'
import type { Norms } from './norms.js'
import { Phrase } from './phrase.js'
import { type Scratch, takeScratch } from './scratch.js'

/** A disjunction of terms. A row matches the clause if it has at least one of the terms. */
export interface Clause {
  readonly leaves: readonly Leaf[]
  /** Upper bound of the number of matching rows. */
  readonly rows: number
}

/** An opened query. */
export interface Clauses {
  /** All terms, in query order. */
  readonly leaves: readonly Leaf[]
  /** At least two clauses, all of which a row must match, the rarest first. Null: a row must have one of the terms. */
  readonly clauses: readonly Clause[] | null
  /** The condition on the positions of the terms. Null: no condition. */
  readonly phrase: Phrase | null
  /** Scratch memory that only this query uses until it calls `giveBack`. */
  readonly scratch: Scratch
}

/** A search of one segment. */
export interface SegmentSearch {
  readonly segment: TextSegment
  readonly query: Clauses
  readonly norms: Norms
  /** The rows that may match. Null: all rows. */
  readonly allowed: Bitset | null
  readonly found: Found
}

/** Number of terms that are looked up or opened between two checks of the clock. */
const termsAtOnce = 64

/** Open a query. Return null if no row of the segment can match. */
export function* openClauses(segment: TextSegment, query: SegmentQuery, pacer: Pacer): Task<Clauses | null> {
  assert(query.kind === 'terms' || segment.facts.positions, 'a phrase query needs a segment with positions')
  const groups = query.kind === 'phrase' ? query.terms.map(term => [term]) : query.groups
  const all = groups.length > 1 && (query.kind === 'phrase' || query.all)
  const isPhrase = all && query.kind === 'phrase'
  const terms: (WeightedTerm | WeightedUnion)[] = []
  const entries: (TermEntry | Postings)[] = []
  /** For each group: the end of its terms in `terms`. */
  const ends: number[] = []
  for (let g = 0; g < groups.length; g++) {
    for (const term of groups[g]!) {
      const entry = 'term' in term ? segment.find(term.term) : (term.postings.get(segment) ?? null)
      if (entry === null) continue
      terms.push(term)
      entries.push(entry)
    }
    if (all && entries.length === (g === 0 ? 0 : ends[g - 1]!)) return null
    ends.push(entries.length)
    if (g % termsAtOnce === termsAtOnce - 1 && pacer.due()) yield pacer.pause()
  }
  if (terms.length === 0) return null
  const scratch = takeScratch()
  const leaves: Leaf[] = []
  for (let from = 0; from < entries.length; from += termsAtOnce) {
    const postings = readPostings(segment, entries.slice(from, from + termsAtOnce), isPhrase, pacer)
    for (const own of postings instanceof Promise ? yield* wait(postings) : postings) {
      const leaf = new Leaf(terms[leaves.length]!.weight, own, scratch.block())
      checkRows(leaf, own, segment)
      leaves.push(leaf)
    }
    if (entries.length > termsAtOnce && pacer.due()) yield pacer.pause()
  }
  if (!all) return { leaves, clauses: null, phrase: null, scratch }
  const clauses = ends.map((end, g) => clauseOf(leaves.slice(g === 0 ? 0 : ends[g - 1]!, end)))
  clauses.sort((a, b) => a.rows - b.rows)
  return { leaves, clauses, phrase: isPhrase ? new Phrase(query, leaves) : null, scratch }
}

/** Start all reads before waiting, so that a failed read rejects the wait and is not left unhandled. */
function readPostings(
  segment: TextSegment,
  entries: readonly (TermEntry | Postings)[],
  positions: boolean,
  { signal }: Pacer,
): readonly Postings[] | Promise<readonly Postings[]> {
  let isRead = true
  const postings = entries.map(entry => {
    const own = 'number' in entry ? segment.postings(entry, positions, signal) : entry
    if (own instanceof Promise) isRead = false
    return own
  })
  return isRead ? (postings as readonly Postings[]) : Promise.all(postings)
}

function clauseOf(leaves: readonly Leaf[]): Clause {
  let rows = 0
  for (const leaf of leaves) rows += leaf.rows
  return { leaves, rows }
}
