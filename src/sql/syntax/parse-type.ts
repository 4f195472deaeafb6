/** Parse the names of types in CAST and `::`. */
import type { Reader } from './reader.js'
import type { TypeName } from './syntax.js'

/**
 * Parse the words and arguments of a type: `bigint unsigned`, `decimal(10, 2)`, `timestamp(3) with time
 * zone`.
 *
 * `without time zone` is the default and is dropped. A trailing `[]` makes a list type.
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
      if (!token.is('integer')) throw reader.unexpected('the arguments of a type are whole numbers')
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
  // `x::list[1]` takes an element; `x::int[]` is a list type.
  while (token.isSymbol('[') && /^\[\s*\]/.test(token.text.slice(token.start, token.start + 16))) {
    reader.advance()
    reader.expect(']')
    name += '[]'
  }
  return { name, args, at: reader.since(start) }
}
