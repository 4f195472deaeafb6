/** Opens a query for one segment: looks up its terms and reads their postings. */
import { assert } from '../../../errors.js'
import type { Pacer } from '../../../primitives/pacer.js'
import { type MaybePromise, type Task, wait } from '../../../primitives/task.js'
import type { SegmentQuery, WeightedTerm, WeightedUnion } from '../query.js'
import type { Postings, TermEntry, TextSegment } from '../segment.js'
import { Leaf } from './leaf.js'
import type { Norms } from './norms.js'
import { Phrase } from './phrase.js'
import { type Scratch, takeScratch } from './scratch.js'

/** A disjunction of terms. A row matches the clause if it has at least one of the terms. */
export interface Clause {
  readonly leaves: readonly Leaf[]
  /** Upper bound of a row's score for the clause. */
  readonly most: number
  /** Upper bound of the number of matching rows. */
  readonly rows: number
}

/** An opened query. */
export interface Clauses {
  /** All terms, in query order. */
  readonly leaves: readonly Leaf[]
  /** The clauses in evaluation order: with `all` by ascending number of rows, otherwise by descending `most`. */
  readonly clauses: readonly Clause[]
  /** True: a row must match every clause. False: at least one clause. */
  readonly all: boolean
  /** The condition on the positions of the terms. Null: no condition. */
  readonly phrase: Phrase | null
  /** Scratch memory that only this query uses until it calls `giveBack`. */
  readonly scratch: Scratch
}

/** Number of terms that are looked up or opened between two checks of the clock. */
const termsAtOnce = 64

/** Open a query. Return null if no row of the segment can match. */
export function* openClauses(
  segment: TextSegment,
  query: SegmentQuery,
  norms: Norms,
  pacer: Pacer,
): Task<Clauses | null> {
  const isPhrase = query.kind === 'phrase'
  assert(!isPhrase || segment.facts.positions, 'a phrase query needs a segment with positions')
  const groups = isPhrase ? query.terms.map(term => [term]) : query.groups
  const all = isPhrase || query.all
  const terms: (WeightedTerm | WeightedUnion)[] = []
  const entries: (TermEntry | Postings)[] = []
  /** For each group: the end of its terms in `terms`. */
  const ends: number[] = []
  for (const group of groups) {
    for (const term of group) {
      const entry = 'term' in term ? segment.find(term.term) : (term.postings.get(segment) ?? null)
      if (entry === null) continue
      terms.push(term)
      entries.push(entry)
    }
    if (all && entries.length === (ends.at(-1) ?? 0)) return null
    ends.push(entries.length)
    if (ends.length % termsAtOnce === 0 && pacer.due()) yield pacer.pause()
  }
  if (terms.length === 0) return null
  const scratch = takeScratch()
  const leaves: Leaf[] = []
  for (let from = 0; from < entries.length; from += termsAtOnce) {
    // Start all reads of the group before waiting, so that a failed read rejects the wait and is not left unhandled.
    const some = entries.slice(from, from + termsAtOnce)
    const postings = yield* allOf(
      some.map(entry => ('number' in entry ? segment.postings(entry, isPhrase, pacer.signal) : entry)),
    )
    for (const own of postings) leaves.push(new Leaf(terms[leaves.length]!.weight, own, norms, scratch))
    if (pacer.due()) yield pacer.pause()
  }
  const clauses = all
    ? ends.map((end, g) => clauseOf(leaves.slice(ends[g - 1] ?? 0, end))).sort((a, b) => a.rows - b.rows)
    : leaves.map(leaf => clauseOf([leaf])).sort((a, b) => b.most - a.most)
  clauses.forEach((clause, c) => {
    for (const leaf of clause.leaves) leaf.clause = c
  })
  return { leaves, clauses, all, phrase: isPhrase ? new Phrase(query, leaves) : null, scratch }
}

/** Wait for all values. Does not wait if no value is a promise. */
function* allOf<T>(values: readonly MaybePromise<T>[]): Task<readonly T[]> {
  if (!values.some(each => each instanceof Promise)) return values as readonly T[]
  return yield* wait<readonly T[]>(Promise.all(values))
}

function clauseOf(leaves: readonly Leaf[]): Clause {
  let [most, rows] = [0, 0]
  for (const leaf of leaves) {
    most += leaf.most
    rows += leaf.rows
  }
  return { leaves, most, rows }
}
