/**
 * How a text becomes terms, in Lance's order (rule A-087): base tokenizer, length, lower case, stem, stop words, ascii folding. What one of
 * them drops leaves its position empty.
 */
import { callback, kept, options, string } from '../../../protocol/shape.js'
import type { TextOptions } from '../options.js'

/** A term of a text. */
export interface Token {
  readonly term: string
  /** Which token of the base tokenizer it is, from 0; of an n-gram: at which code point it starts. */
  readonly position: number
  /** Where it stands in the text: UTF-16 units, `end` exclusive. */
  readonly start: number
  readonly end: number
}

/** A function that cuts a text into tokens, in their order; known by a name. Registered by callers (`connect`). */
export interface CustomTokenizer {
  readonly name: string
  /** Changes whenever it gives other tokens: an index made with another version is refused. */
  readonly version: string
  readonly tokenize: (text: string) => readonly string[]
}

export const tokenizerShape = kept(
  options<CustomTokenizer>()(
    { name: string('nonEmpty'), version: string(), tokenize: callback<CustomTokenizer['tokenize']>() },
    { name: true, version: true, tokenize: true },
  ),
)

export interface Analyzer {
  readonly options: TextOptions
  /** Names whatever beside the options decides which terms come: versions of tables, stemmers, Unicode. Kept with an index. */
  readonly identity: string
  /** Half of a surrogate pair counts as U+FFFD. */
  tokens(text: string): readonly Token[]
  /** The same for many texts. */
  numbering(): TermNumbering
}

/** Terms of many texts as numbers: each distinct token is worked out once. */
export interface TermNumbering {
  /** Distinct terms so far, by number. */
  readonly terms: readonly string[]
  /**
   * The terms of a text that lies as UTF-8 in `bytes`, in their order: how many they are. Valid until the next call are the first so many
   * of `numbers` and `positions` (arrays may be replaced by longer ones: take them anew after each call).
   */
  read(bytes: Uint8Array, from: number, to: number): number
  readonly numbers: Uint32Array
  readonly positions: Uint32Array
  /** Memory it takes, about. */
  readonly bytes: number
}
