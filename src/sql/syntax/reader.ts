/** The state of a parse: the current token, the place in the text, the height of what was read. */
import type { SheafError, SourceSpan } from '../../errors.js'
import { syntaxError } from './excerpt.js'
import { operatorHint, spellingHint } from './hints.js'
import { type Expr, level, maxDepth, type NamePart, type ParameterExpr } from './syntax.js'
import { Lexer } from './tokens.js'

/** Words after which an operand cannot stand, so that a keyword before them is a column of that name. */
const following = new Set('AND OR IS IN BETWEEN LIKE ILIKE ESCAPE AS FROM FOR WHEN THEN ELSE END'.split(' '))

export abstract class Reader {
  readonly token: Lexer
  /** Levels below the node read last. */
  height = 0
  /** Where the token before the current one began and ended. */
  #lastStart = 0
  #lastEnd = 0
  #questionMarks = 0

  constructor(text: string) {
    this.token = new Lexer(text)
  }

  /** Everything at `minLevel` or tighter. `depth`: levels above. Leaves `height`. */
  abstract expression(minLevel: number, depth: number): Expr

  /** One or more expressions between commas. */
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
   * Skips `keyword` where it stands before an operand or one of `others`, as a keyword does; a column of that name
   * stands before anything else.
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

  /** Whether the current token can be the first one of an operand, and nothing else after a name. */
  beginsOperand(): boolean {
    const { kind, keyword, value } = this.token
    if (kind === 'name') return !following.has(keyword)
    return kind === 'symbol' ? '([-+'.includes(value) : kind !== 'end'
  }

  /** The name at the current token. */
  namePart(): NamePart {
    const { token } = this
    const quote = token.kind === 'name' ? '' : token.quote === '"' ? '"' : '`'
    const part: NamePart = { name: token.value, quote, at: token.at() }
    this.advance()
    return part
  }

  /** The parameter at the current token. */
  parameter(): ParameterExpr {
    const { value, quote, start } = this.token
    const style = quote === '$' ? '$' : quote === ':' ? ':' : '?'
    if (style === '$' && (/^0/.test(value) || value.length > 6)) {
      throw this.unexpected('parameters are numbered from $1')
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

  /** The span from `start` to the end of the token consumed last. */
  since(start: number): SourceSpan {
    return { offset: start, length: this.#lastEnd - start }
  }

  checkDepth(depth: number): void {
    if (depth <= maxDepth) return
    const { text } = this.token
    throw syntaxError(text, this.token.at(), `the expression is nested deeper than ${maxDepth} levels`)
  }

  unexpected(message: string, hint?: string): SheafError {
    const token = this.token
    const shown = token.text.slice(token.start, Math.min(token.end, token.start + 40))
    const found = token.kind === 'end' ? 'the end' : JSON.stringify(shown)
    return syntaxError(token.text, token.at(), `${message}, found ${found}`, hint)
  }

  /** As `unexpected`, where an operand has ended and an operator or one of `keywords` could go on. */
  misplaced(message: string, keywords: readonly string[] = []): SheafError {
    const before = this.token.text.slice(this.#lastStart, this.#lastEnd)
    return this.unexpected(message, this.misspelt(keywords) ?? operatorHint(this.token, before))
  }

  /** A hint if the current token is nearly one of `keywords`. */
  misspelt(keywords: readonly string[]): string | undefined {
    return this.token.kind === 'name' ? spellingHint(this.token.value, keywords) : undefined
  }
}
