import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { typeName } from '../../../src/arrow/type-name.js'
import type { DataType } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import type { Bound } from '../../../src/sql/bound.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { LiteralNode } from '../../../src/sql/values/literal-node.js'
import { scalarAt } from '../../../src/sql/values/vector.js'
import {
  type ErrorCase,
  type FunctionCase,
  resultOf,
  type Table,
  tableOf,
  testCases,
  testErrors,
  typeOf,
  types,
  valuesOf,
} from './function-table.js'

/** The list in column `l` of the first row as a constant, as binding makes it. */
function constantOf({ batch }: Table): LiteralNode {
  const column = batch.columns[0]!
  return new LiteralNode(column.type, scalarAt(column, 0))
}

/** The expression with a constant for column `l`, which `?` stands for. */
function evaluatedWith(text: string, table: Table, constant: LiteralNode): unknown[] {
  const schema = {
    fields: [
      { name: 'l', type: constant.type, nullable: true },
      ...table.schema.fields.filter(f => f.name !== 'l'),
    ],
  }
  const bound = bindExpression(parseExpression(text.replace('?', 'l')), schema)
  const column = evaluate(bound.withExpr(withConstant(bound.expr, constant)), table.batch)
  return columnValues(column, { int64: 'bigint' }).map(value => (value === 0 ? 0 : value))
}

function withConstant(node: Bound, constant: LiteralNode): Bound {
  if (node.kind === 'column') return node.path[0] === 'l' ? constant : node
  return node.withOperands(node.operands.map(operand => withConstant(operand, constant)))
}

const cases: readonly FunctionCase[] = [
  ['array_length([1, 2, 3])', 3n, 'int64'],
  ['list_length([])', 0n],
  ['cardinality([1, null])', 2n, 'uint64'],
  ['cardinality(null)', null],
  ['cardinality([[1, 2], [3, null], null, []])', 4n],
  ['cardinality([[[1]], [[2, 3], [4]]])', 4n],
  ['array_length([[1, 2], [3, null], null])', 3n],
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

  test('behave as on arrays, and a null equals nothing', () => {
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

  const constantCalls = (e: string, from: string, separator: string) => [
    ['array_has(', `, ${e})`],
    ['array_position(', `, ${e})`],
    ['array_position(', `, ${e}, ${from})`],
    ['array_has_any(', ', m)'],
    ['array_has_any(m, ', ')'],
    ['array_has_all(', ', m)'],
    ['array_has_all(m, ', ')'],
    ['array_to_string(', `, ${separator})`],
    ['array_to_string(', `, ${separator}, ${separator})`],
    ['array_element(', `, ${from})`],
    ['array_length(', ')'],
    ['empty(', ')'],
  ]

  test('give the same for a constant list as for that list in every row', () => {
    const kinds = [
      [types.utf8, fc.option(fc.constantFrom('a', 'b', 'é', '', 'xyz'))],
      [types.int64, fc.option(fc.bigInt({ min: -3n, max: 3n }))],
      [types.float64, fc.option(fc.constantFrom(0, -0, 1, Number.NaN, 0.5))],
      [types.bool, fc.option(fc.boolean())],
      [types.binary, fc.option(fc.uint8Array({ maxLength: 1, max: 1 }))],
      [
        { kind: 'decimal', bits: 128, precision: 20, scale: 1 } as const,
        fc.option(fc.constantFrom('0.5', '1.0', '-2.5')),
      ],
    ] as const
    for (const [type, element] of kinds) {
      const of = fc.option(fc.array(element as fc.Arbitrary<unknown>, { maxLength: 12 }))
      const row = fc.record({
        m: of,
        e: element as fc.Arbitrary<unknown>,
        from: fc.integer({ min: 1, max: 5 }),
        separator: fc.option(fc.constantFrom('', '-')),
      })
      fc.assert(
        fc.property(of, fc.array(row, { minLength: 2, maxLength: 40 }), (l, rows) => {
          const columns = {
            l: listOf(type),
            m: listOf(type),
            e: type,
            from: types.int64,
            separator: types.utf8,
          }
          const table = tableOf(
            columns,
            rows.map(others => ({ ...others, l })),
          )
          const constant = constantOf(table)
          for (const [before, after] of constantCalls('e', 'from', 'separator')) {
            const [spread, one] = [`${before}l${after}`, `${before}?${after}`]
            expect([one, evaluatedWith(one, table, constant)]).toEqual([one, valuesOf(spread, table)])
          }
        }),
        { numRuns: 60 },
      )
    }
  })

  test('of 100,000 constants are not copied for each row', () => {
    const ids = Array.from({ length: 100_000 }, (_, i) => `id ${i}`)
    const list = new LiteralNode(listOf(types.utf8), ids)
    const rows = Array.from({ length: 8192 }, (_, i) => ({
      e: `id ${i * 50}`,
      m: [`id ${i}`, `id ${i * 50}`],
      i: BigInt(i + 1),
      s: i % 2 === 0 ? '' : '!',
    }))
    const table = tableOf({ e: types.utf8, m: listOf(types.utf8), i: types.int64, s: types.utf8 }, rows)
    const valuesWith = (text: string) => evaluatedWith(text, table, list)
    const isId = rows.map((_, i) => i * 50 < 100_000)
    expect(valuesWith('array_has(?, e)')).toEqual(isId)
    expect(valuesWith('array_has_all(?, m)')).toEqual(isId)
    expect(valuesWith('array_has_any(?, m)')).toEqual(rows.map(() => true))
    expect(valuesWith('array_has_all(m, ?)')).toEqual(rows.map(() => false))
    expect(valuesWith('array_position(?, e, i)')[1]).toBe(51n)
    expect(valuesWith('array_element(?, i)')[8191]).toBe('id 8191')
    expect(valuesWith('array_length(?) + i')[0]).toBe(100_001n)
    expect(() => valuesWith('array_to_string(?, s)')).toThrow(/MiB/)
  })

  test('a long text is not prepared again for each element of its row', () => {
    const rows = Array.from({ length: 100 }, (_, i) => ({
      l: Array.from({ length: 1000 }, (_, k) => (k === i ? 'x'.repeat(100_000) : 'y')),
      e: 'x'.repeat(100_000),
    }))
    const table = tableOf({ l: listOf(types.utf8), e: types.utf8 }, rows)
    expect(valuesOf('array_position(l, e)', table)).toEqual(rows.map((_, i) => BigInt(i + 1)))
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
