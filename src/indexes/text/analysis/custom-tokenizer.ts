/** Tokenizers that callers have registered. */
import { invalidInput, quote } from '../../../errors.js'
import type { CustomTokenizer } from './analyzer.js'
import type { BaseTokenizer } from './base-tokenizer.js'
import { lowered } from './letters.js'

/** Calls the tokenizer, and finds out where in the text its tokens stand. What it does wrong is the caller's to mend (code 13). */
export function customTokenizer(custom: CustomTokenizer): BaseTokenizer {
  return {
    identity: `${custom.name}/${custom.version}`,
    ascii: null,
    cut: (text, take) => {
      const tokens = tokensOf(custom, text)
      const place = placesIn(text)
      for (let position = 0; position < tokens.length; position++) {
        const token = tokens[position]!.toWellFormed()
        const { start, end } = place(token)
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
      `the tokenizer ${quote(custom.name)} must give an array of strings, got ${quote(tokens)}`,
    )
  }
  for (let i = 0; i < tokens.length; i++) {
    if (typeof tokens[i] !== 'string') {
      throw invalidInput(
        `the tokenizer ${quote(custom.name)} must give strings, got ${quote(tokens[i])} at place ${i}`,
      )
    }
  }
  return tokens
}

/** How far behind the token before a token is looked for: without an end, tokens that are nowhere in a long text would each read all of it. */
const reach = 4096

/**
 * Finds tokens in the order in which they stand in the text, whatever their case and the accents of Latin letters; one that is not there is said to be, without length, where
 * the one before it ends.
 */
function placesIn(text: string): (token: string) => { start: number; end: number } {
  const searched = comparable(text)
  let from = 0
  return token => {
    const found = searched.slice(from, from + token.length + reach).indexOf(comparable(token))
    if (found < 0) return { start: from, end: from }
    const start = from + found
    from = start + token.length
    return { start, end: from }
  }
}

/** As many UTF-16 units as the text has. */
function comparable(text: string): string {
  return lowered(
    text.replace(/[\u00c0-\u024f\u1e00-\u1eff]/g, letter => letter.normalize('NFD')[0]!),
  ).replaceAll('ς', 'σ')
}
