/** How often the first query of a process waits for object storage, counted in rounds of requests. */
import { expect, test } from 'vitest'
import { ObjectStore } from '../../adapters/object-store/object-store.js'
import { FarBucket, type Objects } from '../../bench/far-bucket.js'
import { seededRandom } from '../../bench/random.js'
import { connect, type Table } from '../../src/index.js'

const dim = 16
const count = 6000
const objects: Objects = new Map()
const storeOf = (bucket: FarBucket) => new ObjectStore(bucket, { prefix: '', timeoutMs: 60_000, retries: 0 })

async function fill(): Promise<void> {
  const random = seededRandom(3)
  const ns = await connect('far', { store: storeOf(new FarBucket(objects, 0)) })
  const rowsFrom = (first: number) =>
    Array.from({ length: count / 2 }, (_, i) => {
      const id = first + i
      const v = Float32Array.from({ length: dim }, () => (id % 30) + random())
      return { id, text: `word${id % 100} of row ${id}`, v }
    })
  const table = await ns.createTable('t', rowsFrom(0))
  await table.add(rowsFrom(count / 2))
  const waitTimeoutMs = 60_000
  await table.createIndex('v', { type: 'IVF_PQ', partitions: 30, waitTimeoutMs })
  await table.createIndex('id', { type: 'BTREE', waitTimeoutMs })
  await table.createIndex('text', { type: 'FTS', waitTimeoutMs })
  await ns.optimize()
  await ns.close()
}

test('a new process answers its first query in four rounds and few requests', async () => {
  await fill()
  const vector = new Float32Array(dim).fill(7.4)
  const near = (table: Table) => table.search(vector).nprobes(10).refineFactor(40)
  const queries: Record<string, [(table: Table) => Promise<unknown[]>, requests: number]> = {
    vector: [table => near(table).select(['id']).limit(10).toArray(), 32],
    text: [table => table.search('word7').select(['id']).limit(10).toArray(), 20],
    key: [table => table.query().where('id = 77').select(['id']).toArray(), 20],
    filter: [table => table.query().where("text = 'word77 of row 77'").limit(10).toArray(), 24],
  }
  for (const [name, [query, requests]] of Object.entries(queries)) {
    const bucket = new FarBucket(objects, null)
    const ns = await connect('far', { store: storeOf(bucket), readOnly: true })
    expect(await query(ns.table('t')), name).not.toEqual([])
    expect(bucket.rounds, `${name}\n${bucket.log.join('\n')}`).toBeLessThanOrEqual(4)
    expect(bucket.requests, `${name}\n${bucket.log.join('\n')}`).toBeLessThanOrEqual(requests)
    // The candidates of the index are read from the index.
    const ofColumn = bucket.log.filter(line => line.includes('/data/'))
    if (name === 'vector') expect(ofColumn.length).toBeLessThanOrEqual(4)
    await ns.close()
  }
})
