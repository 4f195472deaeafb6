/** Selecting, grouping and ordering, and scans in batches. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Order, sql, Table } from '../../src/index.js'
import { failure } from '../support/failure.js'
import type { Door, OpenedRoot } from '../support/transports.js'

const goods = [
  { id: 1n, city: 'Bonn', price: 2.5, at: new Date(0), tags: ['a', 'b'], at2: [0, 1] },
  { id: 2n, city: 'Köln', price: 1.5, at: new Date(1000), tags: [], at2: [0, 2] },
  { id: 3n, city: 'Bonn', price: null, at: null, tags: null, at2: [0, 3] },
  { id: 4n, city: null, price: 4, at: new Date(3000), tags: ['c'], at2: [0, 4] },
  { id: 5n, city: 'Aachen', price: -1, at: new Date(4000), tags: ['a'], at2: [0, 5] },
]

export function queriesSuite({ name, open }: Door): void {
  describe(`queries, ${name}`, () => {
    let root: OpenedRoot
    let shop: Table

    beforeEach(async () => {
      root = await open()
      shop = await root.ns.createTable('shop', goods, { vectorColumns: ['at2'] })
    })
    afterEach(() => root.close())

    describe('select', () => {
      test('A-061 expressions by name, in their order, over the columns of the table and those of the query', async () => {
        const rows = await shop
          .query()
          .select({ double: 'price * 2', id: 'id', tag: 'tags[1]', at: '_rowoffset + 10', row: '_rowid' })
          .limit(2)
          .toArray()
        expect(rows).toEqual([
          { double: 5, id: 1, tag: 'a', at: 10, row: 0 },
          { double: 3, id: 2, tag: null, at: 11, row: 1 },
        ])
        expect(Object.keys(rows[0]!)).toEqual(['double', 'id', 'tag', 'at', 'row'])
      })

      test('a distance is a column like any other', async () => {
        const rows = await shop
          .search([0, 1])
          .select({ id: 'id', root: 'sqrt(_distance)' })
          .where('_distance >= 1 and city is not null')
          .postfilter()
          .limit(4)
          .toArray()
        expect(rows).toEqual([
          { id: 2, root: 1, _distance: 1 },
          { id: 3, root: 2, _distance: 4 },
        ])
      })

      test('the columns that a search makes are nullable, as Lance declares them', async () => {
        const found = await shop
          .search([0, 1])
          .select(['_rowid', '_rowoffset', '_distance'])
          .limit(1)
          .toArrow()
        expect(found.schema.fields.map(field => [field.name, field.nullable])).toEqual([
          ['_rowid', true],
          ['_rowoffset', true],
          ['_distance', true],
        ])
      })

      test('A-045 hamming counts the bits in which bytes differ', async () => {
        const item = { name: 'item', type: { kind: 'int', bits: 8, signed: false }, nullable: true } as const
        const type = { kind: 'fixed_size_list', size: 2, child: item } as const
        const schema = { fields: [{ name: 'bits', type, nullable: true }] }
        const rows = [{ bits: [255, 0] }, { bits: [0, 1] }, { bits: null }, { bits: [3, 3] }]
        const codes = await root.ns.createTable('codes', rows, { schema })
        const near = codes.search([1, 1]).distanceType('hamming').select(['_distance'])
        const found = [{ _distance: 1 }, { _distance: 2 }, { _distance: 8 }]
        expect(await near.toArray()).toEqual(found)
        await codes.createIndex('bits', { type: 'IVF_FLAT', distanceType: 'hamming', waitTimeoutMs: 60_000 })
        expect(await codes.indexStats('bits_idx')).toMatchObject({ distanceType: 'hamming' })
        expect(await codes.search([1, 1]).select(['_distance']).toArray()).toEqual(found)
        expect(await near.explain()).toContain('metric=HAMMING')
        for (const query of [
          [1, 256],
          [0.5, 1],
          [-1, 0],
        ]) {
          const refused = codes.search(query).distanceType('hamming').toArray()
          expect(await failure(refused)).toMatchObject({
            code: 13,
            message: expect.stringContaining('0 to 255'),
          })
        }
        expect(await failure(shop.search([0, 1]).distanceType('hamming').toArray())).toMatchObject({
          code: 13,
          message: expect.stringContaining('float32>[2]'),
        })
      })

      test('A-042 several vectors are one query on a column of lists of vectors', async () => {
        const docs = await root.ns.createTable(
          'docs',
          [
            { id: 1, words: [[1, 1]] },
            { id: 2, words: [] },
            {
              id: 3,
              words: [
                [2, 0],
                [0, 1],
              ],
            },
          ],
          { vectorColumns: ['words'] },
        )
        const query = [Float32Array.of(0, 3), Float32Array.of(1, 0)]
        const near = docs.search(query).select(['id'])
        expect((await near.toArray()).map(({ id }) => id)).toEqual([3, 1])
        expect(await near.distanceType('dot').toArray()).toEqual([
          { id: 3, _distance: 1 - 3 + (1 - 2) },
          { id: 1, _distance: 1 - 3 + (1 - 1) },
        ])
        expect(await near.distanceType('dot').where('id < 3').toArray()).toEqual([{ id: 1, _distance: -2 }])
        const [one] = await docs.search([0, 3]).distanceType('l2').limit(1).select(['id']).toArray()
        expect(one).toEqual({ id: 3, _distance: 4 })
        await docs.createIndex('words', { type: 'IVF_FLAT', waitTimeoutMs: 60_000 })
        expect((await near.nprobes(1).toArray()).map(({ id }) => id)).toEqual([3, 1])
      })

      test('_rowoffset counts the live rows of the version before the row', async () => {
        const scratch = await root.ns.createTable('scratch', [{ x: 1 }, { x: 2 }, { x: 3 }])
        await scratch.add([{ x: 4 }, { x: 5 }])
        await scratch.delete('x = 2 or x = 4')
        expect(await scratch.query().select({ x: 'x', o: '_rowoffset' }).toArray()).toEqual([
          { x: 1, o: 0 },
          { x: 3, o: 1 },
          { x: 5, o: 2 },
        ])
        const taken = scratch.query().where('_rowoffset in (0, 2)').select(['x'])
        expect(await taken.toArray()).toEqual([{ x: 1 }, { x: 5 }])
      })

      test('names of computed columns are reserved', async () => {
        for (const name of ['_rowid', '_rowoffset', '_distance']) {
          expect(
            await failure(
              shop
                .query()
                .select({ [name]: 'id' })
                .toArray(),
            ),
          ).toMatchObject({ code: 13 })
        }
        const itself = shop.query().select({ _rowid: '_rowid' }).withRowId().limit(1)
        expect(await itself.toArray()).toEqual([{ _rowid: 0 }])
        const many = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`c${i}`, 'id']))
        expect(await failure(shop.query().select(many).toArray())).toMatchObject({
          code: 13,
          message: 'at most 1000 expressions can be selected, got 1001',
        })
        expect(() => shop.query().select({})).toThrow('select: the list of columns is empty')
        expect(() => shop.query().select([])).toThrow('select: the list of columns is empty')
        expect(() => shop.query().orderBy()).toThrow('orderBy: no sort key is given')
      })

      test('an error in an expression names its column and its position', async () => {
        const error = await failure(shop.query().select({ ok: 'id', bad: 'prise + 1' }).toArray())
        expect(error).toMatchObject({ code: 12, hint: expect.stringContaining('"price"') })
        expect(error.message).toMatch(/^column "bad": no column named "prise"/)
        const broken = await failure(shop.query().select({ bad: 'price +' }).toArray())
        expect(broken).toMatchObject({ code: 13 })
      })
    })

    describe('order', () => {
      const ids = async (...keys: readonly (string | Order)[]) =>
        (
          await shop
            .query()
            .select(['id'])
            .orderBy(...keys)
            .toArray()
        ).map(row => row.id)

      test('by columns, NULL last, equal rows in row order', async () => {
        expect(await ids('price')).toEqual([5, 2, 1, 4, 3])
        expect(await ids({ column: 'price', ascending: false })).toEqual([4, 1, 2, 5, 3])
        expect(await ids('city')).toEqual([5, 1, 3, 2, 4])
        const byCity = { column: 'city', nullsFirst: true }
        expect(await ids(byCity, { column: 'id', ascending: false })).toEqual([4, 5, 3, 1, 2])
      })

      test('limit and offset apply after the order', async () => {
        const found = shop.query().where('price > 0').orderBy({ column: 'price', ascending: false })
        expect(await found.select(['price']).offset(1).limit(1).toArray()).toEqual([{ price: 2.5 }])
        const twice = found.select({ id: 'id', cents: 'price * -100' }).orderBy('cents').limit(2)
        expect(await twice.toArray()).toEqual([
          { id: 4, cents: -400 },
          { id: 1, cents: -250 },
        ])
      })

      test('the nearest rows in another order', async () => {
        const within = shop
          .search([0, 1])
          .distanceRange(0, 5)
          .select(['id'])
          .orderBy({ column: 'id', ascending: false })
        expect(await within.limit(2).toArray()).toEqual([
          { id: 3, _distance: 4 },
          { id: 2, _distance: 1 },
        ])
      })

      test('of a range of distances, groups and orders are made of all rows in it, and limit counts their rows', async () => {
        const near = shop.search([0, 5]).select(['id'])
        const ids = async (search: typeof near) => (await search.toArray()).map(row => row.id)
        expect(await ids(near.limit(2).offset(1))).toEqual([4, 3])
        const within = near.distanceRange(0, 5)
        expect(await ids(within)).toEqual([5, 4, 3])
        expect(await ids(within.limit(2).offset(1).orderBy('id'))).toEqual([4, 5])
        const counted = within.limit(1).select({ n: 'count(*)', far: 'max(_distance)' })
        expect(await counted.toArray()).toEqual([{ n: 3, far: 4 }])
      })

      test('groups, distinct rows and orders of the nearest rows are refused, and the error says what to do', async () => {
        const near = shop.search([0, 5]).limit(3)
        for (const refused of [
          near.orderBy('id'),
          near.select(['city']).distinct(),
          near.select({ n: 'count(*)' }),
          near.groupBy('id').select({ id: 'id', n: 'count(*)' }),
        ]) {
          expect(await failure(refused.toArray())).toMatchObject({
            code: 13,
            hint: expect.stringContaining('distanceRange'),
          })
        }
      })

      test('types without an order, and volatile expressions, are refused', async () => {
        const random = shop.query().select({ r: 'random()' }).orderBy('r')
        expect(await failure(random.toArray())).toMatchObject({ code: 0 })
        expect(await failure(shop.query().orderBy('tags').toArray())).toMatchObject({ code: 20 })
        expect(await failure(shop.query().orderBy('prise').toArray())).toMatchObject({ code: 12 })
      })
    })

    describe('groups', () => {
      test('a row per key with its aggregates', async () => {
        const rows = await shop
          .query()
          .select({
            city: 'city',
            n: 'count(*)',
            priced: 'count(price)',
            total: 'sum(price)',
            top: 'max(id) + 1',
          })
          .groupBy('city')
          .orderBy('n', 'city')
          .toArray()
        expect(rows).toEqual([
          { city: 'Aachen', n: 1, priced: 1, total: -1, top: 6 },
          { city: 'Köln', n: 1, priced: 1, total: 1.5, top: 3 },
          { city: null, n: 1, priced: 1, total: 4, top: 5 },
          { city: 'Bonn', n: 2, priced: 1, total: 2.5, top: 4 },
        ])
      })

      test('keys are expressions too, and an order may name a key that is not selected', async () => {
        const rows = shop
          .query()
          .select({ odd: 'id % 2 = 1', n: 'count(*)' })
          .groupBy('id % 2 = 1')
          .orderBy({ column: 'odd', ascending: false })
        expect(await rows.toArray()).toEqual([
          { odd: true, n: 3 },
          { odd: false, n: 2 },
        ])
        const byKey = shop.query().select({ n: 'count(*)' }).groupBy('city').orderBy('city').limit(2)
        expect(await byKey.toArray()).toEqual([{ n: 1 }, { n: 2 }])
      })

      test('without keys there is one row, also without rows', async () => {
        const all = {
          n: 'count(*)',
          mean: 'avg(price)',
          least: 'min(city)',
          last: 'max(at)',
          cities: 'count(distinct city)',
        }
        expect(await shop.query().select(all).toArray()).toEqual([
          { n: 5, mean: 1.75, least: 'Aachen', last: new Date(4000), cities: 3 },
        ])
        expect(await shop.query().where('id > 99').select(all).toArray()).toEqual([
          { n: 0, mean: null, least: null, last: null, cities: 0 },
        ])
      })

      test('an aggregate with FILTER reads only rows that pass its condition', async () => {
        const rows = shop.query().groupBy('city').select({
          city: 'city',
          n: 'count(*)',
          cheap: 'count(*) FILTER (WHERE price < 2)',
          ids: 'array_agg(id) FILTER (WHERE price < 2)',
          // Without the filter, id 1 would divide by zero.
          most: 'max(10 / (id - 1)) FILTER (WHERE id > 1)',
        })
        expect(await rows.orderBy('city').toArray()).toEqual([
          { city: 'Aachen', n: 1, cheap: 1, ids: [5], most: 2 },
          { city: 'Bonn', n: 2, cheap: 0, ids: null, most: 5 },
          { city: 'Köln', n: 1, cheap: 1, ids: [2], most: 10 },
          { city: null, n: 1, cheap: 0, ids: null, most: 3 },
        ])
        expect(await rows.explain()).toContain('count(*) FILTER (WHERE price < 2')
      })

      test('having keeps groups for which a condition on keys, columns and aggregates is true', async () => {
        const groups = shop.query().groupBy('city').select({ town: 'city', n: 'count(*)' }).orderBy('town')
        const towns = async (search: typeof groups) => (await search.toArray()).map(({ town }) => town)
        expect(await towns(groups.having('n > 1'))).toEqual(['Bonn'])
        expect(await towns(groups.having('N + 0 = ? AND city IS NOT NULL', [1]))).toEqual(['Aachen', 'Köln'])
        expect(await towns(groups.having(sql`max(price) > ${2} OR town = ${'Aachen'}`))).toEqual([
          'Aachen',
          'Bonn',
          null,
        ])
        expect(await towns(groups.having('NULL'))).toEqual([])
        expect(await groups.having('n > 1').distinct().toArray()).toEqual([{ town: 'Bonn', n: 2 }])
        expect(await groups.having('n > 1 AND sum(id) > 2').explain()).toMatch(
          /Aggregate: .*, having `#0` > 1/,
        )
        const all = shop.query().select({ n: 'count(*)' })
        expect(await all.having('max(id) > 9').toArray()).toEqual([])
        expect(await all.having('max(id) < 9').toArray()).toEqual([{ n: 5 }])
      })

      test.each([
        ['id > 1', /having reads "id", which is neither a key of the groups nor in an aggregate/],
        ['n', /having takes a condition, not `#0`/],
        ['nn > 1', /no column named "nn"/],
        ['n > ', /expected a value or a column name, found the end/],
      ])('having %s is refused', async (having, message) => {
        const groups = shop.query().groupBy('city').select({ n: 'count(*)' })
        expect((await failure(groups.having(having).toArray())).message).toMatch(message)
      })

      test('having without groups is refused', async () => {
        expect(await failure(shop.query().having('id > 1').toArray())).toMatchObject({
          code: 13,
          message: 'having is a condition on groups, but this query has no groups',
        })
      })

      test('orders may be expressions, over rows, groups and distinct rows', async () => {
        const ids = async (search: ReturnType<typeof shop.search>) =>
          (await search.toArray()).map(({ id }) => id)
        const rows = shop.query().select({ id: 'id', third: 'id % 3' })
        expect(await ids(rows.orderBy({ column: 'id % 3' }, { column: '-id', ascending: true }))).toEqual([
          3, 4, 1, 5, 2,
        ])
        expect(await ids(rows.orderBy({ column: 'abs(third - 1)' }, 'id'))).toEqual([1, 4, 2, 3, 5])
        const groups = shop.query().groupBy('city').select({ city: 'city', n: 'count(*)' })
        const cities = async (search: typeof groups) => (await search.toArray()).map(({ city }) => city)
        expect(await cities(groups.orderBy({ column: 'n * max(id)', ascending: false }))).toEqual([
          'Bonn',
          'Aachen',
          null,
          'Köln',
        ])
        expect(await cities(groups.orderBy('lower(city)').limit(2))).toEqual(['Aachen', 'Bonn'])
        const cheap = shop.query().select({ n: 'id % 3' }).distinct().orderBy({ column: '0 - n' })
        expect(await cheap.toArray()).toEqual([{ n: 2 }, { n: 1 }, { n: 0 }])
      })

      test.each([
        ['id +', /column "id \+": expected a value/],
        ['idd * 2', /column "idd \* 2": no column named "idd"/],
        ['random() * 2', /whose value changes with every evaluation/],
        ['unit prise', /no column named "unit prise"/],
      ])('an order by %s is refused', async (order, message) => {
        expect((await failure(shop.query().orderBy({ column: order }).toArray())).message).toMatch(message)
      })

      test('percentiles, deviations, texts and lists', async () => {
        const all = {
          median: 'median(price)',
          high: 'percentile(price, 0.75)',
          deviation: 'round(stddev(price) * 1000)',
          spread: 'round(var_pop(price) * 1000)',
          cities: "string_agg(city, ', ')",
          often: 'mode(city)',
          first: 'first(city)',
          last: 'last(id)',
          different: 'approx_distinct(city)',
        }
        expect(await shop.query().select(all).toArray()).toEqual([
          {
            median: 2,
            high: 2.875,
            deviation: 2102,
            spread: 3313,
            cities: 'Bonn, Köln, Bonn, Aachen',
            often: 'Bonn',
            first: 'Bonn',
            last: 5,
            different: 3,
          },
        ])
      })

      test.each([
        ['sum(id) FILTER (WHERE id)', /column "n": |FILTER takes a condition, not/],
        ['percentile(price, 90)', /from 0 to 1, not 90/],
        ['approx_distinct(*)', /approx_distinct takes one value/],
        ['median(city)', /median does not take values of type utf8/],
        ['lower(city) FILTER (WHERE id > 1)', /FILTER is for aggregates/],
      ])('%s is refused', async (n, message) => {
        const refused = await failure(shop.query().select({ n }).toArray())
        expect(refused.message).toMatch(message)
        expect(refused.at).toBeDefined()
      })

      test('distinct rows are returned once', async () => {
        const cities = shop.query().select(['city']).distinct()
        expect(await cities.orderBy('city').toArray()).toEqual([
          { city: 'Aachen' },
          { city: 'Bonn' },
          { city: 'Köln' },
          { city: null },
        ])
        expect(await cities.limit(2).toArray()).toEqual([{ city: 'Bonn' }, { city: 'Köln' }])
        const sizes = shop.query().select({ n: 'count(*)' }).groupBy('city').distinct().orderBy('n')
        expect(await sizes.toArray()).toEqual([{ n: 1 }, { n: 2 }])
      })

      test.each([
        [{ id: 'id', n: 'count(*)' }, [], /"id", which is neither a key of the groups nor in an aggregate/],
        [{ n: 'sum(count(*))' }, [], /aggregates cannot be nested/],
        [{ n: 'sum(city)' }, [], /sum does not take/],
        [{ n: 'count(*)' }, ['tags'], /cannot compare values of "tags"/],
        [{ n: 'count(distinct tags)' }, [], /cannot compare values/],
      ] as const)('%o is refused', async (columns, keys, message) => {
        const refused = await failure(
          shop
            .query()
            .select(columns)
            .groupBy(...keys)
            .toArray(),
        )
        expect(refused.message).toMatch(message)
      })

      test('row ids are not allowed in groups', async () => {
        const groups = shop.query().select({ city: 'city' }).groupBy('city').withRowId()
        expect(await failure(groups.toArray())).toMatchObject({ code: 13 })
        expect(await failure(shop.query().distinct().withRowId().toArray())).toMatchObject({ code: 13 })
      })

      test('columns may have any name', async () => {
        const odd = await root.ns.createTable('odd', [
          { '#0': 'a', '#key0': 'z', city: 'B', v: 1 },
          { '#0': 'b', '#key0': 'z', city: 'C', v: 2 },
        ])
        const rows = odd
          .query()
          .select({ c: 'city', k: '`#0`', n: 'count(*)', total: 'sum(v)' })
          .groupBy('city', '`#0`')
        expect(await rows.toArray()).toEqual([
          { c: 'B', k: 'a', n: 1, total: 1 },
          { c: 'C', k: 'b', n: 1, total: 2 },
        ])
        expect(await failure(odd.query().select({ k: '`#key0`' }).groupBy('city').toArray())).toMatchObject({
          code: 13,
        })
      })

      test('an aggregate in a filter is refused', async () => {
        expect((await failure(shop.countRows('count(*) > 1'))).message).toMatch(/aggregate/)
      })
    })

    test('the tag binds its values, with any characters in them', async () => {
      const city = "Bonn' or '1' = '1"
      expect(await shop.countRows(sql`city = ${city}`)).toBe(0)
      expect(await shop.countRows(sql`city in ${['Bonn', 'Köln']} and price > ${2}`)).toBe(1)
      const cheap = sql`price < ${2}`
      const found = shop.query().where(sql`${cheap} and "city" = ${'Köln'}`)
      expect(await found.select(['id']).toArray()).toEqual([{ id: 2 }])
      expect(await shop.delete(sql`id = ${4n}`)).toMatchObject({ rows: 1 })
    })

    test('selected expressions made by the tag bind their values, before and after a condition', async () => {
      const { sql } = root
      const columns = { id: 'id', more: sql`price + ${100}`, text: sql`${"it's"} || city` }
      const bonn = sql`city = ${'Bonn'} AND id > ${1}`
      const first = await shop.query().select(columns).where(bonn).toArray()
      expect(first).toEqual(await shop.query().where(bonn).select(columns).toArray())
      const plain = { id: 'id', more: 'price + 100', text: "'it''s' || city" }
      expect(first).toEqual(await shop.query().where("city = 'Bonn' AND id > 1").select(plain).toArray())
      expect(first.length).toBeGreaterThan(0)
    })

    test('parameters of where, having and fragments are independent, in any order and style', async () => {
      const { sql } = root
      const conditions = [
        ['city = ? AND id < ?', ['Bonn', 100]],
        ['city = $1 AND id < $2', ['Bonn', 100]],
        ['city = :city AND id < :id', { city: 'Bonn', id: 100 }],
        [sql`city = ${'Bonn'} AND id < ${100}`],
      ] as [string, never][]
      const limits = [
        ['n > ? AND max(id) < ?', [0, 99]],
        ['n > $1 AND max(id) < $2', [0, 99]],
        ['n > :least AND max(id) < :most', { least: 0, most: 99 }],
        [sql`n > ${0} AND max(id) < ${99}`],
      ] as [string, never][]
      const replaced = { dropped: sql`${1}` }
      const columns = {
        city: 'city',
        n: 'count(*)',
        more: sql`sum(id) + ${1000}`,
        less: sql`sum(id) - ${1000}`,
      }
      const plain = { ...columns, more: 'sum(id) + 1000', less: 'sum(id) - 1000' }
      const groups = shop.query().groupBy('city')
      const expected = await groups.where("city = 'Bonn'").select(plain).toArray()
      expect(expected).toHaveLength(1)
      for (const where of conditions) {
        for (const having of limits) {
          const after = groups
            .where(...where)
            .having('n > ?', [7])
            .having(...having)
          const before = groups
            .select(replaced)
            .select(columns)
            .having(...having)
          for (const query of [
            after.select(replaced).select(columns),
            before.where(...where),
            before.where('id < ?', [99]).where(...where),
          ]) {
            expect(await query.toArray(), `${where[0]}, ${having[0]}`).toEqual(expected)
            expect(await query.count()).toBe(1)
          }
          expect(
            await groups
              .where(...where)
              .having('n > ?', [100])
              .select(columns)
              .toArray(),
          ).toEqual([])
        }
      }
      const bonn = shop.query().where('city = ?', ['Bonn'])
      expect(await failure(bonn.select({ x: 'id + $2', y: sql`${5}` }).toArray())).toMatchObject({ code: 13 })
      expect(
        await failure(bonn.groupBy('city').select({ n: 'count(*)' }).having('n > ?', [1, 2]).toArray()),
      ).toMatchObject({
        code: 13,
        message: 'having: 2 parameters are given, 1 are used',
      })
      const scan = await shop.scan({
        where: sql`city = ${'Bonn'}`,
        select: { id: 'id', more: sql`id + ${1000}` },
      })
      for await (const batch of shop.slice(scan.slices[0]!.token).batches()) {
        for (const row of batch) expect(row.more).toBe(row.id + 1000n)
      }
    })

    describe('prepared queries', () => {
      test('a prepared query runs with the values of each call, and reads the newest rows', async () => {
        const byCity = shop.prepare(query => query.where('city = ?').select(['id', 'price']))
        expect(await byCity.all(['Bonn'])).toEqual([
          { id: 1, price: 2.5 },
          { id: 3, price: null },
        ])
        expect(await byCity.first(['Köln'], { int64: 'bigint' })).toEqual({ id: 2n, price: 1.5 })
        expect(await byCity.first(['Rom'])).toBeNull()
        expect((await byCity.arrow(['Bonn'])).numRows).toBe(2)
        await shop.add([{ id: 9n, city: 'Rom', price: 7 }])
        expect(await byCity.all(['Rom'])).toEqual([{ id: 9, price: 7 }])
      })

      test('a prepared query of a version that is checked out never sees later rows', async () => {
        const old = await shop.checkout(await shop.version())
        const cheap = old.prepare(query => query.where('price < :most').select(['id']))
        await shop.add([{ id: 9n, city: 'Rom', price: 1 }])
        expect(await cheap.all({ most: 2 })).toEqual([{ id: 2 }, { id: 5 }])
      })

      test('a search by vector or words can be prepared', async () => {
        const near = shop.search([0, 0]).where('city = $1').select(['id']).prepare<[city: string]>()
        expect(await near.all(['Bonn'])).toEqual([
          { id: 1, _distance: 1 },
          { id: 3, _distance: 9 },
        ])
        const words = shop.prepare(query => query.fullText('bonn').where('id > ?').select(['id']))
        expect(await words.all([1])).toMatchObject([{ id: 3 }])
      })

      test('expressions and groups share the values with the condition', async () => {
        const totals = shop.prepare(query =>
          query
            .where('id < $2')
            .groupBy('city')
            .select({ city: 'city', n: 'sum(price * $1)' })
            .having('n > $1'),
        )
        expect(await totals.all([2, 3])).toEqual([
          { city: 'Bonn', n: 5 },
          { city: 'Köln', n: 3 },
        ])
      })

      test('several conditions without values share the values of the call; others keep their own', async () => {
        const query = shop
          .query()
          .where('price > ?')
          .where('id < ?', [4])
          .where('city = ? -- a comment')
          .select(['id'])
          .prepare()
        expect(await query.all([1, 'Bonn'])).toEqual([{ id: 1 }])
        expect(await query.all([3, 'Bonn'])).toEqual([])
        const named = shop
          .query()
          .where('price > :least')
          .where(sql`city = ${'Bonn'}`)
          .select(['id'])
          .prepare()
        expect(await named.all({ least: 1 })).toEqual([{ id: 1 }])
      })

      test('missing, surplus and unusable values are errors', async () => {
        const one = shop.prepare(query => query.where('city = ?'))
        expect(await failure(one.all([]))).toMatchObject({
          code: 13,
          message: /no value is given for parameter 1/,
        })
        expect(await failure(one.all(['a', 'b']))).toMatchObject({
          code: 13,
          message: /2 parameters are given, 1/,
        })
        expect(await failure(one.all({ city: 'a' }))).toMatchObject({ code: 13, message: /as an object/ })
        expect(await failure(one.first(7 as never))).toMatchObject({
          code: 13,
          message: /first: the values must be/,
        })
        expect(await failure(one.all([undefined as never]))).toMatchObject({ code: 13 })
        const two = shop.query().where('city = ?').where('id = ?').prepare()
        expect(await failure(two.all(['a']))).toMatchObject({ code: 13, message: /takes 2 values, got 1/ })
        expect(await failure(two.all({ a: 1 }))).toMatchObject({ code: 13, message: /are an object/ })
        const named = shop
          .query()
          .where('city = :city')
          .where('id < ?', [4])
          .where('price > :least')
          .prepare()
        expect((await named.all({ city: 'Bonn', least: 1 })).length).toBe(1)
        for (const values of [{ city: 'Bonn' }, { city: 'Bonn', least: 1, where_1: 9 }]) {
          expect(await failure(named.all(values))).toMatchObject({ code: 13, message: /:(least|where_1)/ })
        }
        const far = shop.query().where('city = $9999999999').where('id = $1').prepare()
        expect(await failure(far.all([1]))).toMatchObject({ code: 13 })
        const mixed = shop.query().where('city = ?').where('id = $1').prepare()
        expect(await failure(mixed.all(['a']))).toMatchObject({ code: 13, hint: /\$1 or :name/ })
        const own = shop
          .query()
          .where('id = $1')
          .select({ x: sql`price * ${2}` })
          .prepare()
        expect(await own.all([1])).toEqual([{ x: 5 }])
        const shared = shop
          .query()
          .where('id > $1', [0])
          .where('id < ?')
          .select({ x: 'price * $1' })
          .prepare()
        expect(await failure(shared.all([3]))).toMatchObject({ code: 13, message: /share the values/ })
        expect(await failure(shop.prepare(query => query.where('nmae = ?')).all([1]))).toMatchObject({
          code: 12,
        })
      })
    })

    describe('page', () => {
      test('returns rows with the total and the facets of all matching rows', async () => {
        const query = shop.query().where('id < ?', [5]).orderBy('id').limit(1).offset(1).select(['id'])
        expect(await query.page({ total: true, facets: ['city'] })).toEqual({
          rows: [{ id: 2 }],
          total: 4,
          facets: {
            city: [
              { value: 'Bonn', count: 2 },
              { value: 'Köln', count: 1 },
              { value: null, count: 1 },
            ],
          },
        })
        expect(await query.page({})).toEqual({ rows: [{ id: 2 }] })
        const { facets } = await shop.query().page({ facets: ['city', 'price'], facetValues: 1 })
        expect(facets).toEqual({ city: [{ value: 'Bonn', count: 2 }], price: [{ value: -1, count: 1 }] })
      })

      test('counts all matches of a search, not only those of the page', async () => {
        const words = shop.search('bonn aachen').limit(1).select(['id'])
        const found = await words.page({ total: true, facets: ['city'] })
        expect(found.rows.length).toBe(1)
        expect(found.total).toBe(3)
        expect(found.facets.city).toEqual([
          { value: 'Bonn', count: 2 },
          { value: 'Aachen', count: 1 },
        ])
        const near = shop.search([0, 0]).distanceRange(0, 10).limit(1).select(['id'])
        expect(await near.page({ total: true })).toEqual({ rows: [{ id: 1, _distance: 1 }], total: 3 })
      })

      test('counts with values that only selected expressions use', async () => {
        const { sql } = root
        const bonn = shop.query().where('city = :c', { c: 'Bonn', f: 3 })
        for (const query of [
          bonn.select({ x: 'price * :f' }),
          shop
            .query()
            .where('city = :c', { c: 'Bonn' })
            .select({ x: sql`price * ${3}` }),
          shop.query().where("city = 'Bonn'", { f: 3 }).select({ x: 'price * :f' }),
          shop
            .query()
            .where('city = ?', ['Bonn'])
            .select({ x: sql`price * ${3}` }),
        ]) {
          const page = await query.page({ total: true, facets: ['city'] })
          expect(page.rows).toEqual([{ x: 7.5 }, { x: null }])
          expect([page.total, await query.count()]).toEqual([2, 2])
          expect(page.facets.city).toEqual([{ value: 'Bonn', count: 2 }])
        }
      })

      test('groups have a total, but no facets', async () => {
        const groups = shop.query().groupBy('city').select({ city: 'city' })
        expect((await groups.limit(2).page({ total: true })).total).toBe(4)
        expect(await failure(groups.page({ facets: ['city'] }))).toMatchObject({
          code: 13,
          message: /facets count rows/,
        })
      })

      test('is refused where matches have no count, and for unknown columns', async () => {
        const near = shop.search([0, 0])
        expect(await failure(near.page({ total: true }))).toMatchObject({ code: 13, message: /^page: / })
        expect(await failure(near.fullText('bonn').page({ facets: ['city'] }))).toMatchObject({ code: 13 })
        expect((await near.page({})).rows.length).toBe(5)
        expect(await failure(shop.query().page({ facets: ['citty' as string] }))).toMatchObject({
          code: 12,
          message: /citty/,
        })
        expect(await failure(shop.query().page({ facets: [] }))).toMatchObject({ code: 13 })
      })

      test('is of one version, with a commit in between', async () => {
        const operations: typeof root.ns.operations = Object.create(root.ns.operations, {
          queryTable: {
            value: async (...given: Parameters<typeof root.ns.operations.queryTable>) => {
              const reply = await root.ns.operations.queryTable(...given)
              await shop.add([{ id: 10n, city: 'Bonn', price: 1 }])
              return reply
            },
          },
        })
        const table = new Table(operations, shop.id)
        const { rows, total, facets } = await table.query().page({ total: true, facets: ['city'] })
        expect([rows.length, total]).toEqual([5, 5])
        expect(facets.city![0]).toEqual({ value: 'Bonn', count: 2 })
      })
    })

    test('the connection decides how 64-bit integers are read, unless a call does', async () => {
      const other = await root.another({ int64: 'bigint' })
      const table = other.table('shop')
      const big = 2n ** 60n
      const before = await table.version()
      await table.add([{ id: big, city: 'Rom', price: 1 }])
      const bigFirst = table.query().where('id > ?', [5]).select(['id'])
      expect(await bigFirst.toArray()).toEqual([{ id: big }])
      expect(await bigFirst.first()).toEqual({ id: big })
      expect(await bigFirst.prepare().all([])).toEqual([{ id: big }])
      expect(await bigFirst.toArray({ int64: 'string' })).toEqual([{ id: String(big) }])
      expect(await failure(bigFirst.toArray({ int64: 'number' }))).toMatchObject({ code: 13 })
      for await (const row of bigFirst) expect(row).toEqual({ id: big })
      expect(await table.get(big, { on: 'id' })).toMatchObject({ id: big })
      expect(await table.takeOffsets([5]).select(['id']).toArray()).toEqual([{ id: big }])
      expect(await table.diff(before, before + 1).added.toArray()).toMatchObject([{ id: big }])
      for await (const change of table.changes({ since: before })) {
        expect(await change.added.toArray()).toMatchObject([{ id: big }])
        break
      }
      expect(await (await table.checkout(before + 1)).get(big)).toMatchObject({ id: big })
      expect(await failure(shop.get(big))).toMatchObject({ code: 13 })
      await other.close()
    })

    test('a condition may be a function of the columns', async () => {
      const found = shop
        .query()
        .where(c => sql`${c.city} = ${'Bonn'} AND ${c.price} IS NOT NULL`)
        .where(c => sql`${c._rowid} < ${4}`)
        .select(['id'])
      expect(await found.toArray()).toEqual([{ id: 1 }])
      expect(
        await failure(
          shop
            .query()
            .where(c => sql`${c.citty} = ${1}`)
            .toArray(),
        ),
      ).toMatchObject({
        code: 12,
        message: /citty/,
      })
      expect(() => shop.query().where(() => 'city' as never)).toThrow(/where: .*the tag sql/)
    })

    test('conditions of several where are joined by AND, each with its own parameters', async () => {
      const { sql } = root
      const found = async (...conditions: readonly unknown[]) => {
        let query = shop.query().select(['id'])
        for (const [filter, values] of conditions as [string, never][]) query = query.where(filter, values)
        return (await query.toArray()).map(row => row.id)
      }
      const forms = [
        ['city = ? OR city = ?', ['Bonn', 'Köln']],
        ['city = $2 OR city = $1', ['Köln', 'Bonn']],
        ['city = :a OR city = :b', { a: 'Bonn', b: 'Köln' }],
        [sql`city = ${'Bonn'} OR city = ${'Köln'}`],
        ["city = 'Bonn' OR city = 'Köln' -- the two"],
      ] as const
      const later = [
        ['id > ? AND id < ?', [1, 3]],
        ['id > $1 AND id < $2 AND id <> $2', [1, 3]],
        ['id > :a AND id < :b', { a: 1, b: 3 }],
        [sql`id > ${1} AND id < ${3}`],
        ['id > 1 AND id < 3'],
      ] as const
      for (const first of forms) {
        for (const second of later) {
          expect([first, second, await found(first, second)]).toEqual([first, second, [2]])
        }
      }
      expect(await found(['id > ?', [1]], ['id < ?', [5]], ['id <> ?', [3]])).toEqual([2, 4])
      const computed = shop.query().where('id > $1', [3]).where('id < $1', [5]).select({ id: 'id + $1' })
      expect(await computed.toArray()).toEqual([{ id: 7 }])
      expect(await computed.count()).toBe(1)
    })

    test.each([
      ['too few', 'id = ? OR id = ?', [1], 'no value is given for parameter 2'],
      ['too many', 'id = ?', [1, 2], '2 parameters are given, 1 are used'],
      ['an unused name', 'id = :a', { a: 1, b: 2 }, '"b" is given'],
      ['no values', 'id = $1', undefined, 'no value is given for $1'],
      ['another kind', 'id = :a', [1], 'the parameter values are an array, but :a needs an object'],
      ['a text that is not one expression', 'id = 1) OR (id = 2', undefined, ''],
    ])('%s: refused in the first and in the second of two conditions', async (_, filter, values, message) => {
      const one: readonly unknown[] = ['id > ?', [0]]
      for (const conditions of [
        [one, [filter, values]],
        [[filter, values], one],
      ]) {
        const [first, second] = conditions as [string, never][]
        const error = await failure(
          shop
            .query()
            .where(...first!)
            .where(...second!)
            .toArray(),
        )
        expect(error).toMatchObject({ code: 13 })
        if (conditions[0] === one) expect(error.message).toContain(message)
      }
    })

    test('a query is an async iterable of its rows, all of one version', async () => {
      const ids: unknown[] = []
      for await (const row of shop.query().where('id <> 2').offset(1)) {
        ids.push(row.id)
        await shop.delete('id = 5')
      }
      expect(ids).toEqual([3, 4, 5])
      const found: unknown[] = []
      for await (const row of shop.search([0, 1]).limit(2).select(['id'])) found.push(row)
      expect(found).toEqual(await shop.search([0, 1]).limit(2).select(['id']).toArray())
      for await (const { id } of shop.query()) {
        expect(id).toBe(1)
        break
      }
      await expect(async () => {
        for await (const _ of shop.query().select(['nothing']));
      }).rejects.toMatchObject({ code: 12 })
    })

    test('a scan of many rows is read page by page', async () => {
      const rows = Array.from({ length: 20_000 }, (_, i) => ({ i }))
      const table = await root.ns.createTable('many', rows)
      let next = 0
      for await (const { i } of table.query()) {
        if (i !== next) expect(i).toBe(next)
        if (next++ === 9000) await table.delete('true')
      }
      expect(next).toBe(20_000)
    })

    test('first is the first row or null', async () => {
      const query = shop.query().select(['id'])
      expect(await query.first()).toEqual({ id: 1 })
      expect(await query.offset(3).limit(2).first({ int64: 'bigint' })).toEqual({ id: 4n })
      expect(await query.offset(5).first()).toBeNull()
      expect(await query.limit(0).first()).toBeNull()
      expect(await query.orderBy('price desc').first()).toEqual({ id: 4 })
      expect(await shop.search([0, 5]).select(['id']).first()).toEqual({ id: 5, _distance: 0 })
    })

    test('count is the number of matches after the offset, up to the limit', async () => {
      expect(await shop.query().count()).toBe(5)
      const bonn = shop.query().where('city = ?', ['Bonn'])
      expect(await bonn.count()).toBe(2)
      expect(await bonn.select({ n: 'price * 2' }).orderBy('n').count()).toBe(2)
      expect(await bonn.limit(1).count()).toBe(1)
      expect(await bonn.offset(1).count()).toBe(1)
      expect(await bonn.offset(9).count()).toBe(0)
      expect(await shop.query().select(['city']).distinct().count()).toBe(4)
      expect(await shop.query().select({ n: 'count(*)' }).groupBy('city').limit(3).count()).toBe(3)
      expect(await shop.query().select({ n: 'count(*)' }).count()).toBe(1)
      expect(await (await shop.checkout(1)).query().count()).toBe(5)

      const words = Array.from({ length: 30 }, (_, i) => ({ i, text: i % 3 === 0 ? 'wheat' : 'wheat rye' }))
      const notes = await root.ns.createTable('notes', words)
      const wheat = notes.search('wheat')
      expect(await wheat.count()).toBe(30)
      expect(await wheat.where('i < ?', [20]).where('i >= ?', [5]).count()).toBe(15)
      expect(await wheat.limit(10).count()).toBe(10)
      expect(await wheat.select(['i']).orderBy('i').highlight().withRowId().count()).toBe(30)
      expect(await notes.search('rye').offset(5).count()).toBe(15)
    })

    test('count of nearest rows is refused without a distance range', async () => {
      expect(await shop.search([0, 1]).distanceRange(0, 5).count()).toBe(3)
      const nearest = await failure(shop.search([0, 1]).count())
      expect(nearest).toMatchObject({ code: 13, hint: expect.stringContaining('distanceRange') })
      expect(nearest.message).toContain('count: ')
      expect(await failure(shop.search([0, 1]).fullText('Bonn').count())).toMatchObject({ code: 13 })
    })

    test('orderBy takes a direction and a place of NULL', async () => {
      const ids = async (...keys: never[]) =>
        (
          await shop
            .query()
            .orderBy(...keys)
            .select(['id'])
            .toArray()
        ).map(row => row.id)
      const by = (...keys: readonly unknown[]) => ids(...(keys as never[]))
      expect(await by('price desc')).toEqual([4, 1, 2, 5, 3])
      expect(await by('price  DESC Nulls First')).toEqual([3, 4, 1, 2, 5])
      expect(await by('price asc nulls last')).toEqual([5, 2, 1, 4, 3])
      expect(await by('price nulls first')).toEqual([3, 5, 2, 1, 4])
      expect(await by('city desc', 'id desc')).toEqual([2, 3, 1, 5, 4])
      expect(await by('"price" desc')).toEqual(await by('`price` desc'))
      const odd = await root.ns.createTable('odd', [
        { 'a desc': 1, 'b"c`d': 2 },
        { 'a desc': 2, 'b"c`d': 1 },
      ])
      const column = async (query: ReturnType<typeof odd.query>) =>
        (await query.toArray()).map(row => row['a desc'])
      expect(await column(odd.query().orderBy('"a desc" desc'))).toEqual([2, 1])
      expect(await column(odd.query().orderBy('`a desc`'))).toEqual([1, 2])
      expect(await column(odd.query().orderBy({ column: 'a desc', ascending: false }))).toEqual([2, 1])
      expect(await column(odd.query().orderBy('"b""c`d"'))).toEqual([2, 1])
      expect(await column(odd.query().orderBy('`b"c``d` desc'))).toEqual([1, 2])
    })

    test.each(['price down', 'price desc, id', 'price desc asc', 'nulls first price', 'a b', '"open', ' '])(
      'orderBy(%j) is refused with the right form',
      text => {
        expect(() => shop.query().orderBy(text)).toThrow(/orderBy/)
      },
    )

    test('get returns the row with a key, or null', async () => {
      expect(await shop.get(2)).toMatchObject({ id: 2, city: 'Köln' })
      expect(await shop.get(2n, { int64: 'bigint' })).toMatchObject({ id: 2n })
      expect(await shop.get(9)).toBeNull()
      expect(await shop.get('Bonn', { on: 'city' })).toMatchObject({ id: 1 })
      expect(await shop.get("B'onn", { on: 'city' })).toBeNull()
      expect(await (await shop.checkout(1)).get(1)).toMatchObject({ id: 1 })
      expect(await failure(shop.get(null as never))).toMatchObject({ code: 13 })
      expect(await failure(shop.get(1, { on: 'sku' }))).toMatchObject({ code: 12 })
      const keyed = await root.ns.createTable('keyed', [{ 'the key': 'a', n: 1 }])
      expect(await keyed.get('a', { on: 'the key' })).toEqual({ 'the key': 'a', n: 1 })
      const error = await failure((keyed as Table).get('a'))
      expect(error).toMatchObject({ code: 13, hint: expect.stringContaining("{ on: 'sku' }") })
      expect(error.message).toBe('get: the table has no column "id"')
    })

    test('upsert inserts rows, and updates the rows with the same key, in one version', async () => {
      const stock = await root.ns.createTable('stock', [
        { place: 'a', sku: 1, n: 1, note: 'x' },
        { place: 'b', sku: 1, n: 2, note: 'y' },
      ])
      const rows = [
        { place: 'a', sku: 1, n: 10 },
        { place: 'a', sku: 2, n: 20 },
      ]
      expect(await stock.upsert(rows, { on: ['place', 'sku'] })).toEqual({
        version: 2,
        inserted: 1,
        updated: 1,
      })
      expect(await stock.query().orderBy('n').toArray()).toEqual([
        { place: 'b', sku: 1, n: 2, note: 'y' },
        { place: 'a', sku: 1, n: 10, note: 'x' },
        { place: 'a', sku: 2, n: 20, note: null },
      ])
      expect(await stock.upsert([{ n: 2, note: 'z' }], { on: 'n' })).toMatchObject({
        inserted: 0,
        updated: 1,
      })
      expect(await stock.get('z', { on: 'note' })).toMatchObject({ place: 'b' })
      expect(await failure(stock.upsert(rows, {} as never))).toMatchObject({ code: 13 })
      expect(await failure(stock.upsert(rows, { on: [] }))).toMatchObject({ code: 13 })
      expect(await failure((stock as Table).upsert(rows, { on: 'id' }))).toMatchObject({ code: 12 })
      expect(await failure((await stock.checkout(1)).upsert(rows, { on: 'sku' }))).toMatchObject({ code: 13 })
    })

    describe('batches', () => {
      async function collect(search: ReturnType<Table['search']>, rows: number) {
        const batches: { readonly names: string[]; readonly ids: number[] }[] = []
        for await (const batch of search.batches({ rows })) {
          const names = batch.schema.fields.map(field => field.name)
          batches.push({ names, ids: [...batch].map(row => Number(row!.id)) })
        }
        return batches
      }

      test('have the requested number of rows, a few at a time', async () => {
        const names = ['id']
        const some = shop.query().where('id <> 2').select(names)
        expect(await collect(some, 2)).toEqual([
          { names, ids: [1, 3] },
          { names, ids: [4, 5] },
        ])
        expect((await collect(some.offset(1).limit(2), 1)).map(batch => batch.ids)).toEqual([[3], [4]])
        expect(await collect(shop.query().where('id > 99').select(names), 2)).toEqual([])
        const nearest = shop.search([0, 5]).limit(3).select(names)
        expect((await collect(nearest, 2)).map(batch => batch.ids)).toEqual([[5, 4], [3]])
      })

      test('also of groups', async () => {
        const counted = shop.query().select({ id: 'count(*)' })
        expect(await collect(counted, 2)).toEqual([{ names: ['id'], ids: [5] }])
        const cities = shop.query().select({ id: 'max(id)' }).groupBy('city').orderBy('id')
        expect((await collect(cities, 3)).map(batch => batch.ids)).toEqual([[2, 3, 4], [5]])
      })

      test('keep the row position if it is selected', async () => {
        const places: unknown[] = []
        for await (const batch of shop.query().select(['id', '_ROWOFFSET']).batches({ rows: 2 })) {
          for (const row of batch) places.push(Number(row!._rowoffset))
        }
        expect(places).toEqual([0, 1, 2, 3, 4])
      })

      test('end when their reader stops', async () => {
        const controller = new AbortController()
        const reason = new Error('enough')
        const read = async (search: ReturnType<Table['search']>) => {
          for await (const _ of search.batches({ rows: 1, signal: controller.signal }))
            controller.abort(reason)
        }
        expect(await failure(read(shop.query()))).toBe(reason)
      })

      test('are all of one version, with any commits in between', async () => {
        const ids: number[] = []
        for await (const batch of shop.query().batches({ rows: 2 })) {
          expect(batch.schema.fields.map(field => field.name)).toEqual(Object.keys(goods[0]!))
          ids.push(...[...batch].map(row => Number(row!.id)))
          await shop.delete(`id = ${6 - ids.length}`)
          await shop.add([{ ...goods[0]!, id: 100n }])
        }
        expect(ids).toEqual([1, 2, 3, 4, 5])
      })
    })

    test('explain prints the filter as it is executed', async () => {
      const search = shop.query().where('price / 2 > 1 + 0.5 and id < 2 + 1').select({ p: 'price' })
      expect(await search.orderBy('at').limit(3).explain()).toBe(
        [
          'Project: price AS p',
          '  Limit: 3 rows',
          '    Sort: at ASC NULLS LAST',
          '      Filter: id < 3 AND price / 2.0 > 1.5',
          '        Scan: shop version 1, 1 of 1 fragments may hold matching rows, 5 rows in them',
        ].join('\n'),
      )
      const doubtful = await shop.search([0, 1]).where('city = "Bonn"').limit(2).explain()
      expect(doubtful).toMatch(
        /^Project: id, city, .*_distance\n {2}KNNVectorDistance: exact, "at2", l2, k = 2\n {4}Filter: city = 'Bonn'/,
      )
      expect(doubtful).toMatch(/\nwarning: no column is named exactly "Bonn"/)
    })

    test('A-075 analyze executes a query, and reports each step', async () => {
      const search = shop.query().where('id < 4').select(['id']).limit(2)
      // A root in object storage also reports its requests.
      const analyzed = (await search.analyze()).replace(/\nRequests: total=\d+, .*$/, '')
      expect(analyzed.replaceAll(/elapsed=\d+\.\d{3} ms/g, 'elapsed')).toBe(
        [
          'Analyze: metrics=[output_rows=2, elapsed]',
          '  Project: id, metrics=[output_rows=2, elapsed]',
          '    Limit: 2 rows, metrics=[output_rows=2, elapsed]',
          '      Filter: id < 4, metrics=[output_rows=3, elapsed, bytes=40]',
          '        Scan: shop version 1, 1 of 1 fragments may hold matching rows, 5 rows in them, metrics=[output_rows=5, elapsed, fragments=1, parts=1]',
        ].join('\n'),
      )
      const nearest = await shop.search([0, 1]).where("city <> 'Bonn'").postfilter().limit(2).analyze()
      expect(nearest).toMatch(
        /\n {4}Filter the rows found: .*, metrics=.*\n {6}KNNVectorDistance: .*, metrics=\[output_rows=2, /,
      )
    })
  })
}
