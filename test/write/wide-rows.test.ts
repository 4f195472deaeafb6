import { afterEach, expect, test, vi } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { ColumnTooLarge } from '../../src/arrow/column-too-large.js'
import { takeColumn } from '../../src/arrow/take.js'
import { connect } from '../../src/index.js'
import { MergeSource } from '../../src/write/merge-source.js'

afterEach(() => vi.restoreAllMocks())

test('a merge of rows that are too wide for one piece writes several pieces', async () => {
  const { take } = MergeSource.prototype
  const pieces: number[] = []
  vi.spyOn(MergeSource.prototype, 'take').mockImplementation(function (this: MergeSource, rows) {
    if (rows.length > 3) throw new ColumnTooLarge(rows.length)
    pieces.push(rows.length)
    return take.call(this, rows)
  })
  const ns = await connect('memory://')
  const table = await ns.createTable(
    't',
    Array.from({ length: 20 }, (_, id) => ({ id, s: 'old' })),
  )
  const rows = Array.from({ length: 17 }, (_, id) => ({ id, s: `new ${id}` }))
  await table.mergeInsert('id').whenMatchedUpdateAll().execute(rows)
  expect(pieces.length).toBeGreaterThan(5)
  const found = await table.query().orderBy('id').toArray()
  expect(found.map(({ s }) => s)).toEqual([...rows.map(({ s }) => s), 'old', 'old', 'old'])
  await ns.close()
})

test('values of more than 2 GiB are distinguished from other bad input', () => {
  const column: Column = {
    type: { kind: 'utf8', large: false },
    length: 1,
    nullCount: 0,
    validity: null,
    offsets: Int32Array.of(0, 2 ** 30),
    values: new Uint8Array(0),
    children: [],
    dictionary: null,
  }
  expect(() => takeColumn(column, Uint32Array.of(0, 0, 0))).toThrow(ColumnTooLarge)
})
