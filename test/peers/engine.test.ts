/**
 * The embedded engine of LanceDB with this server as its catalog: the engine writes data and manifests, the server
 * decides which manifest is the next version.
 *
 * What 0.39.0 and 0.37.1 send, beyond one `version/create` per commit:
 *
 * | call | requests |
 * |---|---|
 * | createTable | declare, version/list x 2, version/create; name taken: declare (409), describe, version/list |
 * | createTable existOk, overwrite | describe, describe, version/list; describe, version/list, version/create |
 * | openTable; at a version | describe, version/list; then version/describe |
 * | count, query, search, listVersions, listIndices, stats | none; one version/list each with readConsistencyInterval 0 |
 * | delete that matches nothing | version/create all the same |
 * | optimize that compacts | version/create x 2: it reserves fragment ids first |
 * | optimize with cleanupOlderThan | deletes files and tells nobody |
 * | checkout, tags.create, tags.update | version/describe |
 * | restore | version/list, version/describe x 2, version/create, version/list, version/describe |
 * | branches.create | version/list, version/list?branch |
 * | dropAllTables | table/list, drop x n |
 * | a write lost to another | 0.39: version/describe of the winner, then the next number; 0.37: the next number |
 * | a write refused for good | 0.39: version/describe x 4, "Commit result unknown"; 0.37: version/create x 20 |
 *
 * Version lists are asked for with `limit=1&descending=true` and the body `null`. Ids in paths are form-encoded: a space is
 * `+`, a plus sign `%2B`.
 */
import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as arrow from 'apache-arrow'
import { beforeEach, describe, expect, test } from 'vitest'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { column, connectEngine, connectRemote, releases, type Served, servers, sorted } from './peers.js'

const serveRoot = servers()

const docs = [
  { id: 1, text: 'a sheaf of wheat', price: 1.5, vector: [1, 0, 0, 0] },
  { id: 2, text: 'a quiver of arrows', price: 2.5, vector: [0, 1, 0, 0] },
  { id: 3, text: 'a table of figures', price: 3.5, vector: [0, 0, 1, 0] },
]

describe.each(releases)('engine $release', ({ release, lancedb }) => {
  let served: Served
  let db: Awaited<ReturnType<typeof connectEngine>>

  beforeEach(async () => {
    served = await serveRoot()
    db = await connectEngine(lancedb, served.url)
  })

  /** A table as another process sees it. */
  const openAnew = async (name: string, namespace: string[] = []) =>
    (await connectEngine(lancedb, served.url)).openTable(name, namespace)

  const versions = async (...id: string[]): Promise<number[]> =>
    (await served.ns.operations.listTableVersions({ id })).versions.map(({ version }) => version)

  const locationOf = async (...id: string[]): Promise<string> =>
    (await served.ns.operations.describeTable({ id })).location

  describe('tables', () => {
    test('are declared, written and opened by others', async () => {
      const table = await db.createTable('docs', docs)
      expect(served.asked()).toEqual([
        'declareTable',
        'listTableVersions',
        'listTableVersions',
        'createTableVersion',
      ])
      expect(await table.countRows()).toBe(3)
      expect(await versions('docs')).toEqual([1])
      served.asked()
      const opened = await openAnew('docs')
      expect(served.asked()).toEqual(['describeTable', 'listTableVersions'])
      expect((await opened.schema()).fields.map(({ name }) => name)).toEqual([
        'id',
        'text',
        'price',
        'vector',
      ])
      expect(await column(opened.query(), 'id')).toEqual([1, 2, 3])
      expect(served.asked()).toEqual([])
    })

    test('that exist are told, opened or overwritten, as asked', async () => {
      await db.createTable('docs', docs)
      await expect(db.createTable('docs', docs)).rejects.toThrow(/already exists/)
      const same = await db.createTable('docs', docs.slice(1), { existOk: true })
      expect(await same.countRows()).toBe(3)
      const replaced = await db.createTable('docs', [{ id: 9 }], { mode: 'overwrite' })
      expect(await column(replaced.query(), 'id')).toEqual([9])
      expect(await versions('docs')).toEqual([1, 2])
      expect(await (await openAnew('docs')).countRows()).toBe(1)
    })

    test('that were only declared take their first version from the engine', async () => {
      await served.ns.operations.declareTable({ id: ['docs'] })
      const table = await db.createTable('docs', docs)
      expect(await table.countRows()).toBe(3)
      expect(await versions('docs')).toEqual([1])
    })

    test('may begin empty', async () => {
      const schema = new arrow.Schema([new arrow.Field('id', new arrow.Int32(), true)])
      const table = await db.createEmptyTable('empty', schema)
      await table.add([{ id: 1 }])
      expect(await (await openAnew('empty')).countRows()).toBe(1)
    })

    test('with names that need care in paths and URLs are found again', async () => {
      for (const name of ['ünï', 'a.b-c_d', 'c+d', "it's", 'with space']) {
        await db.createTable(name, docs)
        expect(await (await openAnew(name)).countRows(), name).toBe(3)
      }
    })

    test('written with the older naming of manifests stay that way', async () => {
      const options = { storageOptions: { newTableEnableV2ManifestPaths: 'false' } }
      const table = await db.createTable('docs', docs, options)
      await table.add(docs)
      expect(await versions('docs')).toEqual([1, 2])
      expect(manifests(await locationOf('docs'))).toEqual(['1.manifest', '2.manifest'])
      expect(await (await openAnew('docs')).countRows()).toBe(6)
    })

    test('that are dropped leave nothing in the way of the next of that name', async () => {
      await db.createTable('docs', docs)
      await db.dropTable('docs')
      expect(await db.tableNames()).toEqual([])
      await expect(db.openTable('docs')).rejects.toThrow(/not found/)
      const again = await db.createTable('docs', docs.slice(1))
      expect(await again.countRows()).toBe(2)
      expect(await versions('docs')).toEqual([1])
    })

    test('that are missing are told', async () => {
      await expect(db.openTable('nowhere')).rejects.toThrow(/not found/)
      await expect(db.dropTable('nowhere')).rejects.toThrow(/not found|does not exist/)
    })

    test('renamed here are found under the new name, and a handle to them still works', async () => {
      const table = await db.createTable('old', docs)
      await served.ns.operations.renameTable({ id: ['old'], new_table_name: 'new' })
      expect(await db.tableNames()).toEqual(['new'])
      expect(await (await openAnew('new')).countRows()).toBe(3)
      expect(await table.countRows()).toBe(3)
    })

    test('are listed in pages', async () => {
      for (const name of ['c', 'a', 'b']) await db.createTable(name, [{ id: 1 }])
      expect(await db.tableNames()).toEqual(['a', 'b', 'c'])
      expect(await db.tableNames({ limit: 2 })).toEqual(['a', 'b'])
      expect(await db.tableNames({ startAfter: 'b' })).toEqual(['c'])
    })
  })

  describe('writes', () => {
    test('are one version each, seen by others at once', async () => {
      const table = await db.createTable('docs', docs)
      const watcher = await connectEngine(lancedb, served.url, { readConsistencyInterval: 0 })
      const watched = await watcher.openTable('docs')
      served.asked()

      await table.add([{ id: 4, text: 'four', price: 4, vector: [1, 1, 0, 0] }])
      expect(served.asked()).toEqual(['createTableVersion'])
      expect(await watched.countRows()).toBe(4)
      await table.update({ where: 'id = 1', values: { text: 'changed' } })
      expect(await watched.countRows("text = 'changed'")).toBe(1)
      await table.delete('id = 2')
      expect(sorted(await column(watched.query(), 'id'))).toEqual([1, 3, 4])
      await table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute([
          { id: 1, text: 'merged', price: 1, vector: [0, 0, 0, 1] },
          { id: 5, text: 'new', price: 5, vector: [0, 0, 0, 1] },
        ])
      expect(sorted(await column(watched.query(), 'id'))).toEqual([1, 3, 4, 5])
      expect(await watched.countRows("text = 'merged'")).toBe(1)
      await table.add(docs.slice(0, 1), { mode: 'overwrite' })
      expect(await column(watched.query(), 'id')).toEqual([1])
      expect(await versions('docs')).toEqual([1, 2, 3, 4, 5, 6])
    })

    test('change columns', async () => {
      const table = await db.createTable('docs', docs)
      await table.addColumns([{ name: 'double', valueSql: 'price * 2' }])
      await table.alterColumns([{ path: 'text', rename: 'title' }])
      await table.dropColumns(['price'])
      const opened = await openAnew('docs')
      expect((await opened.schema()).fields.map(({ name }) => name)).toEqual([
        'id',
        'title',
        'vector',
        'double',
      ])
      expect(await column(opened.query(), 'double')).toEqual([3, 5, 7])
      expect(await versions('docs')).toEqual([1, 2, 3, 4])
    })

    test('build indexes, which answer', async () => {
      const rows = Array.from({ length: 300 }, (_, i) => {
        const vector = [Math.cos(i), Math.sin(i), i / 300, 1]
        return { id: i, text: i % 3 === 0 ? `sheaf ${i}` : `arrow ${i}`, vector }
      })
      const table = await db.createTable('docs', rows)
      await table.createIndex('vector', {
        config: lancedb.Index.ivfPq({ numPartitions: 2, numSubVectors: 2 }),
      })
      await table.createIndex('id', { config: lancedb.Index.btree() })
      await table.createIndex('text', { config: lancedb.Index.fts() })
      expect(await versions('docs')).toEqual([1, 2, 3, 4])
      const opened = await openAnew('docs')
      expect(sorted((await opened.listIndices()).map(({ name }) => name))).toEqual([
        'id_idx',
        'text_idx',
        'vector_idx',
      ])
      const near = opened.vectorSearch(rows[7]!.vector).nprobes(2).refineFactor(50).limit(1)
      expect(await column(near, 'id')).toEqual([7])
      expect(await column(opened.query().where('id = 42'), 'id')).toEqual([42])
      const found = await column(opened.search('sheaf', 'fts', 'text').limit(200), 'id')
      expect(sorted(found)).toEqual(rows.map(({ id }) => id).filter(id => id % 3 === 0))
      await opened.dropIndex('id_idx')
      expect((await opened.listIndices()).length).toBe(2)
    })

    test('of 8 writers at once are all there exactly once', async () => {
      await db.createTable('docs', [{ id: -1 }])
      served.asked()
      await Promise.all(
        Array.from({ length: 8 }, async (_, writer) => {
          const table = await openAnew('docs')
          for (let i = 0; i < 5; i++) await table.add([{ id: writer * 5 + i }])
        }),
      )
      const asked = served.asked()
      const lost = asked.filter(name => name === 'createTableVersion 409').length
      const won = asked.filter(name => name === 'createTableVersion').length
      console.log(`engine ${release}: ${won} commits won, ${lost} lost and tried again`)
      expect(won).toBe(40)
      expect(asked.filter(name => / 4(?!09)| 5/.test(name))).toEqual([])
      const ids = await column((await openAnew('docs')).query(), 'id')
      expect(sorted(ids)).toEqual(Array.from({ length: 41 }, (_, i) => i - 1))
      expect(await versions('docs')).toEqual(Array.from({ length: 41 }, (_, i) => i + 1))
    })

    test('whose reply is lost are recognised, and done once', async () => {
      let lose = false
      const flaky = await serveRoot(undefined, async (operation, call) => {
        const reply = await call()
        if (operation === 'createTableVersion' && lose) {
          lose = false
          throw new SheafError(ErrorCode.Internal, 'the reply is lost')
        }
        return reply
      })
      const table = await (await connectEngine(lancedb, flaky.url)).createTable('docs', [{ id: 1 }])
      lose = true
      await table.add([{ id: 2 }])
      expect(flaky.asked()).toContain('createTableVersion 500')
      // The older engine takes every failure for a lost race, and adds the row again: no server can prevent that.
      const once = release === '0.37' ? [1, 2, 2] : [1, 2]
      expect(sorted(await column(table.query(), 'id'))).toEqual(once)
    })

    test('of several operations at once, on rows of their own, all hold', async () => {
      await db.createTable(
        'docs',
        Array.from({ length: 20 }, (_, id) => ({ id, text: '-' })),
      )
      const tables = await Promise.all(Array.from({ length: 4 }, () => openAnew('docs')))
      await Promise.all([
        tables[0]!.add([{ id: 100, text: 'added' }]),
        tables[1]!.update({ where: 'id = 3', values: { text: 'updated' } }),
        tables[2]!.delete('id = 5'),
        tables[3]!
          .mergeInsert('id')
          .whenNotMatchedInsertAll()
          .execute([{ id: 200, text: 'merged' }]),
      ])
      const opened = await openAnew('docs')
      expect(await opened.countRows()).toBe(21)
      expect(sorted(await column(opened.query().where("text != '-'"), 'id'))).toEqual([3, 100, 200])
      expect(await versions('docs')).toHaveLength(5)
    })
  })

  describe('versions', () => {
    const fiveVersions = async () => {
      const table = await db.createTable('docs', [{ id: 1 }])
      for (let id = 2; id <= 5; id++) await table.add([{ id }])
      return table
    }

    test('can be looked at by number and by tag, and restored', async () => {
      const table = await fiveVersions()
      expect((await table.listVersions()).map(({ version }) => version)).toEqual([1, 2, 3, 4, 5])
      const tags = await table.tags()
      await tags.create('two', 2)
      await tags.create('four', 3)
      await tags.update('four', 4)
      const opened = await openAnew('docs')
      expect(await (await opened.tags()).list()).toMatchObject({ two: { version: 2 }, four: { version: 4 } })
      await opened.checkout('four')
      expect(await opened.countRows()).toBe(4)
      await opened.checkout(2)
      expect(await opened.countRows()).toBe(2)
      await expect(opened.checkout(77)).rejects.toThrow(/77|not found/)
      await opened.restore()
      expect(await opened.version()).toBe(6)
      expect(await versions('docs')).toEqual([1, 2, 3, 4, 5, 6])
      await table.checkoutLatest()
      expect(await table.version()).toBe(6)
      expect(await table.countRows()).toBe(2)
      await (await table.tags()).delete('two')
      await expect(table.checkout('two')).rejects.toThrow(/two/)
    })

    test('are compacted, and what the engine cleaned up is no longer listed', async () => {
      const table = await fiveVersions()
      const { compaction } = await table.optimize()
      expect(compaction).toMatchObject({ fragmentsRemoved: 5, fragmentsAdded: 1 })
      const { prune } = await table.optimize({ cleanupOlderThan: new Date() })
      expect(prune.oldVersionsRemoved).toBeGreaterThan(0)
      const left = (await table.listVersions()).map(({ version }) => version)
      expect(await versions('docs')).toEqual(left)
      const gone = served.ns.operations.describeTableVersion({ id: ['docs'], version: 1 })
      await expect(gone).rejects.toMatchObject({ code: 11 })
      await table.add([{ id: 6 }])
      expect(await (await openAnew('docs')).countRows()).toBe(6)
    })

    test('deleted here do not stop the engine: the newest is kept, and the next number is new', async () => {
      const table = await fiveVersions()
      const ranges = [{ start_version: 4, end_version: -1 }]
      const deleted = await served.ns.operations.batchDeleteTableVersions({ id: ['docs'], ranges })
      expect(deleted.deleted_count).toBe(1)
      expect(await versions('docs')).toEqual([1, 2, 3, 5])
      await (await openAnew('docs')).add([{ id: 6 }])
      await table.add([{ id: 7 }])
      expect(await versions('docs')).toEqual([1, 2, 3, 5, 6, 7])
      expect(await (await openAnew('docs')).countRows()).toBe(7)
    })

    test('whose manifest lacks its final name, because the server died, get it from the next server', async () => {
      const table = await fiveVersions()
      const last = served.calls('createTableVersion').at(-1)! as { manifest_path: string; version: number }
      expect(last.version).toBe(5)
      const staged = `/${last.manifest_path.replace(/^\//, '')}`
      const final = staged.replace(/-[0-9a-f-]{36}$/, '')
      await served.close()
      // What lies on disk between the slot and the final name.
      copyFileSync(final, staged)
      rmSync(final)

      const next = await serveRoot(served.folder)
      const opened = await (await connectEngine(lancedb, next.url)).openTable('docs')
      expect(existsSync(final)).toBe(true)
      expect(await opened.countRows()).toBe(5)
      await opened.add([{ id: 6 }])
      expect(await opened.version()).toBe(6)
      expect(existsSync(staged)).toBe(false)
      expect(await table.countRows()).toBe(5)
    })

    test('of branches are refused in words, and main is as it was', async () => {
      const table = await fiveVersions()
      await expect((await table.branches()).create('side')).rejects.toThrow(/only the branch .*main.* exists/)
      await table.add([{ id: 6 }])
      expect(await versions('docs')).toEqual([1, 2, 3, 4, 5, 6])
    })

    test('leave no staging file behind', async () => {
      await fiveVersions()
      const left = manifests(await locationOf('docs'))
      expect(left.filter(name => !/^\d{20}\.manifest$/.test(name))).toEqual([])
      expect(left).toHaveLength(5)
    })
  })

  describe('tables of other makers', () => {
    test('written to a plain directory are registered, and go on from there', async () => {
      const plain = await lancedb.connect(join(served.folder, 'imports'))
      const written = await plain.createTable('docs', docs)
      await written.add(docs)
      await served.ns.operations.registerTable({ id: ['docs'], location: 'imports/docs.lance' })
      expect(await versions('docs')).toEqual([1, 2])
      const opened = await openAnew('docs')
      expect(await opened.countRows()).toBe(6)
      await opened.add(docs)
      expect(await versions('docs')).toEqual([1, 2, 3])
      expect(await (await openAnew('docs')).countRows()).toBe(9)
    })

    test('made and written beside the catalog by an engine that does not ask are versions here, and both go on', async () => {
      const lake = join(served.folder, 'lake')
      await served.ns.operations.declareTable({ id: ['docs'], location: 'lake/docs.lance' })
      const plain = await (await lancedb.connect(lake)).createTable('docs', docs)
      expect(await served.ns.operations.describeTable({ id: ['docs'] })).toMatchObject({ version: 1 })
      const asking = await openAnew('docs')
      await asking.add(docs)
      await plain.checkoutLatest()
      for (let i = 0; i < 3; i++) await plain.add(docs)
      // It has not seen these, and asks for number 3.
      await asking.add(docs)
      expect(await versions('docs')).toEqual([1, 2, 3, 4, 5, 6])
      expect(await (await openAnew('docs')).countRows()).toBe(18)
      await plain.checkoutLatest()
      await plain.optimize({ cleanupOlderThan: new Date() })
      const left = (await plain.listVersions()).map(({ version }) => version)
      expect(await versions('docs')).toEqual(left)
      await (await openAnew('docs')).add(docs)
      await plain.checkoutLatest()
      expect(await plain.countRows()).toBe(21)
    })

    test('deregistered and registered again are as they were', async () => {
      await db.createTable('docs', docs)
      const { location } = await served.ns.operations.deregisterTable({ id: ['docs'] })
      await expect(db.openTable('docs')).rejects.toThrow(/not found/)
      await served.ns.operations.registerTable({
        id: ['again'],
        location: location.slice(served.folder.length + 1),
      })
      const opened = await openAnew('again')
      expect(await opened.countRows()).toBe(3)
      await opened.add(docs)
      expect(await versions('again')).toEqual([1, 2])
    })

    test('whose rows lie here are not written by the engine, and its tables are read here', async () => {
      await served.ns.createTable('ours', [{ id: 1 }])
      const folder = await locationOf('ours')
      const files = () => (existsSync(folder) ? readdirSync(folder, { recursive: true }) : [])
      const before = files()
      const refusal = /sheaf-stores-the-rows-of-this-table--query-it-over-http-or-export-it/
      await expect(openAnew('ours').then(table => table.countRows())).rejects.toThrow(refusal)
      await expect(openAnew('ours').then(table => table.add([{ id: 2 }]))).rejects.toThrow(refusal)
      await expect(db.createTable('ours', docs)).rejects.toThrow(/already exists/)
      await expect(db.createTable('ours', docs, { mode: 'overwrite' })).rejects.toThrow()
      expect(files()).toEqual(before)
      expect(await (await served.ns.openTable('ours')).countRows()).toBe(1)
      await db.createTable('theirs', docs)
      const remote = await connectRemote(lancedb, served.url)
      const theirs = await remote.openTable('theirs')
      expect(await theirs.countRows()).toBe(3)
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
      expect(await db.tableNames([])).toEqual([])
      expect(await (await openAnew('docs', ['a', 'b'])).countRows()).toBe(6)
      await expect(db.dropNamespace(['a'])).rejects.toThrow(/contains/)
      await db.dropTable('docs', ['a', 'b'])
      await db.dropNamespace(['a', 'b'])
      await db.dropNamespace(['a'])
      expect((await db.listNamespaces([])).namespaces).toEqual([])
    })

    test('that exist or are missing are told', async () => {
      await db.createNamespace(['a'])
      await expect(db.createNamespace(['a'], { mode: 'create' })).rejects.toThrow(/already exists/)
      await db.createNamespace(['a'], { mode: 'exist_ok' })
      await expect(db.describeNamespace(['z'])).rejects.toThrow(/z/)
      await expect(db.createTable('docs', docs, ['z'])).rejects.toThrow(/z/)
    })
  })
})

/** Names in the folder of manifests. */
function manifests(location: string): string[] {
  return readdirSync(join(location, '_versions'))
    .filter(name => name.includes('.manifest'))
    .sort()
}
