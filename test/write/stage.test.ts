import { expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { type FileLayout, parseFileFooter } from '../../src/arrow/file-reader.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import { systemClock } from '../../src/primitives/clock.js'
import { PersistentMap } from '../../src/primitives/persistent-map.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { buildChange } from '../../src/write/build-change.js'
import { type StagedRows, stageRows } from '../../src/write/stage.js'

const int64: DataType = { kind: 'int', bits: 64, signed: true }
const utf8: DataType = { kind: 'utf8', large: false }
const vector: DataType = {
  kind: 'fixed_size_list',
  size: 2,
  child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: false },
}

const field = (name: string, type: DataType) => ({ name, type, nullable: true })

function stage(schema: Schema, ...batches: readonly Batch[]): Promise<StagedRows> {
  const target = { store: new MemoryStore(), clock: systemClock, location: 'tables/t', birth: 7 }
  return stageRows(batches, schema, target)
}

test('the zone maps of a fragment span all its batches, by column, for types that have any', async () => {
  const schema = { fields: [field('v', vector), field('id', int64), field('word', utf8)] }
  const batch = (first: number, count: number) =>
    rowsToBatch(
      Array.from({ length: count }, (_, i) => ({
        v: [i, i],
        id: first + i,
        word: i % 10 === 0 ? null : `w${(first + i) % 7}`,
      })),
      schema,
    )
  const staged = await stage(schema, batch(100, 140_000), batch(-50, 20_000))
  expect(staged.drafts).toHaveLength(1)
  expect([...staged.drafts[0]!.zones]).toEqual([
    [1, [-50, 140_099, 0]],
    [2, ['w-1', 'w6', 16_000]],
  ])
})

test('every fragment has its own zone maps', async () => {
  const schema = { fields: [field('id', { kind: 'int', bits: 32, signed: true })] }
  const rows = 1_200_000
  const values = Int32Array.from({ length: rows }, (_, i) => i)
  const column = {
    type: schema.fields[0]!.type,
    length: rows,
    nullCount: 0,
    validity: null,
    values,
    offsets: null,
    children: [],
    dictionary: null,
  }
  const { drafts } = await stage(schema, { schema, length: rows, columns: [column] })
  expect(drafts.map(draft => [draft.rows, draft.zones.get(0)])).toEqual([
    [1_048_576, [0, 1_048_575, 0]],
    [rows - 1_048_576, [1_048_576, rows - 1, 0]],
  ])
})

test('the batches of a wide table are small enough to be gathered', async () => {
  const schema = { fields: Array.from({ length: 300 }, (_, i) => field(`c${i}`, int64)) }
  const rows = 80_000
  const column = { ...rowsToBatch([{ c0: 1 }], schema).columns[0]!, length: rows }
  const columns = schema.fields.map(() => ({ ...column, values: new BigInt64Array(rows) }))
  const store = new MemoryStore()
  const target = { store, clock: systemClock, location: 'tables/t', birth: 7 }
  const { drafts } = await stageRows([{ schema, length: rows, columns }], schema, target)
  const { content } = drafts[0]!
  const file = (await store.get(`tables/t/data/${'file' in content && content.file}.arrow`))!
  const layout = parseFileFooter(file, file.length) as FileLayout
  expect(layout.rows).toBe(rows)
  expect(layout.batches.length).toBe(2)
})

test('batches of one row become the same file as one batch of all', async () => {
  const schema = { fields: [field('id', int64), field('word', utf8), field('v', vector)] }
  const rows = Array.from({ length: 5000 }, (_, i) => ({
    id: i,
    word: i % 7 === 0 ? null : `word ${i}`,
    v: [i, 1],
  }))
  const staged = async (batches: Iterable<Batch>) => {
    const store = new MemoryStore()
    const target = { store, clock: systemClock, location: 'tables/t', birth: 7 }
    const { drafts } = await stageRows(batches, schema, target)
    const { content, zones } = drafts[0]!
    const file = await store.get(`tables/t/data/${'file' in content && content.file}.arrow`)
    return { file, zones: [...zones] }
  }
  const one = await staged([rowsToBatch(rows, schema)])
  expect(await staged(rows.map(row => rowsToBatch([row], schema)))).toEqual(one)
})

test('inline rows have no zone maps', async () => {
  const schema = { fields: [field('id', int64)] }
  const { drafts } = await stage(schema, rowsToBatch([{ id: 1 }], schema))
  expect(drafts.map(({ content, zones }) => ['blob' in content, zones.size])).toEqual([[true, 0]])
})

test('a wide table has zone maps of its first 64 columns that have any', async () => {
  const schema = {
    fields: Array.from({ length: 80 }, (_, i) => field(`c${i}`, i % 8 === 0 ? vector : int64)),
  }
  const rows = Array.from({ length: 200 }, (_, r) =>
    Object.fromEntries(schema.fields.map(({ name, type }) => [name, type === vector ? [r, r] : r])),
  )
  const { drafts } = await stage(schema, rowsToBatch(rows, schema))
  const kept = [...drafts[0]!.zones.keys()]
  expect(kept).toHaveLength(64)
  expect(kept.at(-1)).toBe(73)
})

test('a change has zone maps by field id', () => {
  const head = {
    uuid: 't',
    id: ['t'],
    kind: 'sheaf' as const,
    location: 'tables/t',
    external: false,
    props: {},
    mark: 4,
    live: [[1, 4]] as const,
    next: { row: 1000, frag: 3, field: 12 },
    schemaId: 1,
    start: 0,
    changes: [],
    fragments: 1,
    view: null,
    tags: PersistentMap.empty<number>(),
  }
  const drafts = [
    { rows: 10, content: { file: 'a', bytes: 5, crc: 6 }, zones: new Map([[1, [1, 2, 0]] as const]) },
    { rows: 3, content: { blob: Uint8Array.of(1) }, zones: new Map() },
  ]
  const { change } = buildChange(head, { kind: 'append', drafts, fields: [10, 11] }, 0)
  expect(change.add).toEqual([
    {
      id: 3,
      rows: 10,
      ids: { row0: 1000 },
      files: [{ file: 'a', bytes: 5, crc: 6, fields: [10, 11] }],
      zones: { 11: [1, 2, 0] },
    },
    { id: 4, rows: 3, ids: { row0: 1010 }, files: [{ blob: 0, bytes: 1, fields: [10, 11] }] },
  ])
})
