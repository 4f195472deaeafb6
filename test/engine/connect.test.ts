import { getEventListeners } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connect, type SheafError } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()

test('the next opener reads what one process wrote, and two openers see each other', async () => {
  const root = freshRoot()
  const one = await connect(root)
  const two = await connect(root)
  const table = await one.createTable('t', [{ id: 1 }])
  await (await two.openTable('t')).add([{ id: 2 }])
  expect(await table.countRows()).toBe(2)
  await one.close()
  await two.close()
  const later = await connect(root, { create: false, readOnly: true })
  expect(await (await later.openTable('t')).countRows()).toBe(2)
  await later.close()
})

test('memory:// is fresh each time, memory://name is shared', async () => {
  const fresh = await connect('memory://')
  await fresh.createTable('t', [{ id: 1 }])
  expect(await (await connect('memory://')).tableNames()).toEqual([])
  const shared = await connect('memory://connect-test')
  await shared.createTable('t', [{ id: 1 }])
  expect(await (await connect('memory://connect-test')).tableNames()).toEqual(['t'])
})

test('a root that is missing is created only when asked', async () => {
  const root = freshRoot()
  await expect(connect(root, { create: false })).rejects.toMatchObject({ code: 1, status: 404 })
  await expect(connect(root, { readOnly: true })).rejects.toMatchObject({ code: 1 })
  await (await connect(root)).close()
  await (await connect(root, { create: false })).close()
})

test('paths that are not a root say what is wrong', async () => {
  const folder = freshRoot()
  mkdirSync(folder)
  writeFileSync(join(folder, 'file'), 'x')
  await expect(connect(join(folder, 'file'))).rejects.toMatchObject({ code: 13 })
  await expect(connect(join(folder, 'file', 'below'))).rejects.toMatchObject({ code: 13 })
  await expect(connect('s3://bucket')).rejects.toMatchObject({ code: 13 })
  await expect(connect('')).rejects.toMatchObject({ code: 13 })
  await expect(connect(7 as never)).rejects.toMatchObject({ code: 13 })
  await expect(connect('memory://', { cacheBytes: -1 })).rejects.toMatchObject({ code: 13 })
  for (const buildThreads of [0, 1.5, 65])
    await expect(connect('memory://', { buildThreads })).rejects.toMatchObject({ code: 13 })
})

test('a read-only root refuses every write and changes nothing', async () => {
  const root = freshRoot()
  const writer = await connect(root)
  await writer.createTable('t', [{ id: 1 }])
  await writer.close()
  const reader = await connect(root, { readOnly: true })
  const table = await reader.openTable('t')
  for (const write of [
    () => table.add([{ id: 2 }]),
    () => table.delete('true'),
    () => table.tags.create('a', 1),
    () => reader.createTable('u', [{ id: 1 }]),
    () => reader.createNamespace('n'),
    () => reader.dropTable('t'),
  ]) {
    await expect(write()).rejects.toMatchObject({ code: 15, status: 403 })
  }
  expect(await table.query().toArray()).toEqual([{ id: 1 }])
  await reader.close()
})

test('a closed namespace refuses calls, and commits that had begun are kept', async () => {
  const root = freshRoot()
  const ns = await connect(root)
  const table = await ns.createTable('t', [{ id: 1 }])
  const tagging = table.tags.create('a', 1)
  await Promise.all([tagging, ns.close()])
  await expect(table.countRows()).rejects.toMatchObject({ code: 17 })
  const again = await connect(root)
  expect(await (await again.openTable('t')).tags.version('a')).toBe(1)
  await again.close()
})

test('time and ids come from the given clock', async () => {
  const open = async (name: string) => {
    const clock = new SeededClock(7)
    // Without this, maintenance may run between the two commits in one of the runs when the machine is busy.
    clock.sleep = () => new Promise(() => {})
    const store = new MemoryStore(name, clock)
    const ns = await connect(name, { store, clock })
    const table = await ns.createTable('t', [{ id: 1 }])
    await table.add([{ id: 2 }])
    const bytes: string[] = []
    for await (const { key } of store.list(''))
      bytes.push(key, Buffer.from((await store.get(key))!).toString('latin1'))
    return bytes
  }
  expect(await open('seeded one')).toEqual(await open('seeded two'))
})

test('few listeners are added to a signal at a time, however much is read', async () => {
  const store = new MemoryStore('listened')
  const writer = await connect('listened', { store })
  const table = await writer.createTable('t', [{ id: 0 }])
  for (let id = 1; id < 50; id++) await table.add([{ id }])
  const { signal } = new AbortController()
  const add = signal.addEventListener.bind(signal)
  let most = 0
  signal.addEventListener = (...args: Parameters<AbortSignal['addEventListener']>) => {
    add(...args)
    most = Math.max(most, getEventListeners(signal, 'abort').length)
  }
  const reader = await connect('listened', { store })
  const again = await reader.openTable('t', { signal })
  expect(await again.countRows('id >= 0', undefined, { signal })).toBe(50)
  expect(await again.versions({ signal })).toHaveLength(50)
  // Node warns of a leak above ten.
  expect(most).toBeLessThanOrEqual(10)
})

test('a store that lets a second conditional write through is refused', async () => {
  class Careless extends MemoryStore {
    override async putIfAbsent(): Promise<'won' | 'taken'> {
      return 'won'
    }
  }
  await expect(connect('careless', { store: new Careless('careless') })).rejects.toMatchObject({ code: 0 })
})

test.each<[string, object, string]>([
  ['s3:/bucket/prefix', {}, 'is not the path of a bucket; write s3://bucket/prefix'],
  ['AZ:container', {}, 'is not the path of a bucket; write az://bucket/prefix'],
  ['memory:', {}, 'is not a complete address; write memory://'],
  ['lance+file:data', {}, 'write it with three slashes and an absolute path: lance+file:///data/lancedb'],
  ['s3://bucket/prefix', { storage: { prefix: 'other' } }, 'storage must not have prefix'],
  ['az://container', { storage: { container: 'other' } }, 'storage must not have container'],
  [
    'memory://',
    { store: Promise.resolve(new MemoryStore()) },
    'store must be a BlobStore, as openS3Store returns it',
  ],
  ['memory://', { log: {} }, 'log must be a log, as openPostgresLog returns it'],
  ['s3://bucket', { storage: {}, store: new MemoryStore() }, 'because there is the option store'],
])('a mistake in the place of a root is named: %s, %o', async (path, options, message) => {
  const refused = await failure(connect(path, options))
  expect(refused).toMatchObject({ code: 13 })
  expect(`${(refused as SheafError).message}; ${(refused as SheafError).hint}`).toContain(message)
})
