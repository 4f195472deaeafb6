/** Operators that are calls: on bits, on lists, and AT TIME ZONE. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { printExpression } from '../../../src/sql/print.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import {
  type FunctionCase,
  resultOf,
  tableOf,
  testCases,
  testErrors,
  types,
  valuesOf,
} from './function-table.js'

const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -3n, max: 3n }),
  fc.constantFrom(2n ** 31n, 2n ** 32n, -(2n ** 31n), -(2n ** 32n), 2n ** 63n - 1n, -(2n ** 63n)),
)

const operators: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '&': (a, b) => a & b,
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
}

describe.each([
  ['int64', 64, (value: bigint) => BigInt.asIntN(64, value)],
  ['uint64', 64, (value: bigint) => BigInt.asUintN(64, value)],
] as const)('bits of %s', (type, _, wrapped) => {
  const values = int64.map(wrapped)
  const rowsOf = fc.array(fc.record({ a: fc.option(values), b: fc.option(values), n: fc.bigInt(0n, 63n) }), {
    minLength: 1,
    maxLength: 70,
  })

  test('operators of two integers', () => {
    fc.assert(
      fc.property(rowsOf, rows => {
        const table = tableOf({ a: types[type], b: types[type], n: types.int64 }, rows)
        for (const [operator, compute] of Object.entries(operators)) {
          expect(valuesOf(`a ${operator} b`, table)).toEqual(
            rows.map(({ a, b }) => (a === null || b === null ? null : wrapped(compute(a, b)))),
          )
        }
        expect(valuesOf('~a', table)).toEqual(rows.map(({ a }) => (a === null ? null : wrapped(~a))))
        expect(valuesOf('a << n', table)).toEqual(
          rows.map(({ a, n }) => (a === null ? null : wrapped(a << n))),
        )
        expect(valuesOf('a >> n', table)).toEqual(rows.map(({ a, n }) => (a === null ? null : a >> n)))
      }),
    )
  })

  test('every shift of one value', () => {
    const value = wrapped(0x9234_5678_9abc_def1n)
    const rows = Array.from({ length: 64 }, (_, n) => ({ a: value, n: BigInt(n) }))
    const table = tableOf({ a: types[type], n: types.int64 }, rows)
    expect(valuesOf('a << n', table)).toEqual(rows.map(({ n }) => wrapped(value << n)))
    expect(valuesOf('a >> n', table)).toEqual(rows.map(({ n }) => value >> n))
  })
})

const cases: readonly FunctionCase[] = [
  ['6 & 3', 2n, 'int64'],
  ['6 | 3', 7n],
  ['6 ^ 3', 5n],
  ['~0', -1n],
  ['CAST(200 AS tinyint unsigned) & 15', 8n, 'int64'],
  ['1 << 3 | 1', 9n],
  ['NULL & 1', null, 'int64'],
  ['-8 >> 1', -4n],
  ['1 << 64 - 1', -(2n ** 63n)],
  ['[1, 2] || [3]', [1n, 2n, 3n]],
  ['[1, 2] || NULL', [1n, 2n]],
  ["'a' || 'b'", 'ab'],
  ['[1, 2, 3] @> [3, 1]', true],
  ['[1, 2, 3] @> [4]', false],
  ['[1] <@ [1, 2]', true],
  ['[1, 2, 3, 4][2:3]', [2n, 3n]],
  ['[1, 2, 3, 4][:-2]', [1n, 2n, 3n]],
  ['[1, 2, 3, 4][3:]', [3n, 4n]],
  ['[1, 2, 3, 4][5:9]', []],
]

testCases(cases)
testErrors([
  ['1 << 64', / shifts by 64 bits, but only 0 to 63 bits are allowed/],
  ['1 >> -1', /by -1 bits/],
  ['1 & 1.5', /& does not take/],
])

test('a constant beside a uint64 is a uint64', () => {
  const table = tableOf({ a: types.uint64 }, [{ a: 2n ** 64n - 1n }])
  expect(valuesOf('a & 18446744073709551614', table)).toEqual([2n ** 64n - 2n])
  expect(valuesOf('a >> 60', table)).toEqual([15n])
})

test('a timestamp without a zone becomes an instant, and an instant becomes the clock time of a zone', () => {
  const noon = "timestamp '2026-07-01 12:00:00'"
  expect(resultOf(`CAST(${noon} AT TIME ZONE 'Europe/Berlin' AS bigint)`)).toBe(
    BigInt(Date.UTC(2026, 6, 1, 10)) * 1000n,
  )
  const back = `${noon} AT TIME ZONE 'Europe/Berlin' AT TIME ZONE 'America/New_York'`
  expect(resultOf(`${back} = timestamp '2026-07-01 06:00:00'`)).toBe(true)
  expect(resultOf(`arrow_typeof(${back})`)).toBe('Timestamp(Microsecond, None)')
  expect(resultOf(`arrow_typeof(${noon} AT TIME ZONE '+02:00')`)).toBe(
    'Timestamp(Microsecond, Some("+02:00"))',
  )
  expect(resultOf("date_part('hour', timezone('Asia/Kolkata', now()) - now() AT TIME ZONE 'UTC')")).toBe(5n)
})

test.each([
  'a & b | 1',
  '(a | b) & 1',
  'a << 2 = b',
  '~(a + b)',
  '~a * 2',
  '(a ^ b) ^ 1',
  'a ^ (b ^ a)',
  'a & (b & a)',
  "l || l @> ['x']",
  'l[1:2] = l',
  "t AT TIME ZONE 'UTC' > t AT TIME ZONE '+01:00'",
])('%s is the same after it is printed and parsed', text => {
  const fields = Object.entries({
    a: types.int64,
    b: types.int64,
    l: { kind: 'list', large: false, child: { name: 'item', type: types.utf8, nullable: true } } as const,
    t: { kind: 'timestamp', unit: 'ms', timezone: null } as const,
  }).map(([name, type]) => ({ name, type, nullable: true }))
  const printed = printExpression(bindExpression(parseExpression(text), { fields }))
  expect(printExpression(bindExpression(parseExpression(printed), { fields }))).toBe(printed)
})
