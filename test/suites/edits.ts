/** What changing rows promises, through every door: updates, deletes and merges, and what they mean for each other. */
import * as arrow from 'apache-arrow'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Namespace, sql as ownSql, type Row, type Schema, type Table } from '../../src/index.js'
import { failure } from '../support/failure.js'
import type { OpenedNamespace } from './namespace.js'

const rows: readonly Row[] = [
  { id: 1n, name: 'one', price: 1.5, n: 10n, vector: [1, 0] },
  { id: 2n, name: 'two', price: 2.5, n: 20n, vector: [0, 1] },
  { id: 3n, name: null, price: null, n: 30n, vector: [1, 1] },
  { id: 4n, name: 'four', price: 4.5, n: 40n, vector: null },
]

const float = (bits: 32 | 64) => ({ name: 'item', type: { kind: 'float', bits }, nullable: true }) as const

export function editSuite(name: string, open: () => Promise<OpenedNamespace>): void {
  describe(name, () => {
    let opened: OpenedNamespace
    let ns: Namespace
    let table: Table
    let sql = ownSql
    beforeEach(async () => {
      opened = await open()
      sql = opened.sql
      ns = opened.ns
      table = await ns.createTable('t', rows)
    })
    afterEach(() => opened.close())

    const all = async (columns: readonly string[], of: Table = table) => {
      const found = await of.query().select(columns).orderBy('id').toArray()
      return found.map(row => columns.map(column => row[column]))
    }
    const idsOf = async (where: string) => {
      return (await table.query().where(where).withRowId().toArray()).map(row => row._rowid)
    }

    describe('update', () => {
      test('A-107 sets values and expressions, and counts the rows that matched', async () => {
        const set = { price: sql`price * 2`, name: "it's" }
        expect(await table.update(set, 'id <= ?', [2])).toEqual({ version: 2, rows: 2 })
        expect(await all(['id', 'name', 'price'])).toEqual([
          [1, "it's", 3],
          [2, "it's", 5],
          [3, null, null],
          [4, 'four', 4.5],
        ])
      })

      test('A-108 expressions see the old row: two columns swap', async () => {
        await table.update({ id: sql`n`, n: sql`id` })
        expect(await all(['id', 'n'])).toEqual([
          [10, 1],
          [20, 2],
          [30, 3],
          [40, 4],
        ])
      })

      test('A-063 A-116 row ids stay, and the old version too', async () => {
        const before = await idsOf('id = 3')
        await table.update({ name: 'three' }, 'id = 3')
        await table.update({ n: sql`n + 1` })
        expect(await idsOf('id = 3')).toEqual(before)
        expect(await all(['name'], await table.checkout(1))).toEqual([['one'], ['two'], [null], ['four']])
        const [hit] = await table.search([1, 1]).limit(1).withRowId().toArray()
        expect(hit).toMatchObject({ id: 3, name: 'three', n: 31, _rowid: before[0], _distance: 0 })
      })

      test('A-110 without a match there is no new version, and the reply has the existing one', async () => {
        const reply = await ns.operations.updateTable({
          id: ['t'],
          predicate: 'id = 99',
          updates: [['n', '0']],
        })
        expect(reply).toMatchObject({ updated_rows: 0, version: 1 })
        const { properties } = await ns.operations.describeTransaction({ id: [reply.transaction_id!] })
        expect(properties.operation).toContain('create')
        expect(await table.version()).toBe(1)
      })

      test('A-112 properties are merged into those of the table, with rows or without', async () => {
        const update = { id: ['t'], predicate: 'id = 99', updates: [['n', '0']] as const }
        const first = await ns.operations.updateTable({ ...update, properties: { a: '1' } })
        expect(first.properties).toEqual({ a: '1' })
        const second = await ns.operations.updateTable({
          ...update,
          predicate: 'id = 1',
          properties: { b: '2' },
        })
        expect(second).toMatchObject({ version: 2, properties: { a: '1', b: '2' } })
        expect((await ns.operations.describeTable({ id: ['t'] })).properties).toEqual({ a: '1', b: '2' })
      })

      test('vectors, nulls and numbers of another kind are converted to the type of the column', async () => {
        await table.update({ vector: [0.5, 0.25], price: 7, name: null, n: sql`price + 0.5` }, 'id = 1')
        const [row] = await table.search([0.5, 0.25]).limit(1).toArray()
        expect(row).toMatchObject({ id: 1, price: 7, name: null, n: 2, _distance: 0 })
      })

      test.each([
        ['an unknown column', () => ({ nmae: 1 }), 12, /nmae.*name/s],
        ['a text for a number', () => ({ price: 'dear' }), 20, /price.*float64.*'dear'/],
        ['a number for a text', () => ({ name: 5 }), 20, /name.*utf8/],
        ['a number that no integer is', () => ({ n: sql`price * 1e300` }), 13, /e\+?300/],
        ['a vector of another length', () => ({ vector: [1, 2, 3] }), 13, /3/],
        [
          'a vector that is not finite',
          () => ({ vector: sql`[1.0 / 0.0 * 1e308 * 1e308, 0]` }),
          undefined,
          /vector|zero/,
        ],
        ['a condition of another type', () => ({ n: sql`id = 1` }), 20, /n.*int64.*bool/],
      ])('A-111 %s is refused, and nothing is changed', async (_, set, code, message) => {
        const error = await failure(table.update(set() as never, 'price IS NOT NULL'))
        if (code !== undefined) expect(error.code).toBe(code)
        expect(error.message + String((error as { hint?: string }).hint)).toMatch(message)
        expect(await table.version()).toBe(1)
        expect(await all(['id', 'price'])).toEqual([
          [1, 1.5],
          [2, 2.5],
          [3, null],
          [4, 4.5],
        ])
      })

      test('a row is updated repeatedly, and deleted permanently', async () => {
        for (let i = 0; i < 30; i++) await table.update({ n: sql`n + 1` }, 'id = 2')
        expect(await all(['n'])).toEqual([[10], [50], [30], [40]])
        await table.delete('id = 2')
        expect(await table.countRows()).toBe(3)
        await table.restore(5)
        expect(await all(['n'])).toEqual([[10], [24], [30], [40]])
      })

      test('8 concurrent increments of a counter lose no update', async () => {
        await Promise.all(
          Array.from({ length: 8 }, async () => {
            for (let i = 0; i < 5; i++) await table.update({ n: sql`n + 1` }, 'id = 1')
          }),
        )
        expect(await all(['n'])).toEqual([[50], [20], [30], [40]])
      })
    })

    describe('rows of other Arrow types are cast if no value changes', () => {
      const given: Schema = {
        fields: [
          { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: true },
          { name: 'v', type: { kind: 'fixed_size_list', size: 2, child: float(32) }, nullable: true },
          { name: 'at', type: { kind: 'timestamp', unit: 'ms', timezone: null }, nullable: true },
          { name: 'tag', type: { kind: 'utf8', large: true }, nullable: true },
        ],
      }
      const sent = (id: number, v: number[], at: number) =>
        new arrow.Table({
          tag: arrow.vectorFromArray(['x'], new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8())),
          at: arrow.vectorFromArray([at], new arrow.TimestampMillisecond()),
          v: arrow.vectorFromArray([v], new arrow.List(new arrow.Field('item', new arrow.Float64(), true))),
          id: arrow.vectorFromArray([id], new arrow.Float64()),
        })
      const contents = (of: Table) => all(['id', 'v', 'at', 'tag'], of)

      test('by add, createTable with a schema, mergeInsert and update', async () => {
        const made = await ns.createTable('cast', sent(1, [0.1, 2], 5), { schema: given })
        await made.add(sent(2, [3, 4], 6))
        await made
          .mergeInsert('id')
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .execute(sent(2, [5, 6], 7))
        await made.update({ tag: 'y' }, 'id = 1')
        expect(await contents(made)).toEqual([
          [1, Float32Array.of(0.1, 2), new Date(5), 'y'],
          [2, Float32Array.of(5, 6), new Date(7), 'x'],
        ])
        expect((await made.schema()).fields.map(({ type }) => type)).toEqual(
          given.fields.map(({ type }) => type),
        )
      })

      test('a value that does not fit is refused with column and row, and no row of the call is committed', async () => {
        const made = await ns.createTable('cast', [], { schema: given })
        const refused = [
          () => made.add(sent(0.5, [1, 2], 5)),
          () => made.add(sent(1, [1, 2, 3], 5)),
          () => made.add(sent(1, [1, 1e300], 5)),
          () =>
            made
              .mergeInsert('id')
              .whenNotMatchedInsertAll()
              .execute(sent(2 ** 63, [1, 2], 5)),
        ]
        for (const call of refused) {
          const error = await failure(call())
          expect([error.code, error.message]).toEqual([
            20,
            expect.stringMatching(/^row 0: column "(id|v|v\[\])" is /),
          ])
          expect(error.hint ?? '').not.toContain('objects')
        }
        expect(await made.countRows()).toBe(0)
      })
    })

    describe('conflicts', () => {
      test('two updates that read each other’s writes are serialized (black and white marbles)', async () => {
        const marbles = await ns.createTable('marbles', [
          { id: 1, color: 'black' },
          { id: 2, color: 'white' },
        ])
        await Promise.all([
          marbles.update({ color: 'white' }, "color = 'black'"),
          marbles.update({ color: 'black' }, "color = 'white'"),
        ])
        const colors = new Set((await all(['id', 'color'], marbles)).map(([, color]) => color))
        expect(colors.size).toBe(1)
      })

      test('concurrent upserts of one key make one row', async () => {
        const upsert = (i: number) =>
          table
            .mergeInsert('id')
            .whenMatchedUpdateAll()
            .whenNotMatchedInsertAll()
            .execute([{ id: 77n, name: `by ${i}`, price: i, n: 0n, vector: [0, 0] }])
        const results = await Promise.all(Array.from({ length: 6 }, (_, i) => upsert(i)))
        expect(results.reduce((sum, { inserted }) => sum + inserted, 0)).toBe(1)
        expect(await table.countRows('id = 77')).toBe(1)
      })

      test('concurrent deletes, updates and appends lose no change', async () => {
        await Promise.all([
          ...Array.from({ length: 10 }, (_, i) => table.add([{ id: BigInt(100 + i), n: BigInt(i) }])),
          table.delete('id = 1'),
          table.update({ name: 'all' }, 'id >= 2 AND id < 100'),
          table.delete('id = 4'),
        ])
        expect(await table.countRows()).toBe(12)
        expect((await all(['id', 'name'])).slice(0, 2)).toEqual([
          [2, 'all'],
          [3, 'all'],
        ])
      })
    })

    describe('merge insert', () => {
      const source = [
        { id: 2n, name: 'zwei', price: 22, n: 0n, vector: [2, 2] },
        { id: 5n, name: 'fünf', price: 55, n: 0n, vector: [5, 5] },
      ]

      test('an upsert replaces what matches and inserts the rest', async () => {
        const before = await idsOf('id = 2')
        const result = await table
          .mergeInsert('id')
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .execute(source)
        expect(result).toEqual({ version: 2, updated: 1, inserted: 1, deleted: 0 })
        expect(await all(['id', 'name', 'price'])).toEqual([
          [1, 'one', 1.5],
          [2, 'zwei', 22],
          [3, null, null],
          [4, 'four', 4.5],
          [5, 'fünf', 55],
        ])
        expect(await idsOf('id = 2')).toEqual(before)
      })

      test('inserts only new rows', async () => {
        const result = await table.mergeInsert('id').whenNotMatchedInsertAll().execute(source)
        expect(result).toMatchObject({ updated: 0, inserted: 1 })
        expect(await all(['id', 'name'])).toContainEqual([2, 'two'])
      })

      test('all rows with one new key are inserted; a row of the table cannot become two', async () => {
        const merge = () => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
        const twins = [
          { id: 7n, name: 'a' },
          { id: 2n, name: 'zwei' },
          { id: 7n, name: 'b' },
        ]
        expect(await merge().execute(twins)).toEqual({ version: 2, updated: 1, inserted: 2, deleted: 0 })
        const named = async (id: number) => (await all(['id', 'name'])).filter(row => row[0] === id)
        expect(await named(7)).toEqual([
          [7, 'a'],
          [7, 'b'],
        ])
        const error = await failure(merge().execute(twins))
        expect([error.code, error.message]).toEqual([
          13,
          'rows 0 and 2 have the same key (id = 7), and a row of the table also has this key',
        ])
        // Where nothing is replaced there is no question which one counts.
        const onlyNew = table.mergeInsert('id').whenNotMatchedInsertAll()
        expect(await onlyNew.execute(twins)).toMatchObject({ updated: 0, inserted: 0 })
        expect(await named(7)).toHaveLength(2)
      })

      test('keys may be written in backticks; a field of a struct cannot be a key', async () => {
        const wide = await ns.createTable('wide', [{ 'row-id': 1, k: 1, a: { b: 1 }, v: 'old' }])
        const row = { 'row-id': 1, k: 1, a: { b: 1 }, v: 'new' }
        const merge = wide.mergeInsert('`row-id`', '`k`').whenMatchedUpdateAll()
        expect(await merge.execute([row])).toMatchObject({ updated: 1 })
        expect(
          (
            await failure(
              wide
                .mergeInsert('a.b' as never)
                .whenMatchedUpdateAll()
                .execute([row]),
            )
          ).code,
        ).toBe(0)
        expect((await failure(wide.mergeInsert('`x`').whenMatchedUpdateAll().execute([row]))).code).toBe(12)
      })

      test('replaces only where a condition over both rows holds', async () => {
        const merge = table
          .mergeInsert('id')
          .whenMatchedUpdateAll({ where: 'source.price > target.price * 10' })
        const result = await merge.execute([
          { id: 1n, price: 2 },
          { id: 2n, price: 99 },
        ])
        expect(result).toMatchObject({ updated: 1, inserted: 0, deleted: 0 })
        expect(await all(['id', 'name', 'price'])).toEqual([
          [1, 'one', 1.5],
          [2, 'two', 99],
          [3, null, null],
          [4, 'four', 4.5],
        ])
      })

      test('deletes rows that the source does not have, all or by a condition', async () => {
        const some = table
          .mergeInsert('id')
          .whenNotMatchedBySourceDelete({ where: 'price > 2 OR name IS NULL' })
        expect(await some.execute(source)).toMatchObject({ updated: 0, inserted: 0, deleted: 2 })
        expect(await all(['id'])).toEqual([[1], [2]])
        const rest = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedBySourceDelete()
        expect(await rest.execute(source)).toMatchObject({ updated: 1, deleted: 1 })
        expect(await all(['id', 'name'])).toEqual([[2, 'zwei']])
      })

      test('conditions made by the tag sql have their values', async () => {
        const merge = table
          .mergeInsert('id')
          .whenMatchedUpdateAll({ where: sql`source.price > ${100} OR target.name = ${"o'ne"}` })
          .whenNotMatchedBySourceDelete({ where: sql`name = ${'four'} AND price < ${9007199254740993n}` })
        const result = await merge.execute([
          { id: 1n, price: 2 },
          { id: 2n, price: 101 },
        ])
        expect(result).toMatchObject({ updated: 1, deleted: 1 })
        expect(await all(['id', 'price'])).toEqual([
          [1, 1.5],
          [2, 101],
          [3, null],
        ])
      })

      test('with several keys, NULL matches nothing', async () => {
        const merge = table.mergeInsert('id', 'name').whenMatchedUpdateAll().whenNotMatchedInsertAll()
        const result = await merge.execute([
          { id: 1n, name: 'one', price: 100 },
          { id: 2n, name: 'deux', price: 200 },
          { id: 3n, name: null, price: 300 },
          { id: 3n, name: null, price: 301 },
        ])
        expect(result).toMatchObject({ updated: 1, inserted: 3 })
        expect(await table.countRows()).toBe(7)
        expect(await all(['price'])).toContainEqual([100])
      })

      test('keys that are texts, floats, times; a table where several rows have one', async () => {
        const events = await ns.createTable('events', [
          { id: 1, at: new Date(5), kind: 'a', x: 0.5 },
          { id: 2, at: new Date(5), kind: 'b', x: 1.5 },
          { id: 3, at: new Date(6), kind: 'a', x: 2.5 },
        ])
        const upsert = (...on: ['kind' | 'at' | 'x', ...'kind'[]]) =>
          events.mergeInsert(...on).whenMatchedUpdateAll()
        expect(await upsert('kind').execute([{ kind: 'a', x: 9 }])).toMatchObject({ updated: 2 })
        expect(await upsert('at').execute([{ at: new Date(5), x: 8 }])).toMatchObject({ updated: 2 })
        expect(await upsert('x', 'kind').execute([{ kind: 'b', x: 8, id: 20 }])).toMatchObject({ updated: 1 })
        expect(await all(['id', 'x'], events)).toEqual([
          [1, 8],
          [3, 9],
          [20, 8],
        ])
      })

      test.each([16, 32, 64] as const)(
        'keys that are floats of %d bits: NaN is one of them, and -0 is 0',
        async bits => {
          const schema: Schema = {
            fields: [
              { name: 'key', type: { kind: 'float', bits }, nullable: true },
              { name: 'n', type: { kind: 'float', bits: 64 }, nullable: true },
            ],
          }
          const keys = [Number.NaN, 0, 0.1, Number.POSITIVE_INFINITY, -2.5, 1024]
          const rows = [...keys, null].map(key => ({ key, n: 0 }))
          const floats = await ns.createTable(`floats${bits}`, rows, { schema })
          await floats.createIndex('key', { type: 'BTREE' })
          await floats.waitForIndex('key_idx')
          await floats.add([{ key: 3, n: 0 }])
          const upsert = floats.mergeInsert('key').whenMatchedUpdateAll().whenNotMatchedInsertAll()
          for (const [n, zero] of [0, -0].entries()) {
            const source = [Number.NaN, zero, 0.1, Number.POSITIVE_INFINITY, -2.5, 3].map(key => ({
              key,
              n: n + 1,
            }))
            expect(await upsert.execute(source)).toMatchObject({ updated: 6, inserted: 0 })
            expect(await floats.countRows(`n = ${n + 1}`)).toBe(6)
          }
          expect(
            await upsert.execute([
              { key: 0.2, n: 9 },
              { key: null, n: 9 },
            ]),
          ).toMatchObject({ inserted: 2 })
        },
      )

      test('a text that begins with a byte order mark is a key like any other', async () => {
        const mark = '\uFEFFone'
        await table.update({ name: mark }, 'id = 1')
        const result = await table
          .mergeInsert('name')
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .execute([{ name: mark, price: 9 }])
        expect(result).toMatchObject({ updated: 1, inserted: 0 })
      })

      test('no rows match nothing: none is updated or inserted, and all are deleted if requested', async () => {
        const upsert = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
        expect(await upsert.execute([])).toMatchObject({ version: 1, updated: 0, inserted: 0 })
        const emptied = await table.mergeInsert('id').whenNotMatchedBySourceDelete().execute([])
        expect(emptied).toMatchObject({ deleted: 4 })
      })

      test.each([
        ['two rows with one key', ['id'], [source[0]!, source[0]!], 13, /rows 0 and 1/],
        ['a key that is no column', ['idd'], source, 12, /idd/],
        ['a key the rows do not bring', ['id'], [{ name: 'x' }], 13, /key column "id"/],
        ['a key that is not compared', ['vector'], source, 20, /vector/],
        ['a column the table does not have', ['id'], [{ id: 1n, colour: 'red' }], 20, /colour/],
        ['rows of another type', ['id'], [{ id: 1n, price: 'x' }], 20, /price/],
      ])('%s: refused, and nothing is changed', async (_, on, data, code, message) => {
        const merge = table
          .mergeInsert(...(on as [string]))
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
        const error = await failure(merge.execute(data))
        expect(error).toMatchObject({ code })
        expect(error.message).toMatch(message)
        expect(await table.version()).toBe(1)
      })

      test('a merge without actions, and a condition without an action, are refused', async () => {
        expect(await failure(table.mergeInsert('id').execute(source))).toMatchObject({ code: 13 })
        const aimless = ns.operations.mergeInsertIntoTable(
          { id: ['t'], on: ['id'], when_not_matched_insert_all: true, when_matched_update_all_filt: 'true' },
          new Uint8Array(0),
        )
        expect(await failure(aimless)).toMatchObject({ code: 13 })
      })
    })

    test('rows of a merge have the same columns, so that no stored value becomes null by accident', async () => {
      const goods = await ns.createTable(
        'goods',
        [
          { id: 1, name: 'a', n: 1 },
          { id: 2, name: 'b', n: 2 },
        ],
        { mode: 'overwrite' },
      )
      const different = [
        { id: 1, name: 'A' },
        { id: 2, n: 60 },
      ]
      expect(await failure(goods.upsert(different, { on: 'id' }))).toMatchObject({
        code: 13,
        message: 'row 0 has no value for the column "n", which row 1 has',
      })
      // Undefined is the same as a missing column.
      await goods.upsert([{ id: 1, name: 'A', n: undefined as never }], { on: 'id' })
      expect(
        await failure(
          goods.upsert(
            [
              { id: 1, n: 7 },
              { id: 2, n: undefined as never },
            ],
            { on: 'id' },
          ),
        ),
      ).toMatchObject({
        code: 13,
      })
      await goods
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .execute([{ id: 2, n: null }])
      expect(await goods.query().toArray()).toEqual([
        { id: 1, name: 'A', n: 1 },
        { id: 2, name: 'b', n: null },
      ])
    })

    test('invalid conditions, columns and rows are reported as such', async () => {
      for (const call of [
        () => table.update({ n: 1 }, {} as never),
        () => table.update({ n: 1 }, 3 as never),
        () => table.update(null as never),
        () => table.delete({} as never),
        () =>
          table
            .mergeInsert('id')
            .whenMatchedUpdateAll()
            .execute([{ id: 1 }, null] as never),
      ]) {
        expect(await failure(call())).toMatchObject({ code: 13 })
      }
      expect(await table.version()).toBe(1)
    })

    test('a text with a number of the column is that number, any other is refused', async () => {
      await table.update({ n: '9007199254740993', price: '1.25' }, 'id = 1')
      const [row] = await table.query().where('id = 1').toArray({ int64: 'bigint' })
      expect(row).toMatchObject({ n: 9007199254740993n, price: 1.25 })
      for (const n of ['1.5', 'x', '', '9223372036854775808']) {
        expect([13, 20]).toContain((await failure(table.update({ n }, 'id = 1'))).code)
      }
    })

    test('a predicate that is undefined does not mean all rows', async () => {
      const update = table.update as (...given: unknown[]) => Promise<{ rows: number }>
      const error = await failure(update.call(table, { n: 1 }, undefined))
      expect(error).toMatchObject({ code: 13, hint: expect.stringContaining("'true'") })
      expect(await failure(update.call(table, { n: 1 }, undefined, ['a']))).toMatchObject({ code: 13 })
      expect((await table.update({ n: 1 }, 'true', undefined, {})).rows).toBe(await table.countRows())
    })

    test('a handle on an old version changes nothing', async () => {
      const old = await table.checkout(1)
      expect(await failure(old.update({ n: 0 }))).toMatchObject({ code: 13 })
      expect(() => old.mergeInsert('id')).toThrow(expect.objectContaining({ code: 13 }))
    })
  })
}
