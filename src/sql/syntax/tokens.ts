/** Splits text into tokens, one at a time. The time is linear in the length of the text. */
import type { SourceSpan } from '../../errors.js'
import { lazyPattern } from '../../primitives/lazy-pattern.js'
import { syntaxError } from './excerpt.js'

/**
 * Kinds of tokens:
 * - `name`: an identifier or keyword without quotes
 * - `quoted`: a name in backticks or double quotes
 * - `string`, `binary`: a literal in single quotes, such as `'a'` or `X'00ff'`
 * - `integer`, `decimal`: a number without sign
 * - `parameter`: `?`, `$1` or `:name`; its value is the text without the first character
 * - `symbol`: punctuation or an operator
 * - `end`: the end of the text
 */
type TokenKind =
  | 'name'
  | 'quoted'
  | 'string'
  | 'binary'
  | 'integer'
  | 'decimal'
  | 'parameter'
  | 'symbol'
  | 'end'

const singles = new Set('()[],.+-*/%=<>~&|^:')
const compounds = new Set('<= >= <> <=> != == || :: << >> @> <@ ~* ~~ ~~* !~ !~* !~~ !~~*'.split(' '))
const longestSymbol = 4

/** Symbols of other SQL dialects that this dialect does not have. */
const otherDialects: Readonly<Record<string, string>> = {
  ';': 'write a single expression, without a semicolon',
  '&&': 'write AND; for lists write array_has_any(list, list)',
  '!': 'write NOT or <>',
  '@': 'write list @> list, or array_has_any(list, list)',
  '{': 'write a list as [1, 2]; create structs with functions',
  $: 'write a parameter as ?, $1 or :name',
}

const nameStart = lazyPattern(String.raw`[\p{ID_Start}_]`, 'u')
const namePart = lazyPattern(String.raw`[\p{ID_Continue}]`, 'u')

/**
 * Reads tokens one at a time. The fields describe the current token. Throws `InvalidInput` for text that is not a
 * token.
 */
export class Lexer {
  readonly text: string
  kind: TokenKind = 'end'
  start = 0
  end = 0
  /**
   * The value of the token: a name or string without quotes, the text of a number, a symbol, or the hexadecimal digits
   * of a binary literal.
   */
  value = ''
  /** A name without quotes in upper case, to compare with keywords. It is '' for all other kinds of tokens. */
  keyword = ''
  /** The quote character of a `quoted` name, or the first character of a parameter. */
  quote = ''
  #next = 0

  constructor(text: string) {
    this.text = text
    this.advance()
  }

  at(): SourceSpan {
    return { offset: this.start, length: this.end - this.start }
  }

  is(kind: TokenKind): boolean {
    return this.kind === kind
  }

  isSymbol(symbol: string): boolean {
    return this.kind === 'symbol' && this.value === symbol
  }

  /** Move to the next token. */
  advance(): void {
    this.#skipBlank()
    this.start = this.#next
    this.keyword = ''
    this.#read()
    this.end = this.#next
  }

  /** Move to the token at `offset`. */
  moveTo(offset: number): void {
    this.#next = offset
    this.advance()
  }

  #read(): void {
    const text = this.text
    const code = text.charCodeAt(this.start)
    if (Number.isNaN(code)) {
      this.#token('end', '', this.start)
    } else if (isDigit(code) || (code === 46 && isDigit(text.charCodeAt(this.start + 1)))) {
      this.#number()
    } else if (code === 39) {
      this.#enclosed('string', "'")
    } else if (code === 96 || code === 34) {
      this.quote = text[this.start]!
      this.#enclosed('quoted', this.quote)
      if (this.value === '') throw this.#error('a name between quotes is empty')
    } else if ((code === 88 || code === 120) && text.charCodeAt(this.start + 1) === 39) {
      this.#next++
      this.#enclosed('binary', "'")
      if (this.value.length % 2 !== 0 || /[^0-9a-f]/i.test(this.value)) {
        throw this.#error('a binary literal must have pairs of hexadecimal digits')
      }
    } else if (this.#isNameAt(this.start, nameStart)) {
      this.#token('name', '', this.#nameEnd(this.start))
      this.value = text.slice(this.start, this.#next)
      this.keyword = this.value.toUpperCase()
    } else if (code === 63) {
      this.quote = '?'
      this.#token('parameter', '', this.start + 1)
    } else if (code === 36 && isDigit(text.charCodeAt(this.start + 1))) {
      this.#parameter(this.#digitsEnd(this.start + 1))
    } else if (code === 58 && this.#isNameAt(this.start + 1, nameStart)) {
      this.#parameter(this.#nameEnd(this.start + 1))
    } else {
      this.#symbol()
    }
  }

  #token(kind: TokenKind, value: string, end: number): void {
    this.kind = kind
    this.value = value
    this.#next = end
  }

  #parameter(end: number): void {
    this.quote = this.text[this.start]!
    this.#token('parameter', this.text.slice(this.start + 1, end), end)
  }

  #symbol(): void {
    const { text, start } = this
    const first = text[start]!
    if ('<>!=|:~@&'.includes(first) && '=<>|:~*@&'.includes(text[start + 1] ?? ' ')) {
      for (let length = longestSymbol; length > 1; length--) {
        const symbol = text.slice(start, start + length)
        if (compounds.has(symbol)) {
          this.#token('symbol', symbol, start + symbol.length)
          return
        }
      }
      const pair = text.slice(start, start + 2)
      if (otherDialects[pair] !== undefined) {
        this.#next = start + 2
        throw this.#error(`unexpected ${JSON.stringify(pair)}`, otherDialects[pair])
      }
    }
    if (singles.has(first)) {
      this.#token('symbol', first, start + 1)
      return
    }
    const character = String.fromCodePoint(this.text.codePointAt(this.start)!)
    this.#next = this.start + character.length
    throw this.#error(`unexpected ${JSON.stringify(character)}`, otherDialects[character])
  }

  #number(): void {
    const text = this.text
    let end = this.#digitsEnd(this.start)
    let kind: TokenKind = 'integer'
    if (text[end] === '.') {
      kind = 'decimal'
      end = this.#digitsEnd(end + 1)
    }
    if (text[end] === 'e' || text[end] === 'E') {
      const sign = text[end + 1] === '+' || text[end + 1] === '-' ? 1 : 0
      if (isDigit(text.charCodeAt(end + 1 + sign))) {
        kind = 'decimal'
        end = this.#digitsEnd(end + 1 + sign)
      }
    }
    this.#token(kind, text.slice(this.start, end), end)
    if (this.#isNameAt(end, namePart)) {
      this.#next = this.#nameEnd(end)
      throw this.#error(`${JSON.stringify(text.slice(this.start, this.#next))} is not a number`)
    }
  }

  /** Read a token up to its closing quote. Two quotes inside stand for one quote. */
  #enclosed(kind: TokenKind, quote: string): void {
    const from = this.#next + 1
    let end = from
    for (;;) {
      end = this.text.indexOf(quote, end)
      if (end === -1) {
        this.#next = this.text.length
        throw this.#error(
          kind === 'quoted' ? `the name is not closed by ${quote}` : `the string is not closed by ${quote}`,
        )
      }
      if (this.text[end + 1] !== quote) break
      end += 2
    }
    const inner = this.text.slice(from, end)
    this.#token(kind, inner.includes(quote) ? inner.replaceAll(quote + quote, quote) : inner, end + 1)
  }

  #skipBlank(): void {
    const text = this.text
    for (;;) {
      const code = text.charCodeAt(this.#next)
      if (code === 32 || (code >= 9 && code <= 13)) {
        this.#next++
      } else if (code === 45 && text.charCodeAt(this.#next + 1) === 45) {
        const newline = text.indexOf('\n', this.#next)
        this.#next = newline === -1 ? text.length : newline + 1
      } else if (code === 47 && text.charCodeAt(this.#next + 1) === 42) {
        const close = text.indexOf('*/', this.#next + 2)
        if (close === -1) {
          this.start = this.#next
          this.#next = text.length
          throw this.#error('the comment is not closed by */')
        }
        this.#next = close + 2
      } else {
        return
      }
    }
  }

  #isNameAt(index: number, pattern: () => RegExp): boolean {
    const code = this.text.charCodeAt(index)
    if (code < 128) {
      const letter = (code | 32) >= 97 && (code | 32) <= 122
      return letter || code === 95 || (pattern === namePart && isDigit(code))
    }
    const point = this.text.codePointAt(index)
    return point !== undefined && pattern().test(String.fromCodePoint(point))
  }

  #nameEnd(index: number): number {
    while (this.#isNameAt(index, namePart)) index += this.text.codePointAt(index)! > 0xffff ? 2 : 1
    return index
  }

  #digitsEnd(index: number): number {
    while (isDigit(this.text.charCodeAt(index))) index++
    return index
  }

  #error(message: string, hint?: string) {
    return syntaxError(this.text, { offset: this.start, length: this.#next - this.start }, message, hint)
  }
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}
