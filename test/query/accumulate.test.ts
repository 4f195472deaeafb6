/** Aggregates against the plainest way to compute them. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { accumulator } from '../../src/query/accumulate.js'
import type { Aggregate } from '../../src/query/plan.js'
import { type AggregateFunction, aggregateType } from '../../src/sql/binding/aggregates.js'
import { BoundExpression } from '../../src/sql/bound-expression.js'
import { ColumnNode } from '../../src/sql/column-node.js'
import { noChance } from '../../src/sql/functions/call.js'

const int = (bits: 8 | 16 | 32 | 64, signed: boolean): DataType => ({ kind: 'int', bits, signed })

function aggregate(fn: AggregateFunction, type: DataType | null, distinct = false): Aggregate {
  const arg = type === null ? null : new BoundExpression(new ColumnNode(['x'], type), noChance)
  return {
    fn,
    distinct,
    arg,
    option: null,
    filter: null,
    field: { name: '#0', type: aggregateType(fn, type), nullable: true },
  }
}

function columnOf(type: DataType, values: readonly unknown[]): Column {
  const schema = { fields: [{ name: 'x', type, nullable: true }] }
  return rowsToBatch(
    values.map(x => ({ x })),
    schema,
  ).columns[0]!
}

/** Feeds rows in steps and returns the value of every group. */
function run(
  of: Aggregate,
  type: DataType | null,
  rows: readonly (readonly [group: number, value: unknown])[],
  count: number,
  step = 7,
): unknown[] {
  const sums = accumulator(of, 1)
  for (let from = 0; from < rows.length; from += step) {
    const piece = rows.slice(from, from + step)
    const groups = Uint32Array.from(piece, ([group]) => group)
    const arg =
      type === null
        ? null
        : columnOf(
            type,
            piece.map(([, value]) => value),
          )
    sums.add(groups, arg, count)
  }
  return columnValues(sums.finish(0, count), { int64: 'bigint' })
}

const rowsOf = (values: fc.Arbitrary<unknown>) =>
  fc.array(fc.tuple(fc.nat(3), fc.option(values)), { maxLength: 50 })

const integers: readonly (readonly [DataType, fc.Arbitrary<bigint>])[] = [
  [int(64, true), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  [int(64, true), fc.bigInt({ min: -3n, max: 3n })],
  [int(64, false), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })],
  [int(32, true), fc.bigInt({ min: -(2n ** 31n), max: 2n ** 31n - 1n })],
  [int(32, false), fc.bigInt({ min: 0n, max: 2n ** 32n - 1n })],
  [int(8, true), fc.bigInt({ min: -128n, max: 127n })],
]

describe.each(integers)('integers of %o', (type, values) => {
  test.each([false, true])('sums are exact or an error, distinct: %s', distinct => {
    fc.assert(
      fc.property(rowsOf(values), rows => {
        const groups = [0, 1, 2, 3].map(group => {
          const own = rows
            .filter(([of, value]) => of === group && value !== null)
            .map(([, value]) => value as bigint)
          return distinct ? [...new Set(own)] : own
        })
        const sums = groups.map(own => (own.length === 0 ? null : own.reduce((a, b) => a + b)))
        const isSigned = (type as { signed: boolean }).signed
        const fits = sums.every(
          sum => sum === null || (isSigned ? BigInt.asIntN(64, sum) : BigInt.asUintN(64, sum)) === sum,
        )
        const find = () => run(aggregate('sum', type, distinct), type, rows, 4)
        if (fits) expect(find()).toEqual(sums)
        else expect(find).toThrow(/does not fit 64 bits/)
        const means = groups.map((own, i) => (own.length === 0 ? null : Number(sums[i]) / own.length))
        expect(run(aggregate('avg', type, distinct), type, rows, 4)).toEqual(means)
        expect(run(aggregate('count', type, distinct), type, rows, 4)).toEqual(
          groups.map(own => BigInt(own.length)),
        )
      }),
    )
  })
})

test('count(*) counts NULLs, the others do not', () => {
  const rows = [
    [0, null],
    [1, 2n],
    [0, 1n],
  ] as const
  expect(run(aggregate('count', null), null, rows, 3)).toEqual([2n, 1n, 0n])
  expect(run(aggregate('count', int(64, true)), int(64, true), rows, 3)).toEqual([1n, 1n, 0n])
})

const ordered: readonly (readonly [DataType, fc.Arbitrary<unknown>, (a: never, b: never) => number])[] = [
  [
    int(64, true),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    (a: bigint, b: bigint) => Number(a > b) - Number(a < b),
  ],
  [
    { kind: 'float', bits: 64 },
    fc.double({ noNaN: true }).map(x => x + 0),
    (a: number, b: number) => Number(a > b) - Number(a < b),
  ],
  [
    { kind: 'utf8', large: false },
    fc.string({ unit: 'binary', maxLength: 12 }),
    (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
  ],
]

test.each(ordered)('least and greatest of %o', (type, values, compare) => {
  fc.assert(
    fc.property(rowsOf(values), rows => {
      for (const fn of ['min', 'max'] as const) {
        const expected = [0, 1, 2, 3].map(group => {
          const own = rows
            .filter(([of, value]) => of === group && value !== null)
            .map(([, value]) => value as never)
          const sorted = own.sort(compare)
          return (fn === 'min' ? sorted[0] : sorted.at(-1)) ?? null
        })
        expect(run(aggregate(fn, type), type, rows, 4)).toEqual(expected)
      }
    }),
  )
})

test('NaN is the greatest number', () => {
  const type: DataType = { kind: 'float', bits: 64 }
  const rows = [1, Number.NaN, 2].map(value => [0, value] as const)
  expect(run(aggregate('max', type), type, rows, 1)).toEqual([Number.NaN])
  expect(run(aggregate('min', type), type, rows, 1)).toEqual([1])
})

test('decimals keep their digits; an average has four more places, halves away from zero', () => {
  const type: DataType = { kind: 'decimal', bits: 128, precision: 10, scale: 1 }
  const rows = ['0.1', '0.2', '-1.0'].map(value => [0, value] as const)
  expect(run(aggregate('sum', type), type, rows, 1)).toEqual(['-0.7'])
  expect(run(aggregate('avg', type), type, rows, 1)).toEqual(['-0.23333'])
  const half = [
    ['0', '0.1'],
    ['0', '0.2'],
  ].map(([, value]) => [0, value] as const)
  expect(run(aggregate('avg', type), type, half, 1)).toEqual(['0.15000'])
})

test('a sum of long integers stays exact over many rows', () => {
  const type = int(64, true)
  const big = (1n << 62n) + 3n
  const rows = Array.from({ length: 4000 }, (_, i) => [0, i % 2 === 0 ? big : -big + 1n] as const)
  expect(run(aggregate('sum', type), type, rows, 1, 1000)).toEqual([2000n])
})

test('sums of long integers do not depend on the order of the rows', () => {
  const type = int(64, true)
  const greatest = 2n ** 63n - 1n
  const count = 600_000
  const rows = Array.from({ length: 2 * count }, (_, i) => [0, i < count ? greatest : -greatest] as const)
  expect(run(aggregate('sum', type), type, rows, 1, 16_384)).toEqual([0n])
  const unsigned = int(64, false)
  const large = rows.slice(0, count).map(() => [0, 2n ** 64n - 3n] as const)
  expect(run(aggregate('avg', unsigned), unsigned, large, 1, 16_384)).toEqual([2 ** 64])
}, 60_000)
