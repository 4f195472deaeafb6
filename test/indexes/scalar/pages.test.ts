/** Segments of many pages, and of none. */
import { describe, expect, test } from 'vitest'
import type { Column } from '../../../src/arrow/column.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import type { DataType } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { SheafError } from '../../../src/errors.js'
import { openSegment } from '../../../src/indexes/scalar/open-segment.js'
import type { ScalarKind, ScalarProbe } from '../../../src/indexes/scalar/probe.js'
import type { RowRun } from '../../../src/indexes/scalar/segment.js'
import { indexableBy, maxSegmentRows, ordinalAt } from '../../../src/indexes/scalar/segment-schema.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { segmentBytes, segmentFile, segmentOf } from '../../support/segments.js'

const utf8: DataType = { kind: 'utf8', large: false }
const int32: DataType = { kind: 'int', bits: 32, signed: true }
const int64: DataType = { kind: 'int', bits: 64, signed: true }
const float64: DataType = { kind: 'float', bits: 64 }
const rowCount = 13_000

/** Numbers that are the same in every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function columnOf(type: DataType, values: readonly unknown[]): Column {
  const schema = { fields: [{ name: 'v', type, nullable: true }] }
  return rowsToBatch(
    values.map(v => ({ v })),
    schema,
  ).columns[0]!
}

interface Case {
  readonly type: DataType
  readonly value: (random: () => number, row: number) => bigint | number | string | null
}

const cases: Readonly<Record<string, Case>> = {
  'all rows distinct': { type: int64, value: (_, row) => BigInt((row * 7919) % rowCount) },
  'few values, many nulls': {
    type: int32,
    value: random => (random() < 0.4 ? null : BigInt(Math.floor(random() * 5))),
  },
  'floats, some equal': {
    type: float64,
    value: random => (random() < 0.01 ? null : Math.floor(random() * 9000) / 8),
  },
  'one value': { type: int32, value: () => 7n },
  'one value or none': { type: int32, value: (_, row) => (row % 3 === 0 ? null : 7n) },
  'long texts': {
    type: utf8,
    value: random => `https://example.com/${'x'.repeat(60)}/${Math.floor(random() * 3000)}`,
  },
  'nothing but nulls': { type: float64, value: () => null },
}

function isTrue(probe: ScalarProbe, value: Scalar): boolean {
  if (probe.kind === 'null' || value === null) return probe.kind === 'null' && value === null
  if (probe.kind !== 'range') return probe.values.includes(value)
  const { low, high } = probe
  const [least, most] = [low?.value ?? value, high?.value ?? value]
  if (value < least! || value > most!) return false
  return (value !== low?.value || low.inclusive) && (value !== high?.value || high.inclusive)
}

function probesOf(values: readonly Scalar[], random: () => number): ScalarProbe[] {
  const present = values.filter(value => value !== null)
  const probes: ScalarProbe[] = [{ kind: 'null' }, { kind: 'range', low: null, high: null }]
  if (present.length === 0) return probes
  const any = () => present[Math.floor(random() * present.length)]!
  for (let i = 0; i < 3; i++) {
    const inclusive = random() < 0.5
    probes.push(
      { kind: 'range', low: { value: any(), inclusive }, high: null },
      { kind: 'range', low: null, high: { value: any(), inclusive } },
      { kind: 'range', low: { value: any(), inclusive }, high: { value: any(), inclusive: !inclusive } },
    )
    const value = any()
    probes.push({ kind: 'range', low: { value, inclusive: true }, high: { value, inclusive: true } })
    probes.push({ kind: 'members', values: [...new Set(Array.from({ length: 20 ** i }, any))] })
  }
  return probes
}

describe.each(Object.entries(cases))('%s', (_, { type, value }) => {
  const random = numbers(5)
  const values = Array.from({ length: rowCount }, (_, row) => value(random, row))
  const column = columnOf(type, values)

  test.each(['BTREE', 'BITMAP'] as const)('%s', async kind => {
    const segment = await segmentOf(kind, column)
    expect(segment.rows).toBe(rowCount)
    for (const probe of probesOf(values, numbers(9))) {
      const expected: number[] = []
      for (const [row, each] of values.entries()) if (isTrue(probe, each)) expected.push(row)
      const found = await segment.find(probe, new Pacer())
      expect(await segment.estimate(probe, new Pacer())).toBe(expected.length)
      expect(String(found.toIndices()) === String(expected)).toBe(true)
    }
  })
})

test('the estimate for very many members is an upper bound', async () => {
  const values = Array.from({ length: rowCount }, (_, row) => BigInt(row >>> 1))
  const column = columnOf(int64, values)
  const probe: ScalarProbe = {
    kind: 'members',
    values: values.filter((_, row) => row % 4 === 0 && row < 6000),
  }
  for (const kind of ['BTREE', 'BITMAP'] as const) {
    const segment = await segmentOf(kind, column)
    const { count } = await segment.find(probe, new Pacer())
    const estimate = await segment.estimate(probe, new Pacer())
    expect(count).toBe(3000)
    expect(estimate).toBeGreaterThanOrEqual(count)
    expect(estimate).toBeLessThan(rowCount)
  }
})

test('every row has the same labels, or one of its own', async () => {
  const list: DataType = { kind: 'list', large: false, child: { name: 'item', type: utf8, nullable: true } }
  const rows = Array.from({ length: rowCount }, (_, row) => {
    return row % 10 === 9 ? null : ['all', `even ${row % 2}`, `own ${row}`, 'all', null]
  })
  const segment = await segmentOf('LABEL_LIST', columnOf(list, rows))
  const find = async (kind: 'any' | 'all', ...values: string[]) => {
    return [...(await segment.find({ kind, values }, new Pacer())).toIndices()]
  }
  const present = rows.flatMap((row, i) => (row === null ? [] : [i]))
  expect(await find('any', 'all')).toEqual(present)
  expect(await find('all', 'even 0', 'all')).toEqual(present.filter(row => row % 2 === 0))
  expect(await find('all', 'own 12', 'all', 'even 0')).toEqual([12])
  expect(await find('all', 'own 12', 'even 1')).toEqual([])
  expect(await find('any', 'own 12', 'own 9', 'own 7', 'none')).toEqual([7, 12])
  expect(await segment.estimate({ kind: 'all', values: ['own 12', 'all'] }, new Pacer())).toBe(1)
})

test.each(['BTREE', 'BITMAP'] as const)('a %s of no rows answers', async kind => {
  const segment = await segmentOf(kind, columnOf(int64, []))
  for (const probe of [{ kind: 'null' }, { kind: 'members', values: [1n] }] as const) {
    expect((await segment.find(probe, new Pacer())).count).toBe(0)
    expect(await segment.estimate(probe, new Pacer())).toBe(0)
  }
})

test('a sorted page of numbers takes less than 1.5 times their size', async () => {
  const random = numbers(1)
  const column = columnOf(
    float64,
    Array.from({ length: 3 * rowCount }, () => random()),
  )
  const { length } = await segmentBytes('BTREE', column)
  expect(length / (8 * column.length)).toBeLessThan(1.45)
})

test('the directory is the last batch: the first value of each stride, and the number of values before it', async () => {
  const column = columnOf(
    int32,
    Array.from({ length: 10_000 }, (_, row) => (row < 9000 ? 20_000 - row : null)),
  )
  const file = segmentFile(await segmentBytes('BTREE', column))
  expect(file.batchRows).toEqual([8192, 808, 1000, 71])
  expect(columnValues(await file.column(3, 0))).toEqual(
    Array.from({ length: 71 }, (_, stride) => 11_001 + 128 * stride),
  )
  const starts = (await file.column(3, 1)).values as Uint8Array
  expect(Array.from({ length: 71 }, (_, stride) => ordinalAt(starts, stride))).toEqual(
    Array.from({ length: 71 }, (_, stride) => 128 * stride),
  )
})

test('a stride of texts has at most 4 KiB of them, or 16 texts', async () => {
  const strides = async (bytes: number) => {
    const column = columnOf(
      utf8,
      Array.from({ length: 1600 }, (_, row) => `${row}`.padStart(bytes, 'x')),
    )
    return segmentFile(await segmentBytes('BTREE', column)).batchRows.at(-1)
  }
  expect(await strides(8)).toBe(13)
  expect(await strides(64)).toBe(25)
  expect(await strides(2000)).toBe(100)
})

test('a directory whose strides are out of order is corruption', async () => {
  const column = columnOf(
    int32,
    Array.from({ length: 500 }, (_, row) => row),
  )
  const file = segmentFile(await segmentBytes('BTREE', column))
  const damaged = {
    ...file,
    column: async (batch: number, column: number) => {
      const found = await file.column(batch, column)
      return batch === 1 && column === 1 ? { ...found, values: new Uint8Array(12) } : found
    },
  }
  const probe: ScalarProbe = { kind: 'members', values: [200n] }
  await expect(openSegment('BTREE', 500, damaged).find(probe, new Pacer())).rejects.toThrow('stride 1')
})

test('a file that is not a segment over so many rows is corrupted', async () => {
  const bytes = await segmentBytes('BTREE', columnOf(int32, [3, 1, null]))
  expect(() => openSegment('BTREE', 4, segmentFile(bytes))).toThrow('3 ordinals for 4 rows')
  const none = () => Promise.reject(new Error('none'))
  const batches = (batchRows: number[]) => ({ batchRows, column: none, peek: () => undefined, rows: none })
  for (const kind of ['BTREE', 'BITMAP'] satisfies ScalarKind[]) {
    expect(() => openSegment(kind, 3, batches([]))).toThrow(SheafError)
    expect(() => openSegment(kind, 3, batches([3, 65]))).toThrow('entries for 1 pages')
  }
  expect(() => openSegment('BITMAP', 3, batches([2, 1, 1, 1]))).toThrow('2 entries for null')
  expect(() => openSegment('BTREE', 300, batches([300, 2]))).toThrow('2 strides for 300 values')
  expect(() => openSegment('BTREE', 9, batches([3, 3, 3, 1]))).toThrow('a page of 3 nulls')
})

test('an ordinal past the rows is corruption', async () => {
  const type: DataType = { kind: 'fixed_size_binary', width: 3 }
  const ordinals = columnOf(type, [Uint8Array.of(0, 0, 0), Uint8Array.of(9, 0, 0)])
  const columns = [columnOf(int32, [1, 2]), ordinals]
  const file = {
    batchRows: [2, 1],
    column: async (batch: number, column: number) => {
      return batch === 0
        ? columns[column]!
        : columnOf([int32, type][column]!, [[1], [new Uint8Array(3)]][column]!)
    },
    peek: () => undefined,
    rows: async (_runs: readonly RowRun[], column: number) => [{ column: columns[column]!, from: 0 }],
  }
  const segment = openSegment('BTREE', 2, file)
  const probe: ScalarProbe = { kind: 'members', values: [2n] }
  await expect(segment.find(probe, new Pacer())).rejects.toThrow('of 2 rows has the ordinal 9')
})

test('which types can be indexed', () => {
  const list = (type: DataType): DataType => {
    return { kind: 'list', large: false, child: { name: 'item', type, nullable: true } }
  }
  const dictionary: DataType = {
    kind: 'dictionary',
    index: { kind: 'int', bits: 8, signed: true },
    value: utf8,
    ordered: false,
  }
  for (const kind of ['BTREE', 'BITMAP'] as const) {
    for (const type of [utf8, int64, dictionary, { kind: 'bool' } as const])
      expect(indexableBy(kind, type)).toBe(true)
    expect(indexableBy(kind, list(utf8))).toBe(false)
  }
  expect(indexableBy('LABEL_LIST', list(utf8))).toBe(true)
  expect(
    indexableBy('LABEL_LIST', {
      kind: 'fixed_size_list',
      size: 3,
      child: { name: 'i', type: int64, nullable: true },
    }),
  ).toBe(true)
  expect(indexableBy('LABEL_LIST', list(list(utf8)))).toBe(false)
  expect(indexableBy('LABEL_LIST', utf8)).toBe(false)
  expect(maxSegmentRows).toBe(8_388_608)
})
