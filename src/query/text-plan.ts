/** Defines the plan of a full-text search: names are resolved to columns, and words to terms (see plan.ts). */
import type { Analyzer, WordPrefix } from '../indexes/text/analysis/analyzer.js'
import type { HighlightOptions } from '../indexes/text/highlight.js'

/** A column whose text is searched. */
export interface TextColumn {
  /** Path of the column: one name, or several names for a field inside structs. */
  readonly path: readonly string[]
  readonly analyzer: Analyzer
  /** Name of the index to search. Null: no index is used, and every row is read. */
  readonly index: string | null
}

/** A term of a query. */
export interface QueryTerm {
  readonly term: string
  /** Number of occurrences in the query. */
  readonly count: number
}

/** Matches rows that have at least one of the terms, or all terms. */
export interface MatchNode {
  readonly kind: 'match'
  /** Index of the column in `TextSearch.columns`. */
  readonly column: number
  /** Empty, and no prefix: no row matches. */
  readonly terms: readonly QueryTerm[]
  /** The last word, which matches terms that begin with it; null: all words are complete. */
  readonly prefix: WordPrefix | null
  /** Whether a row must have all terms. */
  readonly all: boolean
  /**
   * Maximum edit distance between a term of a row and a term of the query. Null: it depends on the length of the term.
   */
  readonly fuzziness: number | null
  /** Number of leading code points that must be equal in both terms. */
  readonly prefixLength: number
  /** Maximum number of index terms that a fuzzy term matches. */
  readonly mostExpansions: number
  /** Factor on the score. */
  readonly boost: number
}

/** Matches rows that have the terms in sequence. */
export interface PhraseNode {
  readonly kind: 'phrase'
  /** Index of the column in `TextSearch.columns`. */
  readonly column: number
  /** The terms with their positions in the phrase. */
  readonly terms: readonly { readonly term: string; readonly offset: number }[]
  readonly slop: number
}

/** A node of a full-text query. */
export type TextNode =
  | MatchNode
  | PhraseNode
  /** Matches rows that match at least one of the nodes. The score of a row is its best score. */
  | { readonly kind: 'best'; readonly of: readonly TextNode[] }
  /**
   * Matches the rows of `positive`. If a row also matches `negative`, `negativeBoost` times that score is subtracted.
   */
  | {
      readonly kind: 'boost'
      readonly positive: TextNode
      readonly negative: TextNode
      readonly negativeBoost: number
    }
  /**
   * Matches rows that match all nodes of `must` and no node of `mustNot`. If `must` is empty, a row must match at least
   * one node of `should`. The score is the sum of the scores of `must` and `should`.
   */
  | {
      readonly kind: 'boolean'
      readonly must: readonly TextNode[]
      readonly mustNot: readonly TextNode[]
      readonly should: readonly TextNode[]
    }

/** A full-text search in one or more columns. */
export interface TextSearch {
  /** The searched columns, at least one. */
  readonly columns: readonly TextColumn[]
  readonly query: TextNode
  /** Whether the search skips unindexed rows. */
  readonly fast: boolean
  /** Indexes on the searched columns that are not used, with the reason. */
  readonly unused: readonly { readonly index: string; readonly reason: string }[]
}

/** A column whose text is returned with the matching words marked. */
export interface Highlighting {
  /** Index of the column in `TextSearch.columns`. */
  readonly column: number
  readonly options: HighlightOptions
}

/** The method that merges the results of a vector search and a text search into one list. */
export type Fusion = Weighing & {
  /** Maximum number of rows that each search returns. It must be the same for every page of the list. */
  readonly candidates: number
}

type Weighing =
  /**
   * Reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009). The relevance of a row is the sum of 1 / (k +
   * rank) over both results. Ranks count from 0, as in LanceDB.
   */
  | { readonly kind: 'rrf'; readonly k: number }
  /**
   * Weighted scores. The values of each result are scaled from 0 (worst row) to 1 (best row). The vector search has the
   * weight `weight`, the text search `1 - weight`.
   */
  | { readonly kind: 'weighted'; readonly weight: number }
