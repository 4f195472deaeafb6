import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { tableOf, testCases, testErrors, types, valuesOf } from './function-table.js'
import {
  choiceCases,
  choiceErrors,
  decimalCases,
  numberCases,
  numberErrors,
} from './number-function-cases.js'

describe('functions of numbers', () => {
  testCases([...numberCases, ...choiceCases])
  testCases(decimalCases, text => `CAST(${text} AS string)`)
  testErrors([...numberErrors, ...choiceErrors])

  test('only requested rows can overflow', () => {
    const table = tableOf({ a: types.int64 }, [{ a: 3n }, { a: -(1n << 63n) }, { a: null }])
    expect(valuesOf('CASE WHEN a > 0 THEN factorial(abs(a)) END', table)).toEqual([6n, null, null])
  })

  test('random() differs in every row, and comes from the clock', () => {
    const { schema, batch } = tableOf({ a: types.int64 }, [{ a: 1n }, { a: 2n }, { a: 3n }])
    const bound = bindExpression(parseExpression('random()'), schema)
    const values = evaluate(bound, batch).values as Float64Array
    expect(new Set(values).size).toBe(3)
    expect(values.every(value => value >= 0 && value < 1)).toBe(true)
  })
})

describe('functions of integers are exact', () => {
  const int64 = fc.oneof(
    fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
    fc.bigInt({ min: -100n, max: 100n }),
    fc.constantFrom(-(1n << 63n), (1n << 63n) - 1n, 1n << 53n),
  )
  const fits = (value: bigint) => BigInt.asIntN(64, value) === value
  const size = (value: bigint) => (value < 0n ? -value : value)
  const sorted = (a: bigint, b: bigint) => (a < b ? ([a, b] as const) : ([b, a] as const))

  const pairs: readonly (readonly [text: string, plain: (a: bigint, b: bigint) => bigint])[] = [
    ['abs(a)', size],
    ['greatest(a, b)', (a, b) => sorted(a, b)[1]],
    ['least(a, b)', (a, b) => sorted(a, b)[0]],
    ['power(a, b % 8)', (a, b) => (b % 8n < 0n ? 1n << 64n : a ** (b % 8n))],
    ['round(a, -3)', a => ((size(a) + 500n) / 1000n) * 1000n * (a < 0n ? -1n : 1n)],
    ['trunc(a, -3)', a => (a / 1000n) * 1000n],
  ]

  test.each(pairs)('%s', (text, plain) => {
    fc.assert(
      fc.property(int64, int64, (a, b) => {
        const table = tableOf({ a: types.int64, b: types.int64 }, [{ a, b }])
        const expected = plain(a, b)
        // 1 and -1 have powers whatever the exponent.
        fc.pre(!(text.startsWith('power') && b % 8n < 0n && size(a) === 1n))
        if (fits(expected)) expect(valuesOf(text, table)).toEqual([expected])
        else expect(() => valuesOf(text, table)).toThrow(/int64 overflow|no integer|division by zero/)
      }),
    )
  })

  test('gcd divides both and what is left has no common divisor', () => {
    fc.assert(
      fc.property(int64, int64, (a, b) => {
        fc.pre(a !== 0n && b !== 0n && fits(-a) && fits(-b))
        const table = tableOf({ a: types.int64, b: types.int64 }, [{ a, b }])
        const [divisor] = valuesOf('gcd(a, b)', table) as [bigint]
        expect([a % divisor, b % divisor]).toEqual([0n, 0n])
        const rest = tableOf({ a: types.int64, b: types.int64 }, [{ a: a / divisor, b: b / divisor }])
        expect(valuesOf('gcd(a, b)', rest)).toEqual([1n])
      }),
    )
  })
})
