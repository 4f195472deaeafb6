/** Defines the options of text indexes and their defaults (rule A-085). */
import type { Language } from '../../protocol/index-shapes.js'

/**
 * The options of a text index. All except `positions` determine the terms of a text, together with `Analyzer.identity`.
 */
export interface TextOptions {
  /** True if the index stores the positions of terms, which phrase queries need. Default false. */
  readonly positions: boolean
  /** `simple` (default), `whitespace`, `raw`, `ngram`, `icu`, or the name of a registered tokenizer. */
  readonly baseTokenizer: string
  /** Language of stemmer and stop words. Default English. */
  readonly language: Language
  /**
   * Tokens with at least this many bytes of UTF-8 are dropped directly after the base tokenizer. Null: no token is
   * dropped. Default 40.
   */
  readonly maxTokenLength: number | null
  readonly lowerCase: boolean
  readonly stem: boolean
  readonly removeStopWords: boolean
  /** Stop words that replace those of the language. Null (default): the stop words of the language. */
  readonly customStopWords: readonly string[] | null
  readonly asciiFolding: boolean
  /** `ngram` only: minimum length of an n-gram, in code points. Default 3. */
  readonly ngramMin: number
  /** `ngram` only: maximum length of an n-gram, in code points. Default 3. */
  readonly ngramMax: number
  /** `ngram` only: whether to use only the n-grams at the start of the text. Default false. */
  readonly prefixOnly: boolean
}

export const defaultTextOptions: TextOptions = {
  positions: false,
  baseTokenizer: 'simple',
  language: 'English',
  maxTokenLength: 40,
  lowerCase: true,
  stem: true,
  removeStopWords: true,
  customStopWords: null,
  asciiFolding: true,
  ngramMin: 3,
  ngramMax: 3,
  prefixOnly: false,
}
