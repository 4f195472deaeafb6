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

type TextQuery = Parameters<ReturnType<Table['query']>['fullText']>[0]

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

test('the first text search of a process in an index with many terms takes four rounds and reads few bytes', async () => {
  const objects: Objects = new Map()
  const filling = await connect('many', { store: storeOf(new FarBucket(objects, 0)) })
  const rows = (first: number) =>
    Array.from({ length: 20_000 }, (_, i) => ({
      id: first + i,
      text: `word${(first + i) % 1000} of ${'x'.repeat(20)}${(first + i) * 7919} row`,
    }))
  const table = await filling.createTable('t', rows(0))
  for (let i = 1; i < 4; i++) await table.add(rows(i * 20_000))
  await table.createIndex('text', { type: 'FTS', withPosition: true, waitTimeoutMs: 60_000 })
  await filling.optimize()
  const [segment, ...others] = [...objects].filter(([key]) => key.includes('/indexes/'))
  expect(others).toEqual([])
  const queries: Record<string, [query: TextQuery, rounds: number, requests: number]> = {
    'a term': ['word77', 4, 22],
    'several terms': ['word77 word500 row', 4, 30],
    'a phrase': [{ phrase: 'word77 of', column: 'text' }, 4, 26],
    'an excluded term': [{ must: [{ match: 'word77' }], mustNot: [{ match: 'word500' }] }, 4, 26],
    'a rare term': [`${'x'.repeat(20)}${77 * 7919}`, 4, 22],
    'a term that no row has': ['word1077', 3, 22],
    'similar terms': [{ match: 'word77', column: 'text', fuzziness: 1 }, 5, 30],
  }
  const answers: Record<string, unknown> = {}
  const search = (table: Table, query: TextQuery) =>
    table.query().fullText(query).select(['id']).limit(10).toArray()
  // This process reads the whole dictionary first.
  await search(table, queries['similar terms']![0])
  for (const [name, [query]] of Object.entries(queries)) answers[name] = await search(table, query)
  await filling.close()
  expect(answers['a term']).toHaveLength(10)
  for (const [name, [query, rounds, requests]] of Object.entries(queries)) {
    const bucket = new FarBucket(objects, null)
    const ns = await connect('many', { store: storeOf(bucket), readOnly: true })
    expect(await search(ns.table('t'), query), name).toEqual(answers[name])
    const log = `${name}\n${bucket.log.join('\n')}`
    expect(bucket.rounds, log).toBeLessThanOrEqual(rounds)
    expect(bucket.requests, log).toBeLessThanOrEqual(requests)
    const ofIndex = bucket.log.flatMap(line =>
      line.includes(segment![0]) ? Number(line.split('+').at(-1)) : [],
    )
    const bytes = ofIndex.reduce((sum, each) => sum + each, 0)
    if (name === 'similar terms') expect(bytes, log).toBeGreaterThan(800_000)
    else expect(bytes, log).toBeLessThan(500_000)
    await ns.close()
  }
  // A process gives the same answers before and after it reads the whole dictionary, after half of it in pages.
  const ns = await connect('many', { store: storeOf(new FarBucket(objects, 0)), readOnly: true })
  for (let i = 0; i < 20; i++) {
    for (const [name, [query]] of Object.entries(queries))
      if (name !== 'similar terms') expect(await search(ns.table('t'), query), name).toEqual(answers[name])
    await search(ns.table('t'), `${'x'.repeat(20)}${i * 4000 * 7919}`)
  }
  await ns.close()
})
