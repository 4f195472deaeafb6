/** Files of vector indexes: damaged, replaced, half written, evicted, and asked by several at once. */
import { afterEach, describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { type ConnectOptions, connect, type Namespace, type Table } from '../../src/index.js'
import type { SectionFooter } from '../../src/indexes/sections/section-file.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { failure } from '../support/failure.js'
import { CountingStore, CrashingStore, keysIn } from '../support/stores.js'

const dim = 8
const random = seededRandom(5)
const vectorAround = (centre: number) =>
  Array.from({ length: dim }, (_, i) => ((centre * 5 + i * 3) % 7) + random() - random())
const rows = Array.from({ length: 1500 }, (_, id) => ({ id, g: id % 10, v: vectorAround(id % 12) }))
const queries = Array.from({ length: 12 }, (_, i) => vectorAround(i))

const open: Namespace[] = []
afterEach(async () => {
  for (const ns of open.splice(0)) await ns.close()
})
async function opened(store: MemoryStore | CountingStore | CrashingStore, options: ConnectOptions = {}) {
  const maintenance = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0, compact: false }
  const ns = await connect('memory://', { store, maintenance, ...options })
  open.push(ns)
  return ns
}

async function indexed(store: MemoryStore, type: 'IVF_PQ' | 'IVF_SQ' | 'IVF_HNSW_SQ' | 'IVF_HNSW_FLAT') {
  const ns = await opened(store)
  const table = await ns.createTable('t', rows, { vectorColumns: ['v'] })
  await table.createIndex('v', { type, partitions: 3, waitTimeoutMs: 60_000 })
  return { ns, table }
}

const indexFiles = async (store: MemoryStore) =>
  (await keysIn(store, 'tables/')).filter(key => key.includes('/indexes/'))

const near = (table: Table, n: number) => {
  const search = table
    .search(queries[n % queries.length]!)
    .select(['id'])
    .limit(1 + (n % 20))
  return (n % 3 === 0 ? search : search.where('g < ?', [n % 10])).toArray()
}

test.each(['IVF_PQ', 'IVF_SQ', 'IVF_HNSW_SQ'] as const)(
  '%s: a flipped bit in any section is found by a verification, and by a search of the index before it answers',
  async type => {
    const store = new MemoryStore('memory://')
    await indexed(store, type)
    const [key] = await indexFiles(store)
    const bytes = Buffer.from((await store.get(key!))!)
    const footerAt = bytes.length - 16 - bytes.readUInt32LE(bytes.length - 16)
    const { sections } = JSON.parse(bytes.toString('utf8', footerAt, bytes.length - 16)) as SectionFooter
    const places = sections.filter(({ bytes }) => bytes > 0)
    expect(places.length).toBeGreaterThan(3)
    for (const at of [
      ...places.map(({ start, bytes }) => start + (bytes >> 1)),
      footerAt,
      bytes.length - 9,
    ]) {
      const broken = Buffer.from(bytes)
      broken[at]! ^= 8
      await store.delete(key!)
      await store.put(key!, broken)
      const ns = await opened(store)
      expect((await ns.verify()).problems, `${at}`).toMatchObject([{ kind: 'index', path: key }])
      const table = await ns.openTable('t')
      // Told how hard to look: measuring all rows may cost less, and reads no lists.
      expect(await failure(table.search(queries[0]!).nprobes(3).toArray()), `${at}`).toMatchObject({
        code: 18,
        status: 500,
        message: expect.stringContaining(key!),
      })
      const exact = await table.search(queries[0]!).bypassVectorIndex().limit(3).toArray()
      expect(exact).toHaveLength(3)
      await store.delete(key!)
      await store.put(key!, bytes)
      expect(await near(table, 3)).toHaveLength(4)
    }
  },
)

test('files of replaced and dropped indexes are deleted by GC', async () => {
  const store = new MemoryStore('memory://')
  const { ns, table } = await indexed(store, 'IVF_SQ')
  const before = await indexFiles(store)
  await table.createIndex('v', { type: 'IVF_PQ', waitTimeoutMs: 60_000 })
  await ns.optimize()
  const after = await indexFiles(store)
  expect([after.length, after.includes(before[0]!)]).toEqual([1, false])
  await table.dropIndex('v_idx')
  await ns.optimize()
  expect(await indexFiles(store)).toEqual([])
})

test('a process that dies during a build leaves nothing that counts, and the next one builds', async () => {
  const few = rows.slice(0, 300)
  for (let survives = 4, isAlive = false; !isAlive; survives++) {
    const clock = new SeededClock(survives)
    const store = new MemoryStore('memory://', clock)
    const first = await opened(store, { clock })
    await first.createTable('t', few, { vectorColumns: ['v'] })
    await first.close()
    const crashing = new CrashingStore(store, survives, survives % 2 === 0)
    const work = async () => {
      const dying = await connect('memory://', { store: crashing, clock, onWarning: () => {} })
      try {
        const table = await dying.openTable('t')
        await table.createIndex('v', { type: 'IVF_HNSW_SQ' })
        await table.waitForIndex('v_idx', { timeoutMs: 10_000 })
      } finally {
        await dying.close().catch(() => {})
      }
    }
    await work().catch(() => {})
    isAlive = !crashing.dead

    const ns = await opened(store, { clock })
    const table = await ns.openTable('t')
    await table.createIndex('v', { type: 'IVF_HNSW_SQ', replace: false })
    await table.waitForIndex('v_idx')
    expect(await table.indexStats('v_idx')).toMatchObject({ status: 'ready', indexedRows: 300, segments: 1 })
    // Until then what the dead one had begun might still be on its way.
    clock.advance(24 * 60 * 60 * 1000)
    // It is lost once it was seen to stand still for long enough: a jump of the clock is not that.
    while ((await ns.optimize()).held.length > 0) clock.advance(60_000)
    expect(await indexFiles(store)).toHaveLength(1)
    expect((await ns.verify()).problems).toEqual([])
    clock.stop()
  }
})

describe('memory', () => {
  test('an evicted segment is read again, and gives the same answers', async () => {
    const store = new MemoryStore('memory://')
    const { table } = await indexed(store, 'IVF_HNSW_SQ')
    const expected = await Promise.all(queries.map((_, n) => near(table, n)))
    const [key] = await indexFiles(store)
    const counting = new CountingStore(store)
    for (const [cacheBytes, isKept] of [
      [0, false],
      [1 << 28, true],
    ] as const) {
      const small = await (await opened(counting, { cacheBytes })).openTable('t')
      const loads: number[] = []
      for (let n = 0; n < queries.length; n++) {
        const before = counting.bytesRead
        expect(await near(small, n)).toEqual(expected[n])
        loads.push(counting.bytesRead - before)
      }
      const segment = (await store.get(key!))!.length
      expect(loads.slice(3).some(bytes => bytes >= segment / 2)).toBe(!isKept)
    }
  })

  test.each(['IVF_PQ', 'IVF_SQ', 'IVF_HNSW_FLAT'] as const)(
    '%s: concurrent searches share a segment, and give the answers of sequential ones',
    async type => {
      const { table } = await indexed(new MemoryStore('memory://'), type)
      const all = Array.from({ length: 60 }, (_, n) => n)
      const expected: unknown[] = []
      for (const n of all) expected.push(await near(table, n))
      expect(await Promise.all(all.map(n => near(table, n)))).toEqual(expected)
    },
  )
})

describe('an index larger than the budget', () => {
  const many = Array.from({ length: 6000 }, (_, id) => ({ id, g: id % 10, v: vectorAround(id % 12) }))

  async function built(type: 'IVF_FLAT' | 'IVF_SQ' | 'IVF_PQ' | 'IVF_RQ') {
    const store = new MemoryStore('memory://')
    const table = await (await opened(store)).createTable('t', many, { vectorColumns: ['v'] })
    await table.createIndex('v', { type, partitions: 60, waitTimeoutMs: 60_000 })
    await table.delete('id % 7 = 3')
    return { store, table }
  }

  /** Told how hard to look: measuring all rows costs less here. */
  const told = (table: Table, n: number) => {
    const search = table
      .search(queries[n % queries.length]!)
      .select(['id'])
      .nprobes(1 + (n % 9))
      .limit(1 + (n % 20))
    return (n % 3 === 0 ? search : search.where('g < ?', [1 + (n % 10)])).toArray()
  }
  const all = Array.from({ length: 36 }, (_, n) => n)

  test.each(['IVF_FLAT', 'IVF_SQ', 'IVF_PQ', 'IVF_RQ'] as const)(
    '%s: gives the answers of one that fits, for sequential and concurrent searches',
    async type => {
      const { store, table } = await built(type)
      const expected: unknown[] = []
      for (const n of all) expected.push(await told(table, n))
      for (const cacheBytes of [0, 20_000, 60_000, 1 << 20]) {
        const small = await (await opened(store, { cacheBytes })).openTable('t')
        for (const n of all) expect(await told(small, n), `${cacheBytes} ${n}`).toEqual(expected[n])
        expect(await Promise.all(all.map(n => told(small, n)))).toEqual(expected)
      }
    },
  )

  test('a search reads the lists that it visits, and metadata stays cached', async () => {
    const { store } = await built('IVF_FLAT')
    const [key] = await indexFiles(store)
    const { size } = (await store.stat(key!))!
    // The index takes 60 bytes for each of its 6000 rows; half of the budget is less.
    const counting = new CountingStore(store)
    const read = new Map<string, number>()
    const readInto = counting.readInto.bind(counting)
    counting.readInto = (path, offset, target, signal) => {
      read.set(path, (read.get(path) ?? 0) + target.length)
      return readInto(path, offset, target, signal)
    }
    const ns = await opened(counting, { cacheBytes: 900_000 })
    const table = await ns.openTable('t')
    const nearest = (n: number) => table.search(queries[n]!).nprobes(2).limit(5).toArray()
    await nearest(0)
    // Centroids, counts and checksums of all partitions, and two lists.
    expect(size).toBeGreaterThan(400_000)
    expect(read.get(key!)).toBeLessThan(size / 10)
    expect(ns.stats().memory.partitions['vector-lists']).toMatchObject({ entries: 2, misses: 2 })
    read.clear()
    await nearest(0)
    expect(read.get(key!)).toBe(undefined)
    for (const n of queries.keys()) await nearest(n)
    const { entries, misses } = ns.stats().memory.partitions['vector-lists']!
    expect(entries).toBeGreaterThan(5)
    expect(misses).toBe(entries)
    expect(ns.stats().memory.bytes).toBeLessThanOrEqual(900_000)
  })
})

test('an aborted search ends, while a segment is read and later', async () => {
  const store = new MemoryStore('memory://')
  await indexed(store, 'IVF_SQ')
  const table = await (await opened(store)).openTable('t')
  for (const turns of [0, 1, 2, 4, 8]) {
    const giving = new AbortController()
    const search = table.search(queries[0]!).toArray({ signal: giving.signal })
    for (let i = 0; i < turns; i++) await Promise.resolve()
    giving.abort(new Error('enough'))
    const ended = await search.then(
      rows => rows.length,
      (error: Error) => error.message,
    )
    expect([10, 'enough']).toContain(ended)
    if (turns === 0) expect(ended).toBe('enough')
  }
  expect(await table.search(queries[0]!).toArray()).toHaveLength(10)
})

test.each(['IVF_FLAT', 'IVF_SQ', 'IVF_PQ', 'IVF_RQ', 'IVF_HNSW_FLAT', 'IVF_HNSW_SQ'] as const)(
  '%s: rows after others with hardly any vector are found as well',
  async type => {
    const ns = await opened(new MemoryStore('memory://'))
    const sparse = rows.slice(0, 500).map(({ id, g, v }) => ({ id, g, v: id % 100 === 99 ? v : null }))
    const table = await ns.createTable('t', sparse, { vectorColumns: ['v'] })
    await table.createIndex('v', { type, waitTimeoutMs: 60_000 })
    await table.add(rows.slice(0, 1400))
    await ns.optimize()
    expect(await table.indexStats('v_idx')).toMatchObject({
      indexedRows: 1900,
      unindexedRows: 0,
      segments: 1,
    })
    let right = 0
    for (const query of queries) {
      const search = table.search(query).select(['id'])
      const nearest = (await search.bypassVectorIndex().toArray()).map(({ id }) => id)
      right += (await search.toArray()).filter(({ id }) => nearest.includes(id)).length
    }
    expect(right / (10 * queries.length)).toBeGreaterThanOrEqual(0.95)
  },
)

test('invalid parameters are refused, and the error names valid ones', async () => {
  const ns = await connect('memory://')
  const rows = Array.from({ length: 300 }, (_, id) => ({
    id,
    v: Float32Array.from({ length: 32 }, (_, i) => Math.sin(id * 31 + i)),
  }))
  const table = await ns.createTable('t', rows)
  await expect(table.createIndex('v', { type: 'IVF_PQ', subVectors: 7 })).rejects.toMatchObject({
    code: 13,
    message: 'subVectors (num_sub_vectors) must divide 32, the dimension of column "v", got 7',
    hint: 'it may be 4 or 8',
  })
  for (const type of ['IVF_FLAT', 'IVF_HNSW_SQ'] as const) {
    await expect(table.createIndex('v', { type, partitions: 5000 })).rejects.toMatchObject({
      code: 13,
      message: 'partitions (num_partitions) must be at most 300, the rows of the table, got 5000',
    })
  }
  await table.createIndex('v', { type: 'IVF_PQ', subVectors: 8, partitions: 300, waitTimeoutMs: 60_000 })
  expect((await table.search(rows[7]!.v).limit(1).select(['id']).toArray())[0]!.id).toBe(7)
  await ns.close()
})
