/** `sheaf import` copies tables that LanceDB wrote: all rows, the tags of the newest version, and indexes. */
import * as arrow from 'apache-arrow'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Call, readArguments } from '../../adapters/cli/arguments.js'
import { importSources } from '../../adapters/cli/import.js'
import { connect } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'
import { type Lancedb, releases } from './peers.js'

const freshFolder = temporaryRoots()
const dimension = 16
const count = 700
let noted: string[] = []

beforeEach(() => {
  noted = []
  vi.spyOn(console, 'log').mockImplementation(() => {})
  vi.spyOn(console, 'error').mockImplementation(text => noted.push(String(text)))
})
afterEach(() => void vi.restoreAllMocks())

const vectorOf = new arrow.FixedSizeList(dimension, new arrow.Field('item', new arrow.Float32(), true))
const vectors = ['pq', 'whole', 'hnswPq', 'hnswSq', 'rq']
const schema = new arrow.Schema(
  [
    new arrow.Field('id', new arrow.Int32(), false, new Map([['unit', 'none']])),
    new arrow.Field('kind', new arrow.Utf8(), true),
    new arrow.Field('labels', new arrow.List(new arrow.Field('item', new arrow.Utf8(), true)), true),
    new arrow.Field('text', new arrow.Utf8(), true),
    new arrow.Field('meta', new arrow.Struct([new arrow.Field('x', new arrow.Float64(), true)]), true),
    ...vectors.map(name => new arrow.Field(name, vectorOf, true)),
  ],
  new Map([['owner', 'me']]),
)

function rowsFrom(first: number, rows: number): Record<string, unknown>[] {
  let state = first + 1
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.fround(state / 2 ** 32 - 0.5)
  }
  return Array.from({ length: rows }, (_, i) => ({
    id: first + i,
    kind: i % 9 === 0 ? null : `kind ${i % 4}`,
    labels: i % 11 === 0 ? null : [`a${i % 2}`, `b${i % 5}`],
    text: `the ${first + i} running foxes`,
    meta: { x: i % 13 === 0 ? null : i / 2 },
    ...Object.fromEntries(vectors.map(name => [name, Array.from({ length: dimension }, random)])),
  }))
}

async function writeTable({ connect: open, makeArrowTable, Index }: Lancedb, folder: string): Promise<void> {
  const db = await open(folder)
  const make = (first: number, rows: number) =>
    makeArrowTable(rowsFrom(first, rows), { schema: schema as never })
  const table = await db.createTable('items', make(0, count))
  await db.createTable('bare', make(5, 3))
  const tags = await table.tags()
  await tags.create('early', await table.version())
  await table.createIndex('id', { config: Index.btree() })
  await table.createIndex('meta.x', { config: Index.btree(), name: 'x of meta' })
  await table.createIndex('kind', { config: Index.bitmap() })
  await table.createIndex('labels', { config: Index.labelList() })
  await table.createIndex('text', {
    config: Index.fts({ withPosition: true, language: 'German', stem: false }),
  })
  const common = { numPartitions: 2, distanceType: 'cosine' } as const
  await table.createIndex('pq', { config: Index.ivfPq({ ...common, numSubVectors: 4, numBits: 4 }) })
  await table.createIndex('whole', { config: Index.ivfFlat({ numPartitions: 2, distanceType: 'dot' }) })
  await table.createIndex('hnswPq', {
    config: Index.hnswPq({ ...common, m: 12, efConstruction: 60, numSubVectors: 8 }),
  })
  await table.createIndex('hnswSq', { config: Index.hnswSq({ numPartitions: 1, m: 10, efConstruction: 50 }) })
  await table.createIndex('rq', { config: Index.ivfRq({ numPartitions: 2 }) })
  await table.delete('id % 7 = 3')
  await table.add(make(count, 40))
  await table.optimize()
  await table.update({ where: 'id < 60', values: { text: 'updated' } })
  await tags.create('now', await table.version())
}

/** Convert a value of LanceDB or Sheaf to a form that can be compared. */
function plain(value: unknown): unknown {
  if (value === null || value === undefined || typeof value !== 'object') return value ?? null
  const { toArray, toJSON } = value as { toArray?: () => Iterable<unknown>; toJSON?: () => object }
  if (ArrayBuffer.isView(value) || Array.isArray(value)) return Array.from(value as Iterable<unknown>, plain)
  // Rows of structs have the function too, but no length.
  if (toArray !== undefined && 'length' in value) return Array.from(toArray.call(value), plain)
  const members = Object.entries(toJSON?.call(value) ?? value)
  return Object.fromEntries(members.map(([name, each]) => [name, plain(each)]))
}

describe.each(releases)('LanceDB $release', ({ lancedb }) => {
  test('a directory is imported with all rows, columns, tags and indexes', async () => {
    const folder = freshFolder()
    await writeTable(lancedb, folder)
    const root = freshFolder()
    await importSources(
      readArguments(['import', folder, root]) as Call<'import'>,
      new AbortController().signal,
    )
    expect(noted).toEqual([
      expect.stringMatching(/^not copied from table \w+: tag early, because it names version 1, and/),
    ])
    await using ns = await connect(root)
    expect(await ns.tableNames()).toEqual(['bare', 'items'])
    const db = await lancedb.connect(folder)
    for (const name of ['bare', 'items']) {
      const theirs = await (await db.openTable(name)).query().toArray()
      const ours = await (await ns.openTable(name)).query().toArray()
      expect(ours.map(plain)).toEqual(theirs.map(row => plain({ ...row })))
    }
    const items = await ns.openTable('items')
    const theirs = await db.openTable('items')
    const shown = await items.schema()
    expect(shown.metadata).toEqual({ owner: 'me' })
    expect(await (await items.checkout('now')).countRows()).toBe(await theirs.countRows())
    const indexes = await items.listIndices()
    const familiar = (type: string) => type.replace(/[-_]/g, '').toLowerCase()
    expect(indexes.map(({ name, type, columns }) => [name, familiar(type), columns])).toEqual(
      (await theirs.listIndices())
        .map(({ name, indexType, columns }) => [name, familiar(indexType), columns])
        .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    )
    expect(indexes.every(({ status }) => status === 'ready')).toBe(true)
    const { indexes: records } = await ns.operations.listTableIndices({ id: ['items'] })
    const details = Object.fromEntries(
      records.map(({ index_name, index_details }) => [index_name, JSON.parse(index_details ?? 'null')]),
    )
    expect(details).toMatchObject({
      pq_idx: { distance_type: 'cosine', num_sub_vectors: 4, num_bits: 4 },
      whole_idx: { distance_type: 'dot' },
      hnswPq_idx: { distance_type: 'cosine', num_sub_vectors: 8, num_bits: 8, m: 12, ef_construction: 60 },
      hnswSq_idx: { distance_type: 'l2', m: 10, ef_construction: 50 },
      text_idx: { with_position: true, language: 'German', stem: false },
    })
  })
})
