/**
 * Defines the queries of a text segment and the functions of BM25. Before a caller queries segments, it looks up the
 * terms in all of them and computes the weights.
 */
import type { Postings } from './postings.js'
import type { TextSegment } from './segment.js'

/**
 * Constants of BM25 (Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009), equal to those of Lucene and
 * Lance.
 */
export const bm25 = { k1: 1.2, b: 0.75 } as const

/**
 * A term and its weight `(k1 + 1) * idf * boost`, which is finite and at least 0. The score of a row for the term is
 * at most the weight.
 */
export interface WeightedTerm {
  readonly term: string
  readonly weight: number
}

/** Terms that count as one term: their joined postings (search/prefix-postings.ts), and the weight as in `WeightedTerm`. */
export interface WeightedUnion {
  /** Segments without an entry have none of the terms. */
  readonly postings: ReadonlyMap<TextSegment, Postings>
  readonly weight: number
}

/**
 * A term of the query and its fuzzy variants, or the terms that begin with a prefix. A row gets the sum of the scores
 * of the elements that it matches.
 */
type TermGroup = readonly (WeightedTerm | WeightedUnion)[]

/** Finds rows that contain terms. */
interface TermsQuery {
  readonly kind: 'terms'
  readonly groups: readonly TermGroup[]
  /** True: a row must contain a term of every group. False: a term of at least one group. */
  readonly all: boolean
}

/**
 * Finds rows that contain the terms in the order of the phrase. From each term to the next, `position - offset` must
 * not decrease, and may increase by at most `slop`. `position` is the position in the row, `offset` the position in the
 * phrase. The score of a row is the sum of the scores of all terms.
 */
export interface PhraseQuery {
  readonly kind: 'phrase'
  readonly terms: readonly (WeightedTerm & { readonly offset: number })[]
  readonly slop: number
}

export type SegmentQuery = TermsQuery | PhraseQuery

/** Statistics over all segments of an index. */
export interface Corpus {
  /** Average number of terms of a row. */
  readonly averageLength: number
}

/**
 * Return the inverse document frequency of a term: `ln(1 + (N - n + 0.5) / (n + 0.5))`, with `N` = docs, `n` =
 * docsWith.
 */
export function inverseFrequency(docsWith: number, docs: number): number {
  return Math.log(1 + (docs - docsWith + 0.5) / (docsWith + 0.5))
}

/**
 * Return the share of a term's weight that a row of `length` terms gets if the row contains the term `frequency` times.
 */
export function saturation(frequency: number, length: number, corpus: Corpus): number {
  return frequency / (frequency + lengthNorm(length, corpus))
}

/** Return the BM25 length normalization of a row with `length` terms. */
export function lengthNorm(length: number, { averageLength }: Corpus): number {
  const { k1, b } = bm25
  return k1 * (1 - b + (b * length) / averageLength)
}

/** Rows of a segment and their scores. */
export interface ScoredRows {
  readonly ordinals: Uint32Array
  /** Scores: sums over the terms in query order, computed in float64 and rounded to float32. */
  readonly scores: Float32Array
}
