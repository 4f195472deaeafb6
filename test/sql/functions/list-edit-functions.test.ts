/** Functions that make lists of lists. The values are those of DataFusion 55, but where docs/sql.md says otherwise. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { typeName } from '../../../src/arrow/type-name.js'
import type { DataType } from '../../../src/arrow/types.js'
import {
  type ErrorCase,
  type FunctionCase,
  tableOf,
  testCases,
  testErrors,
  typeOf,
  types,
  valuesOf,
} from './function-table.js'

const cases: readonly FunctionCase[] = [
  ['array_append([1, 2], 3)', [1n, 2n, 3n], 'list<int64>'],
  ['array_append([1, 2], null)', [1n, 2n, null]],
  ['array_append(null, 1)', [1n], 'list<int64>'],
  ['array_append([], 1)', [1n]],
  ['array_append([1], 1.5)', [1, 1.5], 'list<float64>'],
  ['array_append([[1]], [2])', [[1n], [2n]]],
  ["list_append(['a'], 'b')", ['a', 'b'], 'list<utf8>'],
  ['array_prepend(1, [2])', [1n, 2n]],
  ['list_prepend(1, null)', [1n]],
  ['array_concat([1], [2], [3, null])', [1n, 2n, 3n, null]],
  ['array_concat([1], null)', [1n]],
  ['list_cat([1], [1.5])', [1, 1.5]],
  ['array_pop_back([1, 2])', [1n]],
  ['array_pop_front([1, 2])', [2n]],
  ['array_pop_front([])', []],
  ['array_reverse([1, 2, null])', [null, 2n, 1n]],
  ['array_reverse([struct(1)])', [{ c0: 1n }]],
  ['flatten([[1], null, [2, 3], []])', [1n, 2n, 3n], 'list<int64>'],
  ['flatten([[[1]], [[2]]])', [[1n], [2n]]],
  ['flatten([1, 2])', [1n, 2n]],
  ['make_list(1, 2)', [1n, 2n]],
  ['array_max([1, null, 3])', 3n, 'int64'],
  ["list_min(['b', 'a'])", 'a', 'utf8'],
  ["array_max([1.5, 'NaN'::double])", Number.NaN],
  ['array_max([])', null],
  ['array_min([null])', null],
  ['array_sort([3, 1, null, 2])', [null, 1n, 2n, 3n]],
  ["array_sort([3, 1, null, 2], 'desc')", [null, 3n, 2n, 1n]],
  ["array_sort([3, 1, null, 2], 'DESC', 'NULLS LAST')", [3n, 2n, 1n, null]],
  ['array_sort([1], null)', null],
  ["array_sort(['NaN'::double, 1.0, null])", [null, 1, Number.NaN]],
  ['array_distinct([3, 1, 3, null, null])', [3n, 1n, null]],
  ['array_distinct([[1, null], [1, null], [1]])', [[1n, null], [1n]]],
  ["array_distinct(['NaN'::double, 'NaN'::double, 0.0, -0.0])", [Number.NaN, 0]],
  ['array_union([1, 2, 2], [2, 3])', [1n, 2n, 3n]],
  ['array_intersect([2, 1, 2, null], [null, 2])', [2n, null]],
  ['array_except([1, 2, 2, 3, null], [2])', [1n, 3n, null]],
  ['array_union([1], null)', null],
  ['array_positions([1, 2, 1, null], 1)', [1n, 3n], 'list<uint64>'],
  ['array_positions([1, null, null], null)', [2n, 3n]],
  ['array_positions([1], 9)', []],
  ['array_remove([1, 2, 1, null], 1)', [2n, 1n, null]],
  ['array_remove_all([1, 2, 1, null], 1)', [2n, null]],
  ['array_remove_n([1, 2, 1, 1], 1, 2)', [2n, 1n]],
  ['array_remove_n([1, 1], 1, -1)', [1n, 1n]],
  ['array_remove([1, null], null)', null],
  ['array_remove([[1], [2]], [1])', [[2n]]],
  ['array_replace([1, 2, 1], 1, 9)', [9n, 2n, 1n]],
  ['array_replace_all([1, 2, 1], 1, 9)', [9n, 2n, 9n]],
  ['array_replace_n([1, 2, 1, 1], 1, 9, 2)', [9n, 2n, 9n, 1n]],
  ['array_replace([1, null], null, 9)', [1n, 9n]],
  ['array_replace([1, 2], 1, null)', [null, 2n]],
  ['array_replace_n([1], 1, 2, null)', null],
  ['array_slice([1, 2, 3, 4], 2, 3)', [2n, 3n]],
  ['array_slice([1, 2, 3, 4], -2, -1)', [3n, 4n]],
  ['array_slice([1, 2, 3, 4], -10, 2)', [1n, 2n]],
  ['array_slice([1, 2, 3, 4], 2, 100)', [2n, 3n, 4n]],
  ['array_slice([1, 2, 3, 4], 0, 0)', []],
  ['array_slice([1, 2, 3, 4], 5, 9)', []],
  ['array_slice([1, 2, 3, 4], 1, 4, 2)', [1n, 3n]],
  ['array_slice([1, 2, 3, 4], 4, 1, -2)', [4n, 2n]],
  ['array_slice([1, 2, 3], -1, 5, -1)', [3n]],
  ['array_slice([1, 2, 3], -1, 0, -1)', []],
  ['array_slice([1], 1, null)', null],
]

const errors: readonly ErrorCase[] = [
  ['array_slice([1, 2], 1, 2, 0)', /the step of a slice must not be 0/],
  ["array_append([1], 'a')", /array_append does not take \(list<int64>, utf8\)/],
  ['array_remove([1], 1.5)', /array_remove does not take \(list<int64>, float64\)/],
  ["array_sort([1], 'up')", /array_sort does not take/],
  ['array_sort([[1]])', /array_sort does not take/],
  ['array_distinct([struct(1)])', /array_distinct does not take/],
  ['array_concat()', /array_concat does not take/],
  ['flatten(1)', /flatten does not take/],
]

const list = (type: DataType, large = false): DataType => ({
  kind: 'list',
  large,
  child: { name: 'item', type, nullable: true },
})

describe('functions that make lists', () => {
  testCases(cases)
  testErrors(errors)

  test('keep the type of the elements, and large lists large', () => {
    const dictionary: DataType = { kind: 'dictionary', index: types.int8, value: types.utf8, ordered: false }
    const vector: DataType = { ...list(types.float32), kind: 'fixed_size_list', size: 2 } as DataType
    const table = tableOf(
      { l: list(types.int32), g: list(types.int8, true), d: list(dictionary), v: vector },
      [{ l: [1], g: [1], d: ['a', 'b', 'a'], v: [1, 2.5] }],
    )
    const typed = (text: string) => [typeName(typeOf(text, table)), valuesOf(text, table)[0]]
    expect(typed('array_reverse(l)')).toEqual(['list<int32>', [1]])
    expect(typed('array_append(l, 5)')).toEqual(['list<int64>', [1n, 5n]])
    expect(typed('array_append(g, 5)')).toEqual(['large_list<int64>', [1n, 5n]])
    expect(typed("array_remove(d, 'a')")).toEqual(['list<utf8>', ['b', 'a']])
    expect(typed('array_append(v, 5)')).toEqual(['list<float32>', [1, 2.5, 5]])
    expect(typed('array_remove(v, 2.5)')).toEqual(['list<float32>', [1]])
  })

  test('a text is compared with dates, and a number with decimals, by its value', () => {
    const decimal: DataType = { kind: 'decimal', bits: 128, precision: 6, scale: 2 }
    const table = tableOf({ d: list({ kind: 'date', unit: 'day' }), p: list(decimal) }, [
      { d: ['2026-01-31', '2026-02-01'], p: ['1.10', '2.20'] },
    ])
    expect(valuesOf("array_positions(d, '2026-02-01')", table)).toEqual([[2n]])
    expect(valuesOf('array_positions(p, 1.1)', table)).toEqual([[1n]])
    expect(valuesOf('array_positions([1, 2], 2.0)')).toEqual([[2n]])
  })

  test('behave as on arrays, and a null equals a null', () => {
    const element = fc.option(fc.constantFrom(1n, 2n, 3n))
    const lists = fc.option(fc.array(element, { maxLength: 5 }))
    const row = fc.record({ l: lists, m: lists, e: element })
    type List = readonly (bigint | null)[]
    const columns = { l: list(types.int64), m: list(types.int64), e: types.int64 }
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), rows => {
        const table = tableOf(columns, rows)
        const expectEach = (text: string, plain: (l: List, m: List, e: bigint | null) => unknown) => {
          const isStrict = (name: 'l' | 'm') => new RegExp(`\\b${name}\\b`).test(text)
          const expected = rows.map(({ l, m, e }) =>
            (isStrict('l') && l === null) || (isStrict('m') && m === null) ? null : plain(l!, m!, e),
          )
          expect(valuesOf(text, table), text).toEqual(expected)
        }
        expectEach('array_positions(l, e)', (l, _, e) =>
          l.flatMap((value, i) => (value === e ? [BigInt(i + 1)] : [])),
        )
        expectEach('array_remove_all(l, e)', (l, _, e) =>
          e === null ? null : l.filter(value => value !== e),
        )
        expectEach('array_replace_all(l, e, 7)', (l, _, e) => l.map(value => (value === e ? 7n : value)))
        expectEach('array_distinct(l)', l => [...new Set(l)])
        expectEach('array_union(l, m)', (l, m) => [...new Set([...l, ...m])])
        expectEach('array_except(l, m)', (l, m) => [...new Set(l)].filter(value => !m.includes(value)))
        expectEach('array_intersect(l, m)', (l, m) => [...new Set(l)].filter(value => m.includes(value)))
        expectEach('array_reverse(l)', l => l.toReversed())
        expect(valuesOf('array_concat(l, m)', table)).toEqual(
          rows.map(({ l, m }) => (l === null && m === null ? null : [...(l ?? []), ...(m ?? [])])),
        )
        expect(valuesOf('array_append(l, e)', table)).toEqual(rows.map(({ l, e }) => [...(l ?? []), e]))
      }),
      { numRuns: 100 },
    )
  })

  test('a list repeated beyond the memory limit is refused', () => {
    const text = 'a'.repeat(1_000_000)
    const table = tableOf({ l: list(types.utf8), s: types.utf8 }, [{ l: Array(200).fill('x'), s: text }])
    expect(() => valuesOf("array_replace_all(l, 'x', s)", table)).toThrow(
      expect.objectContaining({
        code: 13,
        message: expect.stringContaining('more than 128 MiB in one batch'),
      }),
    )
  })
})
