/** The terms that a query for text is about. */
import { automaticDistance, editDistanceMatcher } from '../indexes/text/search/near-terms.js'
import type { TermMatcher } from '../indexes/text/segment.js'
import type { MatchNode, PhraseNode, TextNode } from './text-plan.js'

export type TextLeaf = MatchNode | PhraseNode

/** Terms that texts are read for. */
export interface WantedTerms {
  readonly accept: (term: string) => boolean
  /** Whether it matters where they stand. */
  readonly positions: boolean
}

/** The terms of one column, by its number in the search, that say which rows match, and with what score. */
export function wantedTerms(query: TextNode, column: number): WantedTerms {
  return termsOf(leavesOf(query, true), column)
}

/** Those for which rows are found: not those that lower a score or exclude a row. */
export function soughtTerms(query: TextNode, column: number): WantedTerms {
  return termsOf(leavesOf(query, false), column)
}

function termsOf(leaves: Iterable<TextLeaf>, column: number): WantedTerms {
  const terms = new Set<string>()
  const matchers: TermMatcher[] = []
  let positions = false
  for (const leaf of leaves) {
    if (leaf.column !== column) continue
    if (leaf.kind === 'phrase') positions = true
    for (const { term } of leaf.terms) {
      const distance = distanceFor(leaf, term)
      if (distance === 0) terms.add(term)
      else matchers.push(editDistanceMatcher(term, distance, (leaf as MatchNode).prefixLength))
    }
  }
  const accept = (term: string) =>
    terms.has(term) || matchers.some(each => term.startsWith(each.prefix) && each.distance(term) !== null)
  return { accept, positions }
}

/** Edits that a term of a row may be away from one of the query. */
export function distanceFor(leaf: TextLeaf, term: string): number {
  if (leaf.kind === 'phrase') return 0
  return leaf.fuzziness ?? automaticDistance(term)
}

/** `withNegative`: whether parts that lower scores or exclude rows are among them. */
function* leavesOf(node: TextNode, withNegative: boolean): Generator<TextLeaf> {
  switch (node.kind) {
    case 'match':
    case 'phrase':
      yield node
      return
    case 'best':
      for (const each of node.of) yield* leavesOf(each, withNegative)
      return
    case 'boost':
      yield* leavesOf(node.positive, withNegative)
      if (withNegative) yield* leavesOf(node.negative, withNegative)
      return
    case 'boolean': {
      const { must, mustNot, should } = node
      for (const each of [...must, ...should]) yield* leavesOf(each, withNegative)
      if (withNegative) for (const each of mustNot) yield* leavesOf(each, withNegative)
    }
  }
}
