import { describe, expect, test } from 'vitest'
import { SheafError } from '../../../src/errors.js'
import { ParameterList } from '../../../src/sql/binding/parameters.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import type { ParameterExpr } from '../../../src/sql/syntax/syntax.js'

function parameter(text: string): ParameterExpr {
  const expr = parseExpression(text)
  if (expr.kind !== 'parameter') throw new Error(`${text} is no parameter`)
  return expr
}

function failure(act: () => unknown): SheafError {
  try {
    act()
  } catch (error) {
    if (error instanceof SheafError) return error
    throw error
  }
  throw new Error('no error')
}

describe('one list for several expressions', () => {
  test('gives $1 and :name to each', () => {
    const numbered = new ParameterList([1n, 'a'])
    expect([numbered.take(parameter('$1')), numbered.take(parameter('$1'))]).toMatchObject([
      { value: 1n },
      { value: 1n },
    ])
    expect(numbered.take(parameter('$2'))).toMatchObject({ value: 'a' })
    numbered.checkUsed()
    const named = new ParameterList({ x: true })
    expect([named.take(parameter(':x')), named.take(parameter(':x'))]).toMatchObject([
      { value: true },
      { value: true },
    ])
    named.checkUsed()
  })

  test('gives ? to one of them, as often as it is bound', () => {
    const list = new ParameterList([1n])
    const [first, second] = [parameter('?'), parameter(' ?')]
    expect(list.take(first)).toMatchObject({ value: 1n })
    expect(list.take(first)).toMatchObject({ value: 1n })
    const error = failure(() => list.take(second))
    expect([error.code, error.at, error.hint]).toEqual([13, { offset: 1, length: 1 }, 'write $1 or :name'])
    expect(error.message).toBe('? is used in more than one expression of a request')
  })

  test('knows after the last expression whether all were used', () => {
    const list = new ParameterList([1n, 2n])
    expect(failure(() => list.checkUsed()).message).toBe('2 parameters are given, 0 are used')
    list.take(parameter('?'))
    expect(failure(() => list.checkUsed()).message).toBe('2 parameters are given, 1 are used')
    const named = new ParameterList({ a: 1n, idempotencyKey: 'k' })
    named.take(parameter(':a'))
    const { code, message } = failure(() => named.checkUsed())
    expect([code, message]).toEqual([13, 'the parameter :idempotencyKey is given, but no expression uses it'])
  })

  test('uses one notation', () => {
    const list = new ParameterList([1n])
    list.take(parameter('$1'))
    expect(failure(() => list.take(parameter('?'))).message).toContain('in one request; use one style')
  })
})

test('a large value may be used in few places', () => {
  const list = new ParameterList(['x'.repeat(2 ** 27), 7n])
  for (let i = 0; i < 3; i++) list.take(parameter('$1'))
  for (let i = 0; i < 1000; i++) list.take(parameter('$2'))
  expect(failure(() => list.take(parameter('$1')))).toMatchObject({
    code: 13,
    message: 'parameter 1 is large and is used too often in one request',
    hint: 'values that are used more than once may take 256 MiB in total',
  })
})

describe('the members of a list', () => {
  const many = (value: (i: number) => unknown) => Array.from({ length: 100 }, (_, i) => value(i))
  const membersOf = (value: unknown) => new ParameterList([value]).takeMembers(parameter('$1'))

  test.each([
    ['safe integers', many(i => i - 50), many(i => BigInt(i - 50))],
    ['large integers', many(i => (i - 50) * 2 ** 46), many(i => BigInt((i - 50) * 2 ** 46))],
    ['bigints', many(i => -(1n << 63n) + BigInt(i)), many(i => -(1n << 63n) + BigInt(i))],
    ['both', many(i => (i % 2 === 0 ? i : BigInt(i))), many(i => BigInt(i))],
    ['an Int32Array', Int32Array.from(many(i => -i) as number[]), many(i => BigInt(-i))],
    ['a BigUint64Array', new BigUint64Array(100).fill((1n << 64n) - 1n), many(() => (1n << 64n) - 1n)],
    ['texts', many(i => `é${i}`), many(i => `é${i}`)],
  ])('%s are one list of constants', (_, value, constants) => {
    const members = membersOf(value)
    if (!('kind' in members) || members.kind !== 'constants') throw new Error('not one list')
    expect([...members.values]).toEqual(constants)
  })

  test.each([
    ['few', [1, 2]],
    ['none', []],
    ['with null', many(i => (i === 99 ? null : i))],
    ['with a fraction', many(i => (i === 99 ? 0.5 : i))],
    ['with -0', many(i => (i === 99 ? -0 : i))],
    ['with an integer above int64', many(i => (i === 99 ? 1n << 63n : BigInt(i)))],
    ['with a number that is no safe integer', many(i => (i === 99 ? 2 ** 53 : i))],
    ['with a text', many(i => (i === 99 ? 'a' : i))],
    ['with a number among texts', many(i => (i === 99 ? 1 : 'a'))],
    ['with a pair of surrogates', many(i => (i === 99 ? '🎉' : 'a'))],
  ])('%s are what single ones are', (_, value) => {
    const members = membersOf(value)
    expect('kind' in members).toBe(false)
    expect(members).toEqual(new ParameterList([value]).take(parameter('$1')))
  })

  test.each([
    ['undefined', many(i => (i === 99 ? undefined : 'a')), 'element 99 of parameter 1 is undefined'],
    // biome-ignore lint/suspicious/noSparseArray: what it is about
    ['a hole', [1, , 3], 'element 1 of parameter 1 is undefined'],
    ['half of a pair', many(i => (i === 99 ? '\ud800' : 'a')), 'element 99 of parameter 1 holds half'],
    ['an object', many(i => (i === 99 ? {} : i)), 'element 99 of parameter 1 is {}'],
  ])('with %s are refused', (_, value, message) => {
    expect(failure(() => membersOf(value)).message).toContain(message)
  })

  test('may be a single value', () => {
    expect(membersOf(7)).toMatchObject({ kind: 'literal', value: 7n })
  })
})
