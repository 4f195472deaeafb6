import * as arrow from 'apache-arrow'
import { expect, test } from 'vitest'
import { fromForeignArrow } from '../../src/arrow/foreign.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import { batchToRows } from '../../src/arrow/values.js'
import { checkFits, conformBatch, schemaOfTable } from '../../src/write/conform.js'

const utf8: DataType = { kind: 'utf8', large: false }
const float32: DataType = { kind: 'float', bits: 32 }
const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
    { name: 'word', type: utf8, nullable: true },
    {
      name: 'v',
      type: { kind: 'fixed_size_list', size: 2, child: { name: 'item', type: float32, nullable: true } },
      nullable: true,
    },
  ],
}
const conform = (table: arrow.Table) => {
  const { schema: incoming, batches } = fromForeignArrow(table)!
  checkFits(incoming, schema)
  return batchToRows(conformBatch(batches[0]!, schema, 0))
}

test('columns are matched by name, dictionaries give their values, what is missing is null', () => {
  const table = arrow.tableFromArrays({ word: ['x', 'y', 'x'], id: Int32Array.of(1, 2, 3) })
  expect(conform(table)).toEqual([
    { id: 1, word: 'x', v: null },
    { id: 2, word: 'y', v: null },
    { id: 3, word: 'x', v: null },
  ])
})

test('a child without nulls fits one that may be null', () => {
  const child = new arrow.Field('item', new arrow.Float32(), false)
  const v = arrow.makeData({
    type: new arrow.FixedSizeList(2, child),
    length: 1,
    child: arrow.makeData({ type: new arrow.Float32(), data: Float32Array.of(1, 2) }),
  })
  const table = new arrow.Table({
    id: arrow.vectorFromArray([1], new arrow.Int32()),
    v: new arrow.Vector([v]),
  })
  expect(conform(table)).toEqual([{ id: 1, word: null, v: Float32Array.of(1, 2) }])
})

test('mismatches are found from the schema, with rows or without', () => {
  const empty = (columns: Record<string, arrow.Vector>) => () => conform(new arrow.Table(columns))
  const ints = arrow.vectorFromArray([] as number[], new arrow.Int32())
  expect(empty({ id: ints, wrod: ints })).toThrow(
    expect.objectContaining({ code: 12, hint: expect.stringContaining('word') }),
  )
  expect(empty({ id: ints, word: ints })).toThrow(
    expect.objectContaining({ code: 20, message: expect.stringContaining('utf8') }),
  )
  expect(empty({ word: arrow.vectorFromArray([] as string[], new arrow.Utf8()) })).toThrow(
    expect.objectContaining({ code: 20, message: expect.stringContaining('"id" is missing') }),
  )
  const twice = { fields: [schema.fields[0]!, schema.fields[0]!] }
  expect(() => checkFits(twice, schema)).toThrow(expect.objectContaining({ code: 20 }))
})

test('a table cannot have empty, equal or reserved names', () => {
  for (const names of [[''], ['a', 'a'], ['_rowid'], ['_distance']]) {
    const fields = names.map(name => ({ name, type: utf8, nullable: true }))
    expect(() => schemaOfTable({ fields })).toThrow(expect.objectContaining({ code: 20 }))
  }
})

test('null, NaN and infinity in vectors of any width of float are refused, except in null rows', () => {
  for (const bits of [16, 32, 64] as const) {
    const type: DataType = {
      kind: 'fixed_size_list',
      size: 2,
      child: { name: 'item', type: { kind: 'float', bits }, nullable: true },
    }
    const own: Schema = { fields: [{ name: 'v', type, nullable: true }] }
    const sound = [{ v: [1, 2] }, { v: null }]
    for (const bad of [Number.NaN, Number.NEGATIVE_INFINITY, null]) {
      const message = expect.stringContaining(`row 12: column "v" holds ${bad} as element 1`)
      expect(() => conformBatch(rowsToBatch([...sound, { v: [3, bad] }], own), own, 10)).toThrow(
        expect.objectContaining({ code: 20, message }),
      )
    }
    expect(conformBatch(rowsToBatch(sound, own), own, 0).length).toBe(2)
  }
})

test('NaN in a vector inside of structs, or in a list of vectors, is refused unless the struct or list is null', () => {
  const vector: DataType = {
    kind: 'fixed_size_list',
    size: 2,
    child: { name: 'item', type: float32, nullable: true },
  }
  const inner: Schema['fields'] = [
    { name: 'v', type: vector, nullable: true },
    {
      name: 'all',
      type: { kind: 'list', large: false, child: { name: 'item', type: vector, nullable: true } },
      nullable: true,
    },
  ]
  const own: Schema = { fields: [{ name: 'm', type: { kind: 'struct', children: inner }, nullable: true }] }
  const refusal = (m: unknown, name: RegExp) => {
    expect(() => conformBatch(rowsToBatch([{ m: null }, { m }], own), own, 10)).toThrow(
      expect.objectContaining({ code: 20, message: expect.stringMatching(name) }),
    )
  }
  refusal({ v: [Number.NaN, 1], all: [] }, /row 11: column "m\.v" holds NaN as element 0/)
  const far = [5, Number.POSITIVE_INFINITY]
  const lists = [[[1, 2]], [], [[3, 4], far]]
  refusal({ v: [0, 1], all: lists[2] }, /row 11: column "m\.all\[\]" holds Infinity as element 1/)
  const batch = rowsToBatch(
    [0, 2, 1].map(i => ({ m: { v: [i, 1], all: lists[i] } })),
    own,
  )
  expect(() => conformBatch(batch, own, 0)).toThrow(/row 1: column "m\.all\[\]"/)
  // What a null struct or list has behind it is no value.
  const { columns } = batch
  const [struct] = columns
  const hidden = { ...struct!, nullCount: 1, validity: Uint8Array.of(0b101) }
  expect(conformBatch({ ...batch, columns: [hidden] }, own, 0).length).toBe(3)
  const [v, all] = struct!.children
  const absent = { ...all!, nullCount: 1, validity: Uint8Array.of(0b101) }
  expect(conformBatch({ ...batch, columns: [{ ...struct!, children: [v!, absent] }] }, own, 0).length).toBe(3)
})

test('batches of different schemas cannot be given as one', () => {
  const batches = [
    ...arrow.tableFromArrays({ c: Int32Array.of(1, 2) }).batches,
    ...arrow.tableFromArrays({ c: Float64Array.of(3.5, 4) }).batches,
  ]
  expect(() => fromForeignArrow(batches)).toThrow(expect.objectContaining({ code: 20 }))
})
