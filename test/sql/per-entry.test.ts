import { describe, expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { sliceColumn } from '../../src/arrow/slice.js'
import type { DataType } from '../../src/arrow/types.js'
import { invalidInput } from '../../src/errors.js'
import { CallNode, CastNode, IsNode } from '../../src/sql/bound.js'
import { ColumnNode } from '../../src/sql/column-node.js'
import { functionNamed } from '../../src/sql/functions/functions.js'
import { EntryCache } from '../../src/sql/per-entry.js'
import type { RowMask } from '../../src/sql/values/vector.js'

const utf8: DataType = { kind: 'utf8', large: false }
const type: DataType = {
  kind: 'dictionary',
  index: { kind: 'int', bits: 8, signed: true },
  value: utf8,
  ordered: false,
}
const column = rowsToBatch(
  ['a', 'b', null, 'a', 'c', 'd', 'b', 'a'].map(x => ({ x })),
  { fields: [{ name: 'x', type, nullable: true }] },
).columns[0]!
const operand = new ColumnNode(['x'], type)
const safe = new IsNode(operand, 'null').cost
const failing = new CastNode({ kind: 'bool' }, operand, false).cost
const random = new CallNode({ kind: 'float', bits: 64 }, functionNamed('random')!, [operand]).cost

/** A computation that counts its calls and says how many values it was given. */
function counting() {
  const lengths: number[] = []
  const compute = (values: Column): number => {
    lengths.push(values.length)
    return values.length
  }
  return { lengths, compute }
}

describe('results by entry', () => {
  test('are computed once for all slices, entries and null apart', () => {
    const cache = new EntryCache<number>(safe)
    const { lengths, compute } = counting()
    expect(cache.over(column, null, compute)).toEqual({
      entries: 4,
      ofNull: 1,
      entryOf: Int32Array.of(0, 1, -1, 0, 2, 3, 1, 0),
    })
    expect(cache.over(sliceColumn(column, 3, 3), null, compute)).toEqual({
      entries: 4,
      ofNull: null,
      entryOf: Int32Array.of(0, 2, 3),
    })
    expect(lengths).toEqual([4, 1])
  })

  test('wait until as many rows were requested as there are entries', () => {
    const cache = new EntryCache<number>(safe)
    const { lengths, compute } = counting()
    expect(cache.over(sliceColumn(column, 3, 3), null, compute)).toBe(null)
    expect(lengths).toEqual([])
    expect(cache.over(sliceColumn(column, 6, 2), null, compute)?.entries).toBe(4)
  })

  test('of failing entries are computed only for those in use', () => {
    const cache = new EntryCache<number>(failing)
    const masks: RowMask[] = []
    const compute = (values: Column, rows: RowMask): number => {
      masks.push(rows)
      if (rows === null && values.length > 1) throw invalidInput('some entry fails')
      return values.length
    }
    const within = Uint32Array.of(0b10010011)
    expect(cache.over(column, within, compute)?.entries).toBe(4)
    expect(cache.over(sliceColumn(column, 3, 2), null, compute)).toBe(null)
    expect(cache.over(sliceColumn(column, 3, 5), null, compute)?.entries).toBe(4)
    expect(masks).toEqual([null, Uint32Array.of(0b111), null, Uint32Array.of(0b1111)])
  })

  test('are not kept for volatile functions', () => {
    const { lengths, compute } = counting()
    expect(new EntryCache<number>(random).over(column, null, compute)).toBe(null)
    expect(lengths).toEqual([])
  })
})
