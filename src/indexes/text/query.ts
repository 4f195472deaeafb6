/** What a segment is asked for: terms that were looked up in all segments, with what each is worth. */

/** Constants of BM25 (Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009), as Lucene and Lance have them. */
export const bm25 = { k1: 1.2, b: 0.75 } as const

/** A term, and the greatest score a row can get by it: (k1 + 1) * idf * boost. Finite, at least 0. */
export interface WeightedTerm {
  readonly term: string
  readonly weight: number
}

/** A term of the query and those that are near to it; a row that has several of them gets the score of each. */
export type TermGroup = readonly WeightedTerm[]

/** Rows by their terms. */
export interface TermsQuery {
  readonly kind: 'terms'
  readonly groups: readonly TermGroup[]
  /** Whether a row has a term of every group, or of any. */
  readonly all: boolean
}

/**
 * Rows in which the terms stand in this order: from each term to the next, `position` in the text minus `offset` does not fall, and
 * grows by at most `slop`. Their score is that of all of the terms.
 */
export interface PhraseQuery {
  readonly kind: 'phrase'
  readonly terms: readonly (WeightedTerm & { readonly offset: number })[]
  readonly slop: number
}

export type SegmentQuery = TermsQuery | PhraseQuery

/** Of all segments together. */
export interface Corpus {
  /** Terms of a row on average. */
  readonly averageLength: number
}

/** How many rows have a term, and how many there are: what the term is worth. `ln(1 + (N - n + 0.5) / (n + 0.5))`. */
export function inverseFrequency(docsWith: number, docs: number): number {
  return Math.log(1 + (docs - docsWith + 0.5) / (docsWith + 0.5))
}

/** The part of its weight that a term gives a row which has it `frequency` times among `length` terms. */
export function saturation(frequency: number, length: number, corpus: Corpus): number {
  return frequency / (frequency + lengthNorm(length, corpus))
}

/** What a row of so many terms lays against the frequency of each. */
export function lengthNorm(length: number, { averageLength }: Corpus): number {
  const { k1, b } = bm25
  return k1 * (1 - b + (b * length) / averageLength)
}

/** Rows of a segment with their scores. */
export interface ScoredRows {
  readonly ordinals: Uint32Array
  /** float32: the sum over terms in the order of the query, worked out in float64. */
  readonly scores: Float32Array
}
