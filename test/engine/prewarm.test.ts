/** Prewarmed indexes and columns: queries after it read nothing more. */
import { expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { connect, type Namespace } from '../../src/index.js'
import { BucketStore } from '../support/bucket-store.js'

const dim = 8
const waitTimeoutMs = 60_000
const query = new Float32Array(dim).fill(0.5)

async function indexedRoot(store: BucketStore) {
  const ns = await connect('bucket', { store, maintenance: { compact: false } })
  const random = seededRandom(1)
  const rows = Array.from({ length: 6000 }, (_, id) => ({
    id,
    word: `w${id % 50} common`,
    kind: `k${id % 7}`,
    v: Float32Array.from({ length: dim }, () => random()),
  }))
  const table = await ns.createTable('t', rows)
  await table.createIndex('v', { type: 'IVF_PQ', partitions: 16, waitTimeoutMs })
  await table.createIndex('word', { type: 'FTS', waitTimeoutMs })
  await table.createIndex('id', { type: 'BTREE', waitTimeoutMs })
  await table.createIndex('kind', { type: 'BITMAP', waitTimeoutMs })
  await ns.close()
}

const queries: Readonly<Record<string, (ns: Namespace) => Promise<unknown>>> = {
  v_idx: ns => ns.table('t').search(query).nprobes(16).select(['id']).limit(10).toArray(),
  word_idx: ns => ns.table('t').search('w7').select(['id']).limit(10).toArray(),
  id_idx: ns => ns.table('t').query().where('id = 4321').select(['id']).toArray(),
  kind_idx: ns => ns.table('t').query().where("kind = 'k3'").select(['id']).toArray(),
}

test.each(Object.keys(queries))('a query with the prewarmed index %s reads no file', async name => {
  const store = new BucketStore()
  await indexedRoot(store)
  const cold = await connect('bucket', { store, maintenance: { compact: false } })
  const expected = await queries[name]!(cold)
  await cold.close()
  const ns = await connect('bucket', { store, maintenance: { compact: false } })
  await ns.operations.prewarmTableIndex({ id: ['t'], index_name: name })
  await ns.operations.prewarmTable({ id: ['t'], columns: ['id', 'v'] })
  store.reset()
  expect(await queries[name]!(ns)).toEqual(expected)
  // One request looks for a newer slot of the log.
  expect(store.reads).toBeLessThanOrEqual(1)
  await ns.close()
})

test('a column that takes more than half of the cache is not loaded', async () => {
  const store = new BucketStore()
  await indexedRoot(store)
  const ns = await connect('bucket', { store, cacheBytes: 20_000, maintenance: { compact: false } })
  await ns.operations.prewarmTableIndex({ id: ['t'], index_name: 'id_idx' })
  store.reset()
  await ns.operations.prewarmTable({ id: ['t'], columns: ['v'] })
  // The vectors take 192,000 bytes.
  expect(store.bytesRead).toBeLessThan(100_000)
  await ns.close()
})
