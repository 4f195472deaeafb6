import { describe, expect, test } from 'vitest'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType } from '../../src/arrow/types.js'
import { batchToRows, columnValues, valueAt } from '../../src/arrow/values.js'

const column = (type: DataType, values: unknown[]) =>
  rowsToBatch(
    values.map(c => ({ c })),
    { fields: [{ name: 'c', type, nullable: true }] },
  ).columns[0]!

const int64: DataType = { kind: 'int', bits: 64, signed: true }

describe('an int64', () => {
  const big = 2n ** 53n

  test('is a number if a number holds it exactly', () => {
    expect(columnValues(column(int64, [big - 1n, -big + 1n, null]))).toEqual([
      2 ** 53 - 1,
      -(2 ** 53) + 1,
      null,
    ])
  })

  test('past 2^53 is refused rather than rounded, naming column, value and option', () => {
    const batch = rowsToBatch([{ id: 1n }, { id: big + 1n }])
    expect(() => batchToRows(batch)).toThrow(
      expect.objectContaining({
        code: 13,
        message: 'column "id" holds 9007199254740993, which a number cannot represent exactly',
        hint: "read with int64: 'bigint' or 'string'",
      }),
    )
    expect(() => valueAt(batch.columns[0]!, 1)).toThrow(/^a column holds 9007199254740993/)
    const nested = rowsToBatch([{ user: { ids: [big + 1n] } }])
    expect(() => batchToRows(nested)).toThrow(/column "user.ids" holds/)
  })

  test('is returned as bigint or text if the option says so', () => {
    const values = column(int64, [big + 1n])
    expect(columnValues(values, { int64: 'bigint' })).toEqual([big + 1n])
    expect(columnValues(values, { int64: 'string' })).toEqual(['9007199254740993'])
  })
})

describe('a timestamp', () => {
  const timestamp = (unit: 's' | 'ms' | 'us' | 'ns'): DataType => ({
    kind: 'timestamp',
    unit,
    timezone: 'UTC',
  })

  test('is a Date if a Date holds it exactly', () => {
    expect(columnValues(column(timestamp('ns'), [1_000_000n, -1_000_000n]))).toEqual([
      new Date(1),
      new Date(-1),
    ])
    expect(columnValues(column(timestamp('s'), [1n]))).toEqual([new Date(1000)])
  })

  test('finer than a millisecond, or out of its range, is its count', () => {
    expect(columnValues(column(timestamp('ns'), [1_000_001n, -1n]))).toEqual([1_000_001n, -1n])
    expect(columnValues(column(timestamp('s'), [8_640_000_000_001n]))).toEqual([8_640_000_000_001n])
  })

  test('written back as it was read is the same', () => {
    const type = timestamp('us')
    const values = columnValues(column(type, [1n, 2000n, -7n]))
    expect(column(type, values).values).toEqual(BigInt64Array.of(1n, 2000n, -7n))
  })
})

describe('values', () => {
  test('of binary columns and vectors are copies', () => {
    const batch = rowsToBatch([{ b: Uint8Array.of(1, 2), v: Float32Array.of(1, 2) }])
    const [row] = batchToRows(batch)
    ;(row!.b as Uint8Array)[0] = 9
    ;(row!.v as Float32Array)[0] = 9
    expect(batchToRows(batch)).toEqual([{ b: Uint8Array.of(1, 2), v: Float32Array.of(1, 2) }])
  })

  test('of vectors are plain arrays if the option says so', () => {
    const batch = rowsToBatch([{ v: Float32Array.of(1, 0.5), nested: { w: Int8Array.of(1) } }, { v: null }])
    const plain = [
      { v: [1, 0.5], nested: { w: [1] } },
      { v: null, nested: null },
    ]
    const rows = batchToRows(batch, { vectors: 'array' })
    expect(rows).toStrictEqual(plain)
    expect(JSON.parse(JSON.stringify(rows))).toEqual(plain)
  })

  test('of single rows are those of all rows', () => {
    const batch = rowsToBatch([
      { a: 1, b: 'ascii', c: [1], d: { e: true } },
      { a: null, b: 'naïve', c: null, d: null },
    ])
    for (const values of batch.columns) {
      expect([0, 1].map(row => valueAt(values, row))).toEqual(columnValues(values))
    }
  })

  test('of a dictionary whose entry is null are null', () => {
    const type: DataType = {
      kind: 'dictionary',
      index: { kind: 'int', bits: 8, signed: true },
      value: { kind: 'utf8', large: false },
      ordered: false,
    }
    const words = column(type, ['a', 'b', 'a', 'a'])
    const dictionary = column({ kind: 'utf8', large: false }, ['a', null])
    expect(columnValues({ ...words, dictionary })).toEqual(['a', null, 'a', 'a'])
    expect(valueAt({ ...words, dictionary }, 1)).toBeNull()
  })
})
