/** Sorting and grouping against the plainest way to do it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { Grouper } from '../../src/query/group.js'
import type { KeyOrder } from '../../src/query/key-store.js'
import { Sorter } from '../../src/query/sort.js'

interface Kind {
  readonly type: DataType
  readonly values: fc.Arbitrary<unknown>
  readonly compare: (a: never, b: never) => number
}

const byNumber = (a: number | bigint, b: number | bigint) => {
  if (a < b) return -1
  if (a > b) return 1
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
}
const byBytes = (a: Uint8Array | string, b: Uint8Array | string) =>
  Buffer.compare(Buffer.from(a), Buffer.from(b))
const int = (bits: 8 | 16 | 32 | 64, signed: boolean): DataType => ({ kind: 'int', bits, signed })

const words = fc.constantFrom(
  '',
  'a',
  'ab',
  'abcdefgh',
  'abcdefghi',
  'abcdefgh\0',
  'ä',
  '\uffff',
  '😀',
  'abcdefghzz',
)
const kinds: Readonly<Record<string, Kind>> = {
  bool: { type: { kind: 'bool' }, values: fc.boolean(), compare: byNumber },
  int8: { type: int(8, true), values: fc.integer({ min: -128, max: 127 }), compare: byNumber },
  uint32: { type: int(32, false), values: fc.nat(2 ** 32 - 1), compare: byNumber },
  int64: {
    type: int(64, true),
    values: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    compare: byNumber,
  },
  uint64: { type: int(64, false), values: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), compare: byNumber },
  float32: { type: { kind: 'float', bits: 32 }, values: fc.float(), compare: byNumber },
  float64: { type: { kind: 'float', bits: 64 }, values: fc.double(), compare: byNumber },
  utf8: {
    type: { kind: 'utf8', large: false },
    values: fc.oneof(words, fc.string({ unit: 'binary' })),
    compare: byBytes,
  },
  binary: {
    type: { kind: 'binary', large: false },
    values: fc.uint8Array({ maxLength: 12 }),
    compare: byBytes,
  },
}

const keyColumns = fc
  .array(
    fc.record({
      kind: fc.constantFrom(...Object.keys(kinds)),
      ascending: fc.boolean(),
      nullsFirst: fc.boolean(),
    }),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .chain(keys =>
    fc
      .array(
        fc.tuple(
          ...keys.map(({ kind }) =>
            fc.option(fc.oneof({ weight: 3, arbitrary: fewOf(kind) }, kinds[kind]!.values)),
          ),
        ),
        { maxLength: 60 },
      )
      .map(rows => ({ keys, rows })),
  )

/** A few values, so that there are equal ones. */
function fewOf(kind: string): fc.Arbitrary<unknown> {
  const few: Readonly<Record<string, readonly unknown[]>> = {
    float32: [0, -0, 1.5, Number.NaN, -Infinity, Infinity],
    float64: [0, -0, 1.5, Number.NaN, -Infinity, Infinity],
    int64: [-1n, 0n, 1n << 32n, (1n << 53n) + 1n],
    uint64: [0n, 1n << 63n, (1n << 53n) + 1n],
    utf8: ['', 'abcdefgh', 'abcdefgh!'],
    binary: [new Uint8Array(0), new Uint8Array([0]), new Uint8Array([0, 0])],
    bool: [true],
  }
  return fc.constantFrom(...(few[kind] ?? [0, 1, 2]))
}

function columnsOf(
  keys: readonly { readonly kind: string }[],
  rows: readonly (readonly unknown[])[],
): Column[] {
  const schema = {
    fields: keys.map(({ kind }, i) => ({ name: `k${i}`, type: kinds[kind]!.type, nullable: true })),
  }
  const objects = rows.map(row => Object.fromEntries(row.map((value, i) => [`k${i}`, value])))
  return [...rowsToBatch(objects, schema).columns]
}

function compareRows(
  keys: readonly ({ readonly kind: string } & KeyOrder)[],
  a: readonly unknown[],
  b: readonly unknown[],
): number {
  for (const [i, { kind, ascending, nullsFirst }] of keys.entries()) {
    const [x, y] = [a[i], b[i]]
    if (x === null || y === null) {
      if (x === y) continue
      return (x === null) === nullsFirst ? -1 : 1
    }
    const order = kinds[kind]!.compare(x as never, y as never)
    if (order !== 0) return ascending ? order : -order
  }
  return 0
}

function numbersFrom(from: number, count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => from + i)
}

describe('sorting', () => {
  test('returns the first rows in order, equal ones in their original order', async () => {
    const cases = fc.tuple(keyColumns, fc.nat(70), fc.integer({ min: 1, max: 20 }))
    await fc.assert(
      fc.asyncProperty(cases, async ([{ keys, rows }, keep, step]) => {
        const types = keys.map(({ kind }) => kinds[kind]!.type)
        const sorter = new Sorter(types, keys, keep, rows.length)
        const pacer = new Pacer()
        for (let from = 0; from < rows.length; from += step) {
          await sorter.add(columnsOf(keys, rows.slice(from, from + step)), numbersFrom(from, 10_000), pacer)
        }
        const expected = rows.map((_, i) => i).sort((a, b) => compareRows(keys, rows[a]!, rows[b]!) || a - b)
        expect([...(await sorter.finish(pacer))]).toEqual(expected.slice(0, keep))
      }),
      { numRuns: 500 },
    )
  })

  test('discards rows that cannot be among the first, and merges runs', async () => {
    const sorter = new Sorter([kinds.int64!.type], [{ ascending: true, nullsFirst: false }], 1000, 200_000)
    const all = new Sorter([kinds.int64!.type], [{ ascending: true, nullsFirst: false }], 200_000, 200_000)
    const pacer = new Pacer()
    const values = Array.from({ length: 200_000 }, (_, i) => BigInt((i * 7919) % 200_003))
    for (let from = 0; from < values.length; from += 10_000) {
      const columns = columnsOf(
        [{ kind: 'int64' }],
        values.slice(from, from + 10_000).map(value => [value]),
      )
      await sorter.add(columns, numbersFrom(from, 10_000), pacer)
      await all.add(columns, numbersFrom(from, 10_000), pacer)
    }
    const expected = values.map((_, i) => i).sort((a, b) => Number(values[a]! - values[b]!))
    expect([...(await sorter.finish(pacer))]).toEqual(expected.slice(0, 1000))
    expect([...(await all.finish(pacer))]).toEqual(expected)
  })
})

test.each([
  ['short', ''],
  ['long', 'https://'],
])('many rows with %s texts', async (_, start) => {
  const keys = [
    { kind: 'utf8', ascending: false, nullsFirst: true },
    { kind: 'float64', ascending: true, nullsFirst: false },
  ]
  const rows = Array.from({ length: 40_000 }, (_, i) => {
    const text = i % 11 === 0 ? null : `${start}${(i * 7919) % 101}`
    return [text, i % 13 === 0 ? null : (i * 31) % 50 === 0 ? Number.NaN : ((i * 31) % 50) - 25]
  })
  const sorter = new Sorter([kinds.utf8!.type, kinds.float64!.type], keys, rows.length, rows.length)
  const pacer = new Pacer()
  for (let from = 0; from < rows.length; from += 10_000) {
    await sorter.add(columnsOf(keys, rows.slice(from, from + 10_000)), numbersFrom(from, 10_000), pacer)
  }
  const expected = rows.map((_, i) => i).sort((a, b) => compareRows(keys, rows[a]!, rows[b]!) || a - b)
  expect([...(await sorter.finish(pacer))]).toEqual(expected)
})

test('rows share a group exactly if no order distinguishes them, and groups are numbered by first occurrence', () => {
  fc.assert(
    fc.property(keyColumns, fc.integer({ min: 1, max: 20 }), fc.nat(), ({ keys, rows }, step, seed) => {
      const grouper = new Grouper(
        keys.map(({ kind }) => kinds[kind]!.type),
        seed,
      )
      const groups: number[] = []
      for (let from = 0; from < rows.length; from += step) {
        groups.push(...grouper.add(columnsOf(keys, rows.slice(from, from + step))))
      }
      const firsts: number[] = []
      const expected = rows.map((row, i) => {
        const known = firsts.findIndex(first => compareRows(keys, rows[first]!, row) === 0)
        if (known !== -1) return known
        return firsts.push(i) - 1
      })
      expect(groups).toEqual(expected)
      expect(grouper.count).toBe(firsts.length)
      const columns = columnsOf(
        keys,
        firsts.map(first => rows[first]!),
      )
      const values = (column: Column) => columnValues(column, { int64: 'bigint' })
      expect(grouper.keys().map(values)).toEqual(columns.map(values))
    }),
    { numRuns: 500 },
  )
})

test('many groups', () => {
  const grouper = new Grouper([kinds.uint32!.type], 7)
  for (let from = 0; from < 100_000; from += 10_000) {
    const rows = Array.from({ length: 10_000 }, (_, i) => [(from + i) % 70_000])
    const groups = grouper.add(columnsOf([{ kind: 'uint32' }], rows))
    expect([...groups]).toEqual(rows.map(([value]) => value))
  }
  expect(grouper.count).toBe(70_000)
})
