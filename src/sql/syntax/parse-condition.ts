/** Parses predicates after their operand: IS, IN, BETWEEN, LIKE and `~`. */
import { scanConstants } from './constant-list.js'
import type { Reader } from './reader.js'
import { type ConstantList, type Expr, level, type ParameterExpr } from './syntax.js'

/**
 * Pattern operators. With one tilde, the right side is a regular expression. With two tildes, it is a LIKE pattern. A
 * star ignores upper and lower case. An exclamation mark negates.
 */
const matchOps = new Set(['~', '~*', '!~', '!~*', '~~', '~~*', '!~~', '!~~*'])

/** Return whether a symbol is a pattern operator. */
export function isMatchOperator(symbol: string): boolean {
  return matchOps.has(symbol)
}

/** Parse `IS [NOT] NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM ..`. The current token is IS. */
export function readIs(reader: Reader, operand: Expr, start: number, depth: number): Expr {
  reader.advance()
  const negated = reader.skipKeyword('NOT')
  if (reader.skipKeyword('DISTINCT')) {
    reader.expectKeyword('FROM', 'IS DISTINCT needs FROM')
    const right = reader.expression(level.comparison, depth + 1)
    return { kind: 'distinct', negated, left: operand, right, at: reader.since(start) }
  }
  const { keyword } = reader.token
  switch (keyword) {
    case 'NULL':
    case 'TRUE':
    case 'FALSE':
    case 'UNKNOWN': {
      reader.advance()
      const what = keyword.toLowerCase() as 'null' | 'true' | 'false' | 'unknown'
      return { kind: 'is', negated, operand, what, at: reader.since(start) }
    }
    default: {
      const message = `IS ${negated ? 'NOT ' : ''}is followed by NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM`
      throw reader.unexpected(
        message,
        reader.misspelt(['NULL', 'TRUE', 'FALSE', 'UNKNOWN', 'DISTINCT', 'NOT']),
      )
    }
  }
}

/** Parse `[NOT] IN | BETWEEN | LIKE | ILIKE ...`. */
export function readCondition(reader: Reader, operand: Expr, start: number, depth: number): Expr {
  const negated = reader.skipKeyword('NOT')
  if (reader.skipKeyword('IN')) {
    const list = readMembers(reader, depth)
    return { kind: 'in', negated, operand, list, at: reader.since(start) }
  }
  if (reader.skipKeyword('BETWEEN')) {
    const low = reader.expression(level.bitOr, depth + 1)
    const { height } = reader
    reader.expectKeyword('AND', 'BETWEEN needs AND between its two bounds')
    const high = reader.expression(level.bitOr, depth + 1)
    reader.height = Math.max(height, reader.height)
    return { kind: 'between', negated, operand, low, high, at: reader.since(start) }
  }
  const ignoreCase = reader.token.keyword === 'ILIKE'
  if (!ignoreCase && reader.token.keyword !== 'LIKE') {
    const hint =
      reader.token.keyword === 'NULL'
        ? 'write IS NOT NULL'
        : reader.misspelt(['IN', 'BETWEEN', 'LIKE', 'ILIKE'])
    throw reader.unexpected('NOT is followed by IN, BETWEEN, LIKE or ILIKE here', hint)
  }
  reader.advance()
  const pattern = reader.expression(level.bitOr, depth + 1)
  const { height } = reader
  const escapeText = reader.skipKeyword('ESCAPE') ? reader.expression(level.bitOr, depth + 1) : null
  reader.height = Math.max(height, reader.height)
  return { kind: 'like', negated, ignoreCase, operand, pattern, escape: escapeText, at: reader.since(start) }
}

/** Parse `s ~ 'expression'` or `s ~~ 'pattern'`. */
export function readMatch(reader: Reader, operand: Expr, start: number, depth: number): Expr {
  const { value } = reader.token
  const operator = reader.token.at()
  const negated = value.startsWith('!')
  const ignoreCase = value.endsWith('*')
  reader.advance()
  const pattern = reader.expression(level.bitOr, depth + 1)
  const at = reader.since(start)
  if (value.includes('~~')) {
    return { kind: 'like', negated, ignoreCase, operand, pattern, escape: null, at }
  }
  const args = [operand, pattern]
  if (ignoreCase) args.push({ kind: 'literal', value: 'i', at: operator })
  const call: Expr = { kind: 'call', name: 'regexp_like', args, modifier: null, filter: null, at }
  if (!negated) return call
  reader.height++
  return { kind: 'not', operand: call, at }
}

function readMembers(reader: Reader, depth: number): readonly Expr[] | ConstantList | ParameterExpr {
  const { token } = reader
  if (token.kind === 'parameter') return reader.parameter()
  const close = token.isSymbol('[') ? ']' : ')'
  if (close === ')' && !token.isSymbol('(')) {
    const hint = token.kind === 'name' ? 'write array_has(list, value) for a column of lists' : undefined
    throw reader.unexpected('IN is followed by a list in parentheses', hint)
  }
  const { start } = token
  reader.advance()
  if (token.isSymbol(close)) {
    if (close === ')') {
      throw reader.unexpected('IN needs at least one value', 'pass an empty list as a parameter: id IN ?')
    }
    reader.advance()
    return []
  }
  const constants = scanConstants(token.text, token.start, close)
  if (constants !== null) {
    reader.token.moveTo(constants.end)
    reader.advance()
    return { kind: 'constants', values: constants.values, at: reader.since(start) }
  }
  const list = reader.list(depth)
  reader.expect(close)
  return list
}
