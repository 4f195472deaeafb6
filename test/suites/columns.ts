/** What changing a table's columns promises, through every door. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonArrowSchema } from '../../src/arrow/schema-json.js'
import type { Namespace, Row, Search, Table } from '../../src/index.js'
import { failure } from '../support/failure.js'
import type { OpenedRoot } from '../support/transports.js'

const rows: readonly Row[] = [
  { id: 1n, name: 'one', price: 1.5, vector: [1, 0], meta: { lang: 'en', size: 10n } },
  { id: 2n, name: 'two', price: 2.5, vector: [0, 1], meta: { lang: 'de', size: 20n } },
  { id: 3n, name: null, price: null, vector: [1, 1], meta: null },
]

export function columnSuite(name: string, open: () => Promise<OpenedRoot>): void {
  describe(name, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let table: Table
    beforeEach(async () => {
      opened = await open()
      ns = opened.ns
      table = await ns.createTable('t', rows)
    })
    afterEach(() => opened.close())

    const all = async (columns: readonly string[], of: Table = table) => {
      const found = await of.query().select(columns).orderBy('id').toArray()
      return found.map(row => columns.map(column => row[column]))
    }
    const namesOf = async (of: Table = table) => (await of.schema()).fields.map(field => field.name)
    const fieldOf = async (name: string, of: Table = table) => {
      return (await of.schema()).fields.find(field => field.name === name)
    }

    describe('add', () => {
      test('A-096 an expression is evaluated over the existing rows, and its type is inferred', async () => {
        expect(await table.addColumns({ double: 'price * 2', upper: 'upper(name)' })).toEqual({ version: 2 })
        expect(await all(['id', 'double', 'upper'])).toEqual([
          [1, 3, 'ONE'],
          [2, 5, 'TWO'],
          [3, null, null],
        ])
        expect(await fieldOf('double')).toMatchObject({ type: { kind: 'float', bits: 64 }, nullable: true })
      })

      test('A-098 A-116 later rows are null, earlier versions stay unchanged', async () => {
        await table.addColumns({ double: 'price * 2' })
        await table.add([{ id: 4n, price: 4 }])
        expect(await all(['id', 'double'])).toEqual([
          [1, 3],
          [2, 5],
          [3, null],
          [4, null],
        ])
        expect(await namesOf(await table.checkout(1))).toEqual(['id', 'name', 'price', 'vector', 'meta'])
        await table.restore(1)
        expect(await namesOf()).toEqual(['id', 'name', 'price', 'vector', 'meta'])
        await table.restore(3)
        expect(await all(['double'])).toEqual([[3], [5], [null], [null]])
      })

      test('A-099 constants, and nulls of any type, which store no data', async () => {
        await table.addColumns({
          text: "'x'",
          zero: '0',
          none: 'CAST(NULL AS string)',
          wide: "arrow_cast(NULL, 'FixedSizeList(1024, Float32)')",
          plain: { type: 'timestamp(ms, UTC)' },
        })
        await table.add([{ id: 4n, plain: new Date(5), wide: new Float32Array(1024).fill(1) }])
        expect(await all(['text', 'zero', 'none', 'plain'])).toEqual([
          ['x', 0, null, null],
          ['x', 0, null, null],
          ['x', 0, null, null],
          [null, null, null, new Date(5)],
        ])
        const [nearest] = await table.search(new Array(1024).fill(1)).column('wide').limit(2).toArray()
        expect(nearest).toMatchObject({ id: 4, _distance: 0 })
        expect(await table.countRows('none IS NULL AND plain IS NULL')).toBe(3)
      })

      test('a given type is that of the column, converted as in an assignment', async () => {
        await table.addColumns({
          small: { expression: 'id + 1', type: 'int8' },
          day: { expression: "'2026-01-31'", type: 'date' },
          unit: { expression: '[0.6, 0.8]', type: 'vector(2)' },
          kind: {
            expression: "CASE WHEN id = 1 THEN 'a' ELSE 'b' END",
            type: {
              kind: 'dictionary',
              index: { kind: 'int', bits: 8, signed: true },
              value: { kind: 'utf8', large: false },
              ordered: false,
            },
          },
        })
        expect(await all(['small', 'day', 'kind'])).toEqual([
          [2, new Date('2026-01-31'), 'a'],
          [3, new Date('2026-01-31'), 'b'],
          [4, new Date('2026-01-31'), 'b'],
        ])
        expect(await fieldOf('kind')).toMatchObject({ type: { kind: 'dictionary' } })
        const hits = await table.search([0.6, 0.8]).column('unit').limit(1).toArray()
        expect(hits[0]!._distance).toBe(0)
      })

      test.each<[string, object, number, RegExp]>([
        ['a name that is taken', { name: "'x'" }, 20, /name.*already exists/],
        ['a name that queries use', { _rowid: '1' }, 20, /_rowid.*reserved/],
        ['an unknown column', { a: 'pricee + 1' }, 12, /pricee/],
        ['a value that does not fit', { a: { expression: 'id * 100', type: 'int8' } }, 13, /200|300/],
        ['a value of another type', { a: { expression: 'name', type: 'int64' } }, 20, /int64/],
        ['NULL of no type', { a: 'NULL' }, 20, /type/],
        ['a row that fails', { ok: '1', a: 'CAST(name AS int)' }, 13, /one/],
        ['two sources', { a: { expression: '1', computed: '2' } }, 13, /expression.*computed/],
        ['an unknown type', { a: { type: 'strin' } }, 13, /strin/],
      ])('A-097 %s is refused, and nothing is changed', async (_, columns, code, message) => {
        const error = await failure(table.addColumns(columns as never))
        expect([error.code, error.status]).toEqual([code, code === 12 ? 404 : 400])
        expect(error.message + error.hint).toMatch(message)
        expect(await table.version()).toBe(1)
        expect(await namesOf()).toEqual(['id', 'name', 'price', 'vector', 'meta'])
      })

      test('A-097 one name twice, and no kind at all, is refused', async () => {
        const add = (...new_columns: { name: string; expression?: string }[]) =>
          failure(ns.operations.alterTableAddColumns({ id: ['t'], new_columns: new_columns as never }))
        const twice = { name: 'a', expression: '1' }
        expect(await add(twice, twice)).toMatchObject({ code: 20, status: 400 })
        expect(await add({ name: 'a' })).toMatchObject({ code: 13, status: 400 })
        expect(await add()).toMatchObject({ code: 13, status: 400 })
      })

      test('deleted rows are not evaluated, and cannot fail', async () => {
        await table.delete('id = 2')
        await table.addColumns({ a: '10 / (id - 2)' })
        expect(await all(['id', 'a'])).toEqual([
          [1, -10],
          [3, 10],
        ])
        await table.delete('id = 1')
        await table.add([{ id: 4n }])
        await table.addColumns({ b: '10 / (id - 1)' })
        expect(await all(['id', 'a', 'b'])).toEqual([
          [3, 10, 5],
          [4, null, 3],
        ])
      })

      test('filters skip and find rows correctly, in columns of every age', async () => {
        await table.addColumns({ n: 'id * 10' })
        await table.add([{ id: 4n, n: 40n }, { id: 5n }])
        await table.addColumns({ m: 'coalesce(n, -1)' })
        expect(await table.countRows('n IS NULL')).toBe(1)
        expect(await table.countRows('n >= 20')).toBe(3)
        expect(await table.countRows('m = -1 OR m = 10')).toBe(2)
        await table.update({ n: 7n }, 'n IS NULL')
        expect(await table.countRows('n = 7')).toBe(1)
      })

      test('many fragments, more than a slot takes, and a reopened root', async () => {
        const many = (from: number) =>
          Array.from({ length: 3000 }, (_, i) => ({ id: BigInt(from + i), price: i }))
        for (let i = 1; i <= 6; i++) await table.add(many(i * 10_000))
        await table.delete('id % 5 = 0')
        await table.addColumns({ n: 'id + 1', text: "'row ' || CAST(id AS string)" })
        const check = async (of: Table) => {
          expect(await of.countRows('n = id + 1')).toBe(await of.countRows())
          expect(await of.countRows("text = 'row ' || CAST(id AS string)")).toBe(await of.countRows())
          expect(await of.countRows('n BETWEEN 20002 AND 20004')).toBe(3)
        }
        await check(table)
        ns = await opened.reopen()
        await check(await ns.openTable('t'))
      })

      test('rows added meanwhile get values too', async () => {
        const busy = { done: false }
        const append = async () => {
          for (let i = 0; !busy.done && i < 30; i++) await table.add([{ id: BigInt(100 + i), price: i }])
        }
        const appending = append()
        const { version } = await table.addColumns({ twice: 'price * 2' })
        busy.done = true
        await appending
        const then = await table.checkout(version)
        expect(await then.countRows('price IS NOT NULL AND twice IS NULL')).toBe(0)
      })

      test('types travel in both dialects', async () => {
        await table.addColumns({ f: { expression: 'price', type: 'float32' }, s: "'x'" })
        const inDialect = async (dialect: 'lance' | 'namespace') => {
          const request = { id: ['t'], load_detailed_metadata: true }
          const { schema } = await ns.operations.describeTable(request, { dialect })
          return (schema as JsonArrowSchema).fields.slice(-2).map(({ type }) => type.type)
        }
        expect(await inDialect('lance')).toEqual(['float', 'string'])
        expect(await inDialect('namespace')).toEqual(['float32', 'utf8'])
      })
    })

    describe('drop', () => {
      test('columns are removed, and earlier versions keep them', async () => {
        expect(await table.dropColumns(['price', 'name'])).toEqual({ version: 2 })
        expect(await namesOf()).toEqual(['id', 'vector', 'meta'])
        expect(await failure(table.query().where('price > 1').toArray())).toMatchObject({ code: 12 })
        expect(await all(['price'], await table.checkout(1))).toEqual([[1.5], [2.5], [null]])
        await table.add([{ id: 4n }])
        await table.restore(1)
        expect(await all(['price', 'name'])).toEqual([
          [1.5, 'one'],
          [2.5, 'two'],
          [null, null],
        ])
      })

      test('a name that is used again is another column', async () => {
        await table.dropColumns(['price'])
        await table.addColumns({ price: { type: 'int32' } })
        await table.add([{ id: 4n, price: 7 }])
        expect(await all(['price'])).toEqual([[null], [null], [null], [7]])
        expect(await all(['price'], await table.checkout(1))).toEqual([[1.5], [2.5], [null]])
        await table.restore(1)
        expect(await all(['price'])).toEqual([[1.5], [2.5], [null]])
        await table.restore(4)
        expect(await all(['price'])).toEqual([[null], [null], [null], [7]])
      })

      test('a field of a struct', async () => {
        await table.dropColumns(['meta.size'])
        expect(await all(['meta'])).toEqual([[{ lang: 'en' }], [{ lang: 'de' }], [null]])
        expect(await all(['meta'], await table.checkout(1))).toEqual([
          [{ lang: 'en', size: 10 }],
          [{ lang: 'de', size: 20 }],
          [null],
        ])
        await table.add([{ id: 4n, meta: { lang: 'fr' } }])
        expect(await table.countRows("meta.lang IN ('en', 'fr')")).toBe(2)
      })

      test('a missing column, and the last one, is refused', async () => {
        expect(await failure(table.dropColumns(['pric']))).toMatchObject({ code: 12, status: 404 })
        expect(await failure(table.dropColumns(['meta.lng']))).toMatchObject({ code: 12 })
        const every = ['id', 'name', 'price', 'vector', 'meta']
        expect(await failure(table.dropColumns(every))).toMatchObject({ code: 20, status: 400 })
        expect(await failure(table.dropColumns(['meta.lang', 'meta.size']))).toMatchObject({ code: 20 })
        expect(await failure(table.dropColumns(['id', 'id']))).toMatchObject({ status: 400 })
        expect(await failure(table.dropColumns([]))).toMatchObject({ status: 400 })
        expect(await table.version()).toBe(1)
      })
    })

    describe('alter', () => {
      test('A-102 a rename keeps the column: values, old versions, tags', async () => {
        await table.tags.create('before', 1)
        expect(await table.alterColumns({ price: { rename: 'cost' } })).toEqual({ version: 2 })
        await table.add([{ id: 4n, cost: 9 }])
        expect(await all(['cost'])).toEqual([[1.5], [2.5], [null], [9]])
        expect(await table.countRows('cost > 2')).toBe(2)
        expect(await all(['price'], await table.checkout('before'))).toEqual([[1.5], [2.5], [null]])
        await table.restore(1)
        expect(await all(['price'])).toEqual([[1.5], [2.5], [null]])
      })

      test('names are those before the call: two columns can swap them', async () => {
        await table.alterColumns({ id: { rename: 'price' }, price: { rename: 'id' } })
        const found = await table.query().select(['id', 'price']).toArray()
        expect(found.map(({ id, price }) => [id, price])).toEqual([
          [1.5, 1],
          [2.5, 2],
          [null, 3],
        ])
      })

      test('a field of a struct is renamed, also for earlier rows', async () => {
        await table.query().select(['meta']).toArray()
        await table.alterColumns({ 'meta.lang': { rename: 'language' } })
        await table.add([{ id: 4n, meta: { language: 'fr', size: 1n } }])
        expect(await table.countRows("meta.language IN ('de', 'fr')")).toBe(2)
        expect(await all(['meta'])).toEqual([
          [{ language: 'en', size: 10 }],
          [{ language: 'de', size: 20 }],
          [null],
          [{ language: 'fr', size: 1 }],
        ])
        expect(await (await table.checkout(1)).countRows("meta.lang = 'de'")).toBe(1)
      })

      test('A-103 nullability', async () => {
        await table.alterColumns({ id: { nullable: false } })
        expect(await failure(table.add([{ price: 1 }]))).toMatchObject({ code: 20 })
        const error = await failure(table.alterColumns({ price: { nullable: false } }))
        expect([error.code, error.status]).toEqual([20, 400])
        expect(error.message).toMatch(/price.*null in 1 row/)
        await table.delete('id = 3')
        await table.alterColumns({ price: { nullable: false }, 'meta.lang': { nullable: false } })
        expect(await failure(table.add([{ id: 4n }]))).toMatchObject({ code: 20 })
        await table.alterColumns({ price: { nullable: true }, id: { nullable: true } })
        await table.add([{ name: 'x' }])
        expect(await table.countRows()).toBe(3)
      })

      test('A-104 types: every value is cast, in rows of every age', async () => {
        await table.add([{ id: 4n, name: '4', price: 4, vector: [2, 2], meta: { lang: 'fr', size: 1n } }])
        const changes = {
          id: { type: 'int8' },
          price: { type: 'decimal(10, 2)' },
          'meta.size': { type: 'string' },
        }
        expect(await table.alterColumns(changes)).toEqual({ version: 3 })
        expect(await all(['id', 'price', 'meta'])).toEqual([
          [1, '1.50', { lang: 'en', size: '10' }],
          [2, '2.50', { lang: 'de', size: '20' }],
          [3, null, null],
          [4, '4.00', { lang: 'fr', size: '1' }],
        ])
        await table.add([{ id: 5, price: '5.25' }])
        expect(await table.countRows('id > 3 AND price > 4.5')).toBe(1)
        expect(await all(['id', 'price'], await table.checkout(2))).toEqual([
          [1, 1.5],
          [2, 2.5],
          [3, null],
          [4, 4],
        ])
        await table.restore(1)
        expect(await table.countRows('price = 2.5')).toBe(1)
      })

      test.each(['float16', 'float64', 'float32'])('A-104 vectors of %s', async type => {
        await table.alterColumns({ vector: { type: `vector(2, ${type})` } })
        const hits = await table.search([0, 1]).column('vector').limit(2).toArray()
        expect(hits.map(({ id, _distance }) => [id, _distance])).toEqual([
          [2, 0],
          [3, 1],
        ])
        await table.add([{ id: 9n, vector: [0, 1.25] }])
        expect((await table.search([0, 1.25]).limit(1).toArray())[0]).toMatchObject({ id: 9, _distance: 0 })
      })

      test.each<[string, object, number, RegExp]>([
        ['no change', { price: {} }, 13, /rename.*nullable/],
        ['an unknown column', { pric: { rename: 'x' } }, 12, /price/],
        ['a name that is taken', { price: { rename: 'name' } }, 20, /name/],
        ['a name that is reserved', { price: { rename: '_distance' } }, 20, /_distance/],
        ['a name that is taken in a struct', { 'meta.lang': { rename: 'size' } }, 20, /size/],
        ['a value that does not fit', { price: { type: 'int8' } }, 13, /price/],
        ['a text that is no number', { name: { type: 'int64' } }, 13, /name/],
        ['a type without a cast', { vector: { type: 'int64' } }, 20, /vector/],
        ['a vector of another length', { vector: { type: 'vector(3)' } }, 13, /2.*3/],
        ['one of several', { id: { rename: 'key' }, name: { type: 'int64' } }, 13, /name/],
      ])('A-101 %s is refused, and nothing is changed', async (_, changes, code, message) => {
        const error = await failure(table.alterColumns(changes as never))
        expect([error.code, error.status]).toEqual([code, code === 12 ? 404 : 400])
        expect(error.message + error.hint).toMatch(message)
        expect(await table.version()).toBe(1)
        expect(await all(['id', 'name', 'price'])).toEqual([
          [1, 'one', 1.5],
          [2, 'two', 2.5],
          [3, null, null],
        ])
      })

      test('A-101 A-106 one column twice, and an alteration without change, is refused', async () => {
        const alter = (...alterations: object[]) =>
          failure(ns.operations.alterTableAlterColumns({ id: ['t'], alterations: alterations as never }))
        const rename = (to: string) => ({ path: 'id', rename: to })
        expect(await alter(rename('a'), rename('b'))).toMatchObject({ code: 13 })
        expect(await alter()).toMatchObject({ code: 13 })
        expect(await alter({ path: 'id' })).toMatchObject({ code: 13 })
        expect(await alter({ rename: 'id' })).toMatchObject({ code: 13 })
        expect(await table.version()).toBe(1)
      })

      test('A-105 types are read as either dialect names them, or by the bare name', async () => {
        const alter = (data_type: unknown) =>
          ns.operations.alterTableAlterColumns({
            id: ['t'],
            alterations: [{ path: 'price', data_type: data_type as never }],
          })
        for (const [type, bits] of [
          ['float', 32],
          [{ type: 'float64' }, 64],
          [{ type: 'float32' }, 32],
        ] as const) {
          await alter(type)
          expect(await fieldOf('price')).toMatchObject({ type: { kind: 'float', bits } })
        }
      })

      test('deleted rows are not cast', async () => {
        await table.delete('id = 2')
        await table.alterColumns({ name: { type: 'binary' } })
        await table.update({ name: null }, 'id = 1')
        await table.alterColumns({ name: { type: 'string' } })
        await table.alterColumns({ name: { type: 'int64' } })
        expect(await all(['id', 'name'])).toEqual([
          [1, null],
          [3, null],
        ])
      })

      test('inline rows, repeated type changes, a stored manifest, a reopened root', async () => {
        const types = ['int32', 'string', 'int64']
        const at: [version: number, rows: unknown[][]][] = []
        for (let i = 0; i < 36; i++) {
          await table.add([{ id: BigInt(10 + i), name: `n${i}` }])
          const { version } = await table.alterColumns({ id: { type: types[i % 3]! } })
          if (i % 3 === 2) at.push([version, await all(['id', 'name'])])
          else if (i % 3 === 1) await table.alterColumns({ id: { type: 'int64' } })
        }
        const check = async (of: Table) => {
          for (const [version, found] of at) {
            expect(await all(['id', 'name'], await of.checkout(version))).toEqual(found)
            expect(found).toHaveLength(3 + (at.findIndex(([v]) => v === version) + 1) * 3)
          }
        }
        await check(table)
        ns = await opened.reopen()
        const again = await ns.openTable('t')
        await check(again)
        await again.restore(at[0]![0])
        expect(await all(['id', 'name'], again)).toEqual(at[0]![1])
      })
    })

    describe('computed', () => {
      /** Until a job has ended. */
      const ended = async (jobId: string) => {
        for (;;) {
          const { status, properties } = await ns.operations.describeTransaction({ id: [jobId] })
          if (status !== 'Queued' && status !== 'Running') return { status, ...properties }
          await new Promise(setImmediate)
        }
      }

      beforeEach(async () => {
        await table.addColumns({ total: { computed: 'price * id' } })
      })

      test('A-098 A-098 a computed column has values in existing, new and changed rows', async () => {
        await table.add([{ id: 4n, price: 10 }])
        await table.update({ price: 7 }, 'id = 2')
        expect(await all(['id', 'total'])).toEqual([
          [1, 1.5],
          [2, 14],
          [3, null],
          [4, 40],
        ])
        await table
          .mergeInsert('id')
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .execute([
            { id: 4n, price: 2 },
            { id: 5n, price: 3 },
          ])
        expect(await all(['id', 'total'])).toEqual([
          [1, 1.5],
          [2, 14],
          [3, null],
          [4, 8],
          [5, 15],
        ])
        await table.add([{ id: 6n, price: 1 }], { mode: 'overwrite' })
        expect(await all(['total'])).toEqual([[6]])
        expect(await table.countRows('total = price * id')).toBe(1)
      })

      test('one may depend on another, and the definition is in the metadata', async () => {
        await table.addColumns({ label: { computed: "name || ': ' || CAST(total AS string)" } })
        await table.update({ price: 100 }, 'id = 1')
        await table.add([{ id: 4n, name: 'four', price: 1.5 }])
        const found = await table.query().where('id IN (1, 4)').orderBy('id').toArray()
        expect(found.map(row => String(row.label).replace('.0', ''))).toEqual(['one: 100', 'four: 6'])
        expect((await fieldOf('total'))!.metadata).toEqual({ 'sheaf:computed': 'price * id' })
      })

      test('callers cannot write it', async () => {
        expect(await failure(table.add([{ id: 4n, total: 1 }]))).toMatchObject({ code: 20 })
        expect(await failure(table.update({ total: 1 }))).toMatchObject({ code: 20 })
        const merge = table.mergeInsert('id').whenMatchedUpdateAll()
        expect(await failure(merge.execute([{ id: 1n, total: 1 }]))).toMatchObject({ code: 20 })
        const forge = table.updateFieldMetadata('total', { 'sheaf:computed': '1' })
        expect(await failure(forge)).toMatchObject({ code: 13 })
        expect(await table.updateFieldMetadata('total', { a: 'b' }, { replace: true })).toMatchObject({
          'sheaf:computed': 'price * id',
        })
        await table.add([{ id: 4n, price: 1, total: null }])
        expect(await all(['total'])).toEqual([[1.5], [5], [null], [4]])
      })

      test('its inputs stay unchanged, or the call is refused', async () => {
        for (const change of [
          () => table.alterColumns({ price: { rename: 'cost' } }),
          () => table.alterColumns({ price: { type: 'float32' } }),
          () => table.alterColumns({ total: { type: 'float32' } }),
          () => table.alterColumns({ price: { rename: 'x' }, name: { rename: 'price' } }),
          () => table.dropColumns(['price']),
        ]) {
          const error = await failure(change())
          expect([error.code, error.status]).toEqual([20, 400])
          expect(error.message).toContain('total')
        }
        await table.alterColumns({ total: { rename: 'sum' }, price: { nullable: true } })
        await table.add([{ id: 4n, price: 2 }])
        expect(await all(['sum'])).toEqual([[1.5], [5], [null], [8]])
        await table.dropColumns(['price', 'sum'])
      })

      test('a row for which it fails is refused, and so is a forbidden null', async () => {
        await table.addColumns({ n: { computed: '10 / id' } })
        expect(await failure(table.add([{ id: 0n }]))).toMatchObject({ code: 13 })
        await table.delete('id = 3')
        await table.alterColumns({ total: { nullable: false } })
        expect(await failure(table.add([{ id: 4n }]))).toMatchObject({ code: 20 })
        await table.add([{ id: 4n, price: 1 }])
        expect(await table.countRows()).toBe(3)
      })

      test('a restored version has its definitions back', async () => {
        const version = await table.version()
        await table.dropColumns(['total'])
        await table.add([{ id: 4n, price: 1 }])
        await table.restore(version)
        await table.add([{ id: 5n, price: 2 }])
        expect(await all(['total'])).toEqual([[1.5], [5], [null], [10]])
      })

      test('rows copied to another table are ordinary rows', async () => {
        const copy = await ns.createTable('copy', await table.query().toIpc())
        await copy.add([{ id: 9n, total: 1 }])
        expect(await copy.countRows('total = 1')).toBe(1)
      })

      test('a job fills it again', async () => {
        const { jobId } = await table.backfillColumn('total', { where: 'id > 1' })
        expect(await ended(jobId)).toMatchObject({ status: 'Succeeded', operation: 'backfill' })
        expect(await ns.operations.describeJob({ job_id: jobId })).toMatchObject({
          job_type: 'backfill_column',
          spec: { columns: ['total'], where: 'id > 1' },
          result: { rows_assigned: 2, rows_failed: 0, rows_remaining: 0, source_version: expect.any(Number) },
        })
        expect(await all(['total'])).toEqual([[1.5], [5], [null]])
        expect(await table.version()).toBe(3)
        expect(await failure(table.backfillColumn('price'))).toMatchObject({ code: 13, status: 400 })
        expect(await failure(table.backfillColumn('totl'))).toMatchObject({ code: 12 })
        const wrong = table.backfillColumn('total', { where: 'pric > 1' })
        expect(await failure(wrong)).toMatchObject({ code: 12 })
      })
    })

    describe('metadata', () => {
      test('of fields: set, removed, replaced', async () => {
        expect(await table.updateFieldMetadata('price', { unit: 'EUR', note: 'x' })).toEqual({
          unit: 'EUR',
          note: 'x',
        })
        expect(await table.updateFieldMetadata('price', { note: null, by: 'me' })).toEqual({
          unit: 'EUR',
          by: 'me',
        })
        expect(await fieldOf('price')).toMatchObject({ metadata: { unit: 'EUR', by: 'me' } })
        expect(await table.updateFieldMetadata('price', { a: 'b' }, { replace: true })).toEqual({ a: 'b' })
        expect(await table.updateFieldMetadata('price', {}, { replace: true })).toEqual({})
        expect(await table.updateFieldMetadata('meta.lang', { iso: '639-1' })).toEqual({ iso: '639-1' })
        expect(await fieldOf('price', await table.checkout(2))).toMatchObject({ metadata: { unit: 'EUR' } })
        expect(await failure(table.updateFieldMetadata('pricee', { a: 'b' }))).toMatchObject({ code: 12 })
        expect(await table.version()).toBe(6)
      })

      test('of the schema', async () => {
        await table.updateSchemaMetadata({ owner: 'anna' })
        expect((await table.schema()).metadata).toEqual({ owner: 'anna' })
        await table.addColumns({ a: '1' })
        expect((await table.schema()).metadata).toEqual({ owner: 'anna' })
        const owner = new Map([['owner', 'anna']])
        const metadataOf = async (search: Search) => (await search.toArrow()).schema.metadata
        expect(await metadataOf(table.query().limit(1))).toEqual(owner)
        expect(await metadataOf(table.query().select(['a']).where('false'))).toEqual(owner)
        expect(await metadataOf(table.query().select({ a: 'count(*)' }))).toEqual(new Map())
        expect(await metadataOf(table.query().select(['a']).distinct())).toEqual(new Map())
      })
    })
  })
}
