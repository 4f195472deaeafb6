import { describe, expect, test } from 'vitest'
import { SheafError } from '../../../src/errors.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { maxDepth } from '../../../src/sql/syntax/syntax.js'
import { showTree } from '../../support/sql-tree.js'
import { accepted, hinted, longListEdges, refused } from './parse-cases.js'

function failure(text: string): SheafError {
  try {
    parseExpression(text)
  } catch (error) {
    if (error instanceof SheafError) return error
    throw error
  }
  throw new Error(`${text} was accepted`)
}

describe('what is an expression', () => {
  test.each(accepted)('%s', (text, tree) => {
    expect(showTree(parseExpression(text))).toBe(tree)
  })

  test('every node knows its position in the text', () => {
    const text = ' (a + 1) = cast(b as int) AND lower("c") IN (1, `d`.e)'
    const tree = parseExpression(text)
    const slice = (node: { at: { offset: number; length: number } }) =>
      text.slice(node.at.offset, node.at.offset + node.at.length)
    if (tree.kind !== 'and') throw new Error('not an AND')
    const [equals, isIn] = tree.operands
    if (equals?.kind !== 'binary' || isIn?.kind !== 'in' || 'kind' in isIn.list)
      throw new Error('not as written')
    expect(slice(tree)).toBe(text.slice(1))
    expect([equals, equals.left, equals.right, isIn, isIn.operand, ...isIn.list].map(slice)).toEqual([
      '(a + 1) = cast(b as int)',
      'a + 1',
      'cast(b as int)',
      'lower("c") IN (1, `d`.e)',
      'lower("c")',
      '1',
      '`d`.e',
    ])
  })
})

describe('invalid text, with its position', () => {
  test.each(refused)('%s', (text, marks, message) => {
    const error = failure(text)
    expect(error.code).toBe(13)
    expect(error.message).toContain(message)
    const caret = { offset: marks.indexOf('^'), length: marks.trimStart().length }
    // The end of the text is a place of no length; the caret still shows it.
    expect(error.at).toEqual(caret.offset === text.length ? { ...caret, length: 0 } : caret)
    expect(error.message.split('\n').at(-1)).toBe(`  ${marks}`)
  })

  test.each(hinted)('%s', (text, hint) => {
    expect(failure(text).hint).toBe(hint)
  })

  test('the excerpt shows the one line of the fault, cut on both sides, without control characters', () => {
    const { message } = failure(`a = 1 AND\n${'x'.repeat(100)} = 2\tAND\u0007 = ${'y'.repeat(100)}\nOR c`)
    expect(message.split('\n').slice(1)).toEqual([
      `  ${'x'.repeat(32)} = 2 AND  = ${'y'.repeat(37)}`,
      `  ${' '.repeat(40)}^`,
    ])
  })

  test('half of a surrogate pair is refused', () => {
    expect(failure("s = '\ud800'").at).toEqual({ offset: 5, length: 1 })
  })

  test('text over the limit is refused before parsing', () => {
    expect(failure(' '.repeat(16 * 1024 * 1024 + 1)).message).toContain('at most 16777216 characters')
  })

  test('a value that is not text is refused', () => {
    expect(() => parseExpression(undefined as unknown as string)).toThrow(
      'an expression must be a string, got undefined',
    )
  })
})

describe('a long list of constants', () => {
  const texts = ["''", "'it''s'", "''''", "'a,b)'", "'é漢🎉'", "'--'"]
  const huge = ['9223372036854775808', '18446744073709551615', '10000000000000000000', '18446744073709551609']
  const blanks = ['', ' ', '\n\t', '\r\n ']

  /** `count` members, so chosen that all of `values` occur. */
  function listOf(values: readonly string[], count: number): readonly string[] {
    return Array.from({ length: count }, (_, i) => values[i % values.length]!)
  }

  test.each([
    ['integers', longListEdges, BigInt64Array],
    ['integers of which some are above int64', [...huge, '0', '17'], BigUint64Array],
    ['texts', texts, Array],
  ])('of %s is one node with the values a short one has', (_, values, kind) => {
    const members = listOf(values, 200)
    const written = members.map((member, i) => `${blanks[i % 4]}${member}${blanks[(i >> 2) % 4]}`).join(',')
    for (const [open, close] of ['()', '[]']) {
      const text = `a in ${open}${written}${close} and b`
      const tree = parseExpression(text)
      const [isIn] = tree.kind === 'and' ? tree.operands : []
      if (isIn?.kind !== 'in' || !('kind' in isIn.list) || isIn.list.kind !== 'constants') {
        throw new Error('not one node')
      }
      expect(isIn.list.values).toBeInstanceOf(kind)
      expect(isIn.list.at).toEqual({ offset: 5, length: text.length - 11 })
      const each = members.map(member => {
        const parsed = parseExpression(member)
        const literal = parsed.kind === 'negate' ? parsed.operand : parsed
        if (literal.kind !== 'literal') throw new Error('not a literal')
        return parsed.kind === 'negate' ? -(literal.value as bigint) : literal.value
      })
      expect([...isIn.list.values]).toEqual(each)
    }
  })

  test.each([
    ['one of another kind', "'a'"],
    ['NULL', 'NULL'],
    ['a decimal', '1.5'],
    ['a number with an exponent', '1e5'],
    ['a column', 'b'],
    ['a calculation', '1 + 1'],
    ['a parameter', '$1'],
    ['an integer below int64', '-9223372036854775809'],
    ['an integer above uint64', '18446744073709551616'],
    ['an integer of 30 digits', '123456789012345678901234567890'],
    ['a comment', '1 /* one */'],
    ['a minus that stands apart', '- 1'],
  ])('with %s among them has a node for each', (_, stranger) => {
    const members = listOf(['1', '2', '-3'], 300).with(250, stranger)
    const tree = parseExpression(`a in (${members.join(', ')})`)
    if (tree.kind !== 'in' || 'kind' in tree.list) throw new Error('one node')
    expect(tree.list.map(showTree)).toEqual(members.map(member => showTree(parseExpression(member))))
  })

  test('of int64 below zero and uint64 above int64 has a node for each', () => {
    const members = listOf(['-1', '9223372036854775808'], 100)
    const tree = parseExpression(`a in (${members.join(', ')})`)
    expect(tree.kind === 'in' && !('kind' in tree.list)).toBe(true)
  })

  test.each([
    ['1,'.repeat(100), 'expected a value or a column name, found ")"'],
    [`${'1,'.repeat(100)}2 3`, 'expected ), found "3"'],
    [`${"'a',".repeat(100)}'b' 'c'`, `expected ), found "'c'"`],
    [`${'1,'.repeat(100)}2]`, 'expected ), found "]"'],
  ])('with a fault is refused at the fault', (list, message) => {
    expect(failure(`a in (${list})`).message).toContain(message)
  })

  test('that is not closed is refused at its end', () => {
    const text = `a in (${'1, '.repeat(100)}1`
    expect(failure(text).at).toEqual({ offset: text.length, length: 0 })
  })
})

describe('depth', () => {
  const nested: readonly (readonly [string, (depth: number) => string])[] = [
    ['parentheses', depth => `${'('.repeat(depth)}a${')'.repeat(depth)}`],
    ['NOT', depth => `${'not '.repeat(depth)}a`],
    ['minus', depth => `${'- '.repeat(depth)}a`],
    ['lists', depth => '['.repeat(depth) + ']'.repeat(depth)],
    ['calls', depth => 'f('.repeat(depth) + ')'.repeat(depth)],
    ['a chain of +', depth => `a${' + a'.repeat(depth)}`],
    ['a chain of casts', depth => `a${'::int'.repeat(depth)}`],
    ['a chain of [..]', depth => `a${'[1]'.repeat(depth)}`],
    ['a chain of IS', depth => `a${' is null'.repeat(depth)}`],
    ['plus', depth => `${'+ '.repeat(depth)}a`],
    ['CASE', depth => `${'case when a then '.repeat(depth)}a${' end'.repeat(depth)}`],
    ['CASE as operand', depth => `${'case '.repeat(depth)}a${' when b then c end'.repeat(depth)}`],
    ['TRIM', depth => `${'trim(both from '.repeat(depth)}a${')'.repeat(depth)}`],
    ['SUBSTRING', depth => `${'substring('.repeat(depth)}a${' for 1)'.repeat(depth)}`],
    ['EXTRACT', depth => `${'extract(year from '.repeat(depth)}a${')'.repeat(depth)}`],
    ['POSITION', depth => `${'position('.repeat(depth)}a${' in b)'.repeat(depth)}`],
    ['a chain of fields', depth => `(a)${'.f'.repeat(depth)}`],
    ['a chain of ~', depth => `a${' ~ b'.repeat(depth)}`],
    ['IS DISTINCT FROM', depth => `a${' is distinct from b'.repeat(depth)}`],
    ['a chain on the right of a chain', depth => `${'a + ('.repeat(depth / 2)}a${' + a)'.repeat(depth / 2)}`],
  ]
  test.each(nested)('of %s is limited, with a clean error', (_, write) => {
    expect(() => parseExpression(write(maxDepth - 2))).not.toThrow()
    for (const depth of [maxDepth + 2, 100_000]) {
      expect(failure(write(depth)).message).toContain('nested deeper than 200 levels')
    }
  })

  test('is what counts, not the number of conditions', () => {
    const chain = Array.from({ length: 20_000 }, (_, i) => `a = ${i}`).join(' OR ')
    const tree = parseExpression(chain)
    expect(tree.kind === 'or' && tree.operands.length).toBe(20_000)
  })
})
