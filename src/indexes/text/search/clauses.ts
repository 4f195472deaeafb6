/** A query as one segment can be searched for it. */
import { assert } from '../../../errors.js'
import type { Pacer } from '../../../primitives/pacer.js'
import { type MaybePromise, type Task, wait } from '../../../primitives/task.js'
import type { SegmentQuery, WeightedTerm } from '../query.js'
import type { TermEntry, TextSegment } from '../segment.js'
import { Leaf } from './leaf.js'
import type { Norms } from './norms.js'
import { Phrase } from './phrase.js'
import { type Scratch, takeDesk } from './scratch.js'

/** Terms of which a row has one or more. */
export interface Clause {
  readonly leaves: readonly Leaf[]
  /** What a row gets by them at most; and how many rows have one, at most. */
  readonly most: number
  readonly rows: number
}

export interface Clauses {
  /** In the order of the query. */
  readonly leaves: readonly Leaf[]
  /** In the order in which to look at them: those that rows must have by how few do, others by how much they are worth. */
  readonly clauses: readonly Clause[]
  /** Whether a row has a term of each of them; else of any. */
  readonly all: boolean
  /** Where rows have to have the terms; null: anywhere. */
  readonly phrase: Phrase | null
  /** Its own until it gives it back. */
  readonly scratch: Scratch
}

/** Terms looked up, or opened, between two looks at the clock. */
const termsAtOnce = 64

/** Null: no row of the segment matches. */
export function* openClauses(
  segment: TextSegment,
  query: SegmentQuery,
  norms: Norms,
  pacer: Pacer,
): Task<Clauses | null> {
  const isPhrase = query.kind === 'phrase'
  assert(!isPhrase || segment.facts.positions, 'a phrase is looked for in a segment without positions')
  const groups = isPhrase ? query.terms.map(term => [term]) : query.groups
  const all = isPhrase || query.all
  const terms: WeightedTerm[] = []
  const entries: TermEntry[] = []
  /** By group: where its terms end. */
  const ends: number[] = []
  for (const group of groups) {
    for (const term of group) {
      const entry = segment.find(term.term)
      if (entry === null) continue
      terms.push(term)
      entries.push(entry)
    }
    if (all && entries.length === (ends.at(-1) ?? 0)) return null
    ends.push(entries.length)
    if (ends.length % termsAtOnce === 0 && pacer.due()) yield pacer.pause()
  }
  if (terms.length === 0) return null
  const scratch = takeDesk()
  const leaves: Leaf[] = []
  for (let from = 0; from < entries.length; from += termsAtOnce) {
    // Asked for together, before any is waited for: what fails, fails there.
    const some = entries.slice(from, from + termsAtOnce)
    const postings = yield* arrivals(some.map(entry => segment.postings(entry, isPhrase, pacer.signal)))
    for (const own of postings) leaves.push(new Leaf(terms[leaves.length]!, own, norms, scratch))
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

/** Nothing waits where all is there. */
function* arrivals<T>(soon: readonly MaybePromise<T>[]): Task<readonly T[]> {
  if (!soon.some(each => each instanceof Promise)) return soon as readonly T[]
  return yield* wait<readonly T[]>(Promise.all(soon))
}

function clauseOf(leaves: readonly Leaf[]): Clause {
  let [most, rows] = [0, 0]
  for (const leaf of leaves) {
    most += leaf.most
    rows += leaf.rows
  }
  return { leaves, most, rows }
}
