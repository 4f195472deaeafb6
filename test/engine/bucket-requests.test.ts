/** Roots in stores with the methods of object storage: how many calls they make, and that trimmed logs are followed. */
import { describe, expect, test, vi } from 'vitest'
import { connectHttp, serve } from '../../adapters/http/public.js'
import { seededRandom } from '../../bench/random.js'
import { connect, type Table } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { BucketStore } from '../support/bucket-store.js'
import { failure } from '../support/failure.js'

const newest = '_ckpt/newest'
const aged = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 } as const
const open = (store: BucketStore, maintenance: object = { compact: false }) =>
  connect('bucket', { store, maintenance })

/** Create a root with a checkpoint and a trimmed log. */
async function trimmedRoot(store: BucketStore) {
  const ns = await open(store, aged)
  const table = await ns.createTable('t', [{ id: 0 }])
  for (let id = 1; id < 7; id++) {
    await table.add([{ id }])
    await ns.optimize()
  }
  return { ns, table }
}

test('a root is opened by its newest checkpoint without a listing', async () => {
  const store = new BucketStore()
  const { ns } = await trimmedRoot(store)
  await ns.close()
  store.reset()
  const again = await open(store)
  expect(store.calls.get('list')).toBeUndefined()
  // `_ckpt/newest`, slot 0, the slot of the checkpoint and 8 slots after it; the test of the store reads its object.
  expect(store.calls.get('get')).toBeLessThanOrEqual(12)
  store.reset()
  expect(await again.table('t').countRows()).toBe(7)
  expect(store.calls).toEqual(new Map([['get', 1]]))
  await again.close()
})

describe('what comes with the newest checkpoint', () => {
  const dim = 8
  const random = seededRandom(5)
  const vector = () => Float32Array.from({ length: dim }, () => random())
  const rowsFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => {
      const id = first + i
      return { id, word: `w${id % 50} common`, kind: `k${id % 7}`, v: vector() }
    })
  const queries: Record<string, (table: Table) => Promise<unknown>> = {
    vector: table => table.search(new Float32Array(dim).fill(0.5)).select(['id']).limit(10).toArray(),
    text: table => table.search('w7').select(['id']).limit(10).toArray(),
    key: table => table.query().where('id = 77').select(['id', 'kind']).toArray(),
    bitmap: table => table.query().where("kind = 'k3'").select(['id']).toArray(),
    scan: table => table.query().where('id % 100 = 3').select(['id', 'word']).toArray(),
    count: table => table.countRows('id > 500'),
  }
  const answers = async (store: BucketStore) => {
    const ns = await open(store)
    const found: Record<string, unknown> = {}
    for (const [name, query] of Object.entries(queries)) found[name] = await query(ns.table('t'))
    await ns.close()
    return found
  }

  async function indexedRoot(): Promise<BucketStore> {
    const store = new BucketStore()
    const ns = await open(store, aged)
    const table = await ns.createTable('t', rowsFrom(0, 2000))
    const waitTimeoutMs = 60_000
    await table.createIndex('v', { type: 'IVF_PQ', partitions: 8, subVectors: 4, waitTimeoutMs })
    await table.createIndex('word', { type: 'FTS', waitTimeoutMs })
    await table.createIndex('id', { type: 'BTREE', waitTimeoutMs })
    await table.createIndex('kind', { type: 'BITMAP', waitTimeoutMs })
    await ns.optimize()
    await table.add(rowsFrom(2000, 3))
    await ns.optimize()
    await ns.close()
    return store
  }

  test('saves requests, and changes no answer', async () => {
    const store = await indexedRoot()
    const counts = async () => {
      const found: Record<string, number> = {}
      for (const [name, query] of Object.entries(queries)) {
        const ns = await open(store)
        store.reset()
        await query(ns.table('t'))
        found[name] = [...store.calls.values()].reduce((sum, count) => sum + count, 0)
        await ns.close()
      }
      return found
    }
    const withHint = await counts()
    const expected = await answers(store)
    await store.delete(newest)
    const without = await counts()
    expect(await answers(store)).toEqual(expected)
    for (const name of Object.keys(queries))
      expect(withHint[name]! + 3, `${name}: ${withHint[name]}, ${without[name]}`).toBeLessThan(without[name]!)
  })

  test('is right after later changes of the table', async () => {
    const store = await indexedRoot()
    const hint = (await store.get(newest))!
    const ns = await open(store)
    const table = ns.table('t')
    for (let round = 0; round < 70; round++) {
      if (round % 10 === 0) await table.delete(`id = ${round * 20 + 3}`)
      else if (round % 7 === 0) await table.update({ kind: 'k3' }, `id = ${round}`)
      else await table.add(rowsFrom(3000 + round, 1))
      if (round % 23 !== 0) continue
      await store.replace(newest, hint)
      const found = await answers(store)
      await store.delete(newest)
      expect(found, `round ${round}`).toEqual(await answers(store))
    }
    await ns.dropTable('t')
    await ns.createTable('t', rowsFrom(0, 10))
    await store.replace(newest, hint)
    const again = await open(store)
    expect(await again.table('t').countRows()).toBe(10)
    await again.close()
    await ns.close()
  })

  test('does not hide damage of a file, or that it is missing', async () => {
    const store = await indexedRoot()
    for await (const { key } of store.list('tables/')) {
      if (!key.includes('/data/')) continue
      const bytes = (await store.get(key))!
      await store.replace(
        key,
        bytes.map(byte => byte ^ 0x55),
      )
    }
    const ns = await open(store)
    expect(await failure(ns.table('t').query().toArray())).toMatchObject({ code: 18 })
    expect((await ns.verify()).problems).not.toEqual([])
    for await (const { key } of store.list('tables/')) await store.delete(key)
    const { problems } = await ns.verify()
    expect(problems.length).toBeGreaterThanOrEqual(5)
    await ns.close()
  })

  test('leaves out tables that are too large, and has at most 1.5 MiB', async () => {
    const store = new BucketStore()
    const ns = await open(store, aged)
    for (let i = 0; i < 20; i++) {
      const columns = Array.from({ length: 300 }, (_, column) => [`column_${column}_${'x'.repeat(100)}`, i])
      const table = await ns.createTable(`t${i}`, [Object.fromEntries(columns)])
      await table.add([Object.fromEntries(columns)])
    }
    await ns.optimize()
    await ns.close()
    expect((await store.get(newest))!.length).toBeLessThan(1536 * 1024 + 10_000)
    const again = await open(store)
    for (let i = 0; i < 20; i++) expect(await again.table(`t${i}`).countRows()).toBe(2)
    await again.close()
  })
})

test('a process that lags behind a trim goes on from a checkpoint, and commits after it', async () => {
  const store = new BucketStore()
  const late = await open(store)
  await late.createTable('other', [{ a: 1 }])
  const { ns, table } = await trimmedRoot(store)
  expect(await late.table('t').countRows()).toBe(7)
  expect(await store.get('_log/00000000000000000002')).toHaveLength(0)
  await late.table('t').add([{ id: 7 }])
  expect(await table.countRows()).toBe(8)
  expect((await ns.verify()).problems).toEqual([])
  await ns.close()
  await late.close()
})

describe('_ckpt/newest', () => {
  const spoil: Record<string, (bytes: Uint8Array) => Uint8Array> = {
    'is empty': () => new Uint8Array(0),
    'is not a hint': () => Buffer.from('{"f":1}\n'),
    'is of a newer format': bytes =>
      Buffer.from(Buffer.from(bytes).toString('latin1').replace('{"f":1', '{"f":2'), 'latin1'),
    'has a damaged copy': bytes => bytes.with(bytes.length - 20, 7),
    'ends too early': bytes => bytes.subarray(0, bytes.length - 3),
    'has no copies': bytes => bytes.subarray(0, bytes.indexOf(10) + 1),
    'names a file that is gone': bytes =>
      Buffer.from(
        `${Buffer.from(bytes.subarray(0, bytes.indexOf(10)))
          .toString()
          .replaceAll(/-[0-9a-f]{8}/g, '-00000000')}\n`,
      ),
  }
  test.each(Object.entries(spoil))('that %s costs only time', async (_, change) => {
    const store = new BucketStore()
    const { ns } = await trimmedRoot(store)
    await ns.close()
    const bytes = (await store.get(newest))!
    await store.replace(newest, change(bytes))
    const again = await open(store)
    expect(await again.table('t').countRows()).toBe(7)
    expect((await again.verify()).problems).toEqual([])
    await again.close()
  })

  test('of a root that was deleted, or of another root, is ignored', async () => {
    const store = new BucketStore()
    const { ns } = await trimmedRoot(store)
    await ns.close()
    const hint = (await store.get(newest))!
    for await (const { key } of store.list('')) if (key !== newest) await store.delete(key)
    const created = await open(store)
    expect(created.stats().log.slot).toBe(0)
    await created.createTable('t', [{ id: 1 }])
    await created.close()
    await store.replace(newest, hint)
    const again = await open(store)
    expect(await again.table('t').countRows()).toBe(1)
    await again.close()
  })

  test('of a time after that of a restored copy is ignored', async () => {
    const store = new BucketStore()
    const { ns, table } = await trimmedRoot(store)
    const copy = new Map<string, Uint8Array>()
    for await (const { key } of store.list('')) copy.set(key, (await store.get(key))!)
    for (let id = 7; id < 12; id++) {
      await table.add([{ id }])
      await ns.optimize()
    }
    await ns.close()
    const hint = (await store.get(newest))!
    for (const more of [0, 3, 40]) {
      for await (const { key } of store.list('')) await store.delete(key)
      for (const [key, bytes] of copy) await store.replace(key, bytes)
      const restored = await open(store)
      for (let id = 0; id < more; id++) await restored.table('t').add([{ id: 100 + id }])
      await restored.close()
      await store.replace(newest, hint)
      const again = await open(store)
      expect(await again.table('t').countRows(), `${more} more`).toBe(7 + more)
      await again.close()
    }
  })

  test('with any byte changed costs only time', async () => {
    const store = new BucketStore()
    const { ns } = await trimmedRoot(store)
    await ns.close()
    const hint = (await store.get(newest))!
    for (let at = 0; at < hint.length; at += Math.ceil(hint.length / 60)) {
      await store.replace(newest, hint.with(at, hint[at]! ^ 1))
      const again = await open(store)
      expect(await again.table('t').query().toArray(), `byte ${at}`).toHaveLength(7)
      await again.close()
    }
  })

  test('that an earlier process wrote late leads to the newest checkpoint all the same', async () => {
    const store = new BucketStore()
    const { ns, table } = await trimmedRoot(store)
    const old = (await store.get(newest))!
    for (let id = 7; id < 14; id++) {
      await table.add([{ id }])
      await ns.optimize()
    }
    await ns.close()
    expect(await store.get(newest)).not.toEqual(old)
    await store.replace(newest, old)
    const again = await open(store)
    expect(await again.table('t').countRows()).toBe(14)
    await again.close()
  })

  test('that cannot be written is reported, and the checkpoint counts', async () => {
    const store = new BucketStore()
    const inner = store.replace
    const replace = vi.fn(async (key: string, bytes: Uint8Array) => {
      if (key === newest) throw new Error('refused')
      await inner(key, bytes)
    })
    Object.assign(store, { replace })
    const warnings: string[] = []
    const ns = await connect('bucket', {
      store,
      maintenance: aged,
      onWarning: text => void warnings.push(text),
    })
    await ns.createTable('t', [{ id: 0 }])
    await ns.optimize()
    await ns.close()
    expect(replace).toHaveBeenCalled()
    expect(warnings).toContainEqual(expect.stringContaining('could not be announced'))
    const again = await open(store)
    expect(again.stats().log.checkpoint).toBeGreaterThan(0)
    await again.close()
  })
})

test('the test of the store runs beside the opening, and writes wait for it', async () => {
  /** Accepts a second conditional write. */
  class Careless extends BucketStore {
    override async putIfAbsent(key: string, bytes: Uint8Array) {
      await this.inner.delete(key)
      return super.putIfAbsent(key, bytes)
    }
  }
  const refused = { code: 0, message: expect.stringContaining('cannot store a root') }
  expect(await failure(open(Object.assign(new Careless(), { name: 'bucket 1' })))).toMatchObject(refused)
  const store = new BucketStore()
  const { ns } = await trimmedRoot(store)
  await ns.close()
  const careless = Object.assign(new Careless(store.inner as never), { name: 'bucket 2' })
  const opened = await open(careless)
  expect(await opened.table('t').countRows()).toBe(7)
  expect(await failure(opened.table('t').add([{ id: 8 }]))).toMatchObject(refused)
  expect(await opened.table('t').countRows()).toBe(7)
  await opened.close()
})

describe('a query in a root of which this process does not have the newest state', () => {
  test('sees what was committed before the query, and is repeated only then', async () => {
    const store = new BucketStore()
    const { ns, table } = await trimmedRoot(store)
    await ns.createTable('other', [{ a: 1 }])
    const reader = await open(store)
    const rows = async () => (await reader.table('t').query().select(['id']).toArray()).length
    expect(await rows()).toBe(7)
    await table.add([{ id: 7 }])
    expect(await rows()).toBe(8)
    await table.delete('id < 3')
    expect(await reader.table('t').countRows('id >= 0')).toBe(5)
    await ns.dropTable('t')
    expect(await failure(rows())).toMatchObject({ name: 'TableNotFound' })
    await ns.createTable('t', [{ id: 1 }, { id: 2 }])
    expect(await rows()).toBe(2)
    await ns.close()
    await reader.close()
  })

  test('reports the error of the newest state', async () => {
    const store = new BucketStore()
    const { ns, table } = await trimmedRoot(store)
    const reader = await open(store)
    const query = () => reader.table('t').query().where('later = 1').toArray()
    expect(await failure(query())).toMatchObject({ name: 'ColumnNotFound' })
    await table.addColumns({ later: '1' })
    expect(await query()).toHaveLength(7)
    await table.dropColumns(['later'])
    expect(await failure(query())).toMatchObject({ name: 'ColumnNotFound' })
    await ns.close()
    await reader.close()
  })

  test('ends with the reason of its signal, and with the error of the look', async () => {
    const store = new BucketStore()
    const { ns } = await trimmedRoot(store)
    await ns.close()
    const reader = await open(store)
    const reason = new Error('enough')
    const gone = new AbortController()
    const reading = failure(reader.table('t').query().toArray({ signal: gone.signal }))
    gone.abort(reason)
    expect(await reading).toBe(reason)
    const get = store.get.bind(store)
    store.get = async (key: string, signal?: AbortSignal) => {
      if (key.startsWith('_log/')) throw new Error('the network is gone')
      return get(key, signal)
    }
    expect(await failure(reader.table('t').query().toArray())).toMatchObject({
      message: 'the network is gone',
    })
    await reader.close()
  })
})

test('with maxStalenessMs, a query uses the state of the last look for that long, and the commits of its connection', async () => {
  const store = new BucketStore()
  const { ns, table } = await trimmedRoot(store)
  let moved = 0
  const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + moved }
  const reader = await connect('bucket', {
    store,
    clock,
    maxStalenessMs: 600_000,
    maintenance: { compact: false },
  })
  const rows = async () => (await reader.table('t').query().toArray()).length
  const counted = async () => reader.table('t').countRows('id >= 0')
  store.reset()
  expect([await rows(), await counted()]).toEqual([7, 7])
  // The opening was a look.
  expect(store.calls.get('get')).toBeUndefined()
  await table.add([{ id: 7 }])
  store.reset()
  expect([await rows(), await counted()]).toEqual([7, 7])
  expect(store.calls.size).toBe(0)
  await reader.table('t').add([{ id: 8 }])
  store.reset()
  expect([await rows(), await counted()]).toEqual([9, 9])
  expect(store.calls.size).toBe(0)
  // An error is never that of an old state.
  await ns.createTable('later', [{ a: 1 }])
  expect(await reader.table('later').countRows()).toBe(1)
  await table.add([{ id: 9 }])
  moved = 600_001
  expect([await rows(), await counted()]).toEqual([10, 10])
  await ns.close()
  await reader.close()
  expect(await failure(connect('memory://', { maxStalenessMs: -1 }))).toMatchObject({ code: 13 })
})

describe('maxStalenessMs of a call', () => {
  const fresh = { maxStalenessMs: 0 }
  const stale = { maxStalenessMs: 600_000 }
  /** Every read of a table that may use an old state, with its number of rows. */
  const reads: Record<string, (table: Table, call: object) => Promise<number>> = {
    toArray: async (table, call) => (await table.query().toArray(call)).length,
    toArrow: async (table, call) => (await table.query().toArrow(call)).numRows,
    count: (table, call) => table.query().count(call),
    countRows: (table, call) => table.countRows('id >= 0', [], call),
    get: async (table, call) => ((await table.get(7, { on: 'id', ...call })) === null ? 7 : 8),
    first: async (table, call) => ((await table.query().where('id = 7').first(call)) === null ? 7 : 8),
    page: async (table, call) =>
      (
        await table
          .query()
          .limit(100)
          .page({ ...call, total: true })
      ).total!,
    prepared: async (table, call) =>
      (await table.prepare(query => query.where('id >= ?')).all([0], call)).length,
    batches: async (table, call) => {
      let count = 0
      for await (const batch of table.query().batches(call)) count += batch.numRows
      return count
    },
  }

  async function opened(options: object) {
    const store = new BucketStore()
    const { ns, table } = await trimmedRoot(store)
    const reader = await connect('bucket', { store, readOnly: true, ...options })
    for (const read of Object.values(reads)) expect(await read(reader.table('t'), {})).toBe(7)
    await table.add([{ id: 7 }])
    const close = async () => {
      await reader.close()
      await ns.close()
    }
    return { reader, store, close }
  }

  test.each(Object.keys(reads))('%s has precedence over that of the connection', async name => {
    const read = reads[name]!
    const strong = await opened({})
    strong.store.reset()
    expect(await read(strong.reader.table('t'), stale)).toBe(7)
    expect(strong.store.calls.get('get')).toBeUndefined()
    expect(await read(strong.reader.table('t'), {})).toBe(8)
    await strong.close()
    const lazy = await opened(stale)
    expect(await read(lazy.reader.table('t'), {})).toBe(7)
    expect(await read(lazy.reader.table('t'), fresh)).toBe(8)
    await lazy.close()
  })

  test('reaches the engine over HTTP', async () => {
    const { reader, close } = await opened(stale)
    const server = await serve(reader)
    const remote = await connectHttp(server.url)
    for (const name of ['toArray', 'count', 'countRows', 'get', 'first']) {
      expect(await reads[name]!(remote.table('t'), {}), name).toBe(7)
    }
    const headers = { 'content-type': 'application/json' }
    const send = (more: object) =>
      fetch(`${server.url}/v1/table/t/count_rows`, {
        method: 'POST',
        body: '{}',
        headers: { ...headers, ...more },
      })
    expect(await (await send({})).json()).toBe(7)
    expect((await send({ 'x-sheaf-max-staleness-ms': '-1' })).status).toBe(400)
    expect(await (await send({ 'x-sheaf-max-staleness-ms': '0' })).json()).toBe(8)
    await remote.close()
    await server.close()
    await close()
  })

  test('of a client over HTTP has precedence', async () => {
    const { reader, close } = await opened(stale)
    const server = await serve(reader)
    const remote = await connectHttp(server.url)
    expect(await remote.table('t').countRows('id >= 0', [], fresh)).toBe(8)
    await remote.close()
    await server.close()
    await close()
  })
})
