/** A full-text search as data: resolved columns, and words as terms (see plan.ts). */
import type { Analyzer, WordPrefix } from '../indexes/text/analysis/analyzer.js'
import type { HighlightOptions } from '../indexes/text/highlight.js'

/** A column whose text is searched. */
export interface TextColumn {
  /** A top-level column, or a field inside structs. */
  readonly path: readonly string[]
  readonly analyzer: Analyzer
  /** The index to search; null: every row is read. */
  readonly index: string | null
}

/** A term of a query. */
export interface QueryTerm {
  readonly term: string
  /** Number of occurrences in the query. */
  readonly count: number
}

/** Rows with some or all of some terms. `column`: index in `TextSearch.columns`. */
export interface MatchNode {
  readonly kind: 'match'
  readonly column: number
  /** Empty, and no prefix: no row matches. */
  readonly terms: readonly QueryTerm[]
  /** The last word, which matches terms that begin with it; null: all words are complete. */
  readonly prefix: WordPrefix | null
  /** Whether a row must have all terms. */
  readonly all: boolean
  /** Maximum edit distance between a term of a row and a term of the query; null: by the length of the term. */
  readonly fuzziness: number | null
  /** Number of leading code points that must be equal. */
  readonly prefixLength: number
  /** Maximum number of index terms that a fuzzy term matches. */
  readonly mostExpansions: number
  readonly boost: number
}

/** Rows with these terms in sequence. */
export interface PhraseNode {
  readonly kind: 'phrase'
  readonly column: number
  readonly terms: readonly { readonly term: string; readonly offset: number }[]
  readonly slop: number
}

/** A node of a full-text query. */
export type TextNode =
  | MatchNode
  | PhraseNode
  /** Rows that match any of the nodes, with the best score. */
  | { readonly kind: 'best'; readonly of: readonly TextNode[] }
  /** Rows of `positive`; rows that also match `negative` lose `negativeBoost` times their score there. */
  | {
      readonly kind: 'boost'
      readonly positive: TextNode
      readonly negative: TextNode
      readonly negativeBoost: number
    }
  /** Rows that match all of `must` (if empty: one of `should`) and none of `mustNot`, with the sum of scores. */
  | {
      readonly kind: 'boolean'
      readonly must: readonly TextNode[]
      readonly mustNot: readonly TextNode[]
      readonly should: readonly TextNode[]
    }

/** A full-text search in one or more columns. */
export interface TextSearch {
  /** At least one. */
  readonly columns: readonly TextColumn[]
  readonly query: TextNode
  /** Whether the search skips unindexed rows. */
  readonly fast: boolean
  /** Indexes that are not used, with the reason. */
  readonly unused: readonly { readonly index: string; readonly reason: string }[]
}

/** A column whose text is returned with the matching words marked. */
export interface Highlighting {
  /** Index in `TextSearch.columns`. */
  readonly column: number
  readonly options: HighlightOptions
}

/** How the results of a vector search and a text search become one list. */
export type Fusion = Weighing & {
  /** Maximum number of rows that each search returns. The same for every page of the list. */
  readonly candidates: number
}

type Weighing =
  /** Reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009): the sum of 1 / (k + rank). Ranks count from 0, as in LanceDB. */
  | { readonly kind: 'rrf'; readonly k: number }
  /** Both results scaled from 0 (worst row) to 1 (best row): `weight` for the distance, the rest for the score. */
  | { readonly kind: 'weighted'; readonly weight: number }
