/** Clients of LanceDB read a directory of LanceDB that a server of Sheaf reads in place. */
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import { connect } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'
import { column, connectEngine, connectRemote, type Lancedb, releases } from './peers.js'

const freshFolder = temporaryRoots()

/** Write a table, and serve its directory for reading. */
async function served(lancedb: Lancedb) {
  const folder = freshFolder()
  const local = await lancedb.connect(folder)
  const items = await local.createTable(
    'items',
    Array.from({ length: 300 }, (_, id) => ({ id, text: `row ${id}`, vector: [id, 1, 2, 3] })),
  )
  await items.delete('id < 10')
  await (await items.tags()).create('all', 1)
  await items.createIndex('vector', { config: lancedb.Index.ivfFlat({ numPartitions: 2 }) })
  const ns = await connect(`lance+${pathToFileURL(folder)}`)
  const server = await serve(ns, { port: 0 })
  onTestFinished(async () => {
    await server.close()
    await ns.close()
  })
  return { items, url: server.url }
}

describe.each(releases)('LanceDB $release', ({ lancedb }) => {
  test('the remote client lists tables, and reads versions, tags, counts, rows and nearest rows', async () => {
    const { items, url } = await served(lancedb)
    const db = await connectRemote(lancedb, url)
    expect(await db.tableNames()).toEqual(['items'])
    const table = await db.openTable('items')
    expect((await table.schema()).fields.map(String)).toEqual((await items.schema()).fields.map(String))
    expect(await table.countRows()).toBe(290)
    expect(await table.countRows('id < 20')).toBe(10)
    const versions = async (of: typeof table) =>
      (await of.listVersions()).map(({ version, timestamp }) => [version, timestamp.getTime()])
    expect(await versions(table)).toEqual(await versions(items))
    await table.checkout(1)
    expect(await table.countRows()).toBe(300)
    await table.checkoutLatest()
    await table.checkout('all')
    expect(await table.countRows()).toBe(300)
    await table.checkoutLatest()
    const filtered = table.query().where("id < 30 AND text LIKE '%2%'").select(['id', 'text'])
    expect(await column(filtered, 'id')).toEqual([12, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])
    expect(await column(table.vectorSearch([50.1, 1, 2, 3]).limit(3), 'id')).toEqual([50, 51, 49])
    expect(await column(table.search('row 12', 'fts', 'text').limit(1), 'id')).toEqual([12])
    expect(await table.listIndices()).toMatchObject([{ name: 'vector_idx' }])
    expect(await table.indexStats('vector_idx')).toMatchObject({ numIndexedRows: 0, numUnindexedRows: 290 })
    expect(await table.indexStats('missing_idx')).toBeUndefined()
    expect((await table.stats()).numRows).toBe(290)
    await items.add([{ id: 1000, text: 'later', vector: [0, 0, 0, 0] }] as never)
    expect(await table.countRows()).toBe(291)
  })

  test('writes of the remote client fail at once, with status 403 and the reason', async () => {
    const { items, url } = await served(lancedb)
    const db = await connectRemote(lancedb, url)
    const table = await db.openTable('items')
    const row = { id: 1, text: 'x', vector: [1, 2, 3, 4] }
    const writes: Readonly<Record<string, () => Promise<unknown>>> = {
      add: () => table.add([row]),
      update: () => table.update({ where: 'id = 20', values: { text: 'x' } }),
      delete: () => table.delete('true'),
      merge: () => table.mergeInsert('id').whenMatchedUpdateAll().execute([row]),
      addColumns: () => table.addColumns([{ name: 'twice', valueSql: 'id * 2' }]),
      createIndex: () => table.createIndex('id'),
      tag: async () => (await table.tags()).create('other', 1),
      create: () => db.createTable('more', [row]),
      drop: () => db.dropTable('items'),
      rename: () => db.renameTable('items', 'other'),
    }
    for (const [name, write] of Object.entries(writes)) {
      const message = await write().then(String, error => error.message)
      expect({ name, message }).toEqual({
        name,
        message: expect.stringMatching(/403 Forbidden.*a directory of LanceDB is read-only/s),
      })
    }
    expect(await items.countRows()).toBe(290)
    expect(await items.version()).toBe(3)
  })

  test('the embedded engine opens the tables from the catalog, and commits to the directory itself', async () => {
    const { items, url } = await served(lancedb)
    const db = await connectEngine(lancedb, url)
    const table = await db.openTable('items')
    expect(await table.countRows('id < 20')).toBe(10)
    expect(await column(table.vectorSearch([50.1, 1, 2, 3]).limit(3), 'id')).toEqual([50, 51, 49])
    await table.delete('id = 30')
    await items.checkoutLatest()
    expect(await items.countRows()).toBe(289)
    await expect(db.createTable('more', [{ id: 1 }])).rejects.toThrow(/a directory of LanceDB is read-only/)
  })

  test('the client of Sheaf reads the schema and the rows', async () => {
    const { url } = await served(lancedb)
    await using ns = await connectHttp(url)
    const table = await ns.openTable('items')
    expect((await table.schema()).fields.map(({ name }) => name)).toEqual(['id', 'text', 'vector'])
    expect(await table.query().where('id < 12').orderBy('id').select(['id']).toArray()).toEqual([
      { id: 10 },
      { id: 11 },
    ])
  })
})
