/**
 * Converts the tokens of a base tokenizer to terms, or drops them. The steps have the same order as in Lance (rule
 *
 */
import type { Language } from '../../../protocol/index-shapes.js'
import type { TextOptions } from '../options.js'
import type { Analyzer, PrefixText, TermNumbering, Token } from './analyzer.js'
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
  readonly #folded: Words['folded']

  constructor(options: TextOptions, base: BaseTokenizer, words: Words) {
    this.options = options
    this.identity = identityOf(options, base, words)
    this.#base = base
    this.#termOf = termsBy(options, words)
    this.#folded = words.folded
  }

  tokens(text: string): readonly Token[] {
    const tokens: Token[] = []
    this.#base.cut(text.toWellFormed(), (token, position, start, end) => {
      const term = this.#termOf(token)
      if (term !== null) tokens.push({ term, position, start, end })
    })
    return tokens
  }

  prefixText(text: string): PrefixText {
    const whole = text.toWellFormed()
    const words: { readonly word: string; readonly isLast: boolean; readonly token: Token | null }[] = []
    this.#base.cut(whole, (word, position, start, end) => {
      const term = this.#termOf(word)
      // A registered tokenizer may return words that are not in the text. Such a word has an empty range.
      const isLast = end === whole.length || start === end
      words.push({ word, isLast, token: term === null ? null : { term, position, start, end } })
    })
    let last = words.at(-1)
    if (this.options.baseTokenizer === 'ngram') {
      last = last === undefined ? { word: whole, isLast: true, token: null } : undefined
    }
    const begun = last?.isLast ? this.#normalized(last.word) : ''
    const complete = begun === '' ? words : words.slice(0, -1)
    return {
      tokens: complete.flatMap(({ token }) => token ?? []),
      prefix: begun === '' ? null : { start: begun, term: last?.token?.term ?? null },
    }
  }

  numbering(): TermNumbering {
    return new Numbering(this.#base, this.#termOf, this.options.maxTokenLength)
  }

  /** Apply only the steps that work character by character. */
  #normalized(word: string): string {
    const { lowerCase, asciiFolding } = this.options
    const cased = lowerCase ? lowered(word) : word
    return asciiFolding ? this.#folded(cased) : cased
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
