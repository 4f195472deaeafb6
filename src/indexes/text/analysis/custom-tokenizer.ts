/** Converts registered tokenizers to base tokenizers. */
import { invalidInput, quote } from '../../../errors.js'
import type { CustomTokenizer } from './analyzer.js'
import type { BaseTokenizer } from './base-tokenizer.js'
import { lowered } from './letters.js'

/**
 * Return a base tokenizer that calls a registered tokenizer and locates its tokens in the text. `cut` throws
 * InvalidInput if the registered function fails or does not return an array of strings.
 */
export function customTokenizer(custom: CustomTokenizer): BaseTokenizer {
  return {
    identity: `${custom.name}/${custom.version}`,
    ascii: null,
    cut: (text, take) => {
      const tokens = tokensOf(custom, text)
      const locate = locatorIn(text)
      for (let position = 0; position < tokens.length; position++) {
        const token = tokens[position]!.toWellFormed()
        const { start, end } = locate(token)
        take(token, position, start, end)
      }
    },
  }
}

function tokensOf(custom: CustomTokenizer, text: string): readonly string[] {
  let tokens: unknown
  try {
    tokens = custom.tokenize(text)
  } catch (cause) {
    throw invalidInput(
      `the tokenizer ${quote(custom.name)} failed: ${cause instanceof Error ? cause.message : quote(cause)}`,
      {
        cause,
      },
    )
  }
  if (!Array.isArray(tokens)) {
    throw invalidInput(
      `the tokenizer ${quote(custom.name)} must return an array of strings, got ${quote(tokens)}`,
    )
  }
  for (let i = 0; i < tokens.length; i++) {
    if (typeof tokens[i] !== 'string') {
      throw invalidInput(
        `the tokenizer ${quote(custom.name)} must return strings, got ${quote(tokens[i])} at index ${i}`,
      )
    }
  }
  return tokens
}

/**
 * Maximum distance in UTF-16 units between the previous token and the position where a token is found. Without this
 * limit, a token that does not occur in the text would be searched in the whole text.
 */
const searchedUnits = 4096

/**
 * Return a function that locates tokens in text order, and ignores case and accents of Latin letters. If a token is not
 * found, the function returns the empty range at the end of the previous token.
 */
function locatorIn(text: string): (token: string) => { start: number; end: number } {
  const searched = comparable(text)
  let from = 0
  return token => {
    const found = searched.slice(from, from + token.length + searchedUnits).indexOf(comparable(token))
    if (found < 0) return { start: from, end: from }
    const start = from + found
    from = start + token.length
    return { start, end: from }
  }
}

/** Convert a text to lower case without accents. The result has the same length in UTF-16 units. */
function comparable(text: string): string {
  return lowered(
    text.replace(/[\u00c0-\u024f\u1e00-\u1eff]/g, letter => letter.normalize('NFD')[0]!),
  ).replaceAll('ς', 'σ')
}
