/**
 * Defines the interfaces of text analysis. The steps from a text to its terms have the same order as in Lance (rule
 * base tokenizer, length limit, lower case, stem, stop words, ASCII folding. When a step drops a token, the
 * positions of later tokens do not change.
 */
import { callback, kept, options, string } from '../../../protocol/shape.js'
import type { TextOptions } from '../options.js'

/** A term of a text. */
export interface Token {
  readonly term: string
  /**
   * Index of the token among all tokens of the base tokenizer, from 0. The position of an n-gram is the code point at
   * which it starts.
   */
  readonly position: number
  /** Range of the token in the text, in UTF-16 units; `end` is exclusive. */
  readonly start: number
  readonly end: number
}

/** The normalized beginning of a word, and the term that the word has if it is complete. */
export interface WordPrefix {
  /** Terms that begin with this text match: lower case and ASCII, as the options require, but not stemmed. */
  readonly start: string
  /** Null: the analyzer drops the word, for example as a stop word. */
  readonly term: string | null
}

/** The terms of a text whose last word may be incomplete. */
export interface PrefixText {
  /** The terms of the complete words. */
  readonly tokens: readonly Token[]
  /** Null: the last word is complete, because the text goes on after it, or there is no word. */
  readonly prefix: WordPrefix | null
}

/**
 * A custom tokenizer for text indexes. Register it with `connect`, and use its name as `baseTokenizer` of an index.
 *
 * @example
 * const dashes = { name: 'dashes', version: '1', tokenize: text => text.split('-') }
 * const ns = await connect('memory://', { tokenizers: [dashes] })
 */
export interface CustomTokenizer {
  /** The name for `baseTokenizer`. It must differ from the built-in names and from other registered names. */
  readonly name: string
  /**
   * Change the version whenever the tokenizer returns other tokens. Rows indexed with another version count as
   * unindexed.
   */
  readonly version: string
  /**
   * Return the tokens of a text, in text order. If the function throws, calls that analyze texts fail with
   * InvalidInput.
   */
  readonly tokenize: (text: string) => readonly string[]
}

/** The shape of a registered tokenizer, for checks of `connect` options. */
export const tokenizerShape = kept(
  options<CustomTokenizer>()(
    { name: string('nonEmpty'), version: string(), tokenize: callback<CustomTokenizer['tokenize']>() },
    { name: true, version: true, tokenize: true },
  ),
)

/** Converts texts to terms, with fixed options. */
export interface Analyzer {
  readonly options: TextOptions
  /**
   * The versions of the algorithms and tables that determine terms in addition to the options, for example of stemmers
   * and ICU. Each index segment stores the identity.
   */
  readonly identity: string
  /** Return the terms of a text. A lone surrogate is treated as U+FFFD. */
  tokens(text: string): readonly Token[]
  /**
   * Return the terms of a text whose last word is a prefix. For n-grams, only a text that is shorter than an n-gram is a
   * prefix, because longer texts need none.
   */
  prefixText(text: string): PrefixText
  /** Return an object that analyzes many texts and numbers their terms. */
  numbering(): TermNumbering
}

/** Converts many texts to term numbers. Each distinct token is analyzed once. */
export interface TermNumbering {
  /** The distinct terms so far, by number. */
  readonly terms: readonly string[]
  /**
   * Analyze the UTF-8 text in the bytes `from` to `to - 1`. Return the number of its terms. Until the next call, the
   * first elements of `numbers` and `positions` are the numbers and positions of these terms, in text order. Read both
   * properties again after each call, because `read` may replace the arrays.
   */
  read(bytes: Uint8Array, from: number, to: number): number
  readonly numbers: Uint32Array
  readonly positions: Uint32Array
  /** Approximate bytes of memory. */
  readonly bytes: number
}
