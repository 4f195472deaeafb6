/** What becomes of indexes while nobody looks: rows come in, segments become few, compactions keep them, files go. */
import { expect, test } from 'vitest'
import { connect, type MaintenanceEvent, type Namespace, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { CrashingStore, keysIn } from '../support/stores.js'

const nothingKept = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }

async function open(rows: number, maintenance = {}) {
  const store = new MemoryStore('memory://')
  const events: MaintenanceEvent[] = []
  const ns = await connect('memory://', { store, maintenance, onMaintenance: event => events.push(event) })
  const table = await ns.createTable('t', rowsFrom(0, rows))
  await table.createIndex('k', { type: 'BTREE' })
  await table.waitForIndex('k_idx')
  return { store, ns, table, events }
}

function rowsFrom(first: number, count: number): { readonly k: number; readonly text: string }[] {
  return Array.from({ length: count }, (_, i) => ({
    k: first + i,
    text: `row ${first + i} ${'.'.repeat(60)}`,
  }))
}

async function indexOf(table: Table) {
  return (await table.listIndices()).find(({ name }) => name === 'k_idx')!
}

async function indexFiles(store: MemoryStore): Promise<string[]> {
  return (await keysIn(store, 'tables/')).filter(key => key.includes('/indexes/'))
}

async function found(table: Table, k: number): Promise<number> {
  return (await table.query().where('k = ?', [k]).toArray()).length
}

test('unindexed rows are merged in, and segments stay few', async () => {
  const { ns, table, events } = await open(3000)
  for (let i = 0; i < 12; i++) {
    await table.add(rowsFrom(3000 + 10 * i, 10))
    expect(await indexOf(table)).toMatchObject({ status: 'stale', unindexedRows: 10 })
    expect(await found(table, 3000 + 10 * i)).toBe(1)
    await ns.optimize()
    expect(await indexOf(table)).toMatchObject({
      status: 'ready',
      indexedRows: 3010 + 10 * i,
      unindexedRows: 0,
    })
  }
  expect((await indexOf(table)).segments).toBeLessThan(6)
  expect(events.filter(({ kind }) => kind === 'indexed').length).toBeGreaterThanOrEqual(12)
  await ns.close()
})

test('each of several indexes is kept up to date', async () => {
  const { ns, table } = await open(3000)
  await table.createIndex('text', { waitTimeoutMs: 60_000 })
  await table.createIndex('k', { type: 'BITMAP', name: 'other', waitTimeoutMs: 60_000 })
  await table.add(rowsFrom(3000, 1000))
  await ns.optimize()
  const found = (await table.listIndices()).map(({ name, status, indexedRows }) => [
    name,
    status,
    indexedRows,
  ])
  expect(found).toEqual([
    ['k_idx', 'ready', 4000],
    ['other', 'ready', 4000],
    ['text_idx', 'ready', 4000],
  ])
  await ns.close()
})

test('a compaction updates row mappings, and indexes no row again', async () => {
  const { ns, store, table, events } = await open(2000)
  const before = await indexFiles(store)
  await table.delete('k % 5 = 0')
  await ns.optimize()
  expect(events.map(({ kind }) => kind)).toContain('compaction')
  expect(events.map(({ kind }) => kind)).not.toContain('indexed')
  expect(await indexFiles(store)).toEqual(before)
  expect(await indexOf(table)).toMatchObject({ status: 'ready', indexedRows: 1600, unindexedRows: 0 })
  expect([await found(table, 1), await found(table, 5), await found(table, 1999)]).toEqual([1, 0, 1])
  expect((await ns.verify()).problems).toEqual([])
  await ns.close()
})

test('a segment with most rows deleted is rebuilt', async () => {
  const { ns, store, table } = await open(2000)
  const before = await indexFiles(store)
  await table.delete('k >= 500')
  await ns.optimize()
  const after = await indexFiles(store)
  expect(after.filter(key => !before.includes(key))).toHaveLength(1)
  expect(await indexOf(table)).toMatchObject({ segments: 1, indexedRows: 500, unindexedRows: 0 })
  await ns.close()
})

test('files of indexes are deleted when no version has them any more', async () => {
  const { ns, store, table } = await open(2000, nothingKept)
  await table.add(rowsFrom(2000, 10))
  await ns.optimize()
  expect((await indexFiles(store)).length).toBeGreaterThan(0)
  await table.dropIndex('k_idx')
  await ns.optimize()
  expect(await indexFiles(store)).toEqual([])
  expect(await found(table, 2005)).toBe(1)
  await ns.close()
})

test('an index whose column is cast is rebuilt, of a renamed column stays, of a dropped column is removed', async () => {
  const { ns, store, table } = await open(2000)
  const before = await indexFiles(store)
  await table.alterColumns({ k: { rename: 'key' } })
  expect(await indexOf(table)).toMatchObject({ status: 'ready', columns: ['key'] })
  await table.alterColumns({ key: { type: 'int32' } })
  expect(await indexOf(table)).toMatchObject({ status: 'stale', indexedRows: 0 })
  expect((await table.query().where('key = 7').toArray()).length).toBe(1)
  await ns.optimize()
  expect(await indexOf(table)).toMatchObject({ status: 'ready', indexedRows: 2000 })
  expect((await indexFiles(store)).filter(key => !before.includes(key))).toHaveLength(1)
  expect((await table.query().where('key < 7.5 AND key > 6').toArray()).length).toBe(1)
  await table.dropColumns(['key'])
  expect(await table.listIndices()).toEqual([])
  await ns.close()
})

test('a flipped bit in a segment is found by a verification, and before the segment answers', async () => {
  const { ns, store } = await open(30_000)
  const [key] = await indexFiles(store)
  const bytes = (await store.get(key!))!.slice()
  await ns.close()
  for (let at = 256; at < 4096; at += 64) bytes[at]! ^= 1
  await store.delete(key!)
  await store.put(key!, bytes)
  const again: Namespace = await connect('memory://', { store, readOnly: true })
  const { problems } = await again.verify()
  expect(problems).toMatchObject([{ kind: 'index', path: key }])
  await expect(again.table('t').query().where('k = 3').toArray()).rejects.toMatchObject({ code: 18 })
  await again.close()
})

test('a process that dies while it builds an index leaves none or all of it; the build continues elsewhere', async () => {
  let died = true
  for (let survives = 8; died; survives++) {
    const clock = new SeededClock(1)
    const store = new MemoryStore('root', clock)
    const first = await connect('root', { store, clock })
    await first.createTable('t', rowsFrom(0, 3000))
    await first.close()
    const crashing = new CrashingStore(store, survives, survives % 2 === 0)
    const dying = await connect('root', { store: crashing, clock, onWarning: () => {} }).catch(() => null)
    if (dying === null) continue
    const asked = dying.table('t').createIndex('k', { waitTimeoutMs: 60_000 })
    await Promise.race([asked.catch(() => {}), clock.sleep(5_000)])
    died = crashing.dead
    const next = await connect('root', { store, clock })
    const table = next.table('t')
    expect(await found(table, 77)).toBe(1)
    const known = await table.listIndices()
    // Before the call was in the log nobody asked for it.
    if (known.length > 0) {
      await table.waitForIndex('k_idx')
      expect(await indexOf(table)).toMatchObject({ status: 'ready', indexedRows: 3000 })
      expect(await found(table, 77)).toBe(1)
    }
    expect((await next.verify()).problems).toEqual([])
    await next.close()
    clock.stop()
  }
})
