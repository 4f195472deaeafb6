/** Rows by number, through every door: in the order asked for, at any version, and by conditions on the numbers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Table } from '../../src/index.js'
import { failure } from '../support/failure.js'
import type { Door, OpenedRoot } from '../support/transports.js'

export function takesSuite({ name, open }: Door): void {
  describe(`rows by number, ${name}`, () => {
    let root: OpenedRoot
    let table: Table

    /** Ids 0 to 5 in version 1, 6 and 7 added in 2, 1 and 6 deleted in 3, row 4 rewritten in 4. */
    beforeEach(async () => {
      root = await open()
      const rows = Array.from({ length: 6 }, (_, i) => ({ x: i, text: `t${i}` }))
      table = await root.ns.createTable('t', rows)
      await table.add([
        { x: 6, text: 't6' },
        { x: 7, text: 't7' },
      ])
      await table.delete('x IN (1, 6)')
      await table.update({ text: 'new' }, 'x = 4')
    })
    afterEach(() => root.close())

    const taken = async (ids: Iterable<number | bigint>, of = table) =>
      (await of.takeRowIds(ids).select(['x']).toArray()).map(row => row.x)

    test('in request order, with repeats, without missing rows', async () => {
      expect(await taken([7, 0, 4, 0, 3])).toEqual([7, 0, 4, 0, 3])
      expect(await taken([1, 5, 6, 99, 2n ** 60n])).toEqual([5])
      expect(await taken(new Set([2n, 0n]))).toEqual([2, 0])
      expect(await taken(BigUint64Array.of(3n, 2n))).toEqual([3, 2])
      expect(await taken([])).toEqual([])
    })

    test('whole rows, chosen columns, expressions, ids', async () => {
      expect(await table.takeRowIds([4]).toArray()).toEqual([{ x: 4, text: 'new' }])
      expect(await table.takeRowIds([4, 1]).withRowId().toArray()).toEqual([{ x: 4, text: 'new', _rowid: 4 }])
      const doubled = table.takeRowIds([3, 2]).select({ twice: 'x * 2' })
      expect(await doubled.toArray()).toEqual([{ twice: 6 }, { twice: 4 }])
      expect(await table.takeRowIds([3]).select(['_rowid', 'x']).toArray()).toEqual([{ _rowid: 3, x: 3 }])
      const ids = await table.takeRowIds([3]).select(['_rowid']).toArray({ int64: 'bigint' })
      expect(ids).toEqual([{ _rowid: 3n }])
    })

    test('by offset, which differs between versions', async () => {
      const offsets = table.takeOffsets([5, 0, 1])
      expect(await offsets.select(['x']).toArray()).toEqual([{ x: 4 }, { x: 0 }, { x: 2 }])
      const shown = table.takeOffsets([4]).select(['_rowoffset', 'x']).withRowId()
      expect(await shown.toArray()).toEqual([{ _rowoffset: 4, x: 7, _rowid: 7 }])
      const first = await table.checkout(1)
      expect(await first.takeOffsets([5, 1, 6]).toArray()).toEqual([
        { x: 5, text: 't5' },
        { x: 1, text: 't1' },
      ])
      expect(await taken([6, 1, 4], await table.checkout(2))).toEqual([6, 1, 4])
      expect(await first.takeRowIds([4]).toArray()).toEqual([{ x: 4, text: 't4' }])
    })

    test('as a table of apache-arrow, with its columns also without rows', async () => {
      const arrow = await table.takeRowIds([3, 0]).toArrow()
      expect(arrow.toArray().map(row => row.x)).toEqual([3, 0])
      const none = await table.takeOffsets([]).select(['text']).toArrow()
      expect([none.numRows, none.schema.fields.map(field => field.name)]).toEqual([0, ['text']])
      expect(await failure(table.takeRowIds([]).select(['nope']).toArray())).toMatchObject({ code: 12 })
    })

    test('more rows than one query may have', async () => {
      const many = await root.ns.createTable(
        'many',
        Array.from({ length: 10_000 }, (_, i) => ({ x: i })),
      )
      const ids = Array.from({ length: 10_001 }, (_, i) => 10_000 - i)
      expect(await taken(ids, many)).toEqual(ids.slice(1))
    })

    test.each([
      ['a text', '3'],
      ['a fraction', [0, 1.5]],
      ['a negative number', [-1]],
      ['a number that is not exact', [2 ** 60]],
      ['no list', 3],
    ])('%s is refused', async (_, ids) => {
      const error = await failure((async () => table.takeRowIds(ids as never).toArray())())
      expect(error).toMatchObject({ code: 13, message: expect.stringContaining('takeRowIds') })
    })

    test.each([
      ['_rowid = 4', [4]],
      ['_rowid IN (7, 1, 0)', [0, 7]],
      ['_rowid IN (7, 0) AND x > 0', [7]],
      ['_rowid BETWEEN 2 AND 4', [2, 3, 4]],
      ['_rowid > 5 OR x = 0', [0, 7]],
      ['_rowid >= 4 AND _rowoffset < 4', [5]],
      ['_rowoffset IN (0, 5, 6)', [0, 4]],
      ['_rowoffset = 1', [2]],
      ['_rowid <> 4 AND _rowid < 6', [0, 2, 3, 5]],
      ['_rowid = 3 AND _rowid = 5', []],
      ['_rowid = 18446744073709551615', []],
    ])('where %s', async (filter, expected) => {
      const found = (await table.query().where(filter).select(['x']).toArray()).map(row => row.x)
      expect(found.toSorted()).toEqual(expected)
      expect(await table.countRows(filter)).toBe(expected.length)
    })

    test('the plan says which rows are read by number, and what is left to evaluate', async () => {
      const plan = await table.query().where('_rowid IN (3, 7) AND x > 3').explain()
      expect(plan).toContain('Filter: x > 3')
      expect(plan).toContain('Take by number: _rowid IN (3, 7)')
      expect(plan).toContain('2 of 3 fragments may hold matching rows')
    })
  })
}
