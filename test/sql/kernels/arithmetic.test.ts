import { describe, expect, test } from 'vitest'
import type { Batch } from '../../../src/arrow/column.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { columnValues } from '../../../src/arrow/values.js'
import { SheafError } from '../../../src/errors.js'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'

const powers = [0n, 21n, 26n, 27n, 31n, 32n, 33n, 52n, 53n, 54n, 62n, 63n, 64n].flatMap(n => [
  2n ** n - 1n,
  2n ** n,
  2n ** n + 1n,
])
const kinds = [
  { name: 'int64', signed: true, least: -(2n ** 63n), greatest: 2n ** 63n - 1n },
  { name: 'uint64', signed: false, least: 0n, greatest: 2n ** 64n - 1n },
] as const

const exact: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
}

describe.each(kinds)('$name', ({ signed, least, greatest }) => {
  const values = [...powers, ...powers.map(value => -value), 0n, 3n, 7n, 10n].filter(
    v => v >= least && v <= greatest,
  )
  const pairs = values.flatMap(a => values.map(b => ({ a, b })))
  const type = { kind: 'int', bits: 64, signed } as const
  const schema = { fields: ['a', 'b'].map(name => ({ name, type, nullable: true })) }
  const batchOf = (rows: readonly object[]): Batch => rowsToBatch(rows, schema)
  const run = (text: string, batch: Batch) =>
    columnValues(evaluate(bindExpression(parseExpression(text), schema), batch), { int64: 'bigint' })

  test.each(Object.keys(exact))('%s is exact on every pair that fits, and an error on every other', op => {
    const result = ({ a, b }: { a: bigint; b: bigint }) =>
      b === 0n && (op === '/' || op === '%') ? null : exact[op]!(a, b)
    const fits = (pair: { a: bigint; b: bigint }) => {
      const value = result(pair)
      return value !== null && value >= least && value <= greatest
    }
    const good = pairs.filter(fits)
    expect(run(`a ${op} b`, batchOf(good))).toEqual(good.map(result))
    // Small rows in front of one are another way than those behind a large one.
    for (const pair of good) {
      expect(run(`a ${op} b`, batchOf([{ a: 7n, b: 3n }, pair]))).toEqual([exact[op]!(7n, 3n), result(pair)])
    }
    for (const pair of pairs) {
      if (fits(pair)) continue
      const fault = result(pair) === null ? 'division by zero' : `${signed ? 'int64' : 'uint64'} overflow`
      expect(() => run(`a ${op} b`, batchOf([pair]))).toThrow(
        `${fault} in a ${op} b: ${pair.a} ${op} ${pair.b}`,
      )
      // A null beside it, and there is nothing to compute.
      expect(run(`a ${op} b`, batchOf([{ ...pair, b: null }]))).toEqual([null])
    }
  })

  test('a constant on either side is the same in every row', () => {
    const batch = batchOf([{ a: 7n }, { a: null }, { a: 2n ** 53n + 1n }])
    expect(run('a + 5', batch)).toEqual([12n, null, 2n ** 53n + 6n])
    expect(run('9007199254740999 - a', batch)).toEqual([9007199254740992n, null, 6n])
    expect(run('a / 0.5', batch)).toEqual([14, null, 2 ** 54])
  })
})

test('signed and unsigned meet as int64, or not at all', () => {
  const types = {
    i: { kind: 'int', bits: 64, signed: true },
    u: { kind: 'int', bits: 64, signed: false },
  } as const
  const schema = { fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })) }
  const run = (text: string, row: object) =>
    columnValues(evaluate(bindExpression(parseExpression(text), schema), rowsToBatch([row], schema)), {
      int64: 'bigint',
    })[0]
  expect(run('u - i', { u: 1n, i: 3n })).toBe(-2n)
  expect(run('u * -1', { u: 5n })).toBe(-5n)
  expect(run('-u', { u: 5n })).toBe(-5n)
  expect(run('u - 5', { u: 5n })).toBe(0n)
  expect(() => run('u - 6', { u: 5n })).toThrow('uint64 overflow in u - 6: 5 - 6')
  expect(() => run('u + i', { u: 2n ** 63n, i: 1n })).toThrow(SheafError)
})

test('floats follow IEEE 754; the remainder has the sign of the dividend', () => {
  const schema = { fields: [{ name: 'x', type: { kind: 'float', bits: 32 } as const, nullable: true }] }
  const batch = rowsToBatch([{ x: 5.5 }, { x: -5.5 }, { x: 0 }, { x: null }], schema)
  const run = (text: string) => columnValues(evaluate(bindExpression(parseExpression(text), schema), batch))
  expect(run('x % 2')).toEqual([1.5, -1.5, 0, null])
  expect(run('1 / x')).toEqual([Math.fround(1 / 5.5), Math.fround(-1 / 5.5), Infinity, null])
  expect(run('1.0 / x')).toEqual([1 / 5.5, -1 / 5.5, Infinity, null])
  expect(run('-x')).toEqual([-5.5, 5.5, -0, null])
  expect(run('x + 0.1')).toEqual([5.6, -5.4, 0.1, null])
})
