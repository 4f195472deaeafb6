/**
 * Parses function calls after the name: the arguments in parentheses, and the forms with keywords, such as `CAST(x AS
 * int)`.
 */
import { readTypeName } from './parse-type.js'
import type { Reader } from './reader.js'
import { type CallExpr, type Expr, level, type NamePart } from './syntax.js'

/** Parse a call of the function `name`. The current token is its opening parenthesis. */
export function readCall(reader: Reader, name: NamePart, depth: number): Expr {
  reader.advance()
  switch (name.name.toUpperCase()) {
    case 'CAST':
      return readCast(reader, name, depth, false)
    case 'TRY_CAST':
      return readCast(reader, name, depth, true)
    case 'EXTRACT':
      return readExtract(reader, name, depth)
    case 'TRIM':
      return readTrim(reader, name, depth)
    case 'SUBSTR':
    case 'SUBSTRING':
      return readSubstring(reader, name, depth)
    case 'POSITION':
      return readPosition(reader, name, depth)
    default:
      return readArguments(reader, name, depth)
  }
}

function readArguments(reader: Reader, name: NamePart, depth: number): Expr {
  if (reader.token.isSymbol('*')) {
    reader.advance()
    reader.height = 0
    return readFilter(reader, finish(reader, name, name.name, [], 'star'), depth)
  }
  const isDistinct = reader.skipLeading('DISTINCT')
  if (!isDistinct) reader.skipLeading('ALL')
  const args = readList(reader, depth)
  return readFilter(reader, finish(reader, name, name.name, args, isDistinct ? 'distinct' : null), depth)
}

/** Parse `FILTER (WHERE condition)` after a call. Return the call itself if FILTER does not follow. */
function readFilter(reader: Reader, call: CallExpr, depth: number): CallExpr {
  const { height } = reader
  if (!reader.skipKeyword('FILTER')) return call
  const hint = 'write sum(x) FILTER (WHERE condition)'
  if (!reader.token.isSymbol('(')) throw reader.unexpected('FILTER is followed by (WHERE condition)', hint)
  reader.advance()
  if (!reader.skipKeyword('WHERE')) throw reader.unexpected('FILTER needs WHERE before its condition', hint)
  const filter = reader.expression(level.or, depth + 1)
  reader.expect(')')
  reader.height = Math.max(height, reader.height + 1)
  return { ...call, filter, at: reader.since(call.at.offset) }
}

function readCast(reader: Reader, name: NamePart, depth: number, isTry: boolean): Expr {
  const operand = reader.expression(level.or, depth + 1)
  reader.expectKeyword('AS', 'CAST needs AS and a type')
  const type = readTypeName(reader)
  reader.expect(')')
  reader.height++
  return { kind: 'cast', try: isTry, operand, type, at: reader.since(name.at.offset) }
}

/** Parse `EXTRACT(field FROM x)`. The field is a word or a string. */
function readExtract(reader: Reader, name: NamePart, depth: number): Expr {
  const { token } = reader
  if (token.kind !== 'name' && token.kind !== 'string') {
    throw reader.unexpected('expected a field such as YEAR', 'write EXTRACT(YEAR FROM x)')
  }
  const field: Expr = { kind: 'literal', value: token.value.toLowerCase(), at: token.at() }
  reader.advance()
  reader.expectKeyword('FROM', 'EXTRACT needs FROM after the field')
  return finish(reader, name, 'date_part', [field, reader.expression(level.or, depth + 1)])
}

const trimmers = { BOTH: 'btrim', LEADING: 'ltrim', TRAILING: 'rtrim' } as const

/** Parse `TRIM([BOTH | LEADING | TRAILING] [characters] FROM text)`, or `TRIM(text, characters)`. */
function readTrim(reader: Reader, name: NamePart, depth: number): Expr {
  const side = (['BOTH', 'LEADING', 'TRAILING'] as const).find(word => reader.skipLeading(word, 'FROM'))
  const called = trimmers[side ?? 'BOTH']
  if (side !== undefined && reader.skipKeyword('FROM')) {
    return finish(reader, name, called, [reader.expression(level.or, depth + 1)])
  }
  const args = readList(reader, depth)
  if (args.length === 1 && reader.token.keyword === 'FROM') {
    const { height } = reader
    reader.advance()
    const text = reader.expression(level.or, depth + 1)
    reader.height = Math.max(height, reader.height)
    return finish(reader, name, called, [text, args[0]!])
  }
  return finish(reader, name, called, args)
}

/**
 * Parse `SUBSTRING(text FROM start FOR length)`, or the form with commas. `FROM start` and `FOR length` are optional.
 */
function readSubstring(reader: Reader, name: NamePart, depth: number): Expr {
  const args = [...readList(reader, depth)]
  if (args.length === 1) {
    let { height } = reader
    const { keyword, start } = reader.token
    if (keyword === 'FROM') {
      reader.advance()
      args.push(reader.expression(level.or, depth + 1))
    } else if (keyword === 'FOR') {
      args.push({ kind: 'literal', value: 1n, at: { offset: start, length: 0 } })
    }
    height = Math.max(height, reader.height)
    if (reader.skipKeyword('FOR')) args.push(reader.expression(level.or, depth + 1))
    reader.height = Math.max(height, reader.height)
  }
  return finish(reader, name, 'substr', args)
}

/** Parse `POSITION(part IN text)`. */
function readPosition(reader: Reader, name: NamePart, depth: number): Expr {
  const part = reader.expression(level.bitOr, depth + 1)
  const { height } = reader
  reader.expectKeyword('IN', 'POSITION needs IN between the part and the text')
  const text = reader.expression(level.or, depth + 1)
  reader.height = Math.max(height, reader.height)
  return finish(reader, name, 'strpos', [text, part])
}

/** Parse zero or more expressions that are separated by commas. */
function readList(reader: Reader, depth: number): readonly Expr[] {
  if (reader.token.isSymbol(')')) {
    reader.height = 0
    return []
  }
  return reader.list(depth)
}

function finish(
  reader: Reader,
  name: NamePart,
  called: string,
  args: readonly Expr[],
  modifier: CallExpr['modifier'] = null,
): CallExpr {
  reader.expect(')')
  reader.height++
  return { kind: 'call', name: called, args, modifier, filter: null, at: reader.since(name.at.offset) }
}
