/** What of a text is looked for, as data: columns settled, words made terms (see plan.ts). */
import type { Analyzer } from '../indexes/text/analysis/analyzer.js'
import type { HighlightOptions } from '../indexes/text/highlight.js'

/** A column whose text is searched. */
export interface TextColumn {
  /** A top-level column, or a field inside of structs. */
  readonly path: readonly string[]
  readonly analyzer: Analyzer
  /** The index that is asked; null: every row is read. */
  readonly index: string | null
}

export interface QueryTerm {
  readonly term: string
  /** How often the query has it. */
  readonly count: number
}

/** Rows with some or all of some terms. `column`: its number in `TextSearch.columns`. */
export interface MatchNode {
  readonly kind: 'match'
  readonly column: number
  /** None: no row matches. */
  readonly terms: readonly QueryTerm[]
  /** Whether all of them must be there. */
  readonly all: boolean
  /** Edits after which a term of a row still counts as one of these; null: by the length of the term. */
  readonly fuzziness: number | null
  /** Code points at the beginning that may not differ. */
  readonly prefixLength: number
  /** Terms that one stands for at most. */
  readonly mostExpansions: number
  readonly boost: number
}

/** Rows with these terms in a row. */
export interface PhraseNode {
  readonly kind: 'phrase'
  readonly column: number
  readonly terms: readonly { readonly term: string; readonly offset: number }[]
  readonly slop: number
}

export type TextNode =
  | MatchNode
  | PhraseNode
  /** Rows that one of them matches, with the best score. */
  | { readonly kind: 'best'; readonly of: readonly TextNode[] }
  /** Rows of one, with a part of what the other gives them taken away. */
  | {
      readonly kind: 'boost'
      readonly positive: TextNode
      readonly negative: TextNode
      readonly negativeBoost: number
    }
  /** Rows that all of `must` match, or without those one of `should`, and none of `mustNot`; with the sum of the scores. */
  | {
      readonly kind: 'boolean'
      readonly must: readonly TextNode[]
      readonly mustNot: readonly TextNode[]
      readonly should: readonly TextNode[]
    }

export interface TextSearch {
  /** At least one. */
  readonly columns: readonly TextColumn[]
  readonly query: TextNode
  /** Whether rows that an index does not cover are passed over. */
  readonly fast: boolean
  /** Indexes that are not asked, and why. */
  readonly unused: readonly { readonly index: string; readonly reason: string }[]
}

/** A column whose text is shown with the words marked that were looked for. */
export interface Highlighting {
  /** Its number in `TextSearch.columns`. */
  readonly column: number
  readonly options: HighlightOptions
}

/** How rows that were found by vector and by text become one list. */
export type Fusion = Weighing & {
  /** Rows that each of the two searches gives at most. Which page of the list is asked for changes nothing. */
  readonly candidates: number
}

type Weighing =
  /** Reciprocal ranks (Cormack, Clarke & Büttcher, SIGIR 2009), counted from 0 as LanceDB does: the sum of 1 / (k + rank). */
  | { readonly kind: 'rrf'; readonly k: number }
  /** Nearness and score, each from 0 for the worst that was found to 1 for the best: `weight` of the first, the rest of the second. */
  | { readonly kind: 'weighted'; readonly weight: number }
