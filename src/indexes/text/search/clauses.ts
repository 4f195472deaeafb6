/** Opens a query for one segment: looks up its terms and reads their postings. */
import { assert } from '../../../errors.js'
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import { type MaybePromise, type Task, wait } from '../../../primitives/task.js'
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
/** Maximum number of clauses that are sorted by insertion. */
const fewClauses = 16

/** Open a query. Return null if no row of the segment can match. */
export function* openClauses(segment: TextSegment, query: SegmentQuery, pacer: Pacer): Task<Clauses | null> {
  assert(query.kind === 'terms' || segment.facts.positions, 'a phrase query needs a segment with positions')
  const { kind } = query
  const count = kind === 'phrase' ? query.terms.length : query.groups.length
  const all = count > 1 && (kind === 'phrase' || query.all)
  const isPhrase = all && kind === 'phrase'
  const weights: number[] = []
  const entries: (TermEntry | Postings)[] = []
  /** For each group: the end of its terms in `entries`. */
  const ends: number[] = []
  const add = (term: WeightedTerm | WeightedUnion) => {
    const entry = 'term' in term ? segment.find(term.term) : (term.postings.get(segment) ?? null)
    if (entry === null) return
    weights.push(term.weight)
    entries.push(entry)
  }
  for (let g = 0; g < count; g++) {
    if (kind === 'phrase') add(query.terms[g]!)
    else for (const term of query.groups[g]!) add(term)
    if (all && entries.length === (ends[g - 1] ?? 0)) return null
    ends.push(entries.length)
    if (g % termsAtOnce === termsAtOnce - 1 && pacer.due()) yield pacer.pause()
  }
  if (entries.length === 0) return null
  const scratch = takeScratch()
  const leaves: Leaf[] = []
  for (let from = 0; from < entries.length; from += termsAtOnce) {
    const to = Math.min(entries.length, from + termsAtOnce)
    const postings = readPostings(segment, entries, from, to, isPhrase, pacer)
    for (const own of postings instanceof Promise ? yield* wait(postings) : postings) {
      const leaf = new Leaf(weights[leaves.length]!, own, scratch.block())
      checkRows(leaf, own, segment)
      leaves.push(leaf)
    }
    if (entries.length > termsAtOnce && pacer.due()) yield pacer.pause()
  }
  if (!all) return { leaves, clauses: null, phrase: null, scratch }
  const clauses = clausesOf(leaves, ends)
  return { leaves, clauses, phrase: isPhrase ? new Phrase(query, leaves) : null, scratch }
}

/** Start all reads before waiting, so that a failed read rejects the wait and is not left unhandled. */
function readPostings(
  segment: TextSegment,
  entries: readonly (TermEntry | Postings)[],
  from: number,
  to: number,
  positions: boolean,
  { signal }: Pacer,
): readonly Postings[] | Promise<readonly Postings[]> {
  let isRead = true
  const postings: MaybePromise<Postings>[] = []
  for (let i = from; i < to; i++) {
    const entry = entries[i]!
    const own = 'number' in entry ? segment.postings(entry, positions, signal) : entry
    if (own instanceof Promise) isRead = false
    postings.push(own)
  }
  return isRead ? (postings as readonly Postings[]) : Promise.all(postings)
}

/** Return the clauses, the rarest first. `ends`: for each clause, the end of its terms in `leaves`. */
function clausesOf(leaves: readonly Leaf[], ends: readonly number[]): readonly Clause[] {
  const clauses: Clause[] = []
  for (let g = 0, from = 0; g < ends.length; from = ends[g++]!) {
    const own = leaves.slice(from, ends[g])
    let rows = 0
    for (const leaf of own) rows += leaf.rows
    clauses.push({ leaves: own, rows })
  }
  // `sort` takes longer than this for a few clauses.
  if (clauses.length > fewClauses) return clauses.sort((a, b) => a.rows - b.rows)
  for (let i = 1; i < clauses.length; i++) {
    const clause = clauses[i]!
    let at = i
    for (; at > 0 && clauses[at - 1]!.rows > clause.rows; at--) clauses[at] = clauses[at - 1]!
    clauses[at] = clause
  }
  return clauses
}
