/** Many writers at once, by either kind of client: every change is there once, and says truly what it did. */
import type { Connection, Table } from '@lancedb/lancedb'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  column,
  connectEngine,
  connectRemote,
  type Lancedb,
  releases,
  type Served,
  servers,
  sorted,
} from './peers.js'
import { versions } from './programs/tables.js'

const serveRoot = servers()

const kinds = [
  { kind: 'remote', connect: connectRemote },
  { kind: 'engine', connect: (lancedb: Lancedb, url: string) => connectEngine(lancedb, url) },
] as const
const clients = releases.flatMap(client => kinds.map(kind => ({ ...client, ...kind })))

const writers = 8

describe.each(clients)('$kind client $release', ({ lancedb, release, kind, connect }) => {
  let served: Served
  let db: Connection

  beforeEach(async () => {
    served = await serveRoot()
    db = await connect(lancedb, served.url)
  })

  /** Runs `write` for each writer with a table of its own connection. */
  async function all<T>(write: (table: Table, writer: number) => Promise<T>): Promise<T[]> {
    const opened = await Promise.all(
      Array.from({ length: writers }, async () => (await connect(lancedb, served.url)).openTable('t')),
    )
    return Promise.all(opened.map(write))
  }

  const latest = async () => (await connect(lancedb, served.url)).openTable('t')

  test('a counter that all of them raise loses no step', async () => {
    await db.createTable('t', [{ id: 1, n: 0 }])
    const outcomes = await all(async table => {
      let done = 0
      for (let i = 0; i < 3; i++) {
        // The engine gives up after some lost races; what it refuses, it did not do.
        await table.update({ where: 'id = 1', valuesSql: { n: 'n + 1' } }).then(
          () => done++,
          error => expect(String(error)).toMatch(/conflict|retr/i),
        )
        if (kind === 'engine') await table.checkoutLatest()
      }
      return done
    })
    const done = outcomes.reduce((sum, each) => sum + each, 0)
    expect(await column((await latest()).query(), 'n')).toEqual([done])
    if (kind === 'remote') expect(done).toBe(writers * 3)
  })

  test('merges of one key by all of them leave one row, merges of their own keys one each', async () => {
    await db.createTable('t', [{ id: 0, writer: -1 }])
    const outcomes = await all(async (table, writer) => {
      const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
      return merge
        .execute([
          { id: 0, writer },
          { id: 100 + writer, writer },
        ])
        .then(({ numInsertedRows, numUpdatedRows }) => [numInsertedRows, numUpdatedRows])
        .catch(error => expect(String(error)).toMatch(/conflict|retr/i))
    })
    const won = outcomes.flatMap((outcome, writer) => (outcome === undefined ? [] : [writer]))
    for (const writer of won) expect(outcomes[writer]).toEqual([1, 1])
    const table = await latest()
    expect(sorted(await column(table.query(), 'id'))).toEqual([0, ...won.map(writer => 100 + writer)])
    const [last] = await column(table.query().where('id = 0'), 'writer')
    expect(won).toContain(last)
    if (kind === 'remote') expect(won).toHaveLength(writers)
  })

  test('of adds, updates and deletes that race all hold', async () => {
    await db.createTable(
      't',
      Array.from({ length: 40 }, (_, id) => ({ id, n: 0 })),
    )
    await all(async (table, writer) => {
      const step = async (call: () => Promise<unknown>) => {
        for (let attempt = 0; ; attempt++) {
          try {
            return await call()
          } catch (error) {
            if (kind === 'remote' || attempt > 9) throw error
            expect(String(error)).toMatch(/conflict|retr/i)
            await table.checkoutLatest()
          }
        }
      }
      const mine = 5 * writer
      await step(() => table.add([{ id: 100 + writer, n: 1 }]))
      await step(() => table.update({ where: `id = ${mine}`, values: { n: 2 } }))
      await step(() => table.delete(`id = ${mine + 1}`))
      await step(() => table.add([{ id: 200 + writer, n: 3 }]))
    })
    const table = await latest()
    expect(await table.countRows()).toBe(40 - writers + 2 * writers)
    expect(sorted(await column(table.query().where('n = 2'), 'id'))).toEqual([0, 5, 10, 15, 20, 25, 30, 35])
    expect(await table.countRows('id < 100 AND id % 5 = 1')).toBe(0)
    expect(await table.countRows('id >= 100')).toBe(2 * writers)
    // 0.37 makes versions of what it tries again, too.
    if (release !== '0.37') expect(await versions(table)).toHaveLength(1 + 4 * writers)
  })

  // The client waits until no row is outside of the index: what came meanwhile is folded in when the table rests.
  test.runIf(kind === 'remote')('an index is waited for while rows are being added', async () => {
    await db.createTable(
      't',
      Array.from({ length: 2000 }, (_, id) => ({ id, text: `word ${id % 7}` })),
    )
    const table = await latest()
    const adding = (async () => {
      const other = await latest()
      for (let id = 10_000; id < 10_010; id++) await other.add([{ id, text: 'late' }])
    })()
    const { Index } = lancedb
    await table.createIndex('id', { config: Index.btree() })
    await table.createIndex('text', { config: Index.fts() })
    await table.waitForIndex(['id_idx', 'text_idx'], 50)
    await adding
    expect(await table.countRows('id >= 10000')).toBe(10)
    expect(await column(table.search('late', 'fts', 'text').limit(100), 'id')).toHaveLength(10)
  })
})
