import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Namespace } from '../../src/client/namespace.js'
import type { Search } from '../../src/client/search.js'
import { connect } from '../../src/engine/connect.js'
import type { ServerCallOptions } from '../../src/protocol/calls.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { CountingStore } from '../support/stores.js'

const megabyte = 1024 * 1024
const words = ['ash', 'birch', 'cedar', 'elm', null]

function rowsFrom(first: number, count: number, dim: number) {
  return Array.from({ length: count }, (_, i) => {
    const id = first + i
    const vector = Float32Array.from({ length: dim }, (_, d) => Math.sin(id * (d + 1)))
    return { id, score: Math.cos(id), word: words[id % words.length], vector }
  })
}

describe('the answer does not depend on the budget', () => {
  const operations = ['<', '>=', '='] as const
  const question = fc.record({
    where: fc.option(fc.tuple(fc.constantFrom('id', 'score'), fc.constantFrom(...operations), fc.nat(9000))),
    word: fc.option(fc.constantFrom('ash', 'elm')),
    order: fc.option(fc.constantFrom('score', 'word')),
    vector: fc.boolean(),
    limit: fc.option(fc.nat(3000)),
    batches: fc.boolean(),
  })

  test('of queries', async () => {
    const store = new MemoryStore()
    const writer = await connect('memory://', { store })
    const table = await writer.createTable('t', rowsFrom(0, 3000, 32))
    for (let i = 0; i < 4; i++) await table.add(rowsFrom(3000 + 1000 * i, i % 2 === 0 ? 1000 : 10, 32))
    await table.delete('id % 7 = 0')
    await table.update({ word: 'oak' }, 'id % 11 = 0')
    const roots = await Promise.all(
      [Number.POSITIVE_INFINITY, megabyte, 0].map(cacheBytes => connect('memory://', { store, cacheBytes })),
    )
    const ask = async (ns: Namespace, { where, word, order, vector, limit, batches }: Question) => {
      const opened = await ns.openTable('t')
      let search: Search<Record<string, unknown>> = vector
        ? opened.search(new Float32Array(32).fill(0.5))
        : opened.query()
      const [column, operation, value] = where ?? ['id', '>=', 0]
      const compared = column === 'id' ? value : Math.cos(value)
      search = search.where(
        `${column} ${operation} ${compared}${word === null ? '' : ` AND word = '${word}'`}`,
      )
      // Of the nearest rows there is no other order.
      if (order !== null && !vector) search = search.orderBy(order, 'id')
      if (limit !== null) search = search.limit(limit)
      if (!batches) return (await search.select(['id', 'word', 'vector']).toArray()).map(row => ({ ...row }))
      const ids: unknown[] = []
      for await (const batch of search.batches({ rows: 700 })) ids.push(...batch.getChild('id')!.toArray())
      return ids
    }
    type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never
    await fc.assert(
      fc.asyncProperty(question, async asked => {
        const [free, ...bounded] = await Promise.all(roots.map(ns => ask(ns, asked)))
        for (const answer of bounded) expect(answer).toEqual(free)
        for (const ns of roots.slice(1)) {
          const { bytes, budgetBytes } = ns.stats().memory
          expect(bytes).toBeLessThanOrEqual(budgetBytes)
        }
      }),
      { numRuns: 15 },
    )
    for (const ns of [...roots, writer]) await ns.close()
  })

  test('of changes', async () => {
    const states = [0, megabyte, Number.POSITIVE_INFINITY].map(async cacheBytes => {
      const ns = await connect('memory://', { cacheBytes })
      const table = await ns.createTable('t', rowsFrom(0, 3000, 16))
      await table.add(rowsFrom(3000, 20, 16))
      await table.update({ word: 'oak' }, 'score > 0')
      await table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(rowsFrom(2990, 60, 16))
      await table.addColumns({ twice: 'score * 2' })
      await table.delete("word = 'elm'")
      const rows = await table.query().orderBy('id').toArray()
      const versions = (await table.versions()).length
      await ns.close()
      return { rows, versions }
    })
    const [none, little, all] = await Promise.all(states)
    expect(none).toEqual(all)
    expect(little).toEqual(all)
  })
})

describe('a scan of many times the budget', () => {
  test('keeps metadata and a small table in use in the cache', async () => {
    const ns = await connect('memory://', { cacheBytes: 2 * megabyte, maintenance: { compact: false } })
    const hot = await ns.createTable('hot', rowsFrom(0, 1000, 16))
    const big = await ns.createTable('big', rowsFrom(0, 1, 128))
    for (let i = 0; i < 40; i++) await big.add(rowsFrom(1 + 1000 * i, 1000, 128))
    const misses = (partition: string) => ns.stats().memory.partitions[partition]!.misses
    const useHot = () => hot.search(new Float32Array(16)).where('score > 0').limit(3).toArray()
    const scan = async (between: () => Promise<unknown>) => {
      for await (const _ of big.query().batches({ rows: 1000 })) await between()
    }
    await useHot()
    await scan(useHot)
    for (const between of [useHot, async () => {}]) {
      const places = ['layouts', 'footers', 'slots', 'columns'].map(misses)
      await scan(between)
      const [layouts, footers, slots, columns] = ['layouts', 'footers', 'slots', 'columns'].map(misses)
      expect([layouts, footers, slots]).toEqual(places.slice(0, 3))
      expect(columns).toBeGreaterThan(places[3]! + 40)
      await useHot()
      expect(misses('columns')).toBe(columns)
    }
    await ns.close()
  })
})

test('all rows in an order read a table that is larger than the budget a few times, however many they are', async () => {
  const store = new CountingStore(new MemoryStore())
  // A column of one fragment fits.
  const ns = await connect('memory://', { store, cacheBytes: 200_000, maintenance: { compact: false } })
  const rows = (first: number) =>
    Array.from({ length: 16_000 }, (_, i) => ({ id: first + i, key: Math.sin(i) }))
  const table = await ns.createTable('t', rows(0))
  for (let i = 1; i < 5; i++) await table.add(rows(16_000 * i))
  store.reset()
  const found = await table.query().orderBy('key').select(['id']).toArray()
  // The keys once; the ids of the first rows, and of all others.
  expect(store.calls.get('readInto')).toBe(5 + 2 * 5)
  expect(found).toHaveLength(80_000)
  const sorted = Array.from({ length: 80_000 }, (_, id) => id)
  sorted.sort((a, b) => Math.sin(a % 16_000) - Math.sin(b % 16_000) || a - b)
  expect(found.map(({ id }) => id)).toEqual(sorted)
  await ns.close()
})

test('columns larger than the budget are read once by a query that reads a few of their rows at a time', async () => {
  const dim = 64
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, v: new Float32Array(dim).fill(-id) }))
  const store = new CountingStore(new MemoryStore())
  await using writer = await connect('memory://', { store })
  await writer.createTable('t', rows)
  const reads = async (cacheBytes: number, ask: (search: Search) => Search) => {
    await using ns = await connect('memory://', { store, cacheBytes })
    store.reset()
    const { length } = await ask(ns.table('t').query()).toArray()
    return { length, bytes: store.bytesRead }
  }
  const asked: [number, (search: Search) => Search][] = [
    [20_000, search => search.select({ id: 'id', x: 'v[1]' })],
    [19_000, search => search.where('id >= 1000 AND v[2] < -4').select({ x: 'v[1]' })],
  ]
  for (const [count, ask] of asked) {
    const [whole, few] = [await reads(1 << 30, ask), await reads(1 << 18, ask)]
    expect([whole.length, few.length]).toEqual([count, count])
    expect(few.bytes).toBeLessThan(1.05 * whole.bytes)
  }
})

describe('stats', () => {
  test('report cached data, the position in the log, and finished maintenance', async () => {
    const ns = await connect('memory://', { cacheBytes: megabyte })
    const table = await ns.createTable('t', rowsFrom(0, 2000, 8))
    await table.query().toArray()
    const { memory, log, maintenance } = ns.stats()
    expect(memory.budgetBytes).toBe(megabyte)
    await using unasked = await connect('memory://')
    expect(unasked.stats().memory.budgetBytes).toBeLessThanOrEqual(1024 * megabyte)
    expect(Object.keys(memory.partitions).sort()).toEqual(
      [
        'blocks',
        'checksums',
        'columns',
        'dictionaries',
        'footers',
        'historyFooters',
        'historyPages',
        'historyRecords',
        'lance-blocks',
        'lance-files',
        'lance-layouts',
        'lance-segments',
        'layouts',
        'live',
        'packFooters',
        'runs',
        'slots',
        'text-files',
        'text-pages',
        'text-segments',
        'vector-lists',
        'vector-segments',
        'vectors',
      ].sort(),
    )
    expect(memory.partitions.columns).toMatchObject({ entries: 4, misses: 4 })
    // The numbers, the words and their offsets, the vectors.
    expect(memory.partitions.columns!.bytes).toBeGreaterThan(2000 * (8 + 8 + 4 + 3 + 32))
    expect(memory.bytes).toBe(Object.values(memory.partitions).reduce((sum, { bytes }) => sum + bytes, 0))
    expect(log.slot).toBeGreaterThan(0)
    expect(maintenance.checkpoint ?? 0).toBe(0)
    await ns.optimize()
    expect(ns.stats().maintenance.checkpoint).toBe(1)
    const snapshot = await ns.snapshot()
    expect(() => snapshot.stats()).toThrow(expect.objectContaining({ code: 0 }))
    await snapshot.close()
    await ns.close()
  })

  test('of a table come from its manifest, without reading data', async () => {
    const memory = new MemoryStore()
    const writer = await connect('memory://', { store: memory })
    const written = await writer.createTable('t', rowsFrom(0, 2000, 8))
    await written.delete('id < 100')
    await writer.close()
    const store = new CountingStore(memory)
    const ns = await connect('memory://', { store, readOnly: true })
    await ns.openTable('t')
    store.reset()
    const stats = await ns.operations.getTableStats({ id: ['t'] })
    expect(stats).toMatchObject({ num_rows: 1900, fragment_stats: { num_fragments: 1 } })
    expect(stats.total_bytes).toBeGreaterThan(2000 * 55)
    expect(store.calls.get('readInto')).toBeUndefined()
    expect(store.calls.get('getRange')).toBeUndefined()
    await ns.close()
  })
})

describe('readers of a table whose batches are larger than the budget', async () => {
  const store = new CountingStore(new MemoryStore())
  const rows = 50_000
  const writer = await connect('memory://', { store, cacheBytes: 0, maintenance: { compact: false } })
  await writer.createTable(
    't',
    Array.from({ length: rows }, (_, id) => ({
      id,
      vector: new Float32Array(16).fill(id),
      word: `word ${id}`,
    })),
  )
  const request = { id: ['t'], vector: null, k: rows }
  const whole = Buffer.concat([...(await writer.operations.queryTable(request)).chunks])
  await writer.close()
  /** A row, with its offset and text. */
  const rowBytes = 8 + 64 + 4 + 'word 12345'.length
  const batchBytes = 16 * 1024 * rowBytes

  const atOnce: ServerCallOptions = { streamAfter: 0 }

  async function reader(ns: Namespace) {
    const { chunks, rest } = await ns.operations.queryTable(request, atOnce)
    const all = [...chunks]
    const coming = rest![Symbol.asyncIterator]()
    /** Reads a batch; whether there was one. An empty chunk ends it. */
    const next = async () => {
      for (;;) {
        const { done, value } = await coming.next()
        if (done) return false
        if (value.length === 0) return true
        all.push(value)
      }
    }
    return { all, next }
  }

  test('read the rows of one batch of the answer at a time', async () => {
    const ns = await connect('memory://', { store, cacheBytes: megabyte })
    store.reset()
    const { all, next } = await reader(ns)
    expect(store.bytesRead).toBeLessThan(1.2 * batchBytes)
    for (let batches = 1; await next(); batches++) {
      expect(store.bytesRead).toBeLessThan(1.2 * batches * batchBytes)
    }
    expect(store.bytesRead).toBeLessThan(1.05 * rows * rowBytes)
    expect(Buffer.concat(all).equals(whole)).toBe(true)
    await ns.close()
  })

  test('read data once that they request at the same time', async () => {
    const ns = await connect('memory://', { store, cacheBytes: 3 * megabyte })
    store.reset()
    const readers = await Promise.all([reader(ns), reader(ns), reader(ns)])
    while ((await Promise.all(readers.map(({ next }) => next()))).includes(true));
    expect(store.bytesRead).toBeLessThan(1.05 * rows * rowBytes)
    for (const { all } of readers) expect(Buffer.concat(all).equals(whole)).toBe(true)
    await ns.close()
  })
})
