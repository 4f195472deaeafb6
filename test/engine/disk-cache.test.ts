/** Roots in object storage with a disk cache: what a process that starts again reads from the store, and what it may not. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { type ConnectOptions, connect, moveLog, type Table } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { BucketStore } from '../support/bucket-store.js'
import { failure } from '../support/failure.js'
import { MemoryLog, type MemorySlots } from '../support/memory-log.js'

const dim = 8
const minutes = 60_000
let cacheDir: string
let now: number

beforeEach(() => {
  cacheDir = mkdtempSync(join(tmpdir(), 'sheaf-cache-'))
  now = Date.now() - systemClock.elapsed()
})

afterEach(() => rmSync(cacheDir, { recursive: true, force: true }))

class AddressedStore extends BucketStore {
  readonly address = 'test://bucket'
}

const clock = { ...systemClock, now: () => now + systemClock.elapsed() }
const open = (store: BucketStore, options: ConnectOptions = {}) =>
  connect('bucket', { store, cacheDir, clock, maintenance: { compact: false }, ...options })
const stale = { maxStalenessMs: 10 * minutes, readOnly: true }

const random = seededRandom(5)
const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const id = first + i
    return { id, word: `w${id % 50} common`, v: Float32Array.from({ length: dim }, () => random()) }
  })
const queries: Record<string, (table: Table) => Promise<unknown>> = {
  vector: table => table.search(new Float32Array(dim).fill(0.5)).select(['id']).limit(10).toArray(),
  text: table => table.search('w7').select(['id']).limit(10).toArray(),
  key: table => table.query().where('id = 77').select(['id', 'word']).toArray(),
  scan: table => table.query().where('id % 100 = 3').select(['id', 'word']).toArray(),
  count: table => table.countRows('id > 500'),
}

async function answers(store: BucketStore, options?: ConnectOptions) {
  const ns = await open(store, options)
  const found: Record<string, unknown> = {}
  for (const [name, query] of Object.entries(queries)) found[name] = await query(ns.table('t'))
  await ns.close()
  return found
}

async function indexedRoot(): Promise<AddressedStore> {
  const store = new AddressedStore()
  const ns = await connect('bucket', { store, maintenance: { compact: false } })
  const table = await ns.createTable('t', rowsFrom(0, 2000))
  const waitTimeoutMs = 60_000
  await table.createIndex('v', { type: 'IVF_PQ', partitions: 8, subVectors: 4, waitTimeoutMs })
  await table.createIndex('word', { type: 'FTS', waitTimeoutMs })
  await table.createIndex('id', { type: 'BTREE', waitTimeoutMs })
  await ns.optimize()
  await table.add(rowsFrom(2000, 3))
  await ns.close()
  store.reset()
  return store
}

/** The content of a store in memory. */
const blobsOf = (store: BucketStore) =>
  (store.inner as unknown as { readonly blobs: Map<string, unknown> }).blobs

/** Replace the content of a store by that of another one. */
function become(store: BucketStore, content: ReadonlyMap<string, unknown>): void {
  const blobs = blobsOf(store)
  blobs.clear()
  for (const [key, value] of content) blobs.set(key, value)
}

test('after a restart, data is read from the disk, and the log from the store', async () => {
  const store = await indexedRoot()
  const expected = await answers(store, { readOnly: true })
  store.reset()
  expect(await answers(store, { readOnly: true })).toEqual(expected)
  // Opening the root, and one look at the log for each query.
  expect(store.calls.get('readRanges')).toBeUndefined()
  expect(store.calls.get('readInto')).toBeUndefined()
  expect(store.calls.get('getRange')).toBeUndefined()
})

test('stats() has the figures of the cache', async () => {
  const store = await indexedRoot()
  await answers(store)
  const ns = await open(store)
  for (const query of Object.values(queries)) await query(ns.table('t'))
  const { hits, misses, damaged } = ns.stats().diskCache!
  expect(hits).toBeGreaterThan(0)
  expect([misses, damaged]).toEqual([0, 0])
  await ns.close()
  const without = await connect('bucket', { store })
  expect(without.stats().diskCache).toBeUndefined()
  await without.close()
})

test('after a restart, a root that was confirmed recently is opened and queried without a call', async () => {
  const store = await indexedRoot()
  const expected = await answers(store, stale)
  store.reset()
  expect(await answers(store, stale)).toEqual(expected)
  expect(store.calls).toEqual(new Map())
  now += 9 * minutes
  expect(await answers(store, stale)).toEqual(expected)
  expect(store.calls).toEqual(new Map())
})

test('a kept state is not used when it is too old, or when the clock was set back', async () => {
  const store = await indexedRoot()
  await answers(store, stale)
  for (const step of [11 * minutes, -30 * minutes]) {
    now += step
    store.reset()
    await answers(store, stale)
    expect(store.calls.get('get')).toBeGreaterThan(1)
  }
})

test('the age of a state counts from its last confirmation, also in the process that opens it', async () => {
  const store = await indexedRoot()
  await answers(store, stale)
  const writer = await connect('bucket', { store })
  await writer.table('t').add(rowsFrom(5000, 1))
  now += 9 * minutes
  let elapsed = 0
  const moving = { ...clock, elapsed: () => systemClock.elapsed() + elapsed }
  const ns = await open(store, { ...stale, clock: moving })
  expect(await ns.table('t').countRows()).toBe(2003)
  elapsed = 2 * minutes
  expect(await ns.table('t').countRows()).toBe(2004)
  await ns.close()
  await writer.close()
})

test('a process that commits has its commits in the state that it keeps', async () => {
  const store = await indexedRoot()
  const options = { maxStalenessMs: 10 * minutes }
  const ns = await open(store, options)
  await ns.table('t').add(rowsFrom(5000, 1))
  expect(await ns.table('t').countRows()).toBe(2004)
  await ns.close()
  const again = await open(store, options)
  expect(await again.table('t').countRows()).toBe(2004)
  await again.table('t').add(rowsFrom(5001, 1))
  expect(await again.table('t').countRows()).toBe(2005)
  await again.close()
})

test('without maxStalenessMs, the newest rows are seen, whatever the disk has', async () => {
  const store = await indexedRoot()
  await answers(store, stale)
  const writer = await connect('bucket', { store })
  await writer.table('t').add(rowsFrom(5000, 1))
  await writer.close()
  const ns = await open(store, { readOnly: true })
  expect(await ns.table('t').countRows()).toBe(2004)
  await ns.close()
})

describe('a root that was replaced', () => {
  test('by another one at the same place has none of its old bytes', async () => {
    const store = await indexedRoot()
    await answers(store, stale)
    blobsOf(store).clear()
    const other = await connect('bucket', { store })
    await other.createTable('t', [{ id: 77, word: 'new', v: new Float32Array(dim) }])
    await other.close()
    const ns = await open(store)
    expect(await ns.table('t').query().toArray()).toMatchObject([{ id: 77, word: 'new' }])
    await ns.close()
  })

  test('is noticed before the first write, and by the first look at the log', async () => {
    const store = await indexedRoot()
    await answers(store, stale)
    blobsOf(store).clear()
    const other = await connect('bucket', { store })
    await other.createTable('t', [{ id: 77, word: 'new', v: new Float32Array(dim) }])
    await other.close()
    const before = new Map(blobsOf(store))
    const ns = await open(store, { maxStalenessMs: 10 * minutes })
    expect(await failure(ns.table('t').add(rowsFrom(0, 1)))).toMatchObject({ message: /deleted or replaced/ })
    expect(await failure(ns.table('t').version())).toMatchObject({ message: /deleted or replaced/ })
    await ns.close()
    const created = [...blobsOf(store).keys()].filter(key => !before.has(key))
    expect(created.filter(key => !key.startsWith('_pins/') && !key.startsWith('_tmp/'))).toEqual([])
    // The state is not used again.
    const again = await open(store, stale)
    expect(await again.table('t').countRows()).toBe(1)
    await again.close()
  })

  test('by an older copy is noticed, and the copy never gets a slot after a gap', async () => {
    const store = await indexedRoot()
    const copy = new Map(blobsOf(store))
    const writer = await open(store, { maxStalenessMs: 10 * minutes })
    await writer.table('t').add(rowsFrom(5000, 1))
    await writer.table('t').add(rowsFrom(5001, 1))
    expect(await writer.table('t').version()).toBeGreaterThan(0)
    await writer.close()
    become(store, copy)
    const ns = await open(store, { maxStalenessMs: 10 * minutes })
    expect(await failure(ns.table('t').add(rowsFrom(6000, 1)))).toMatchObject({
      message: /deleted or replaced/,
    })
    await ns.close()
    const again = await open(store)
    expect(await again.table('t').countRows()).toBe(2003)
    await again.table('t').add(rowsFrom(7000, 1))
    expect(await again.table('t').countRows()).toBe(2004)
    expect((await again.verify()).problems).toEqual([])
    await again.close()
  })
})

test('a root that was restored from a copy, and whose newer slots were trimmed, is noticed', async () => {
  const store = await indexedRoot()
  const copy = new Map(blobsOf(store))
  const states: ConnectOptions = { maxStalenessMs: 60 * minutes }
  const writer = await open(store, states)
  for (let i = 0; i < 3; i++) await writer.table('t').add(rowsFrom(5000 + i, 1))
  await writer.close()
  become(store, copy)
  const maintenance = { compact: false, keepOrphansMs: 0, keepLogMs: 0 }
  const restored = await connect('bucket', { store, clock, maintenance })
  for (let i = 0; i < 8; i++) {
    await restored.table('t').add(rowsFrom(6000 + i, 2))
    now += 20_000
    await restored.optimize()
  }
  await restored.close()
  const ns = await open(store, states)
  expect(await ns.table('t').countRows()).toBe(2006)
  expect(await failure(ns.table('t').version())).toMatchObject({ message: /deleted or replaced/ })
  await ns.close()
  const again = await open(store, states)
  expect(await again.table('t').countRows()).toBe(2019)
  await again.close()
})

test('when a root was replaced, all of its states are discarded', async () => {
  const store = await indexedRoot()
  const copy = new Map(blobsOf(store))
  for (const count of [3, 1]) {
    // Opened from the store, because the kept state is older than 1 ms.
    const writer = await open(store, { maxStalenessMs: 1 })
    for (let row = 0; row < count; row++) await writer.table('t').add(rowsFrom(5000 + row, 1))
    await writer.close()
    now += 1000
    become(store, copy)
  }
  expect(readdirSync(join(cacheDir, 'states')).length).toBeGreaterThan(1)
  blobsOf(store).clear()
  const other = await connect('bucket', { store })
  await other.createTable('t', rowsFrom(0, 1))
  await other.close()
  const ns = await open(store, { maxStalenessMs: 10 * minutes })
  expect(await failure(ns.table('t').version())).toMatchObject({ message: /deleted or replaced/ })
  await ns.close()
  const again = await open(store, { maxStalenessMs: 10 * minutes })
  await again.table('t').add(rowsFrom(1, 1))
  await again.close()
})

test('a state from before the log was moved away and back is not used twice', async () => {
  const store = await indexedRoot()
  await answers(store, stale)
  const log = () => new MemoryLog('database', slots)
  const slots: MemorySlots = new Map()
  await moveLog('bucket', { store, to: log() })
  const moved = await connect('bucket', { store, log: log() })
  await moved.table('t').add(rowsFrom(5000, 1))
  await moved.close()
  await moveLog('bucket', { store, from: log(), to: 'files' })
  const ns = await open(store, { maxStalenessMs: 10 * minutes })
  expect(await failure(ns.table('t').add(rowsFrom(6000, 1)))).toMatchObject({
    message: /log was moved or trimmed/,
  })
  await ns.close()
  const again = await open(store, stale)
  expect(await again.table('t').countRows()).toBe(2004)
  await again.close()
})

test('a damaged state is not used', async () => {
  const store = await indexedRoot()
  const expected = await answers(store, stale)
  const folder = join(cacheDir, 'states')
  const [name] = readdirSync(folder)
  const good = readFileSync(join(folder, name!))
  for (let at = 0; at < good.length; at += Math.ceil(good.length / 40)) {
    for (const file of readdirSync(folder)) rmSync(join(folder, file))
    const bad = Buffer.from(good)
    if (at % 3 === 0) bad[at]! ^= 0x10
    writeFileSync(join(folder, name!), at % 3 === 0 ? bad : bad.subarray(0, at))
    store.reset()
    expect(await answers(store, stale), `byte ${at}`).toEqual(expected)
    expect(store.calls.get('get'), `byte ${at}`).toBeGreaterThan(0)
  }
})

test('bytes that arrived damaged are not kept after the query that found the damage', async () => {
  const store = await indexedRoot()
  const expected = await answers(store, { readOnly: true, cacheDir: undefined as never })
  const readRanges = store.readRanges.bind(store)
  let damages = true
  store.readRanges = async (key, ranges, signal) => {
    await readRanges(key, ranges, signal)
    if (damages) for (const { target } of ranges) target[target.length >> 1]! ^= 1
  }
  const ns = await open(store, { readOnly: true })
  expect(await failure(queries.vector!(ns.table('t')))).toMatchObject({ message: /checksum/ })
  await ns.close()
  damages = false
  const again = await open(store, { readOnly: true })
  expect(await queries.vector!(again.table('t'))).toEqual(expected.vector)
  await again.close()
})

test('options of the disk cache that have no effect are refused', async () => {
  expect(await failure(connect('memory://', { cacheDir }))).toMatchObject({ code: 13, message: /cacheDir/ })
  const store = new AddressedStore()
  expect(await failure(connect('bucket', { store, cacheDir: 's3://bucket/cache' }))).toMatchObject({
    code: 13,
    message: 'cacheDir must be a directory of a local disk, got "s3://bucket/cache"',
  })
  expect(await failure(connect('memory://', { cacheDiskBytes: 5 }))).toMatchObject({
    code: 13,
    message: /cacheDiskBytes/,
  })
})

test('the age of a state also grows while the machine is suspended', async () => {
  const store = await indexedRoot()
  const ns = await open(store, stale)
  await queries.count!(ns.table('t'))
  // The monotonic clock stands still.
  now += 11 * minutes
  await ns.close()
  store.reset()
  await answers(store, stale)
  expect(store.calls.get('get')).toBeGreaterThan(1)
})
