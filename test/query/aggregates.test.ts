/** Aggregates that keep values, against the plainest way to compute them, for any split of the rows into batches. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { accumulator } from '../../src/query/accumulate.js'
import type { Aggregate } from '../../src/query/plan.js'
import { selectRank } from '../../src/query/select-rank.js'
import { type AggregateFunction, aggregateType } from '../../src/sql/binding/aggregates.js'
import { BoundExpression } from '../../src/sql/bound-expression.js'
import { ColumnNode } from '../../src/sql/column-node.js'
import { noChance } from '../../src/sql/functions/call.js'

const float64: DataType = { kind: 'float', bits: 64 }
const int64: DataType = { kind: 'int', bits: 64, signed: true }
const utf8: DataType = { kind: 'utf8', large: false }
const words: DataType = {
  kind: 'dictionary',
  index: { kind: 'int', bits: 32, signed: true },
  value: utf8,
  ordered: false,
}

type Rows = readonly (readonly [group: number, value: unknown])[]

interface Options {
  readonly option?: number | string
  readonly distinct?: boolean
  readonly step?: number
}

/** Feeds rows in steps and returns the value of each of four groups. */
async function run(
  fn: AggregateFunction,
  type: DataType,
  rows: Rows,
  { option, distinct = false, step = 7 }: Options = {},
): Promise<unknown[]> {
  const aggregate: Aggregate = {
    fn,
    distinct,
    arg: new BoundExpression(new ColumnNode(['x'], type), noChance),
    option: option ?? null,
    filter: null,
    field: { name: '#0', type: aggregateType(fn, type), nullable: true },
  }
  const collected = accumulator(aggregate, 1)
  for (let from = 0; from < rows.length; from += step) {
    const piece = rows.slice(from, from + step)
    collected.add(
      Uint32Array.from(piece, ([group]) => group),
      columnOf(
        type,
        piece.map(([, value]) => value),
      ),
      4,
    )
  }
  await collected.prepare?.(4, new Pacer())
  const values = [collected.finish(0, 1), collected.finish(1, 4)].flatMap(column =>
    columnValues(column, { int64: 'bigint' }),
  )
  return values.map(value => (ArrayBuffer.isView(value) ? [...(value as Float64Array)] : value))
}

function columnOf(type: DataType, values: readonly unknown[]): Column {
  const schema = { fields: [{ name: 'x', type, nullable: true }] }
  return rowsToBatch(
    values.map(x => ({ x })),
    schema,
  ).columns[0]!
}

const rowsOf = (values: fc.Arbitrary<unknown>) =>
  fc.array(fc.tuple(fc.nat(3), fc.option(values)), { maxLength: 60 })

function groupsOf<T>(rows: Rows): T[][] {
  return [0, 1, 2, 3].map(group => rows.filter(([of]) => of === group).map(([, value]) => value as T))
}

const present = <T>(values: readonly T[]) => values.filter(value => value !== null)

/** NaN is the greatest number. */
function byValue(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a - b || 0
}

function percentile(values: readonly number[], fraction: number): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => (a === b ? 0 : byValue(a, b)))
  const rank = fraction * (sorted.length - 1)
  const low = sorted[Math.floor(rank)]! + 0
  const high = sorted[Math.ceil(rank)]! + 0
  if (low === high) return low
  const part = rank - Math.floor(rank)
  if (part === 0) return low
  return Number.isFinite(high - low) ? low + (high - low) * part : low * (1 - part) + high * part
}

const steps = fc.constantFrom(1, 3, 100)
const numbers = fc.oneof(
  fc.double(),
  fc.constantFrom(-0, 0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e308, -1e308),
)

test('percentiles are interpolated between the two nearest values', async () => {
  const property = fc.asyncProperty(
    rowsOf(numbers),
    fc.double({ min: 0, max: 1, noNaN: true }),
    steps,
    async (rows, fraction, step) => {
      const groups = groupsOf<number | null>(rows).map(present) as number[][]
      expect(await run('percentile', float64, rows, { option: fraction, step })).toEqual(
        groups.map(own => percentile(own, fraction)),
      )
      expect(await run('median', float64, rows, { step })).toEqual(groups.map(own => percentile(own, 0.5)))
    },
  )
  await fc.assert(property)
})

test.each<readonly [DataType, readonly unknown[], number]>([
  [int64, [2n ** 62n, 1n, 3n], 3],
  [{ kind: 'decimal', bits: 128, precision: 10, scale: 2 }, ['0.10', '0.30'], 0.2],
  [{ kind: 'int', bits: 8, signed: true }, [-3, 4], 0.5],
  [{ kind: 'float', bits: 32 }, [0.5, 0.75], 0.625],
])('a median of %o is a double', async (type, values, expected) => {
  const rows = values.map(value => [1, value] as const)
  const [, median] = await run('median', type, rows)
  expect(median).toBeCloseTo(expected, 12)
})

test('the median of distinct values counts each value once', async () => {
  const rows = [1, 1, 1, 5, 9].map(value => [0, value] as const)
  expect((await run('median', float64, rows))[0]).toBe(1)
  expect((await run('median', float64, rows, { distinct: true }))[0]).toBe(5)
})

describe('selection of a rank', () => {
  const pacer = new Pacer()
  test('finds the value and the next one', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.oneof(numbers, fc.integer({ min: -2, max: 2 }), fc.double({ min: 1, max: 1.0000000001 })), {
        minLength: 1,
        maxLength: 80,
      }),
      fc.nat(79),
      async (values, at) => {
        const rank = at % values.length
        const sorted = Float64Array.from(values).sort()
        const [value, next] = await selectRank(Float64Array.from(values), rank, pacer)
        expect(value).toBe(sorted[rank]! + 0)
        expect(next).toBe(sorted[Math.min(values.length - 1, rank + 1)]! + 0)
      },
    )
    await fc.assert(property, { numRuns: 500 })
  })

  test('finds the median of many values', async () => {
    const rows = Array.from({ length: 100_001 }, (_, i) => [2, (i * 7919) % 100_003] as const)
    const expected = percentile(
      rows.map(([, value]) => value),
      0.5,
    )
    expect(await run('median', float64, rows, { step: 10_000 })).toEqual([null, null, expected, null])
  })
})

test('variance and standard deviation, of a sample and of all values', async () => {
  const property = fc.asyncProperty(
    rowsOf(fc.integer({ min: -1000, max: 1000 })),
    steps,
    async (rows, step) => {
      const variances = (divisorOf: (count: number) => number) =>
        groupsOf<number | null>(rows).map(all => {
          const own = present(all) as number[]
          const divisor = divisorOf(own.length)
          if (divisor <= 0) return null
          const mean = own.reduce((a, b) => a + b, 0) / own.length
          return own.reduce((sum, value) => sum + (value - mean) ** 2, 0) / divisor
        })
      const root = (value: number | null) => (value === null ? null : Math.sqrt(value))
      const cases = [
        ['variance', variances(n => n - 1)],
        ['var_pop', variances(n => n)],
        ['stddev', variances(n => n - 1).map(root)],
        ['stddev_pop', variances(n => n).map(root)],
      ] as const
      for (const [fn, expected] of cases) {
        const found = await run(fn, float64, rows, { step })
        for (const [i, value] of found.entries()) {
          if (expected[i] === null) expect(value).toBe(null)
          else expect(value).toBeCloseTo(expected[i]!, 6)
        }
        expect(await run(fn, float64, rows, { step: 1000 })).toEqual(found)
      }
    },
  )
  await fc.assert(property)
})

test('a variance far from zero keeps its digits; of equal values it is exactly 0', async () => {
  const far = [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16].map(value => [0, value] as const)
  expect((await run('variance', float64, far))[0]).toBe(30)
  const equal = Array.from({ length: 10 }, () => [0, 0.1] as const)
  expect((await run('stddev', float64, equal))[0]).toBe(0)
  expect((await run('stddev', float64, equal.slice(0, 1)))[0]).toBe(null)
  expect((await run('stddev_pop', float64, equal.slice(0, 1)))[0]).toBe(0)
})

const texts = fc.oneof(
  fc.constantFrom('', 'a', 'b', 'é', 'long text of many bytes'),
  fc.string({ maxLength: 3 }),
)

test.each([
  ['text', utf8],
  ['dictionary', words],
])('aggregates of values in row order: %s', async (_, type) => {
  const property = fc.asyncProperty(rowsOf(texts), steps, async (rows, step) => {
    const groups = groupsOf<string | null>(rows)
    expect(await run('array_agg', type, rows, { step })).toEqual(
      groups.map(own => (own.length === 0 ? null : own)),
    )
    expect(await run('array_agg', type, rows, { step, distinct: true })).toEqual(
      groups.map(own => (own.length === 0 ? null : [...new Set(own)])),
    )
    for (const option of [', ', '']) {
      expect(await run('string_agg', type, rows, { step, option })).toEqual(
        groups.map(present).map(own => (own.length === 0 ? null : own.join(option))),
      )
    }
    expect(await run('first', type, rows, { step })).toEqual(groups.map(own => own[0] ?? null))
    expect(await run('last', type, rows, { step })).toEqual(groups.map(own => own.at(-1) ?? null))
    const modes = groups.map(present).map(own => {
      let best: string | null = null
      const count = (value: string | null) => own.filter(each => each === value).length
      for (const value of own) if (best === null || count(value) > count(best)) best = value
      return best
    })
    expect(await run('mode', type, rows, { step })).toEqual(modes)
  })
  await fc.assert(property, { numRuns: 60 })
})

test('lists, first and last take values of every type', async () => {
  const vector: DataType = {
    kind: 'fixed_size_list',
    size: 2,
    child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
  }
  const rows = [
    [1, [1, 2]],
    [0, null],
    [1, [3, 4]],
  ] as const
  const [, last] = await run('last', vector, rows, { step: 1 })
  expect(last).toEqual([3, 4])
  expect((await run('first', vector, rows))[0]).toBe(null)
  const [, lists] = (await run('array_agg', vector, rows)) as [unknown, ArrayLike<number>[]]
  expect(lists.map(list => [...(list as Float32Array)])).toEqual([
    [1, 2],
    [3, 4],
  ])
})

test('the last of many rows does not keep the others', async () => {
  const rows = Array.from({ length: 100_000 }, (_, i) => [i % 3, i] as const)
  expect(await run('last', float64, rows, { step: 5000 })).toEqual([99_999, 99_997, 99_998, null])
})

test('memory is limited, and the error says what to do', async () => {
  const long = 'x'.repeat(1024 * 1024)
  const rows = Array.from({ length: 40 }, () => [0, long] as const)
  for (const fn of ['array_agg', 'string_agg'] as const) {
    await expect(run(fn, utf8, rows, { option: '' })).rejects.toMatchObject({
      code: 13,
      message: `${fn} keeps at most 32 MiB of values of all groups in memory`,
      hint: expect.stringContaining('filter them with where'),
    })
  }
})
