/** Rows that are filtered after the search: pages are pages of one list. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Namespace, type Search, type Table } from '../../src/index.js'

let ns: Namespace
let table: Table

const rows = Array.from({ length: 200 }, (_, id) => ({
  id,
  kept: (id * 7) % 5 < 2 || id > 150,
  text: `${'wheat '.repeat(1 + (id % 13))}${'field '.repeat(id % 7)}`,
  vector: [Math.sin(id), Math.cos(id)],
}))

beforeAll(async () => {
  ns = await connect('memory://')
  table = await ns.createTable('t', rows)
  await table.createIndex('vector', { type: 'IVF_FLAT', partitions: 4, waitTimeoutMs: 60_000 })
})
afterAll(() => ns.close())

const searches: readonly [string, () => Search][] = [
  ['by vector', () => table.search([0.3, 0.9]).bypassVectorIndex()],
  ['by vector, with an index', () => table.search([0.3, 0.9])],
  ['by text', () => table.query().fullText('wheat')],
  ['by both', () => table.search([0.3, 0.9]).fullText('field').fuse({ candidates: 200 })],
]

test.each(searches)('%s', async (_, search) => {
  const filtered = search().where('kept').postfilter().select(['id'])
  const ids = async (asked: Search) => (await asked.toArray()).map(({ id }) => id)
  const whole = await ids(filtered.limit(200))
  expect(whole.length).toBeGreaterThan(50)
  const paged: unknown[] = []
  for (let offset = 0; offset < 200; offset += 10)
    paged.push(...(await ids(filtered.limit(10).offset(offset))))
  expect(paged).toEqual(whole)
})
