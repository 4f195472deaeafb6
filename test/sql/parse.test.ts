import { describe, expect, test } from 'vitest'
import { SheafError } from '../../src/errors.js'
import { parseExpression } from '../../src/sql/parse.js'
import { maxDepth } from '../../src/sql/syntax.js'
import { showTree } from '../support/sql-tree.js'
import { accepted, refused } from './parse-cases.js'

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

  test('every node knows its place in the text', () => {
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

describe('what is not, and where', () => {
  test.each(refused)('%s', (text, marks, message) => {
    const error = failure(text)
    expect(error.code).toBe(13)
    expect(error.message).toContain(message)
    const caret = { offset: marks.indexOf('^'), length: marks.trimStart().length }
    // The end of the text is a place of no length; the caret still shows it.
    expect(error.at).toEqual(caret.offset === text.length ? { ...caret, length: 0 } : caret)
    expect(error.message.split('\n').at(-1)).toBe(`  ${marks}`)
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

  test('text over the limit is refused before it is read', () => {
    expect(failure(' '.repeat(16 * 1024 * 1024 + 1)).message).toContain('16777216 is the limit')
  })

  test('what is not text is refused', () => {
    expect(() => parseExpression(undefined as unknown as string)).toThrow(
      'an expression is text, not undefined',
    )
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
