import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { concatColumns } from '../../src/arrow/concat.js'
import { differingRows } from '../../src/arrow/differing-rows.js'
import { sliceColumn } from '../../src/arrow/slice.js'
import { takeColumn } from '../../src/arrow/take.js'
import { valueAt } from '../../src/arrow/values.js'
import { batches } from '../support/arrow-generators.js'

/** A value of a row as text; -0 and NaN as such. */
function shown(column: Column, row: number): string {
  return JSON.stringify(valueAt(column, row, { int64: 'bigint' }), (_, value) => {
    if (typeof value === 'bigint') return `${value}n`
    if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
    return ArrayBuffer.isView(value) ? [value.constructor.name, ...(value as Uint8Array)] : value
  })
}

test('columns differ exactly in the rows whose values differ, for any memory layout', () => {
  fc.assert(
    fc.property(batches, fc.infiniteStream(fc.nat(3)), ({ schema, batches: list }, shift) => {
      const columns = schema.fields.map((_, c) => list.map(batch => batch.columns[c]!))
      for (const pieces of columns) {
        const [first] = pieces
        if (first === undefined || first.length === 0) continue
        // Some rows stay where they are, others take the place of another one.
        const rows = Uint32Array.from(
          { length: first.length },
          (_, row) => (row + shift.next().value!) % first.length,
        )
        const twice = takeColumn(
          concatColumns([first, first]),
          rows.map(row => first.length + row),
        )
        const other = sliceColumn(twice, 0, first.length)
        const differing = differingRows(first, other)
        for (let row = 0; row < first.length; row++) {
          expect(differing.has(row)).toBe(shown(first, row) !== shown(other, row))
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('a dictionary compares by its values', () => {
  const type = {
    kind: 'dictionary',
    index: { kind: 'int', bits: 8, signed: true },
    value: { kind: 'utf8', large: false },
    ordered: false,
  } as const
  const texts = (bytes: string): Column => ({
    type: type.value,
    length: bytes.length,
    nullCount: 0,
    validity: null,
    values: new TextEncoder().encode(bytes),
    offsets: Int32Array.from({ length: bytes.length + 1 }, (_, i) => i),
    children: [],
    dictionary: null,
  })
  const column = (indices: number[], dictionary: string): Column => ({
    type,
    length: indices.length,
    nullCount: 0,
    validity: null,
    values: Int8Array.from(indices),
    offsets: null,
    children: [],
    dictionary: texts(dictionary),
  })
  const differing = differingRows(column([0, 1, 0], 'ab'), column([1, 0, 0], 'ba'))
  expect([...differing.toIndices()]).toEqual([2])
})
