/** What may have been meant where an expression cannot go on. */
import { nearestName } from '../../errors.js'
import type { Lexer } from './tokens.js'

/** Words of other dialects, and words that belong elsewhere. */
const strangers: Readonly<Record<string, string>> = {
  ISNULL: 'write IS NULL',
  NOTNULL: 'write IS NOT NULL',
  NULL: 'write IS NULL or IS NOT NULL',
  REGEXP: 'write ~ to match a regular expression',
  RLIKE: 'write ~ to match a regular expression',
  SIMILAR: 'write ~ to match a regular expression',
  MATCHES: 'write ~ to match a regular expression',
  GLOB: 'write LIKE, with % for * and _ for ?',
  CONTAINS: 'write contains(text, part)',
  DIV: 'write /, which divides integers to an integer',
  MOD: 'write %',
  XOR: 'write <> between two conditions',
  EQUALS: 'write =',
  EQ: 'write =',
  COLLATE: 'texts are compared by their code points; there are no collations',
  AT: 'there is no AT TIME ZONE; write timestamps in UTC',
  AS: 'an expression has no AS; its name is given beside it',
  SELECT: 'sub-queries are not part of this dialect',
  ANY: 'write IN, or array_has(list, value)',
  SOME: 'write IN, or array_has(list, value)',
  WHEN: 'WHEN belongs between CASE and END',
  THEN: 'THEN belongs between CASE and END',
  ELSE: 'ELSE belongs between CASE and END',
  END: 'END closes a CASE',
  WHERE: 'one expression is read, not a statement',
  FROM: 'one expression is read, not a statement',
  LIMIT: 'one expression is read, not a statement',
  OFFSET: 'one expression is read, not a statement',
  ORDER: 'one expression is read, not a statement',
  GROUP: 'one expression is read, not a statement',
  HAVING: 'one expression is read, not a statement',
  UNION: 'one expression is read, not a statement',
  OVER: 'window functions are not part of this dialect',
  FILTER: 'write CASE inside of the aggregate: sum(CASE WHEN condition THEN x END)',
}

const operatorWords = 'AND OR NOT IS IN LIKE ILIKE BETWEEN ESCAPE'.split(' ')
const conditionWords = ['NOT', 'CASE']
const literalWords = 'INTERVAL DATE TIME TIMESTAMP DATETIME DECIMAL'.split(' ')

/** `token` stands where an operator should; `before` is the token in front of it. */
export function operatorHint(token: Lexer, before: string): string | undefined {
  switch (token.kind) {
    case 'name':
      if (before.toUpperCase() === 'SELECT') return strangers.SELECT
      if (token.text[token.start - 1] === "'") return stringsHint
      return (
        spellingHint(token.value, operatorWords) ??
        spellingHint(before, conditionWords) ??
        strangers[token.keyword] ??
        joinHint
      )
    case 'string':
      return before.endsWith("'") ? stringsHint : (spellingHint(before, literalWords) ?? joinHint)
    case 'symbol':
      return token.value === ',' ? 'one value stands here; a list is written [1, 2]' : undefined
    case 'end':
      return undefined
    default:
      return before.toUpperCase() === 'SELECT' ? strangers.SELECT : joinHint
  }
}

const joinHint = 'join conditions with AND or OR, and values with an operator such as = or +'
const stringsHint = "join texts with ||; a quote inside of a text is doubled: 'it''s'"

/**
 * The word of `keywords` that `word` is nearly; undefined if it is none or exactly one. Who mistypes a word gets its
 * first letter right, or all of its letters in another order; without that, `time` would be taken for LIKE.
 */
export function spellingHint(word: string, keywords: readonly string[]): string | undefined {
  const upper = word.toUpperCase()
  if (upper.length < 3 || upper.length > 20 || keywords.includes(upper)) return undefined
  const likely = keywords.filter(keyword => keyword[0] === upper[0])
  const near = keywords.find(keyword => sorted(keyword) === sorted(upper)) ?? nearestName(upper, likely)
  return near === undefined ? undefined : `did you mean ${near}?`
}

function sorted(word: string): string {
  return [...word].sort().join('')
}
