/**
 * Converts the tokens of a base tokenizer to terms, or drops them. The steps have the same order as in Lance (rule
 *
 */
import type { Language } from '../../../protocol/index-shapes.js'
import type { TextOptions } from '../options.js'
import type { Analyzer, TermNumbering, Token } from './analyzer.js'
import type { BaseTokenizer } from './base-tokenizer.js'
import { lowered } from './letters.js'
import { Numbering, type TermOf } from './numbering.js'

/** The functions that depend on data: stemmers, stop words and ASCII folding. */
export interface Words {
  readonly stemmerOf: (language: Language) => (word: string) => string
  readonly stopWordsOf: (language: Language) => ReadonlySet<string>
  readonly folded: (text: string) => string
  /** The versions of these functions. A version must change whenever a function returns other results. */
  readonly identity: {
    readonly stemmer: string
    readonly stopWords: string
    readonly folded: string
  }
}

/** An analyzer that converts the tokens of a base tokenizer to terms. */
export class Pipeline implements Analyzer {
  readonly options: TextOptions
  readonly identity: string
  readonly #base: BaseTokenizer
  readonly #termOf: TermOf

  constructor(options: TextOptions, base: BaseTokenizer, words: Words) {
    this.options = options
    this.identity = identityOf(options, base, words)
    this.#base = base
    this.#termOf = termsBy(options, words)
  }

  tokens(text: string): readonly Token[] {
    const tokens: Token[] = []
    this.#base.cut(text.toWellFormed(), (token, position, start, end) => {
      const term = this.#termOf(token)
      if (term !== null) tokens.push({ term, position, start, end })
    })
    return tokens
  }

  numbering(): TermNumbering {
    return new Numbering(this.#base, this.#termOf, this.options.maxTokenLength)
  }
}

function termsBy(options: TextOptions, words: Words): TermOf {
  const { maxTokenLength, lowerCase, asciiFolding } = options
  const stem = options.stem ? cached(words.stemmerOf(options.language)) : null
  const stopWords = stopWordsBy(options, words)
  return token => {
    if (maxTokenLength !== null && hasBytes(token, maxTokenLength)) return null
    let term = lowerCase ? lowered(token) : token
    if (stem !== null) term = stem(term)
    if (stopWords?.has(term)) return null
    if (asciiFolding) term = words.folded(term)
    return term === '' ? null : term
  }
}

function stopWordsBy(
  { removeStopWords, customStopWords, language }: TextOptions,
  words: Words,
): ReadonlySet<string> | null {
  if (!removeStopWords) return null
  return customStopWords === null ? words.stopWordsOf(language) : new Set(customStopWords)
}

/**
 * Return the identity of an analyzer. It contains only versions that the options use. For example, an index without
 * stems stays valid when the stemmer changes.
 */
function identityOf(options: TextOptions, base: BaseTokenizer, { identity }: Words): string {
  const parts = [base.identity]
  if (options.stem) parts.push(`stem:${identity.stemmer}`)
  if (options.removeStopWords && options.customStopWords === null) parts.push(`stop:${identity.stopWords}`)
  if (options.asciiFolding) parts.push(`fold:${identity.folded}`)
  return parts.join(' ')
}

/** Return whether a token has at least `limit` bytes of UTF-8. A UTF-16 unit has one to three bytes. */
function hasBytes(token: string, limit: number): boolean {
  if (token.length >= limit) return true
  return token.length * 3 >= limit && Buffer.byteLength(token) >= limit
}

/** Maximum number of cached stems. When the cache is full, it is cleared. */
const mostRemembered = 1 << 14

/**
 * Maximum length of a cached word. V8 stores longer substrings as slices, which would keep the whole text in memory.
 */
const longestRemembered = 12

/** Return a stemmer with a cache. Computing a stem takes ten microseconds, and most words occur often. */
function cached(stem: (word: string) => string): (word: string) => string {
  const stems = new Map<string, string>()
  return word => {
    if (word.length > longestRemembered) return stem(word)
    const known = stems.get(word)
    if (known !== undefined) return known
    const found = stem(word)
    if (stems.size === mostRemembered) stems.clear()
    stems.set(word, found)
    return found
  }
}
