/** Returns hints for syntax errors: the syntax that the author of the expression probably needs. */
import { nearestName } from '../../errors.js'
import type { Lexer } from './tokens.js'

const regexpHint = 'write ~ to match a regular expression'
const listHint = 'write IN, or array_has(list, value)'
const caseHint = 'WHEN, THEN and ELSE belong between CASE and END'
const statementHint = 'write a single expression, not a statement'

/** Words of other SQL dialects, and keywords in the wrong position. */
const otherDialects: Readonly<Record<string, string>> = {
  ISNULL: 'write IS NULL',
  NOTNULL: 'write IS NOT NULL',
  NULL: 'write IS NULL or IS NOT NULL',
  REGEXP: regexpHint,
  RLIKE: regexpHint,
  SIMILAR: regexpHint,
  MATCHES: regexpHint,
  GLOB: 'write LIKE, with % for * and _ for ?',
  CONTAINS: 'write contains(text, part)',
  DIV: 'write /, which divides integers to an integer',
  MOD: 'write %',
  XOR: 'write <> between two conditions',
  EQUALS: 'write =',
  EQ: 'write =',
  COLLATE: 'remove COLLATE: strings are always compared by code points',
  AS: 'remove AS: the name of a selected column is the key in select',
  SELECT: 'sub-queries are not part of this dialect',
  ANY: listHint,
  SOME: listHint,
  WHEN: caseHint,
  THEN: caseHint,
  ELSE: caseHint,
  END: 'END closes a CASE',
  WHERE: statementHint,
  FROM: statementHint,
  LIMIT: statementHint,
  OFFSET: statementHint,
  ORDER: statementHint,
  GROUP: statementHint,
  HAVING: statementHint,
  UNION: statementHint,
  OVER: 'window functions are not part of this dialect',
  FILTER: 'FILTER follows the parentheses of an aggregate: sum(x) FILTER (WHERE condition)',
}

const operatorWords = 'AND OR NOT IS IN LIKE ILIKE BETWEEN ESCAPE'.split(' ')
const conditionWords = ['NOT', 'CASE']
const literalWords = 'INTERVAL DATE TIME TIMESTAMP DATETIME DECIMAL'.split(' ')

/**
 * Return a hint for a token at a position where only an operator may follow. `before`: text of the previous token.
 */
export function operatorHint(token: Lexer, before: string): string | undefined {
  switch (token.kind) {
    case 'name':
      if (before.toUpperCase() === 'SELECT') return otherDialects.SELECT
      if (token.text[token.start - 1] === "'") return stringsHint
      return (
        spellingHint(token.value, operatorWords) ??
        spellingHint(before, conditionWords) ??
        otherDialects[token.keyword] ??
        joinHint
      )
    case 'string':
      return before.endsWith("'") ? stringsHint : (spellingHint(before, literalWords) ?? joinHint)
    case 'symbol':
      if (token.value === ':') return 'a parameter is written :name; a slice is written list[from:to]'
      return token.value === ',' ? 'expected one value; write a list as [1, 2]' : undefined
    case 'end':
      return undefined
    default:
      return before.toUpperCase() === 'SELECT' ? otherDialects.SELECT : joinHint
  }
}

const joinHint = 'join conditions with AND or OR, and values with an operator such as = or +'
const stringsHint = "join texts with ||; double a quote inside a text: 'it''s'"

/**
 * Return the hint "did you mean" with the keyword that is most similar to `word`. Return undefined if no keyword is
 * similar, or if `word` is a keyword.
 *
 * A similar keyword must have the same first letter, or the same letters in another order. Otherwise `time` would be
 * similar to LIKE.
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
