/**
 * Text to expression tree: precedence climbing over the tokens, each looked at once.
 *
 * - All of the text must belong to the expression: what is left over is an error, never ignored.
 * - Operators of one level (`level` in syntax.ts) group to the left.
 */
import { invalidInput, type SheafError, type SourceSpan } from '../errors.js'
import { syntaxError } from './excerpt.js'
import {
  type ArithmeticOp,
  type CompareOp,
  type Expr,
  level,
  maxDepth,
  type NamePart,
  type ParameterExpr,
  type TypeName,
} from './syntax.js'
import { Lexer } from './tokens.js'

/** UTF-16 units an expression may have. */
const maxLength = 16 * 1024 * 1024

/** Digits an integer literal may have and stay one; longer ones are doubles (nothing wider than 64 bits is exact). */
const maxIntegerDigits = 40

const binaryOps: Readonly<Record<string, { op: CompareOp | ArithmeticOp | '||'; level: number }>> = {
  '=': { op: '=', level: level.comparison },
  '==': { op: '=', level: level.comparison },
  '<>': { op: '<>', level: level.comparison },
  '!=': { op: '<>', level: level.comparison },
  '<': { op: '<', level: level.comparison },
  '<=': { op: '<=', level: level.comparison },
  '>': { op: '>', level: level.comparison },
  '>=': { op: '>=', level: level.comparison },
  '+': { op: '+', level: level.sum },
  '-': { op: '-', level: level.sum },
  '||': { op: '||', level: level.sum },
  '*': { op: '*', level: level.product },
  '/': { op: '/', level: level.product },
  '%': { op: '%', level: level.product },
}

/** Words that cannot name a column without quotes, because they would not be seen as operators any more. */
const reserved = new Set('AND OR NOT IS IN BETWEEN LIKE ILIKE ESCAPE NULL TRUE FALSE'.split(' '))

/** Whether a bare word stands for a column of that name wherever one can stand (`array[1]` is a list). */
export function isBareName(word: string): boolean {
  const upper = word.toUpperCase()
  return /^[\p{ID_Start}_][\p{ID_Continue}]*$/u.test(word) && !reserved.has(upper) && upper !== 'ARRAY'
}

/**
 * Parses one expression. Throws code 13 with `at` and the place marked in the message for anything that is not
 * one, for text over 16 Mi units and for nesting over 200 levels.
 */
export function parseExpression(text: string): Expr {
  if (typeof text !== 'string') throw invalidInput(`an expression is text, not ${typeof text}`)
  if (text.length > maxLength) {
    throw invalidInput(`the expression has ${text.length} characters; ${maxLength} is the limit`, {
      hint: 'pass long lists as a parameter: id IN ?',
    })
  }
  const stray = /\p{Surrogate}/u.exec(text)
  if (stray !== null) {
    throw syntaxError(text, { offset: stray.index, length: 1 }, 'half of a surrogate pair is not a character')
  }
  return new Parser(text).whole()
}

class Parser {
  readonly #token: Lexer
  /** Levels below the node parsed last. */
  #height = 0
  /** Where the token before the current one ended. */
  #lastEnd = 0
  #questionMarks = 0

  constructor(text: string) {
    this.#token = new Lexer(text)
  }

  whole(): Expr {
    const expr = this.#expression(level.or, 0)
    if (this.#token.kind !== 'end') {
      throw this.#unexpected('the expression is complete here', 'join conditions with AND or OR')
    }
    return expr
  }

  /** Everything at `minLevel` or tighter. `depth`: levels above. */
  #expression(minLevel: number, depth: number): Expr {
    const start = this.#token.start
    let left = this.#prefix(depth)
    for (;;) {
      const height = this.#height
      const next = this.#infix(left, start, minLevel, depth)
      if (next === null) {
        this.#height = height
        return left
      }
      this.#height = Math.max(height, this.#height) + 1
      this.#checkDepth(this.#height + depth)
      left = next
    }
  }

  #prefix(depth: number): Expr {
    this.#checkDepth(depth)
    const token = this.#token
    const start = token.start
    this.#height = 0
    if (token.keyword === 'NOT') {
      this.#advance()
      const operand = this.#expression(level.not, depth + 1)
      this.#height++
      return { kind: 'not', operand, at: this.#since(start) }
    }
    if (token.isSymbol('-')) {
      this.#advance()
      const operand = this.#expression(level.sign, depth + 1)
      this.#height++
      return { kind: 'negate', operand, at: this.#since(start) }
    }
    return this.#primary(depth)
  }

  /** The operator at the current token with its right side, or null when it binds looser than `minLevel`. */
  #infix(left: Expr, start: number, minLevel: number, depth: number): Expr | null {
    const token = this.#token
    this.#height = 0
    if (token.kind === 'symbol') {
      const binary = binaryOps[token.value]
      if (binary !== undefined) {
        if (binary.level < minLevel) return null
        this.#advance()
        const right = this.#expression(binary.level + 1, depth + 1)
        return { kind: 'binary', op: binary.op, left, right, at: this.#since(start) }
      }
      if (token.value === '::' && minLevel <= level.cast) {
        this.#advance()
        const type = this.#typeName()
        return { kind: 'cast', try: false, operand: left, type, at: this.#since(start) }
      }
      if (token.value === '[' && minLevel <= level.element) {
        this.#advance()
        const index = this.#expression(level.or, depth + 1)
        this.#expect(']')
        return { kind: 'element', operand: left, index, at: this.#since(start) }
      }
      return null
    }
    switch (token.keyword) {
      case 'AND':
        return minLevel <= level.and ? this.#chain('and', left, start, depth) : null
      case 'OR':
        return minLevel <= level.or ? this.#chain('or', left, start, depth) : null
      case 'IS':
        return minLevel <= level.is ? this.#is(left, start) : null
      case 'NOT':
      case 'IN':
      case 'BETWEEN':
      case 'LIKE':
      case 'ILIKE':
        return minLevel <= level.comparison ? this.#condition(left, start, depth) : null
      default:
        return null
    }
  }

  #chain(kind: 'and' | 'or', first: Expr, start: number, depth: number): Expr {
    const operands = [first]
    const keyword = kind === 'and' ? 'AND' : 'OR'
    let height = 0
    while (this.#token.keyword === keyword) {
      this.#advance()
      operands.push(this.#expression(level[kind] + 1, depth + 1))
      height = Math.max(height, this.#height)
    }
    this.#height = height
    return { kind, operands, at: this.#since(start) }
  }

  #is(operand: Expr, start: number): Expr {
    this.#advance()
    const negated = this.#skipKeyword('NOT')
    const { keyword } = this.#token
    if (keyword !== 'NULL' && keyword !== 'TRUE' && keyword !== 'FALSE') {
      throw this.#unexpected(`IS ${negated ? 'NOT ' : ''}is followed by NULL, TRUE or FALSE`)
    }
    this.#advance()
    const what = keyword === 'NULL' ? 'null' : keyword === 'TRUE' ? 'true' : 'false'
    return { kind: 'is', negated, operand, what, at: this.#since(start) }
  }

  /** `[NOT] IN | BETWEEN | LIKE | ILIKE ...` */
  #condition(operand: Expr, start: number, depth: number): Expr {
    const negated = this.#skipKeyword('NOT')
    if (this.#skipKeyword('IN')) {
      const list = this.#inList(depth)
      return { kind: 'in', negated, operand, list, at: this.#since(start) }
    }
    if (this.#skipKeyword('BETWEEN')) {
      const low = this.#expression(level.sum, depth + 1)
      const height = this.#height
      if (!this.#skipKeyword('AND')) throw this.#unexpected('BETWEEN needs AND between its two bounds')
      const high = this.#expression(level.sum, depth + 1)
      this.#height = Math.max(height, this.#height)
      return { kind: 'between', negated, operand, low, high, at: this.#since(start) }
    }
    const ignoreCase = this.#token.keyword === 'ILIKE'
    if (!ignoreCase && this.#token.keyword !== 'LIKE') {
      throw this.#unexpected('NOT is followed by IN, BETWEEN, LIKE or ILIKE here')
    }
    this.#advance()
    const pattern = this.#expression(level.sum, depth + 1)
    const height = this.#height
    const escapeText = this.#skipKeyword('ESCAPE') ? this.#expression(level.sum, depth + 1) : null
    this.#height = Math.max(height, this.#height)
    return { kind: 'like', negated, ignoreCase, operand, pattern, escape: escapeText, at: this.#since(start) }
  }

  #inList(depth: number): readonly Expr[] | ParameterExpr {
    if (this.#token.kind === 'parameter') return this.#parameter()
    const close = this.#token.isSymbol('[') ? ']' : ')'
    if (close === ')' && !this.#token.isSymbol('(')) {
      throw this.#unexpected('IN is followed by a list in parentheses')
    }
    this.#advance()
    if (close === ')' && this.#token.isSymbol(')')) {
      throw this.#unexpected('IN needs at least one value', 'pass an empty list as a parameter: id IN ?')
    }
    return this.#list(close, depth)
  }

  /** Expressions up to and with the closing bracket. */
  #list(close: ')' | ']', depth: number): readonly Expr[] {
    const list: Expr[] = []
    let height = 0
    if (!this.#token.isSymbol(close)) {
      for (;;) {
        list.push(this.#expression(level.or, depth + 1))
        height = Math.max(height, this.#height)
        if (!this.#token.isSymbol(',')) break
        this.#advance()
      }
    }
    this.#expect(close)
    this.#height = height
    return list
  }

  #primary(depth: number): Expr {
    const token = this.#token
    const { value, start } = token
    switch (token.kind) {
      case 'integer': {
        const digits = value.length > 1 && value[0] === '0' ? value.replace(/^0+(?=\d)/, '') : value
        this.#advance()
        return digits.length > maxIntegerDigits
          ? { kind: 'decimal', text: digits, at: this.#since(start) }
          : { kind: 'literal', value: BigInt(digits), at: this.#since(start) }
      }
      case 'decimal':
        this.#advance()
        return { kind: 'decimal', text: value, at: this.#since(start) }
      case 'string':
        this.#advance()
        return { kind: 'literal', value, at: this.#since(start) }
      case 'binary':
        this.#advance()
        return { kind: 'literal', value: bytesOfHex(value), at: this.#since(start) }
      case 'parameter':
        return this.#parameter()
      case 'quoted':
        return this.#column()
      case 'name':
        return this.#word(depth)
      case 'symbol':
        if (value === '(') {
          this.#advance()
          const inner = this.#expression(level.or, depth + 1)
          this.#expect(')')
          return inner
        }
        if (value === '[') return this.#array(start, depth)
        break
      case 'end':
        break
    }
    throw this.#unexpected('expected a value or a column name')
  }

  /** What starts with a bare word: a constant, a call, a typed literal, a column. */
  #word(depth: number): Expr {
    const token = this.#token
    const { keyword, start } = token
    if (keyword === 'NULL' || keyword === 'TRUE' || keyword === 'FALSE') {
      this.#advance()
      return {
        kind: 'literal',
        value: keyword === 'NULL' ? null : keyword === 'TRUE',
        at: this.#since(start),
      }
    }
    if (reserved.has(keyword)) throw this.#unexpected('expected a value or a column name')
    const name = this.#namePart()
    if (token.isSymbol('(')) {
      if (keyword === 'CAST' || keyword === 'TRY_CAST')
        return this.#cast(keyword === 'TRY_CAST', start, depth)
      this.#advance()
      const args = this.#list(')', depth)
      if (token.kind === 'string' && isTypedLiteral(keyword)) {
        return this.#typedLiteral(
          { name: name.name.toLowerCase(), args: args.map(numberOf), at: name.at },
          start,
        )
      }
      this.#height++
      return { kind: 'call', name: name.name, args, at: this.#since(start) }
    }
    if (token.kind === 'string' && isTypedLiteral(keyword)) {
      return this.#typedLiteral({ name: name.name.toLowerCase(), args: [], at: name.at }, start)
    }
    if (token.isSymbol('[') && keyword === 'ARRAY') return this.#array(start, depth)
    return this.#column(name)
  }

  #cast(isTry: boolean, start: number, depth: number): Expr {
    this.#advance()
    const operand = this.#expression(level.or, depth + 1)
    if (!this.#skipKeyword('AS')) throw this.#unexpected('CAST needs AS and a type')
    const type = this.#typeName()
    this.#expect(')')
    this.#height++
    return { kind: 'cast', try: isTry, operand, type, at: this.#since(start) }
  }

  #typedLiteral(type: TypeName, start: number): Expr {
    const operand: Expr = { kind: 'literal', value: this.#token.value, at: this.#token.at() }
    this.#advance()
    this.#height = 1
    return { kind: 'cast', try: false, operand, type, at: this.#since(start) }
  }

  #array(start: number, depth: number): Expr {
    this.#advance()
    const elements = this.#list(']', depth)
    this.#height++
    return { kind: 'array', elements, at: this.#since(start) }
  }

  #column(first: NamePart = this.#namePart()): Expr {
    const path = [first]
    while (this.#token.isSymbol('.')) {
      this.#advance()
      if (this.#token.kind !== 'name' && this.#token.kind !== 'quoted') {
        throw this.#unexpected('a dot is followed by the name of a field')
      }
      path.push(this.#namePart())
    }
    return { kind: 'column', path, at: this.#since(first.at.offset) }
  }

  #namePart(): NamePart {
    const token = this.#token
    const quote = token.kind === 'name' ? '' : token.quote === '"' ? '"' : '`'
    const part: NamePart = { name: token.value, quote, at: token.at() }
    this.#advance()
    return part
  }

  #parameter(): ParameterExpr {
    const { value, quote, start } = this.#token
    const style = quote === '$' ? '$' : quote === ':' ? ':' : '?'
    if (style === '$' && (/^0/.test(value) || value.length > 6)) {
      throw this.#unexpected('parameters are numbered from $1')
    }
    const key = style === '?' ? this.#questionMarks++ : style === '$' ? Number(value) - 1 : value
    this.#advance()
    return { kind: 'parameter', style, key, at: this.#since(start) }
  }

  /** A type's words and its arguments: `bigint unsigned`, `double precision`, `timestamp(3)`. */
  #typeName(): TypeName {
    const token = this.#token
    const { start } = token
    if (token.kind !== 'name') throw this.#unexpected('expected the name of a type')
    let name = token.value.toLowerCase()
    this.#advance()
    const args: number[] = []
    if (token.isSymbol('(')) {
      do {
        this.#advance()
        if (!token.is('integer')) throw this.#unexpected('the arguments of a type are whole numbers')
        args.push(Number(token.value))
        this.#advance()
      } while (token.isSymbol(','))
      this.#expect(')')
    }
    if (token.keyword === 'UNSIGNED' || (token.keyword === 'PRECISION' && name === 'double')) {
      name += ` ${token.value.toLowerCase()}`
      this.#advance()
    }
    return { name, args, at: this.#since(start) }
  }

  #advance(): void {
    this.#lastEnd = this.#token.end
    this.#token.advance()
  }

  #skipKeyword(keyword: string): boolean {
    if (this.#token.keyword !== keyword) return false
    this.#advance()
    return true
  }

  #expect(symbol: string): void {
    if (!this.#token.isSymbol(symbol)) throw this.#unexpected(`expected ${symbol}`)
    this.#advance()
  }

  /** The span from `start` to the end of the token consumed last. */
  #since(start: number): SourceSpan {
    return { offset: start, length: this.#lastEnd - start }
  }

  #checkDepth(depth: number): void {
    if (depth > maxDepth) {
      throw syntaxError(
        this.#token.text,
        this.#token.at(),
        `the expression is nested deeper than ${maxDepth} levels`,
      )
    }
  }

  #unexpected(message: string, hint?: string): SheafError {
    const token = this.#token
    const shown = token.text.slice(token.start, Math.min(token.end, token.start + 40))
    const found = token.kind === 'end' ? 'the end' : JSON.stringify(shown)
    return syntaxError(token.text, token.at(), `${message}, found ${found}`, hint)
  }
}

/** Types whose name before a string makes a literal. */
function isTypedLiteral(keyword: string): boolean {
  return keyword === 'DATE' || keyword === 'TIMESTAMP' || keyword === 'DATETIME' || keyword === 'DECIMAL'
}

/** An argument of a type that was read as an expression; NaN, which no type accepts, when it is not a number. */
function numberOf(expr: Expr): number {
  return expr.kind === 'literal' && typeof expr.value === 'bigint' ? Number(expr.value) : Number.NaN
}

function bytesOfHex(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits, 'hex'))
}
