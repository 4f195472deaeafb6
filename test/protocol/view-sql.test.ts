/** The SQL that defines a materialized view. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ErrorCode, type SheafError } from '../../src/errors.js'
import { queryOf, selectText } from '../../src/protocol/view-sql.js'

const read = (query: string) => queryOf({ query })

function refused(query: string): SheafError {
  try {
    read(query)
  } catch (error) {
    return error as SheafError
  }
  throw new Error(`${query} was read`)
}

describe('a SELECT is read', () => {
  test.each<[string, object]>([
    ['SELECT * FROM "people"', { table: ['people'] }],
    ['select * from a.`b c`.d', { table: ['a', 'b c', 'd'] }],
    ['SELECT `a``b` AS "a`b" FROM t', { table: ['t'], columns: { column_aliases: { 'a`b': '`a``b`' } } }],
    ['SELECT age FROM t', { table: ['t'], columns: { column_aliases: { age: '`age`' } } }],
    [
      `SELECT concat(a, ', from ') AS x, [1, 2] AS y FROM t WHERE b = 'x LIMIT 3'`,
      {
        table: ['t'],
        columns: { column_aliases: { x: "concat(a, ', from ')", y: '[1, 2]' } },
        filter: "b = 'x LIMIT 3'",
      },
    ],
    [
      'SELECT a IS DISTINCT FROM b AS d FROM t -- note\n WHERE limit = 3',
      { table: ['t'], columns: { column_aliases: { d: 'a IS DISTINCT FROM b' } }, filter: 'limit = 3' },
    ],
  ])('%s', (query, expected) => {
    expect(read(query)).toEqual(expected)
  })
})

describe('a query that no view supports is unsupported', () => {
  test.each([
    'SELECT * FROM t LIMIT 3',
    'SELECT * FROM t WHERE a > 1 ORDER BY a',
    'SELECT a FROM t GROUP BY a',
    'SELECT * FROM t JOIN u',
    'SELECT DISTINCT a FROM t',
    'SELECT *, a FROM t',
  ])('%s', query => {
    expect(refused(query).code).toBe(ErrorCode.Unsupported)
  })
})

describe('text that is not a SELECT is refused', () => {
  test.each([
    'people',
    'SELECT',
    'SELECT FROM t',
    'SELECT a, FROM t',
    'SELECT upper(a) FROM t',
    'SELECT a AS x, b AS x FROM t',
    'SELECT * FROM',
    'SELECT * FROM "t',
    'SELECT * FROM t WHERE',
    'SELECT * FROM t u',
  ])('%s', query => {
    expect(refused(query).code).toBe(ErrorCode.InvalidInput)
  })
})

test('the text of a query is read as the same query', () => {
  const name = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' })
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 4 }), name, (names, table) => {
      const column_aliases = Object.fromEntries(
        names.map(each => [each, `\`${each.replaceAll('`', '``')}\``] as const),
      )
      const query = { table: [table], columns: { column_aliases }, filter: 'a > 1' }
      expect(read(selectText(query, []))).toEqual(query)
    }),
  )
})
