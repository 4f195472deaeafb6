/** LanceDB's remote client: every row and every query goes over HTTP. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as arrow from 'apache-arrow'
import { beforeEach, describe, expect, test } from 'vitest'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { column, connectRemote, releases, type Served, servers, sorted } from './peers.js'

const serveRoot = servers()

const docs = [
  { id: 1, text: 'one', price: 1.5, vector: [1, 0, 0] },
  { id: 2, text: 'two', price: 2.5, vector: [0, 1, 0] },
  { id: 3, text: 'three', price: null, vector: [0, 0, 1] },
]

describe.each(releases)('remote client $release', ({ lancedb }) => {
  let served: Served
  let db: Awaited<ReturnType<typeof connectRemote>>

  beforeEach(async () => {
    served = await serveRoot()
    db = await connectRemote(lancedb, served.url)
  })

  describe('tables', () => {
    test('a created table holds the rows that were sent, and opens with its schema', async () => {
      const created = await db.createTable('docs', docs)
      expect(await created.countRows()).toBe(3)
      const opened = await db.openTable('docs')
      expect(await opened.version()).toBe(1)
      const fields = (await opened.schema()).fields.map(field => `${field.name}: ${field.type}`)
      expect(fields).toEqual([
        'id: Float64',
        'text: Utf8',
        'price: Float64',
        'vector: FixedSizeList[3]<Float32>',
      ])
      const rows = (await opened.query().toArray()).map(({ id, text, price, vector }) => {
        return { id, text, price, vector: Array.from(vector) }
      })
      expect(rows).toEqual(docs)
      expect(served.asked()).toContain('createTable')
    })

    test('every type comes back as it was sent', async () => {
      const columns = {
        i8: arrow.vectorFromArray([1, null, -3], new arrow.Int8()),
        u64: arrow.vectorFromArray([2n ** 63n, 1n, null], new arrow.Uint64()),
        f16: arrow.vectorFromArray([1, 2, null], new arrow.Float16()),
        f32: arrow.vectorFromArray([1.5, null, Number.NaN], new arrow.Float32()),
        bool: arrow.vectorFromArray([true, false, null], new arrow.Bool()),
        text: arrow.vectorFromArray(['a', null, 'ccc'], new arrow.Utf8()),
        bytes: arrow.vectorFromArray([new Uint8Array([1, 2]), null, new Uint8Array()], new arrow.Binary()),
        day: arrow.vectorFromArray([new Date(0), null, new Date(86_400_000)], new arrow.DateDay()),
        at: arrow.vectorFromArray([1, null, 3], new arrow.TimestampMillisecond('UTC')),
        list: arrow.vectorFromArray(
          [['a'], [], null],
          new arrow.List(new arrow.Field('item', new arrow.Utf8(), true)),
        ),
      }
      const sent = new arrow.Table(columns)
      await db.createTable('types', sent)
      const back = await (await db.openTable('types')).query().toArrow()
      expect(back.schema.fields.map(String)).toEqual(sent.schema.fields.map(String))
      for (const [i, { name }] of sent.schema.fields.entries()) {
        expect(JSON.stringify(plain(back.getChildAt(i))), name).toBe(
          JSON.stringify(plain(sent.getChildAt(i))),
        )
      }
    })

    test('10,000 rows arrive whole', async () => {
      const rows = Array.from({ length: 10_000 }, (_, i) => ({
        id: i,
        text: `row ${i}`,
        vector: [i, 1, 0, 0],
      }))
      const table = await db.createTable('many', rows)
      expect(await table.countRows("id >= 5000 AND text LIKE 'row 9%'")).toBe(1000)
      expect(sorted(await column(table.query(), 'id'))).toEqual(rows.map(({ id }) => id))
    })

    test('a name that is taken is told, opened or overwritten, as asked', async () => {
      await db.createTable('docs', docs)
      await expect(db.createTable('docs', docs)).rejects.toThrow(/already exists/)
      const same = await db.createTable('docs', docs.slice(1), { existOk: true })
      expect(await same.countRows()).toBe(3)
      const replaced = await db.createTable('docs', [{ id: 9 }], { mode: 'overwrite' })
      expect(await replaced.query().toArray()).toMatchObject([{ id: 9 }])
    })

    test('an empty table has its schema and takes rows', async () => {
      const schema = new arrow.Schema([new arrow.Field('id', new arrow.Int32(), false)])
      const table = await db.createEmptyTable('empty', schema)
      expect((await table.schema()).fields.map(String)).toEqual(['id: Int32'])
      expect(await table.query().toArray()).toEqual([])
      await table.add([{ id: 1 }])
      expect(await table.countRows()).toBe(1)
    })

    test('their statistics can be read', async () => {
      const table = await db.createTable('docs', docs)
      await table.add(docs)
      const { numRows, numIndices, fragmentStats } = await table.stats()
      expect({ numRows, numIndices, fragments: fragmentStats.numFragments }).toEqual({
        numRows: 6,
        numIndices: 0,
        fragments: 2,
      })
    })

    test('a missing table is told at once', async () => {
      await expect(db.openTable('nowhere')).rejects.toThrow(/nowhere.*not found/)
      await expect(db.dropTable('nowhere')).rejects.toThrow(/nowhere/)
      expect(served.asked()).toEqual(['describeTable 404', 'dropTable 404'])
    })

    test('a dropped table is gone, and its name can be used again', async () => {
      await db.createTable('docs', docs)
      await db.dropTable('docs')
      expect(await db.tableNames()).toEqual([])
      const again = await db.createTable('docs', docs.slice(0, 1))
      expect(await again.countRows()).toBe(1)
      expect(await again.version()).toBe(1)
    })

    test('names are listed in pages', async () => {
      for (const name of ['c', 'a', 'd', 'b']) await db.createTable(name, [{ id: 1 }])
      expect(await db.tableNames()).toEqual(['a', 'b', 'c', 'd'])
      expect(await db.tableNames({ limit: 2 })).toEqual(['a', 'b'])
      expect(await db.tableNames({ startAfter: 'b', limit: 10 })).toEqual(['c', 'd'])
    })

    test('a renamed table keeps its rows', async () => {
      await db.createTable('old', docs)
      await db.renameTable('old', 'new')
      expect(await db.tableNames()).toEqual(['new'])
      expect(await (await db.openTable('new')).countRows()).toBe(3)
    })
  })

  describe('rows', () => {
    test('are added, replaced and deleted, one version each', async () => {
      const table = await db.createTable('docs', docs)
      expect(await table.add([{ id: 4, text: 'four', price: 4, vector: [1, 1, 0] }])).toMatchObject({
        version: 2,
      })
      expect(await table.delete('id < 3')).toMatchObject({ version: 3 })
      expect(await column(table.query(), 'id')).toEqual([3, 4])
      expect(await table.add(docs.slice(0, 1), { mode: 'overwrite' })).toMatchObject({ version: 4 })
      expect(await column(table.query(), 'id')).toEqual([1])
    })

    test('are updated by values and by expressions, and counted', async () => {
      const table = await db.createTable('docs', docs)
      const byValue = await table.update({ where: 'id = 1', values: { text: "it's", price: 9 } })
      expect(byValue).toMatchObject({ version: 2, rowsUpdated: 1 })
      const all = await table.update({ valuesSql: { price: 'price + 1', text: "text || '!'" } })
      expect(all).toMatchObject({ version: 3, rowsUpdated: 3 })
      const none = await table.update({ where: 'id = 99', values: { price: 0 } })
      expect(none).toMatchObject({ version: 3, rowsUpdated: 0 })
      const rows = (await table.query().toArray()).map(({ id, text, price }) => [id, text, price])
      expect(rows.sort()).toEqual([
        [1, "it's!", 10],
        [2, 'two!', 3.5],
        [3, 'three!', null],
      ])
      await expect(table.update({ where: 'idd = 1', values: { price: 0 } })).rejects.toThrow(/idd/)
      expect(await column(table.query().where('_rowid = 0'), 'id')).toEqual([1])
    })

    test('are merged: an upsert, an insert of what is new, a replacement of a part', async () => {
      const table = await db.createTable('docs', docs)
      const fresh = [
        { id: 2, text: 'zwei', price: 2, vector: [2, 2, 2] },
        { id: 4, text: 'vier', price: 4, vector: [4, 4, 4] },
      ]
      const upserted = await table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(fresh)
      expect(upserted).toMatchObject({ version: 2, numUpdatedRows: 1, numInsertedRows: 1, numDeletedRows: 0 })
      expect(sorted(await column(table.query(), 'text'))).toEqual(['one', 'three', 'vier', 'zwei'])
      const added = await table
        .mergeInsert('id')
        .whenNotMatchedInsertAll()
        .execute([...docs, { id: 5, text: 'five', price: 5, vector: [5, 5, 5] }])
      expect(added).toMatchObject({ numUpdatedRows: 0, numInsertedRows: 1 })
      const dearer = await table
        .mergeInsert('id')
        .whenMatchedUpdateAll({ where: 'source.price > target.price' })
        .execute(fresh.map(row => ({ ...row, price: 3 })))
      expect(dearer).toMatchObject({ numUpdatedRows: 1 })
      const replaced = await table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedBySourceDelete({ where: 'id > 3' })
        .execute(docs)
      expect(replaced).toMatchObject({ numUpdatedRows: 3, numDeletedRows: 2 })
      expect(sorted(await column(table.query(), 'text'))).toEqual(['one', 'three', 'two'])
      const twice = table.mergeInsert('id').whenMatchedUpdateAll().execute([docs[0]!, docs[0]!])
      await expect(twice).rejects.toThrow(/same key/)
    })

    test('lie in files that any reader of Arrow reads', async () => {
      const rows = Array.from({ length: 3000 }, (_, id) => ({ id, text: `row ${id}`, vector: [id, 1, 2, 3] }))
      const table = await db.createTable('big', rows)
      await table.update({ where: 'id < 2000', valuesSql: { text: "text || '!'" } })
      const [, uuid] = (await served.ns.operations.describeTable({ id: ['big'] })).location!.split('tables/')
      const folder = join(served.folder, 'tables', uuid!, 'data')
      const files = readdirSync(folder).map(name => arrow.tableFromIPC(readFileSync(join(folder, name))))
      expect(files.map(({ numRows }) => numRows).sort()).toEqual([2000, 3000])
      for (const file of files) {
        const ids = file.getChild('id')!
        const [vectors, texts] = [file.getChild('vector')!, file.getChild('text')!]
        for (let row = 0; row < file.numRows; row += 97) {
          const id = ids.get(row)
          expect([...vectors.get(row)]).toEqual([id, 1, 2, 3])
          expect(texts.get(row)).toBe(file.numRows === 2000 ? `row ${id}!` : `row ${id}`)
        }
      }
    })

    test('are selected by filter, columns, limit and offset', async () => {
      const table = await db.createTable('docs', docs)
      const rows = await table.query().where("price > 1 AND text != 'two'").select(['text']).toArray()
      expect(rows.map(row => ({ ...row }))).toEqual([{ text: 'one' }])
      expect(await column(table.query().offset(1).limit(1), 'id')).toEqual([2])
      expect(await table.countRows('price IS NULL')).toBe(1)
    })

    test('are computed and ordered', async () => {
      const table = await db.createTable('docs', docs)
      const computed = table.query().select({ id: 'id', twice: 'price * 2', up: 'upper(text)' })
      const rows = await computed.where("text IN ('one', 'two')").toArray()
      expect(rows.map(row => ({ ...row }))).toMatchObject([{ up: 'ONE' }, { up: 'TWO' }])
      expect(rows.map(row => row.twice)).toEqual(docs.slice(0, 2).map(({ price }) => price! * 2))
      const descending = table.query().orderBy({ columnName: 'id', ascending: false })
      expect(await column(descending, 'id')).toEqual([3, 2, 1])
    })

    test('are taken by their offsets', async () => {
      const table = await db.createTable('docs', docs)
      await table.delete('id = 1')
      expect(await column(table.takeOffsets([1]), 'id')).toEqual([3])
    })

    test('a query is explained', async () => {
      const table = await db.createTable('docs', docs)
      const plan = await table.query().where('price / 2 > 1 AND id < 1 + 2').explainPlan()
      expect(plan).toContain('Filter: id < 3.0 AND price / 2.0 > 1.0')
    })

    test('are taken by row id', async () => {
      const table = await db.createTable('docs', docs)
      const ids = await column(table.query().withRowId().where('id > 1'), '_rowid')
      expect(await column(table.takeRowIds(ids as bigint[]), 'id')).toEqual([2, 3])
    })

    test('are deleted once, though the reply was lost and the client asked again', async () => {
      let losses = 1
      const flaky = await serveRoot(undefined, async (operation, call) => {
        const reply = await call()
        if (operation === 'deleteFromTable' && losses-- > 0) {
          throw new SheafError(ErrorCode.ServiceUnavailable, 'the reply is lost')
        }
        return reply
      })
      const table = await (await connectRemote(lancedb, flaky.url)).createTable('docs', docs)
      expect(await table.delete('id = 1')).toMatchObject({ version: 2, numDeletedRows: 1 })
      expect(flaky.asked().filter(name => name.startsWith('delete'))).toEqual([
        'deleteFromTable 503',
        'deleteFromTable',
      ])
      expect(await table.version()).toBe(2)
    })

    test('a filter that makes no sense is told, and not tried again', async () => {
      const table = await db.createTable('docs', docs)
      served.asked()
      await expect(table.query().where('prise > 1').toArray()).rejects.toThrow(/prise/)
      await expect(table.delete('price >')).rejects.toThrow(/price >|position|end/)
      expect(served.asked().filter(name => name.endsWith('400'))).toEqual([
        'queryTable 400',
        'deleteFromTable 400',
      ])
    })

    test('40 adds of 8 writers at once are all there exactly once', async () => {
      await db.createTable('docs', [{ id: -1 }])
      await Promise.all(
        Array.from({ length: 8 }, async (_, writer) => {
          const table = await (await connectRemote(lancedb, served.url)).openTable('docs')
          for (let i = 0; i < 5; i++) await table.add([{ id: writer * 5 + i }])
        }),
      )
      const ids = await column((await db.openTable('docs')).query(), 'id')
      expect(sorted(ids)).toEqual(Array.from({ length: 41 }, (_, i) => i - 1))
    })
  })

  describe('vector search', () => {
    test('gives the nearest rows by l2, cosine and dot', async () => {
      const table = await db.createTable('docs', docs)
      const hits = await table.vectorSearch([0, 2, 1]).limit(2).toArray()
      expect(hits.map(({ id, _distance }) => [id, _distance])).toEqual([
        [2, 2],
        [3, 4],
      ])
      const cosine = await table.vectorSearch([0, 3, 0]).distanceType('cosine').limit(1).toArray()
      expect(cosine.map(({ id, _distance }) => [id, _distance])).toEqual([[2, 0]])
      const dot = await table.vectorSearch([0, 3, 0]).distanceType('dot').limit(1).toArray()
      expect(dot.map(({ id, _distance }) => [id, _distance])).toEqual([[2, -2]])
    })

    test('honours filter, bounds, columns and row ids', async () => {
      const table = await db.createTable('docs', docs)
      const hits = await table
        .vectorSearch([0, 1, 0])
        .where('id != 2')
        .select(['id'])
        .withRowId()
        .limit(1)
        .toArray()
      expect(Object.keys(hits[0]!).sort()).toEqual(['_distance', '_rowid', 'id'])
      expect(hits[0]!.id).toBe(1)
      expect(await column(table.vectorSearch([0, 1, 0]).distanceRange(1, 3), 'id')).toEqual([1, 3])
      expect(
        await column(table.vectorSearch([0, 1, 0]).where('id != 2').postfilter().limit(1), 'id'),
      ).toEqual([])
    })

    test('a vector of the wrong length is told', async () => {
      const table = await db.createTable('docs', docs)
      await expect(table.vectorSearch([1, 0]).toArray()).rejects.toThrow(/2.*3|3.*2/)
    })
  })

  describe('versions and tags', () => {
    test('every version can be looked at, by number and by tag', async () => {
      const table = await db.createTable('docs', docs)
      await table.add([{ id: 4, text: 'four', price: 4, vector: [1, 1, 0] }])
      await table.delete('id = 1')
      expect((await table.listVersions()).map(({ version }) => version)).toEqual([1, 2, 3])
      const tags = await table.tags()
      await tags.create('first', 1)
      await table.checkout('first')
      expect(await table.countRows()).toBe(3)
      await table.checkout(2)
      expect(await table.countRows()).toBe(4)
      expect(await column(table.vectorSearch([1, 0, 0]).limit(1), 'id')).toEqual([1])
      await expect(table.add(docs)).rejects.toThrow(/checkout|checked out/i)
      await expect(table.checkout(9)).rejects.toThrow(/9/)
      await table.checkoutLatest()
      expect(await table.countRows()).toBe(3)
    })

    test('an old version is restored as a new one', async () => {
      const table = await db.createTable('docs', docs)
      await table.delete('id < 3')
      await table.checkout(1)
      await table.restore()
      expect(await table.version()).toBe(3)
      expect(await column(table.query(), 'id')).toEqual([1, 2, 3])
    })

    test('tags are made, moved, listed and taken away, and an error of theirs is told at once', async () => {
      const table = await db.createTable('docs', docs)
      await table.delete('id = 1')
      const tags = await table.tags()
      await tags.create('a', 1)
      served.asked()
      await expect(tags.create('a', 2)).rejects.toThrow(/tag .*a.* already/)
      await expect(tags.create('b', 7)).rejects.toThrow(/7/)
      await expect(tags.getVersion('nothing')).rejects.toThrow(/nothing/)
      expect(served.asked()).toEqual(['createTableTag 400', 'createTableTag 400', 'getTableTagVersion 400'])
      await tags.update('a', 2)
      expect(await tags.getVersion('a')).toBe(2)
      expect(await tags.list()).toMatchObject({ a: { version: 2 } })
      await tags.delete('a')
      expect(await tags.list()).toEqual({})
    })
  })

  describe('namespaces', () => {
    test('hold tables of their own', async () => {
      await db.createNamespace(['a'], { properties: { owner: 'me' } })
      await db.createNamespace(['a', 'b'])
      expect(await db.describeNamespace(['a'])).toMatchObject({ properties: { owner: 'me' } })
      expect((await db.listNamespaces([])).namespaces).toEqual(['a'])
      expect((await db.listNamespaces(['a'])).namespaces).toEqual(['b'])
      const table = await db.createTable('docs', docs, ['a', 'b'])
      await table.add(docs)
      expect(await db.tableNames(['a', 'b'])).toEqual(['docs'])
      expect(await (await db.openTable('docs', ['a', 'b'])).countRows()).toBe(6)
      await expect(db.dropNamespace(['a'])).rejects.toThrow(/contains 0 tables and 1 namespaces/)
      await db.dropTable('docs', ['a', 'b'])
      await db.dropNamespace(['a', 'b'])
      await db.dropNamespace(['a'])
      expect((await db.listNamespaces([])).namespaces).toEqual([])
    })

    test('that exist are told, or fine, as asked', async () => {
      await db.createNamespace(['a'])
      await expect(db.createNamespace(['a'], { mode: 'create' })).rejects.toThrow(/already exists/)
      await db.createNamespace(['a'], { mode: 'exist_ok' })
      await expect(db.describeNamespace(['z'])).rejects.toThrow(/z/)
    })

    test('are dropped with all that is in them when asked to cascade', async () => {
      await db.createNamespace(['a'])
      await db.createTable('docs', docs, ['a'])
      await db.dropNamespace(['a'], { behavior: 'cascade' })
      expect((await db.listNamespaces([])).namespaces).toEqual([])
    })
  })

  describe('columns', () => {
    test('are added, altered and dropped', async () => {
      const table = await db.createTable('docs', docs)
      await table.addColumns([
        { name: 'double', valueSql: 'price * 2' },
        { name: 'none', valueSql: 'cast(NULL as string)' },
      ])
      await table.alterColumns([
        { path: 'text', rename: 'title' },
        { path: 'double', dataType: 'float' },
        { path: 'id', nullable: false },
      ])
      await table.dropColumns(['price'])
      await table.add([{ id: 4, title: 'four', double: 8, vector: [1, 1, 1], none: 'x' }])
      const opened = await db.openTable('docs')
      const fields = (await opened.schema()).fields.map(field => `${field.name}: ${field.type}`)
      expect(fields.sort()).toEqual([
        'double: Float32',
        'id: Float64',
        'none: Utf8',
        'title: Utf8',
        'vector: FixedSizeList[3]<Float32>',
      ])
      const rows = await opened.query().select(['id', 'title', 'double', 'none']).toArray()
      expect(rows.map(({ id, title, double, none }) => [id, title, double, none]).sort()).toEqual([
        [1, 'one', 3, null],
        [2, 'two', 5, null],
        [3, 'three', null, null],
        [4, 'four', 8, 'x'],
      ])
      await expect(table.addColumns([{ name: 'title', valueSql: '1' }])).rejects.toThrow(/already exists/)
      await expect(table.alterColumns([{ path: 'title', dataType: 'int32' }])).rejects.toThrow(/one/)
    })
  })

  describe('scalar indexes', () => {
    const many = Array.from({ length: 50_000 }, (_, id) => ({
      id,
      group: `g${id % 5}`,
      tags: [`t${id % 3}`, `u${id % 7}`],
    }))

    test('are created, waited for, listed, asked, explained and dropped', async () => {
      const table = await db.createTable('many', many)
      await table.createIndex('id', { config: lancedb.Index.btree(), waitTimeoutSeconds: 30 })
      await table.createIndex('group', { config: lancedb.Index.bitmap() })
      await table.createIndex('tags', { config: lancedb.Index.labelList() })
      await table.waitForIndex(['group_idx', 'tags_idx'], 30)
      const listed = (await table.listIndices()).map(({ name, indexType, columns }) => {
        return [name, indexType.toUpperCase().replace(/[^A-Z]/g, ''), columns]
      })
      expect(listed).toEqual([
        ['group_idx', 'BITMAP', ['group']],
        ['id_idx', 'BTREE', ['id']],
        ['tags_idx', 'LABELLIST', ['tags']],
      ])
      expect(await table.indexStats('id_idx')).toMatchObject({ numIndexedRows: 50_000, numUnindexedRows: 0 })
      expect(await table.indexStats('none')).toBeUndefined()
      const counts = [
        ['id = 77', 1],
        ["id IN (1, 2, 70000) AND `group` = 'g1'", 1],
        ["array_has(tags, 'u6')", 7142],
        ["array_has_all(tags, ['t0', 'u0'])", 2381],
      ] as const
      for (const [filter, count] of counts) expect(await table.countRows(filter), filter).toBe(count)
      expect(await table.query().where('id = 77').explainPlan()).toContain('ScalarIndexQuery')
      expect(await table.query().where('id = 77').analyzePlan()).toContain('output_rows=1')
      await table.add([{ id: 50_000, group: 'g0', tags: ['new'] }])
      expect(await table.countRows("array_has(tags, 'new')")).toBe(1)
      await table.dropIndex('group_idx')
      expect((await table.listIndices()).map(({ name }) => name)).toEqual(['id_idx', 'tags_idx'])
      await expect(table.dropIndex('group_idx')).rejects.toThrow(/group_idx/)
    })

    test('of a small table are waited for as well', async () => {
      const table = await db.createTable('docs', docs)
      await table.createIndex('id', { config: lancedb.Index.btree(), waitTimeoutSeconds: 30 })
      expect(await column(table.query().where('id > 1'), 'id')).toEqual([2, 3])
    })
  })

  test('what is not served says so in words, at once', async () => {
    const table = await db.createTable('docs', docs)
    served.asked()
    const call = table.createIndex('text', { config: lancedb.Index.fm() })
    await expect(call).rejects.toThrow(/not supported/)
    expect(served.asked().filter(name => name.endsWith('406'))).toHaveLength(1)
  })
})

/** Values of a column as plain data, for comparison across releases of apache-arrow. */
function plain(vector: arrow.Vector | null): unknown {
  return Array.from(vector ?? [], plainValue)
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return String(value)
  if (value instanceof arrow.Vector) return plain(value)
  return ArrayBuffer.isView(value) ? Array.from(value as Uint8Array) : value
}
