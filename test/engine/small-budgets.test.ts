/** What a small budget of memory changes, and what it does not. */
import { expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { connect } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { CountingStore } from '../support/stores.js'

test('the nearest rows are the same under any budget', async () => {
  const store = new MemoryStore()
  const random = seededRandom(1)
  const near = (at: number) =>
    Float32Array.from({ length: 32 }, (_, k) => Math.sin(at * 7.3 + k * at) + random() + random() - 1)
  const rows = Array.from({ length: 40_000 }, (_, id) => ({ id, vector: near(id % 300) }))
  const writer = await connect('budgets', { store, maintenance: { compact: false } })
  const table = await writer.createTable('t', rows)
  await table.createIndex('vector', { type: 'IVF_SQ', waitTimeoutMs: 60_000 })
  await writer.close()
  const queries = Array.from({ length: 60 }, (_, i) => near(i * 7.13))
  const answers = async (cacheBytes: number) => {
    const ns = await connect('budgets', { store, cacheBytes, readOnly: true })
    const opened = await ns.openTable('t')
    const found: unknown[] = []
    for (const query of queries) {
      found.push(
        await opened.search(query).where('id % 4 = 2').select(['id', '_distance']).limit(30).toArray(),
      )
    }
    await ns.close()
    return found
  }
  expect(await answers(1 << 20)).toEqual(await answers(Number.POSITIVE_INFINITY))
})

test('columns that do not fit together are not read whole for row lookups', async () => {
  const inner = new MemoryStore()
  const names = Array.from({ length: 12 }, (_, i) => `c${i}`)
  const cell = new Uint8Array(64)
  const rows = Array.from({ length: 16_000 }, () => Object.fromEntries(names.map(name => [name, cell])))
  const type = { kind: 'fixed_size_binary', width: 64 } as const
  const writer = await connect('wide', { store: inner })
  await writer.createTable('t', rows, {
    schema: { fields: names.map(name => ({ name, type, nullable: false })) },
  })
  await writer.close()
  const store = new CountingStore(inner)
  const ns = await connect('wide', { store, cacheBytes: 4_500_000 })
  const table = await ns.openTable('t')
  for (let i = 0; i < 30; i++) {
    store.reset()
    await table.takeOffsets([(i * 7919) % rows.length]).toArray()
    // Twelve blocks of 1 KiB, and pages of checksums; at first the footer.
    expect(store.bytesRead).toBeLessThan(100_000)
  }
  await ns.close()
})

/** Tells how many bytes were being read at the same time. */
class DistantStore extends CountingStore {
  underWay = 0
  most = 0

  override async readInto(
    key: string,
    offset: number,
    target: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void> {
    this.underWay += target.length
    this.most = Math.max(this.most, this.underWay)
    await systemClock.yield()
    await super.readInto(key, offset, target, signal)
    this.underWay -= target.length
  }
}

test('an order over many parts reads the columns of one part at a time', async () => {
  const inner = new MemoryStore()
  const writer = await connect('parts', { store: inner, maintenance: { compact: false } })
  const some = (first: number) =>
    Array.from({ length: 8000 }, (_, i) => ({
      id: first + i,
      a: Math.sin(first + i),
      b: Math.cos(i),
      c: i / 3,
    }))
  const table = await writer.createTable('t', some(0))
  for (let part = 1; part < 20; part++) await table.add(some(8000 * part))
  // A twentieth of the rows of each part.
  const search = (of: typeof table) =>
    of.query().where('a > 0.9877').orderBy('id').select(['b', 'c']).toArray()
  const wanted = await search(table)
  await writer.close()
  const store = new DistantStore(inner)
  const ns = await connect('parts', { store, cacheBytes: 512 << 10 })
  expect(await search(await ns.openTable('t'))).toEqual(wanted)
  expect(store.most).toBeLessThanOrEqual(512 << 10)
  await ns.close()
})

test('lookups by an index find the same rows under any budget: keys, lists of keys, ranges, texts and nulls', async () => {
  const store = new MemoryStore()
  const random = seededRandom(5)
  const rows = Array.from({ length: 30_000 }, (_, id) => ({
    id,
    // Some keys stand in several strides.
    key: BigInt(id % 7 === 0 ? 77 * (id % 5) : Math.floor(random() * 1e9)),
    text: id % 11 === 0 ? null : `${'x'.repeat(id % 90)} ${id % 9000}`,
  }))
  const writer = await connect('lookups', { store, maintenance: { compact: false } })
  const table = await writer.createTable('t', rows)
  await table.createIndex('key', { type: 'BTREE', waitTimeoutMs: 60_000 })
  await table.createIndex('text', { type: 'BTREE', waitTimeoutMs: 60_000 })
  await writer.close()
  const some = (count: number) =>
    Array.from({ length: count }, () => rows[Math.floor(random() * rows.length)]!)
  const wheres = [
    ...some(20).map(({ key }) => `key = ${key}`),
    ...some(20).map(({ text }) => (text === null ? 'text IS NULL' : `text = '${text}'`)),
    `key IN (${some(400).map(({ key }) => key)}, -1, 0, 77)`,
    `text IN (${some(60).map(({ text }) => `'${text}'`)})`,
    'key BETWEEN 70 AND 200000',
    "text > 'xxxx 1' AND text <= 'xxxx 12'",
  ]
  const answers = async (cacheBytes: number) => {
    const counting = new CountingStore(store)
    const ns = await connect('lookups', { store: counting, cacheBytes, readOnly: true })
    const opened = await ns.openTable('t')
    const found: unknown[] = []
    for (const where of wheres) found.push(await opened.query().where(where).select(['id']).toArray())
    await ns.close()
    return { found, bytesRead: counting.bytesRead }
  }
  const whole = await answers(Number.POSITIVE_INFINITY)
  expect(whole.found[0]).not.toEqual([])
  for (const cacheBytes of [1, 20_000, 150_000, 1 << 20]) {
    expect((await answers(cacheBytes)).found).toEqual(whole.found)
  }
})
