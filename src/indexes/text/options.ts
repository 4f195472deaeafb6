/** What can be said of how text becomes terms, and what counts where nothing is said (rule A-085). */
import type { Language } from '../../protocol/index-shapes.js'

/** All that decides which terms a text has, but for the versions of what is used for it (`Analyzer.identity`). */
export interface TextOptions {
  /** Whether it is kept where in a text its terms are, which phrases need. */
  readonly positions: boolean
  /** `simple`, `whitespace`, `raw`, `ngram`, `icu`, or the name of one that the caller has registered. */
  readonly baseTokenizer: string
  /** Of stems and stop words. */
  readonly language: Language
  /** Tokens with so many bytes of UTF-8 or more are dropped, right after the base tokenizer; null: none is. */
  readonly maxTokenLength: number | null
  readonly lowerCase: boolean
  readonly stem: boolean
  readonly removeStopWords: boolean
  /** Instead of those of the language; null: those. */
  readonly customStopWords: readonly string[] | null
  readonly asciiFolding: boolean
  /** Code points of an n-gram, at least and at most; and whether only those at the beginning of the text count. For `ngram` alone. */
  readonly ngramMin: number
  readonly ngramMax: number
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
