/** Sorted rows against a comparison of every value with every other, at sizes at which each way to sort is taken. */
import { expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, IntType } from '../../src/arrow/types.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { orderOfScalars } from '../../src/sql/values/scalar-order.js'
import { scalarAt } from '../../src/sql/values/vector.js'
import { sortColumn } from '../../src/write/sort-column.js'

const many = 70_000
let state = 11
function random(): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state / 2 ** 32
}

function columnOf(type: DataType, length: number, value: (row: number) => unknown): Column {
  const rows = Array.from({ length }, (_, row) => ({ v: value(row) }))
  return rowsToBatch(rows, { fields: [{ name: 'v', type, nullable: true }] }).columns[0]!
}

const float64: DataType = { kind: 'float', bits: 64 }
const utf8: DataType = { kind: 'utf8', large: false }
const int = (bits: 8 | 16 | 32 | 64, signed: boolean): IntType => ({ kind: 'int', bits, signed })
const specials = [Number.NaN, 0, -0, Infinity, -Infinity, null, 5e-324, -5e-324]

const cases: Readonly<Record<string, () => Column>> = {
  'floats with every special one': () =>
    columnOf(float64, many, row => (row % 7 === 0 ? specials[row % 8] : random() - 0.5)),
  'floats of which many are equal': () => columnOf(float64, many, () => Math.floor(random() * 50)),
  'small numbers of 64 bits': () =>
    columnOf(int(64, true), many, () => BigInt(Math.floor(random() * 1e5) - 5e4)),
  'numbers of all 64 bits': () =>
    columnOf(
      int(64, false),
      many,
      () => BigInt(Math.floor(random() * 2 ** 32)) * 4294967296n + BigInt(state),
    ),
  'narrow numbers': () =>
    columnOf(int(16, true), 3000, row => (row % 5 === 0 ? null : Math.floor(random() * 999) - 500)),
  'floats of 32 bits': () =>
    columnOf({ kind: 'float', bits: 32 }, 3000, row => specials[row % 8] ?? random()),
  decimals: () =>
    columnOf(
      { kind: 'decimal', bits: 128, precision: 30, scale: 0 },
      3000,
      () => `${Math.floor(random() * 900) - 450}${'0'.repeat(12)}`,
    ),
  'short texts': () =>
    columnOf(utf8, 3000, row => (row % 9 === 0 ? null : 'abc'.slice(0, row % 4) + '\0'.repeat(row % 3))),
  'texts that begin alike': () =>
    columnOf(
      utf8,
      20_000,
      () => `https://example.com/${Math.floor(random() * 4)}/items/${Math.floor(random() * 5000)}`,
    ),
  'one long text': () => columnOf(utf8, 3000, () => 'the same text in every row, and no other'),
  'texts of which one begins the next': () => columnOf(utf8, 3000, row => 'x'.repeat(row % 100)),
  'a dictionary': () =>
    columnOf({ kind: 'dictionary', index: int(16, true), value: utf8, ordered: false }, 3000, row =>
      row % 11 === 0 ? null : `word ${Math.floor(random() * 40)}`,
    ),
  'no rows': () => columnOf(float64, 0, () => null),
  'nothing but nulls': () => columnOf(utf8, 50, () => null),
  nulls: () => columnOf({ kind: 'null' }, 50, () => null),
}

test.each(Object.entries(cases))('%s', async (_, make) => {
  const column = make()
  const scalars = Array.from({ length: column.length }, (_, row) => scalarAt(column, row))
  const expected = scalars.flatMap((scalar, row) => (scalar === null ? [] : [row]))
  expected.sort((a, b) => orderOfScalars(scalars[a]!, scalars[b]!) || a - b)
  const { rows, values } = await sortColumn(column, new Pacer())
  expect(Buffer.from(rows.slice().buffer).equals(Buffer.from(Uint32Array.from(expected).buffer))).toBe(true)
  if (values === null) return
  expect([values.type, values.length, values.nullCount]).toEqual([column.type, rows.length, 0])
  let differing = 0
  for (const [i, row] of expected.entries())
    if (orderOfScalars(scalarAt(values, i), scalars[row]!) !== 0) differing++
  expect(differing).toBe(0)
})

test('a dictionary with an entry twice, and one that is null', async () => {
  const dictionary = columnOf(utf8, 4, row => ['b', 'a', 'b', null][row])
  const indices = Int8Array.of(2, 0, 1, 3, 2, 0)
  const type: DataType = { kind: 'dictionary', index: int(8, true), value: utf8, ordered: false }
  const column = {
    type,
    length: 6,
    nullCount: 0,
    validity: null,
    values: indices,
    offsets: null,
    children: [],
    dictionary,
  } as const
  expect([...(await sortColumn(column, new Pacer())).rows]).toEqual([2, 0, 1, 4, 5])
})
