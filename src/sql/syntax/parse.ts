/**
 * Parses text to an expression tree by precedence climbing. Each token is read once.
 *
 * - The whole text must be one expression. Trailing text is an error.
 * - Operators of the same level (`level` in syntax.ts) are left-associative.
 * - A keyword at a position where it would be invalid is a column name: `case = 1`, `interval + 1`, `end`. If both are
 *   valid, it is the keyword: `case - 1` begins a CASE. A name in quotes is always a column.
 * - Between CASE and END the words WHEN, THEN, ELSE and END are never column names.
 */
import { invalidInput, type SourceSpan } from '../../errors.js'
import { lazyPattern } from '../../primitives/lazy-pattern.js'
import { strayHalf, syntaxError } from './excerpt.js'
import { readCall } from './parse-call.js'
import { isMatchOperator, readCondition, readIs, readMatch } from './parse-condition.js'
import { readTypeName } from './parse-type.js'
import { Reader } from './reader.js'
import {
  type ArithmeticOp,
  type CompareOp,
  type Expr,
  level,
  type NamePart,
  type TypeName,
} from './syntax.js'

/** Maximum length of an expression in UTF-16 code units. */
const maxLength = 16 * 1024 * 1024

/**
 * Maximum number of digits of an integer that becomes a bigint. It is the maximum number of digits of a decimal. A
 * longer integer becomes a `DecimalExpr`.
 */
const maxIntegerDigits = 76

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

/**
 * Operators that become function calls. `name`: name of the function. `swapped`: whether the right side is its first
 * argument.
 */
const callOps: Readonly<Record<string, { name: string; level: number; swapped?: true }>> = {
  '|': { name: '|', level: level.bitOr },
  '^': { name: '^', level: level.bitXor },
  '<<': { name: '<<', level: level.bitXor },
  '>>': { name: '>>', level: level.bitXor },
  '&': { name: '&', level: level.bitAnd },
  '@>': { name: 'array_has_all', level: level.comparison },
  '<@': { name: 'array_has_all', level: level.comparison, swapped: true },
}

/** Keywords that are column names only in quotes. Without quotes they are operators or constants. */
const reserved = new Set('AND OR NOT IS IN BETWEEN LIKE ILIKE ESCAPE NULL TRUE FALSE'.split(' '))

/** Keywords that, between CASE and END, are column names only in quotes. */
const caseWords = new Set('WHEN THEN ELSE END'.split(' '))

/** Words that are column names if an operator follows, and keywords if an operand follows. */
const leading = new Set('ARRAY CASE INTERVAL DISTINCT ALL BOTH LEADING TRAILING'.split(' '))

/** Types whose name before a string makes a typed literal, for example `DATE '2026-01-31'`. */
const typedLiterals = new Set('DATE TIME TIMESTAMP DATETIME DECIMAL'.split(' '))

const intervalUnit =
  /^(?:nanosecond|microsecond|millisecond|second|minute|hour|day|week|month|quarter|year|decade|century|millennium)s?$|^centuries$/

const bareName = lazyPattern(String.raw`^[\p{ID_Start}_][\p{ID_Continue}]*$`, 'u')

/**
 * Return whether a word without quotes is a column name at every position. For example, `array` is not, because
 * `array[1]` is a list.
 */
export function isBareName(word: string): boolean {
  const upper = word.toUpperCase()
  const isKeyword = reserved.has(upper) || caseWords.has(upper) || leading.has(upper)
  return bareName().test(word) && !isKeyword
}

/**
 * Parse one expression. Throws `InvalidInput` for a syntax error, for more than 16 Mi UTF-16 code units, and for more
 * than 200 levels of nesting. For a syntax error, it has the position `at`, and the message shows an excerpt of the
 * text.
 */
export function parseExpression(text: string): Expr {
  if (typeof text !== 'string') throw invalidInput(`an expression must be a string, got ${typeof text}`)
  if (text.length > maxLength) {
    throw invalidInput(`an expression must have at most ${maxLength} characters, got ${text.length}`, {
      hint: 'pass long lists as a parameter: id IN ?',
    })
  }
  const stray = strayHalf(text)
  if (stray !== -1) {
    throw syntaxError(text, { offset: stray, length: 1 }, 'half of a surrogate pair is not a character')
  }
  return new Parser(text).whole()
}

class Parser extends Reader {
  /** Number of enclosing CASE expressions whose END was not read yet. */
  #cases = 0

  whole(): Expr {
    const expr = this.expression(level.or, 0)
    const closing = this.token.isSymbol(')') ? '(' : this.token.isSymbol(']') ? '[' : null
    if (closing !== null) {
      throw this.unexpected('the expression is complete here', `there is no matching ${closing}`)
    }
    if (this.token.kind !== 'end') throw this.misplaced('the expression is complete here')
    return expr
  }

  expression(minLevel: number, depth: number): Expr {
    const { start } = this.token
    let left = this.#prefix(depth)
    for (;;) {
      const { height } = this
      const next = this.#infix(left, start, minLevel, depth)
      if (next === null) {
        this.height = height
        return left
      }
      this.height = Math.max(height, this.height) + 1
      this.checkDepth(this.height + depth)
      left = next
    }
  }

  #prefix(depth: number): Expr {
    this.checkDepth(depth)
    const { token } = this
    const { start } = token
    this.height = 0
    if (token.keyword === 'NOT') {
      this.advance()
      const operand = this.expression(level.not, depth + 1)
      this.height++
      return { kind: 'not', operand, at: this.since(start) }
    }
    if (token.isSymbol('-')) {
      this.advance()
      // The sign binds to the number before `::`, so that `-128::tinyint` casts -128, not 128.
      const isNumber = token.is('integer') || token.is('decimal')
      const operand = isNumber ? this.#primary(depth + 1) : this.expression(level.sign, depth + 1)
      this.height++
      return { kind: 'negate', operand, at: this.since(start) }
    }
    if (token.isSymbol('+')) {
      this.advance()
      return this.expression(level.sign, depth + 1)
    }
    if (token.isSymbol('~')) {
      this.advance()
      const operand = this.expression(level.sign, depth + 1)
      this.height++
      return callOf('~', [operand], this.since(start))
    }
    return this.#primary(depth)
  }

  /**
   * Parse the operator at the current token and its right side. Return null if its level is below `minLevel`, or if the
   * token is not an operator.
   */
  #infix(left: Expr, start: number, minLevel: number, depth: number): Expr | null {
    this.height = 0
    switch (this.token.kind) {
      case 'symbol':
        return this.#symbol(left, start, minLevel, depth)
      case 'name':
        return this.#keyword(left, start, minLevel, depth)
      default:
        return null
    }
  }

  #symbol(left: Expr, start: number, minLevel: number, depth: number): Expr | null {
    const { value } = this.token
    const binary = binaryOps[value]
    if (binary !== undefined) {
      if (binary.level < minLevel) return null
      this.advance()
      const right = this.expression(binary.level + 1, depth + 1)
      return { kind: 'binary', op: binary.op, left, right, at: this.since(start) }
    }
    const operator = callOps[value]
    if (operator !== undefined) {
      if (operator.level < minLevel) return null
      this.advance()
      const right = this.expression(operator.level + 1, depth + 1)
      return callOf(operator.name, operator.swapped ? [right, left] : [left, right], this.since(start))
    }
    if (value === '::' && minLevel <= level.cast) {
      this.advance()
      const type = readTypeName(this)
      return { kind: 'cast', try: false, operand: left, type, at: this.since(start) }
    }
    if (value === '[' && minLevel <= level.element) {
      this.advance()
      return this.#elementOrSlice(left, start, depth)
    }
    if (value === '.' && minLevel <= level.element && hasFields(left)) return this.#field(left, start)
    if (isMatchOperator(value) && minLevel <= level.comparison) return readMatch(this, left, start, depth)
    if (value === '<=>' && minLevel <= level.comparison) {
      this.advance()
      const right = this.expression(level.bitOr, depth + 1)
      return { kind: 'distinct', negated: true, left, right, at: this.since(start) }
    }
    return null
  }

  #keyword(left: Expr, start: number, minLevel: number, depth: number): Expr | null {
    switch (this.token.keyword) {
      case 'AND':
        return minLevel <= level.and ? this.#chain('and', left, start, depth) : null
      case 'OR':
        return minLevel <= level.or ? this.#chain('or', left, start, depth) : null
      case 'IS':
        return minLevel <= level.is ? readIs(this, left, start, depth) : null
      case 'NOT':
      case 'IN':
      case 'BETWEEN':
      case 'LIKE':
      case 'ILIKE':
        return minLevel <= level.comparison ? readCondition(this, left, start, depth) : null
      case 'AT':
        return minLevel <= level.zone ? this.#inZone(left, start, depth) : null
      default:
        return null
    }
  }

  #chain(kind: 'and' | 'or', first: Expr, start: number, depth: number): Expr {
    const operands = [first]
    const keyword = kind === 'and' ? 'AND' : 'OR'
    let height = 0
    while (this.token.keyword === keyword) {
      this.advance()
      operands.push(this.expression(level[kind] + 1, depth + 1))
      height = Math.max(height, this.height)
    }
    this.height = height
    return { kind, operands, at: this.since(start) }
  }

  /** Parse the rest of `list[index]` or `list[from:to]` after the bracket. Both ends of a slice are optional. */
  #elementOrSlice(operand: Expr, start: number, depth: number): Expr {
    const { token } = this
    const first = token.isSymbol(':') ? null : this.expression(level.or, depth + 1)
    let height = first === null ? 0 : this.height
    const colon = token.at()
    if (token.kind === 'parameter' && token.quote === ':') {
      // The lexer reads `:n` in `list[1:n]` as a parameter. A parameter cannot follow the 1, so `n` is a column.
      token.moveTo(token.start + 1)
    } else if (token.isSymbol(':')) this.advance()
    else {
      this.expect(']')
      return { kind: 'element', operand, index: first!, at: this.since(start) }
    }
    const second = token.isSymbol(']') ? null : this.expression(level.or, depth + 1)
    if (second !== null) height = Math.max(height, this.height)
    this.expect(']')
    this.height = height
    const from: Expr = first ?? { kind: 'literal', value: 1n, at: colon }
    const to: Expr = second ?? { kind: 'literal', value: -1n, at: colon }
    return callOf('array_slice', [operand, from, to], this.since(start))
  }

  /** Parse `AT TIME ZONE 'name'`. */
  #inZone(operand: Expr, start: number, depth: number): Expr {
    this.advance()
    for (const word of ['TIME', 'ZONE']) this.expectKeyword(word, 'AT is followed by TIME ZONE')
    const zone = this.expression(level.sign, depth + 1)
    return callOf('timezone', [zone, operand], this.since(start))
  }

  /** Parse a field of a value that is not a column: `list[1].name`. */
  #field(operand: Expr, start: number): Expr {
    this.advance()
    const { name, at } = this.#fieldName()
    const index: Expr = { kind: 'literal', value: name, at }
    return { kind: 'element', operand, index, at: this.since(start) }
  }

  #primary(depth: number): Expr {
    const { token } = this
    const { value, start } = token
    switch (token.kind) {
      case 'integer': {
        const digits = value.length > 1 && value[0] === '0' ? value.replace(/^0+(?=\d)/, '') : value
        this.advance()
        return digits.length > maxIntegerDigits
          ? { kind: 'decimal', text: digits, at: this.since(start) }
          : { kind: 'literal', value: bigintOf(digits), at: this.since(start) }
      }
      case 'decimal':
        this.advance()
        return { kind: 'decimal', text: value, at: this.since(start) }
      case 'string':
        this.advance()
        return { kind: 'literal', value, at: this.since(start) }
      case 'binary':
        this.advance()
        return { kind: 'literal', value: bytesOfHex(value), at: this.since(start) }
      case 'parameter':
        return this.parameter()
      case 'quoted':
        return this.#column(this.namePart())
      case 'name':
        return this.#word(depth)
      case 'symbol':
        if (value === '(') {
          this.advance()
          const inner = this.expression(level.or, depth + 1)
          this.expect(')')
          return inner
        }
        if (value === '[') return this.#array(start, depth)
        break
      case 'end':
        break
    }
    const hint = token.isSymbol(':') ? 'a parameter is written :name' : undefined
    throw this.unexpected('expected a value or a column name', hint)
  }

  /** Parse an expression that begins with a word without quotes: a constant, call, typed literal, CASE or column. */
  #word(depth: number): Expr {
    const { token } = this
    const { keyword, start } = token
    if (keyword === 'NULL' || keyword === 'TRUE' || keyword === 'FALSE') {
      this.advance()
      const value = keyword === 'NULL' ? null : keyword === 'TRUE'
      return { kind: 'literal', value, at: this.since(start) }
    }
    if (reserved.has(keyword) || (this.#cases > 0 && caseWords.has(keyword))) {
      throw this.unexpected('expected a value or a column name')
    }
    const name = this.namePart()
    if (keyword === 'CASE' && (token.keyword === 'WHEN' || this.beginsOperand()))
      return this.#case(start, depth)
    if (token.isSymbol('(')) {
      const call = readCall(this, name, depth)
      return token.kind === 'string' && typedLiterals.has(keyword) && call.kind === 'call'
        ? this.#typedLiteral({ name: name.name.toLowerCase(), args: call.args.map(numberOf), at: name.at })
        : call
    }
    if (token.kind === 'string' && typedLiterals.has(keyword)) {
      // A timestamp with more than six fractional digits becomes a timestamp in nanoseconds, so that no digit is lost.
      const args = keyword === 'TIMESTAMP' && /\.\d{7}/.test(token.value) ? [9] : []
      return this.#typedLiteral({ name: name.name.toLowerCase(), args, at: name.at })
    }
    if (keyword === 'INTERVAL' && (token.kind === 'string' || isNumber(token.kind)))
      return this.#interval(start)
    if (keyword === 'ARRAY' && token.isSymbol('[')) return this.#array(start, depth)
    return this.#column(name)
  }

  #typedLiteral(type: TypeName): Expr {
    const operand: Expr = { kind: 'literal', value: this.token.value, at: this.token.at() }
    this.advance()
    this.height = 1
    return { kind: 'cast', try: false, operand, type, at: this.since(type.at.offset) }
  }

  /** Parse `INTERVAL '1 day'`, `INTERVAL '1' DAY` or `INTERVAL 1 DAY`. */
  #interval(start: number): Expr {
    const { kind, value: text } = this.token
    this.advance()
    const unit = this.token.keyword.toLowerCase()
    const hasUnit = intervalUnit.test(unit)
    if (hasUnit) this.advance()
    else if (isNumber(kind)) {
      throw this.unexpected('INTERVAL and a number need a unit', 'write INTERVAL 5 DAY')
    }
    return { kind: 'interval', text, unit: hasUnit ? unit : '', at: this.since(start) }
  }

  /** Parse `CASE [operand] WHEN .. THEN .. [ELSE ..] END`, after the word CASE. */
  #case(start: number, depth: number): Expr {
    this.#cases++
    let height = 0
    const read = () => {
      const expr = this.expression(level.or, depth + 1)
      height = Math.max(height, this.height)
      return expr
    }
    const operand = this.token.keyword === 'WHEN' ? null : read()
    const branches: { when: Expr; result: Expr }[] = []
    if (this.token.keyword !== 'WHEN') {
      const hint = this.misspelt(['WHEN']) ?? 'a column of that name is written `case`'
      throw this.unexpected('CASE needs WHEN', hint)
    }
    while (this.skipKeyword('WHEN')) {
      const when = read()
      this.expectKeyword('THEN', 'WHEN needs THEN')
      branches.push({ when, result: read() })
    }
    const otherwise = this.skipKeyword('ELSE') ? read() : null
    if (!this.skipKeyword('END')) {
      const expected = otherwise === null ? ['WHEN', 'ELSE', 'END'] : ['END']
      throw this.misplaced(`CASE needs ${expected.join(', ').replace(', END', ' or END')} here`, expected)
    }
    this.#cases--
    this.height = height + 1
    return { kind: 'case', operand, branches, otherwise, at: this.since(start) }
  }

  #array(start: number, depth: number): Expr {
    this.advance()
    this.height = 0
    const elements = this.token.isSymbol(']') ? [] : this.list(depth)
    this.expect(']')
    this.height++
    return { kind: 'array', elements, at: this.since(start) }
  }

  #column(first: NamePart): Expr {
    const path = [first]
    while (this.token.isSymbol('.')) {
      this.advance()
      path.push(this.#fieldName())
    }
    return { kind: 'column', path, at: this.since(first.at.offset) }
  }

  #fieldName(): NamePart {
    if (this.token.kind !== 'name' && this.token.kind !== 'quoted') {
      throw this.unexpected('a dot is followed by the name of a field')
    }
    return this.namePart()
  }
}

function callOf(name: string, args: readonly Expr[], at: SourceSpan): Expr {
  return { kind: 'call', name, args, modifier: null, filter: null, at }
}

/** Return whether a field may follow the expression after a dot. */
function hasFields({ kind }: Expr): boolean {
  return kind === 'element' || kind === 'call' || kind === 'column' || kind === 'cast' || kind === 'case'
}

function isNumber(kind: string): boolean {
  return kind === 'integer' || kind === 'decimal'
}

/**
 * Return the number of a type argument that was parsed as an expression. If it is not an integer, return NaN, which no
 * type accepts.
 */
function numberOf(expr: Expr): number {
  return expr.kind === 'literal' && typeof expr.value === 'bigint' ? Number(expr.value) : Number.NaN
}

/**
 * Convert digits to a bigint. Short numbers are converted via a double, which is several times faster than from a
 * string.
 */
function bigintOf(digits: string): bigint {
  return digits.length <= 15 ? BigInt(Number(digits)) : BigInt(digits)
}

function bytesOfHex(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits, 'hex'))
}
