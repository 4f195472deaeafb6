import { expect, test } from 'vitest'
import { exactBits } from '../../src/arrow/bits.js'
import type { Column } from '../../src/arrow/column.js'
import { concatColumns } from '../../src/arrow/concat.js'
import { CellGatherer } from '../../src/arrow/gather-cells.js'
import { cellBytes, viewCells } from '../../src/arrow/layout.js'
import { takeColumn } from '../../src/arrow/take.js'
import type { DataType } from '../../src/arrow/types.js'

const types: readonly DataType[] = [
  { kind: 'int', bits: 8, signed: true },
  { kind: 'float', bits: 16 },
  { kind: 'int', bits: 32, signed: true },
  { kind: 'float', bits: 32 },
  { kind: 'float', bits: 64 },
  { kind: 'int', bits: 64, signed: false },
  { kind: 'fixed_size_binary', width: 3 },
]

/** Eleven rows of bytes that count, every third null where `nulls`. */
function column(type: DataType, seed: number, nulls: boolean): Column {
  const length = 11
  const bytes = Uint8Array.from({ length: length * cellBytes(type) }, (_, i) => seed + i * 37)
  return {
    type,
    length,
    nullCount: nulls ? 4 : 0,
    validity: nulls ? Uint8Array.of(0b10110110, 0b101) : null,
    values: viewCells(type, bytes, length),
    offsets: null,
    children: [],
    dictionary: null,
  }
}

test.each(types)('rows of several columns are gathered together as one by one: $kind $bits', type => {
  const columns = [column(type, 1, false), column(type, 90, true), column(type, 170, false)]
  const rows = [Uint32Array.of(10, 0), Uint32Array.of(0, 1, 3, 9), Uint32Array.of(5)]
  const places = [Uint32Array.of(6, 1), Uint32Array.of(0, 2, 5, 3), Uint32Array.of(4)]
  const gatherer = new CellGatherer(type, 7)
  const numbers = new Uint32Array(7)
  for (const [i, each] of columns.entries()) {
    gatherer.add(each, rows[i]!, places[i]!)
    for (const [n, place] of places[i]!.entries()) numbers[place] = i * 11 + rows[i]![n]!
  }
  const gathered = gatherer.column()
  const expected = takeColumn(concatColumns(columns), numbers)
  expect(gathered.nullCount).toBe(expected.nullCount)
  expect(new Uint8Array(gathered.values!.buffer)).toStrictEqual(new Uint8Array(expected.values!.buffer))
  expect(exactBits(gathered.validity!, 7)).toStrictEqual(exactBits(expected.validity!, 7))
})

test('codes of a dictionary are not gathered', () => {
  const index = { kind: 'int', bits: 8, signed: true } as const
  const type: DataType = {
    kind: 'dictionary',
    index,
    value: { kind: 'utf8', large: false },
    ordered: false,
  } as never
  expect(CellGatherer.takes(type)).toBe(false)
  expect(CellGatherer.takes({ kind: 'utf8', large: false } as DataType)).toBe(false)
})
