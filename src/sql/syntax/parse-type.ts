/** Parses the names of types in CAST and after `::`. */
import type { Reader } from './reader.js'
import type { TypeName } from './syntax.js'

/**
 * Parse a type name with its arguments, for example `bigint unsigned`, `decimal(10, 2)` or `timestamp(3) with time
 * zone`.
 *
 * `without time zone` is the default, so it is not part of the returned name. A trailing `[]` is part of it, and means
 * a list type.
 */
export function readTypeName(reader: Reader): TypeName {
  const { token } = reader
  const { start } = token
  if (token.kind !== 'name') throw reader.unexpected('expected the name of a type')
  let name = token.value.toLowerCase()
  reader.advance()
  const args: number[] = []
  if (token.isSymbol('(')) {
    do {
      reader.advance()
      if (!token.is('integer')) throw reader.unexpected('the arguments of a type must be integers')
      args.push(Number(token.value))
      reader.advance()
    } while (token.isSymbol(','))
    reader.expect(')')
  }
  if (token.keyword === 'UNSIGNED' || (token.keyword === 'PRECISION' && name === 'double')) {
    name += ` ${token.value.toLowerCase()}`
    reader.advance()
  } else if (token.keyword === 'WITH' || token.keyword === 'WITHOUT') {
    if (token.keyword === 'WITH') name += ' with time zone'
    reader.advance()
    for (const word of ['TIME', 'ZONE']) reader.expectKeyword(word, `expected ${word} of WITH TIME ZONE`)
  }
  // `x::list[1]` is an element of a list, but `x::int[]` is a cast to a list type.
  while (token.isSymbol('[') && /^\[\s*\]/.test(token.text.slice(token.start, token.start + 16))) {
    reader.advance()
    reader.expect(']')
    name += '[]'
  }
  return { name, args, at: reader.since(start) }
}
