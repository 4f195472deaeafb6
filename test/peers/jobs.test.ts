/** What LanceDB's remote client asks beyond tables, rows and indexes: jobs, warming, and what there is not. */
import type { Connection, Table } from '@lancedb/lancedb'
import { beforeEach, describe, expect, test } from 'vitest'
import { blobRows } from '../support/blobs.js'
import { connectRemote, releases, type Served, servers } from './peers.js'

const serveRoot = servers()

const docs = Array.from({ length: 50 }, (_, id) => ({ id, text: `word ${id}`, vector: [id, 1, 2, 3] }))

describe.each(releases)('remote client $release', ({ lancedb, release }) => {
  const { Index } = lancedb
  let served: Served
  let db: Connection
  let table: Table

  beforeEach(async () => {
    served = await serveRoot()
    db = await connectRemote(lancedb, served.url)
    table = await db.createTable('t', docs)
  })

  test('jobs are listed, opened and cancelled', async () => {
    const before = Date.now()
    await table.createIndex('id', { config: Index.btree(), waitTimeoutSeconds: 30 })
    const listed = await db.listJobs()
    expect(listed).toMatchObject([{ table: 't', jobType: 'create_index', state: 'finished' }])
    const { jobId, createdAtMillis } = listed[0]!
    expect(createdAtMillis).toBeGreaterThan(before - 1000)
    // What is done stays done, and is no error.
    await db.cancelJob(jobId)
    expect(await db.cancelJob('nothing')).toBe(false)
    if (release === '0.37') return
    const job = await db.openJob(jobId)
    expect([job.id, job.state, job.jobType]).toEqual([jobId, 'finished', 'create_index'])
    await job.wait()
    expect(await job.status()).toBe('finished')
    await expect(db.openJob('nothing')).rejects.toThrow(/nothing.*not found/)
  })

  test('an index is there when its job is done', async () => {
    const job = await table.createIndexAsync('id', { config: Index.btree() })
    await job.wait()
    expect(await job.status()).toBe('finished')
    expect(await table.indexStats('id_idx')).toMatchObject({ numIndexedRows: 50, numUnindexedRows: 0 })
  })

  test.runIf(release !== '0.37')('a computed column follows, and may be filled again', async () => {
    await table.addColumns({ computed: [{ name: 'double', valueSql: 'id * 2' }] })
    await table.add([{ id: 50, text: 'x', vector: [1, 2, 3, 4] }])
    const doubles = async () => (await table.query().where('id >= 49').toArray()).map(row => row.double)
    expect(await doubles()).toEqual([98, 100])
    const job = await table.refreshColumnAsync('double')
    await job.wait()
    expect(await job.status()).toBe('finished')
    expect(await doubles()).toEqual([98, 100])
    await expect(table.refreshColumnAsync('id')).rejects.toThrow(/id/)
    await expect(table.refreshColumn('double')).rejects.toThrow(/refresh_column_async/)
  })

  test('tables and namespaces are dropped at once, whichever client asks for a job', async () => {
    if (release === '0.37') return
    const job = await db.dropTableAsync('t')
    await job.wait()
    expect(await job.status()).toBe('finished')
    expect(await db.tableNames()).toEqual([])
    await expect(db.dropTableAsync('t')).rejects.toThrow(/no table/)
  })

  test('indexes and columns are warmed if they are there', async () => {
    await table.createIndex('id', { config: Index.btree(), waitTimeoutSeconds: 30 })
    await table.prewarmIndex('id_idx')
    await table.prewarmData(['id', 'text'])
    await table.prewarmData()
    served.asked()
    await expect(table.prewarmIndex('nothing')).rejects.toThrow(/nothing.*not found/)
    await expect(table.prewarmData(['nothing'])).rejects.toThrow(/nothing/)
    expect(served.asked()).toHaveLength(2)
  })

  test('rows are written to the table itself: there is no other tier to ask about', async () => {
    expect(await table.getLsmWriteSpec()).toBeUndefined()
    if (release !== '0.37') expect(await table.getLsmStats()).toBeUndefined()
    for (const use of [true, false]) {
      expect(await table.query().useLsm(use).toArray()).toHaveLength(50)
      const merge = table.mergeInsert('id').whenMatchedUpdateAll().useLsm(use)
      expect(await merge.execute(docs.slice(0, 2))).toMatchObject({ numUpdatedRows: 2 })
    }
  })

  test('what is not served says so in words, at once and without harm', async () => {
    const branches = await table.branches()
    const calls: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
      [() => branches.list(), /not supported|does not support/],
      [() => branches.create('side'), /not supported|does not support/],
      [() => branches.checkout('side'), /not supported|does not support/],
      [() => branches.delete('side'), /not supported|does not support/],
      [() => branches.diff('side'), /not supported|does not support/],
      [() => db.openTable('t', [], { branch: 'side' }), /not supported|does not support|branch/],
      [() => db.cloneTable('copy', 'elsewhere'), /not supported|does not support/],
      [() => table.setLsmWriteSpec({ specType: 'unsharded' }), /not supported|does not support/],
      [() => table.unsetLsmWriteSpec(), /not supported|does not support/],
      [() => table.createIndex('text', { config: Index.fm() }), /FM are not supported/],
      ...(release === '0.37'
        ? []
        : ([
            [() => branches.cherryPick('side'), /not supported|does not support/],
            [() => table.flushLsm(), /not supported|does not support/],
            [() => table.compactLsm(), /not supported|does not support/],
            [() => table.checkpointLsm(), /not supported|does not support/],
          ] as const)),
    ]
    for (const [call, words] of calls) {
      served.asked()
      await expect(call(), String(call)).rejects.toThrow(words)
      const refused = served.asked().filter(name => / \d+$/.test(name))
      expect(refused, String(call)).toHaveLength(1)
      expect(refused[0], String(call)).toMatch(/ 40[06]$/)
    }
    expect(await table.version()).toBe(1)
  })

  test('what the client itself refuses is not asked for', async () => {
    const calls: readonly (() => Promise<unknown>)[] = [
      () => table.optimize(),
      () => db.dropAllTables(),
      () => table.setUnenforcedPrimaryKey('id'),
      () => table.createIndex('vector', { config: Index.hnswPq() }),
      ...(release === '0.37'
        ? []
        : [() => db.createMaterializedView('view', 't'), () => db.listMaterializedViews()]),
    ]
    served.asked()
    for (const call of calls) await expect(call(), String(call)).rejects.toThrow(/support/)
    expect(served.asked().filter(name => name !== 'describeTable')).toEqual([])
  })

  test.runIf(release !== '0.37')('blobs are fetched by row id, whole and in ranges', async () => {
    const bytes = [Buffer.from('abcdefghij'), null, Buffer.alloc(0)]
    await served.ns.operations.createTable({ id: ['blobs'] }, blobRows(bytes))
    const blobs = await db.openTable('blobs')
    expect(await blobs.blobColumns()).toEqual(['image'])
    expect(await table.blobColumns()).toEqual([])
    const found = await blobs.query().select(['id']).withRowId().toArray()
    const ids = found.map(row => row._rowid as bigint)
    expect(await blobs.fetchBlobs('image', [...ids, ids[0]!])).toEqual([...bytes, bytes[0]])
    const [file, none] = await blobs.fetchBlobFiles('image', ids)
    expect(none).toBeNull()
    expect([file!.size(), await file!.readRange(2n, 5n), await file!.read()]).toEqual([
      10n,
      Buffer.from('cde'),
      bytes[0],
    ])
    await expect(table.fetchBlobs('text', [0])).rejects.toThrow(/not a blob column/)
  })

  test('the branch that every table has may be named', async () => {
    expect(await (await db.openTable('t', [], { branch: 'main' })).countRows()).toBe(50)
  })
})
