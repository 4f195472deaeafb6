/** The tokens of a statement, as the product's own lexer has them. */
import { SheafError } from '../../../src/errors.js'
import { Lexer } from '../../../src/sql/syntax/tokens.js'

export interface Token {
  readonly kind: Lexer['kind']
  readonly value: string
  /** In upper case for a bare name, else ''. */
  readonly keyword: string
  /** The character a quoted name stands in, else ''. */
  readonly quote: string
  readonly start: number
  readonly end: number
  /** Brackets it stands in; a bracket itself stands outside. */
  readonly depth: number
}

/** Some tokens of one text, in order. */
export interface Tokens {
  readonly text: string
  readonly list: readonly Token[]
}

/**
 * The tokens of a text. What the dialect has no token for (`&`, `{`, a lone quote) is a symbol: the statement is cut around
 * it, and the expression that holds it is for the engine to refuse.
 */
export function tokenize(text: string): Tokens {
  const list: Token[] = []
  const lexer = new Lexer(text)
  let depth = 0
  const push = (kind: Token['kind'], value: string, start: number, end: number) => {
    if (kind === 'symbol' && ')]}'.includes(value)) depth--
    const quote = kind === 'quoted' ? lexer.quote : ''
    list.push({ kind, value, keyword: kind === 'name' ? lexer.keyword : '', quote, start, end, depth })
    if (kind === 'symbol' && '([{'.includes(value)) depth++
  }
  while (!lexer.is('end')) {
    push(lexer.kind, lexer.value, lexer.start, lexer.end)
    advance(lexer, ({ start, end }) => push('symbol', text.slice(start, end), start, end))
  }
  return { text, list: list.filter(token => token.value !== ';') }
}

/** Makes the next token current; tells of what is none. */
function advance(
  lexer: Lexer,
  stranger: (at: { readonly start: number; readonly end: number }) => void,
): void {
  for (;;) {
    try {
      lexer.advance()
      return
    } catch (error) {
      if (!(error instanceof SheafError) || error.at === undefined) throw error
      stranger({ start: error.at.offset, end: error.at.offset + error.at.length })
    }
  }
}

/** The tokens between two symbols of this depth, cut at each comma. */
export function splitAtCommas({ text, list }: Tokens): Tokens[] {
  if (list.length === 0) return []
  const { depth } = list[0]!
  const parts: Token[][] = [[]]
  for (const token of list) {
    if (token.depth === depth && isSymbol(token, ',')) parts.push([])
    else parts.at(-1)!.push(token)
  }
  return parts.map(part => ({ text, list: part }))
}

/** The number of the bracket that closes the one at `open`. */
export function closing({ list }: Tokens, open: number): number {
  const { depth } = list[open]!
  const close = list.findIndex((token, i) => i > open && token.depth === depth)
  return close === -1 ? list.length : close
}

export function slice({ text, list }: Tokens, from: number, to?: number): Tokens {
  return { text, list: list.slice(from, to) }
}

export function isSymbol(token: Token | undefined, symbol: string): boolean {
  return token?.kind === 'symbol' && token.value === symbol
}

/** A name as the engines of the scripts read it: in lower case unless quoted. */
export function nameOf(token: Token | undefined): string | null {
  if (token?.kind === 'name') return token.value.toLowerCase()
  return token?.kind === 'quoted' ? token.value : null
}
