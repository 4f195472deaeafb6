import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { typeName } from '../../../src/arrow/type-name.js'
import type { DataType } from '../../../src/arrow/types.js'
import {
  type ErrorCase,
  type FunctionCase,
  resultOf,
  tableOf,
  testCases,
  testErrors,
  typeOf,
  types,
  valuesOf,
} from './function-table.js'

const cases: readonly FunctionCase[] = [
  ['array_length([1, 2, 3])', 3n, 'int64'],
  ['list_length([])', 0n],
  ['cardinality([1, null])', 2n, 'uint64'],
  ['cardinality(null)', null],
  ['empty([])', true, 'bool'],
  ['empty([null])', false],
  ['array_has([1, 2], 2)', true, 'bool'],
  ['array_has([1, null], null)', null],
  ['array_has_any([1, 2], [2, 3])', true],
  ['array_has_all([1, 2], [2, 1, 1])', true],
  ['array_position([1, 2, 3, 2], 2)', 2n, 'uint64'],
  ['array_position([1, 2, 3, 2], 2, 3)', 4n],
  ['array_position([1, 2], 7)', null],
  ['array_position([1, 2], 1, 9)', null],
  ["array_position(['a', null, 'b'], 'b')", 3n],
  ["array_to_string(['a', null, 'b'], '-')", 'a-b', 'utf8'],
  ["array_to_string(['a', null, 'b'], '-', '?')", 'a-?-b'],
  ["array_to_string([1, 2], ', ')", '1, 2'],
  ["list_to_string([], ',')", ''],
  ['array_to_string([1], null)', null],
  ['array_element([5, 6], 2)', 6n],
  ['array_element([5, 6], -1)', 6n],
  ['array_element([5, 6], 0)', null],
]

const errors: readonly ErrorCase[] = [
  ['array_position([1], 1, 0)', /counted from 1, not 0/],
  ["array_has([1], 'a')", /array_has does not take/],
  ['array_has(1, 1)', /array_has does not take/],
  ['array_length()', /array_length does not take/],
]

describe('functions of lists', () => {
  testCases(cases)
  testErrors(errors)

  const listOf = (type: DataType): DataType => ({
    kind: 'list',
    large: false,
    child: { name: 'item', type, nullable: true },
  })
  const element = fc.option(fc.constantFrom('a', 'b', 'é', ''))
  const list = fc.option(fc.array(element, { maxLength: 4 }))
  const columns = { l: listOf(types.utf8), m: listOf(types.utf8), e: types.utf8 }
  type List = readonly (string | null)[]
  const has = (l: List, e: string | null) => e !== null && l.includes(e)

  test('are those of arrays, a null equal to nothing', () => {
    const row = fc.record({ l: list, m: list, e: element })
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), rows => {
        const table = tableOf(columns, rows)
        const expectEach = (text: string, plain: (l: List, m: List, e: string) => unknown) => {
          const uses = (name: string) => new RegExp(`\\b${name}\\b`).test(text)
          const expected = rows.map(({ l, m, e }) => {
            const usesNull =
              (uses('l') && l === null) || (uses('m') && m === null) || (uses('e') && e === null)
            return usesNull ? null : plain(l ?? [], m ?? [], e ?? '')
          })
          expect(valuesOf(text, table)).toEqual(expected)
        }
        expectEach('array_has(l, e)', (l, _, e) => has(l, e))
        expectEach('array_has_any(l, m)', (l, m) => m.some(e => has(l, e)))
        expectEach('array_has_all(l, m)', (l, m) => m.every(e => has(l, e)))
        expectEach("array_has_any(l, ['a', 'b'])", l => has(l, 'a') || has(l, 'b'))
        expectEach("array_has_all(['a', 'b', null], l)", l => l.every(e => has(['a', 'b'], e)))
        expectEach('array_position(l, e)', (l, _, e) => (has(l, e) ? BigInt(l.indexOf(e) + 1) : null))
        expectEach("array_to_string(l, ',')", l => l.filter(e => e !== null).join(','))
        expectEach('cardinality(l)', l => BigInt(l.length))
        expectEach('empty(l)', l => l.length === 0)
      }),
    )
  })

  test('floats are equal as they are to =', () => {
    const table = tableOf({ l: listOf(types.float64), m: listOf(types.float64) }, [
      { l: [Number.NaN, 1], m: [Number.NaN] },
      { l: [0], m: [-0] },
      { l: [1], m: [Number.NaN] },
    ])
    expect(valuesOf('array_has_any(l, m)', table)).toEqual([true, true, false])
  })
})

describe('structs', () => {
  test('have fields c0, c1 and so on, or those they are given', () => {
    const table = tableOf({ a: types.int64, s: types.utf8 }, [
      { a: 1n, s: 'x' },
      { a: null, s: null },
    ])
    expect(valuesOf("struct(a, s, 'k', null)", table)).toEqual([
      { c0: 1n, c1: 'x', c2: 'k', c3: null },
      { c0: null, c1: null, c2: 'k', c3: null },
    ])
    expect(valuesOf("named_struct('left', a, 'right', 2.5)", table)).toEqual([
      { left: 1n, right: 2.5 },
      { left: null, right: 2.5 },
    ])
    expect(typeName(typeOf("named_struct('left', a, 'right', s)", table))).toBe(
      'struct<left: int64, right: utf8>',
    )
    expect(valuesOf('struct(a) IS NOT NULL', table)).toEqual([true, true])
    expect(valuesOf("struct(a, s)['c1']", table)).toEqual(['x', null])
  })

  test.each([
    "named_struct('a')",
    'named_struct()',
    "named_struct(1, 'a')",
    "named_struct('a', 1, 'a', 2)",
    'struct()',
  ])('%s fails', text => {
    expect(() => resultOf(text)).toThrow(/struct does not take/)
  })
})
