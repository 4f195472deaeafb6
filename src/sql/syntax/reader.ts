/** Base class of the parser: its state, and methods that read tokens. */
import type { SheafError, SourceSpan } from '../../errors.js'
import { syntaxError } from './excerpt.js'
import { operatorHint, spellingHint } from './hints.js'
import { type Expr, level, maxDepth, type NamePart, type ParameterExpr } from './syntax.js'
import { Lexer } from './tokens.js'

/**
 * Keywords that cannot begin an operand. If one of them follows a keyword such as CASE, that keyword is a column name.
 */
const following = new Set('AND OR IS IN BETWEEN LIKE ILIKE ESCAPE AS FROM FOR WHEN THEN ELSE END'.split(' '))

/** Base class of the parser. */
export abstract class Reader {
  readonly token: Lexer
  /** Height of the tree below the node that was parsed last. */
  height = 0
  /** Offset of the token before the current token. */
  #lastStart = 0
  /** Offset after the token before the current token. */
  #lastEnd = 0
  /** Number of `?` parameters so far. */
  #questionMarks = 0

  constructor(text: string) {
    this.token = new Lexer(text)
  }

  /**
   * Parse an expression whose operators have at least the level `minLevel`. `depth`: number of enclosing expressions.
   * Sets `height`.
   */
  abstract expression(minLevel: number, depth: number): Expr

  /** Parse one or more expressions that are separated by commas. Sets `height` to the maximum of their heights. */
  list(depth: number): readonly Expr[] {
    const list: Expr[] = []
    let height = 0
    for (;;) {
      list.push(this.expression(level.or, depth + 1))
      height = Math.max(height, this.height)
      if (!this.token.isSymbol(',')) break
      this.advance()
    }
    this.height = height
    return list
  }

  advance(): void {
    this.#lastStart = this.token.start
    this.#lastEnd = this.token.end
    this.token.advance()
  }

  skipKeyword(keyword: string): boolean {
    if (this.token.keyword !== keyword) return false
    this.advance()
    return true
  }

  /**
   * Skip `keyword` if an operand or one of the keywords `others` follows. Otherwise it is a column name, and is not
   * skipped. Returns whether it was skipped.
   */
  skipLeading(keyword: string, ...others: readonly string[]): boolean {
    if (this.token.keyword !== keyword) return false
    const { start } = this.token
    this.token.advance()
    const isLeading = this.beginsOperand() || others.includes(this.token.keyword)
    this.token.moveTo(start)
    if (isLeading) this.advance()
    return isLeading
  }

  /** Return whether the current token can begin an operand. If so, the token before it cannot be a column name. */
  beginsOperand(): boolean {
    const { kind, keyword, value } = this.token
    if (kind === 'name') return !following.has(keyword)
    return kind === 'symbol' ? '([-+'.includes(value) : kind !== 'end'
  }

  /** Return the current token as a name, and advance. */
  namePart(): NamePart {
    const { token } = this
    const quote = token.kind === 'name' ? '' : token.quote === '"' ? '"' : '`'
    const part: NamePart = { name: token.value, quote, at: token.at() }
    this.advance()
    return part
  }

  /** Return the current token as a parameter, and advance. */
  parameter(): ParameterExpr {
    const { value, quote, start } = this.token
    const style = quote === '$' ? '$' : quote === ':' ? ':' : '?'
    if (style === '$' && (/^0/.test(value) || value.length > 6)) {
      throw this.unexpected('the number of a parameter must be from $1 to $999999')
    }
    const key = style === '?' ? this.#questionMarks++ : style === '$' ? Number(value) - 1 : value
    this.advance()
    return { kind: 'parameter', style, key, at: this.since(start) }
  }

  expect(symbol: ')' | ']'): void {
    if (!this.token.isSymbol(symbol)) throw this.misplaced(`expected ${symbol}`)
    this.advance()
  }

  expectKeyword(keyword: string, message: string): void {
    if (!this.skipKeyword(keyword)) throw this.misplaced(message, [keyword])
  }

  /** Return the span from offset `start` to the end of the token before the current token. */
  since(start: number): SourceSpan {
    return { offset: start, length: this.#lastEnd - start }
  }

  checkDepth(depth: number): void {
    if (depth <= maxDepth) return
    const { text } = this.token
    throw syntaxError(text, this.token.at(), `the expression is nested deeper than ${maxDepth} levels`)
  }

  /** Return a syntax error whose message ends with the current token. */
  unexpected(message: string, hint?: string): SheafError {
    const token = this.token
    const shown = token.text.slice(token.start, Math.min(token.end, token.start + 40))
    const found = token.kind === 'end' ? 'the end' : JSON.stringify(shown)
    return syntaxError(token.text, token.at(), `${message}, found ${found}`, hint)
  }

  /**
   * Return a syntax error like `unexpected`, for a token after a complete operand. An operator or one of `keywords`
   * could follow there, so the hint suggests these.
   */
  misplaced(message: string, keywords: readonly string[] = []): SheafError {
    const before = this.token.text.slice(this.#lastStart, this.#lastEnd)
    return this.unexpected(message, this.misspelt(keywords) ?? operatorHint(this.token, before))
  }

  /** Return a hint if the current token misspells one of `keywords`. */
  misspelt(keywords: readonly string[]): string | undefined {
    return this.token.kind === 'name' ? spellingHint(this.token.value, keywords) : undefined
  }
}
