/** Collects the terms of a full-text query. */
import type { ExactTerms } from '../indexes/text/paged.js'
import { automaticDistance, editDistanceMatcher } from '../indexes/text/search/near-terms.js'
import { beginningsOf } from '../indexes/text/search/prefix-postings.js'
import type { ScannedTerms } from '../indexes/text/search/scan.js'
import type { TermMatcher } from '../indexes/text/segment.js'
import type { MatchNode, PhraseNode, TextNode } from './text-plan.js'

/** A node of a text query that has terms, and no other nodes. */
export type TextLeaf = MatchNode | PhraseNode

/**
 * Return all terms of a column that affect matches or scores. `column`: index of the column in `TextSearch.columns`.
 */
export function wantedTerms(query: TextNode, column: number): ScannedTerms {
  return termsOf(leavesOf(query, true), column)
}

/**
 * Return a test for the terms of a column that make rows match. The test is false for terms that lower scores or exclude
 * rows.
 */
export function matchingTerms(query: TextNode, column: number): (term: string) => boolean {
  const { accept, prefixes } = termsOf(leavesOf(query, false), column)
  return term => accept(term) || prefixes.some(prefix => term.startsWith(prefix))
}

/** Maximum number of terms that are looked up page by page. */
const fewTerms = 16

/**
 * Return the terms that a search in a column looks up in the segments of its index. Return null if they are many, or if
 * the search also needs similar terms or terms with a prefix.
 */
export function exactTerms(query: TextNode, column: number): ExactTerms | null {
  const terms = new Set<string>()
  let positions = false
  for (const leaf of leavesOf(query, true)) {
    if (leaf.column !== column) continue
    if (leaf.kind === 'phrase') positions = true
    else if (leaf.fuzziness !== 0 || leaf.prefix !== null) return null
    for (const { term } of leaf.terms) terms.add(term)
  }
  return terms.size > fewTerms ? null : { terms: [...terms], positions }
}

function termsOf(leaves: Iterable<TextLeaf>, column: number): ScannedTerms {
  const terms = new Set<string>()
  const prefixes = new Set<string>()
  const matchers: TermMatcher[] = []
  let positions = false
  for (const leaf of leaves) {
    if (leaf.column !== column) continue
    if (leaf.kind === 'phrase') positions = true
    const words = leaf.terms.map(({ term }) => term)
    if (leaf.kind === 'match' && leaf.prefix !== null) {
      for (const beginning of beginningsOf(leaf.prefix.start)) prefixes.add(beginning)
      if (leaf.prefix.term !== null) words.push(leaf.prefix.term)
    }
    for (const term of words) {
      const distance = distanceFor(leaf, term)
      if (distance === 0) terms.add(term)
      else matchers.push(editDistanceMatcher(term, distance, (leaf as MatchNode).prefixLength))
    }
  }
  const accept = (term: string) =>
    terms.has(term) || matchers.some(each => term.startsWith(each.prefix) && each.distance(term) !== null)
  return { accept, prefixes: [...prefixes], positions }
}

/** Return the maximum edit distance between a term of a row and a term of the query. */
export function distanceFor(leaf: TextLeaf, term: string): number {
  if (leaf.kind === 'phrase') return 0
  return leaf.fuzziness ?? automaticDistance(term)
}

/** Iterate over the leaves of a query. `withNegative`: whether to include nodes that lower scores or exclude rows. */
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
