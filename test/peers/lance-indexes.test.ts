/** Vector indexes of LanceDB give in Sheaf the rows that they give in LanceDB, after all kinds of writes. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as arrow from 'apache-arrow'
import { describe, expect, test } from 'vitest'
import { connect, type Table } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'
import { type Lancedb, releases } from './peers.js'

type LanceTable = Awaited<ReturnType<Awaited<ReturnType<Lancedb['connect']>>['openTable']>>

const freshFolder = temporaryRoots()
/** A folder to which the test copies small tables, to make golden files. */
const goldenFolder = process.env.SHEAF_LANCE_INDEX_GOLDEN

const dimension = 16
const schema = new arrow.Schema([
  new arrow.Field('id', new arrow.Int32(), false),
  new arrow.Field('n', new arrow.Int32(), true),
  new arrow.Field(
    'vector',
    new arrow.FixedSizeList(dimension, new arrow.Field('item', new arrow.Float32(), true)),
    true,
  ),
])

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

type Random = () => number

function vectorFrom(random: Random): number[] {
  const center = Math.floor(random() * 12)
  return Array.from({ length: dimension }, (_, i) => Math.sin(center * (i + 1)) + 0.8 * (random() - 0.5))
}

/** Every 50th row has no vector. */
function rowsFrom(random: Random, first: number, count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, i) => ({
    id: first + i,
    n: Math.floor(random() * 100),
    vector: (first + i) % 50 === 49 ? null : vectorFrom(random),
  }))
}

interface Found {
  readonly id: number
  readonly _distance: number
}

interface Effort {
  readonly nprobes: number
  readonly refineFactor: number
}

async function theirs(
  table: LanceTable,
  vector: readonly number[],
  limit: number,
  effort: Effort | 'l2' | 'cosine',
  filter?: string,
): Promise<Found[]> {
  let query = table
    .vectorSearch([...vector])
    .select(['id', '_distance'])
    .limit(limit)
  if (filter !== undefined) query = query.where(filter)
  // Without its index, LanceDB does not know the metric of the index.
  query =
    typeof effort === 'string'
      ? query.distanceType(effort).bypassVectorIndex()
      : query.nprobes(effort.nprobes).refineFactor(effort.refineFactor)
  return (await query.toArray()).map(({ id, _distance }) => ({ id, _distance }))
}

async function ours(
  table: Table,
  vector: readonly number[],
  limit: number,
  { nprobes, refineFactor }: Effort,
  filter?: string,
): Promise<Found[]> {
  let query = table
    .search([...vector])
    .select(['id', '_distance'])
    .limit(limit)
  if (filter !== undefined) query = query.where(filter)
  query = query.nprobes(nprobes).refineFactor(refineFactor)
  return (await query.toArray()) as unknown as Found[]
}

function expectSame(found: readonly Found[], expected: readonly Found[]): void {
  expect(found.length).toBe(expected.length)
  expect(new Set(found.map(({ id }) => id)).size).toBe(found.length)
  for (const [i, { _distance }] of expected.entries()) expect(found[i]!._distance).toBeCloseTo(_distance, 3)
}

const steps: readonly (readonly [
  string,
  (table: LanceTable, random: Random, make: Make) => Promise<unknown>,
])[] = [
  ['an index', async () => {}],
  ['a deletion', table => table.delete('id % 7 = 3')],
  ['an append', (table, random, make) => table.add(make(rowsFrom(random, 2000, 120)))],
  ['an update of other columns', table => table.update({ where: 'id < 90', values: { n: '1' } })],
  [
    'an update of vectors',
    (table, random, make) =>
      table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(make(rowsFrom(random, 200, 90))),
  ],
  ['another segment, and a compaction', table => table.optimize()],
  ['a deletion after it', table => table.delete('id >= 300 AND id < 420')],
  ['a second compaction', table => table.optimize()],
]

type Make = (rows: Record<string, unknown>[]) => arrow.Table

describe.each(releases)('LanceDB $release', ({ lancedb }) => {
  test.each([
    ['l2', 8, {}],
    ['cosine', 8, {}],
    ['l2', 4, {}],
    ['l2', 8, { storageOptions: { new_table_enable_stable_row_ids: 'true' } }],
  ] as const)('IVF_PQ, %s, %i bits, %j', { timeout: 120_000 }, async (distanceType, numBits, options) => {
    const folder = freshFolder()
    const random = randomFrom(11)
    const make: Make = rows =>
      lancedb.makeArrowTable(rows, { schema: schema as never }) as unknown as arrow.Table
    const table = await (await lancedb.connect(folder)).createTable(
      'items',
      make(rowsFrom(random, 0, 1500)) as never,
      options,
    )
    await table.delete('id >= 600 AND id < 640')
    const config = lancedb.Index.ivfPq({ distanceType, numBits, numPartitions: 6, numSubVectors: 4 })
    await table.createIndex('vector', { config })
    const ns = await connect(`lance+${pathToFileURL(folder)}`, {
      onWarning: (message, cause) => expect.unreachable(`${message}: ${cause}`),
    })
    try {
      const own = await ns.openTable('items')
      const hits = { ours: 0, theirs: 0 }
      for (const [, write] of steps) {
        await write(table, random, make)
        const [index] = await own.listIndices()
        expect(index).toMatchObject({ name: 'vector_idx', type: 'IVF_PQ' })
        for (let i = 0; i < 8; i++) {
          const vector = vectorFrom(random)
          const filter = i % 2 === 0 ? undefined : `n < ${10 + 12 * i}`
          // Nearly all rows are candidates, so the answer must be exact.
          const all = { nprobes: 6, refineFactor: 100 }
          const exact = await theirs(table, vector, 10, distanceType, filter)
          expectSame(await ours(own, vector, 10, all, filter), exact)
          const effort = { nprobes: 2, refineFactor: 1 + (i >> 1) }
          const near = new Set(exact.map(({ id }) => id))
          const count = (found: readonly Found[]) => found.filter(({ id }) => near.has(id)).length
          const found = await ours(own, vector, 10, effort, filter)
          hits.ours += count(found)
          hits.theirs += count(await theirs(table, vector, 10, effort, filter))
        }
        // A limit above the number of rows with a vector gives all of them.
        const vector = vectorFrom(random)
        const every = await ours(own, vector, 5000, { nprobes: 6, refineFactor: 1 })
        expectSame(every, await theirs(table, vector, 5000, distanceType))
        expect(every.length).toBe(await own.countRows('vector IS NOT NULL'))
      }
      expect(hits.ours).toBeGreaterThanOrEqual(hits.theirs)
    } finally {
      await ns.close()
    }
  })
})

test.runIf(goldenFolder !== undefined)('writes golden files', async () => {
  const folder = freshFolder()
  const { lancedb } = releases[0]!
  const db = await lancedb.connect(folder)
  const random = randomFrom(5)
  const make = (first: number, count: number) =>
    lancedb.makeArrowTable(rowsFrom(random, first, count), { schema: schema as never })
  const { ivfPq, ivfFlat } = lancedb.Index
  const numPartitions = 4
  const indexes = [
    ['l2', ivfPq({ distanceType: 'l2', numPartitions, numSubVectors: 4 })],
    ['cosine', ivfPq({ distanceType: 'cosine', numPartitions, numSubVectors: 8, numBits: 4 })],
    ['flat', ivfFlat({ distanceType: 'cosine', numPartitions })],
  ] as const
  for (const [name, config] of indexes) {
    const stable = { storageOptions: { new_table_enable_stable_row_ids: 'true' } }
    const table = await db.createTable(name, make(0, 400), name === 'cosine' ? stable : {})
    await table.createIndex('vector', { config })
    await table.delete('id % 9 = 4')
    await table.update({ where: 'id < 20', values: { n: '1' } })
    await table.add(make(400, 30))
    rmSync(join(folder, `${name}.lance/_transactions`), { recursive: true })
  }
  cpSync(folder, goldenFolder!, { recursive: true })
})
