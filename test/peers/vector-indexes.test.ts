/** Vector indexes as LanceDB's remote client makes and asks them. What is nearest its own engine says, which measures every row. */
import type { Table, VectorQuery } from '@lancedb/lancedb'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { temporaryRoots } from '../support/roots.js'
import { column, connectRemote, releases, type Served, servers, sorted } from './peers.js'

const serveRoot = servers()
const freshFolder = temporaryRoots()

const dim = 16
const random = seededRandom(3)
const vectorAround = (centre: number) => {
  const ofCentre = seededRandom(centre)
  return Array.from({ length: dim }, () => Math.fround(4 * ofCentre() + random() - random()))
}
const rows = Array.from({ length: 2000 }, (_, id) => ({
  id,
  group: id % 10,
  vector: vectorAround(Math.floor(25 * random())),
}))
const queries = Array.from({ length: 10 }, (_, i) => vectorAround(i))

interface Hit {
  readonly id: number
  readonly _distance: number
}
const hits = async (query: VectorQuery) => (await query.toArray()) as Hit[]

describe.each(releases)('remote client $release', ({ lancedb }) => {
  const { Index } = lancedb
  let served: Served
  let table: Table
  /** The same rows in LanceDB's engine, without an index. */
  let local: Table

  beforeAll(async () => {
    local = await (await lancedb.connect(freshFolder())).createTable('t', rows)
  })
  beforeEach(async () => {
    served = await serveRoot()
    table = await (await connectRemote(lancedb, served.url)).createTable('t', rows)
  })

  /** All rows that pass a filter, the nearest to each query first, as LanceDB's engine measures them. */
  const truths = new Map<string, Promise<readonly (readonly Hit[])[]>>()
  const truth = (metric: Metric, filter: string) => {
    const key = `${metric}: ${filter}`
    const known = truths.get(key)
    if (known !== undefined) return known
    const all = (query: number[]) =>
      local.vectorSearch(query).distanceType(metric).where(filter).limit(rows.length).select(['id'])
    const made = Promise.all(queries.map(query => hits(all(query))))
    truths.set(key, made)
    return made
  }

  /** Every row of the answers is at its own distance, in order; returns the part of the nearest rows that is there. */
  async function recallOf(
    asked: (query: VectorQuery) => VectorQuery,
    metric: Metric = 'l2',
    filter = 'id >= 0',
  ): Promise<number> {
    let right = 0
    let wanted = 0
    for (const [i, nearest] of (await truth(metric, filter)).entries()) {
      const found = await hits(asked(table.vectorSearch(queries[i]!).limit(10)).select(['id']))
      const known = new Map(nearest.map(({ id, _distance }) => [id, _distance]))
      for (const { id, _distance } of found) expect(_distance).toBeCloseTo(known.get(id)!, 3)
      const distances = found.map(({ _distance }) => _distance)
      expect(distances).toEqual(sorted(distances))
      const ids = new Set(found.map(({ id }) => id))
      expect(ids.size).toBe(10)
      wanted += 10
      right += nearest.slice(0, 10).filter(({ id }) => ids.has(id)).length
    }
    return right / wanted
  }

  const configs = [
    ['ivfFlat', () => Index.ivfFlat({ numPartitions: 12 }), 'IVF_FLAT', 'l2'],
    ['ivfFlat, cosine', () => Index.ivfFlat({ distanceType: 'cosine' }), 'IVF_FLAT', 'cosine'],
    ['ivfPq', () => Index.ivfPq({ numSubVectors: 4, numBits: 8, numPartitions: 6 }), 'IVF_PQ', 'l2'],
    ['ivfPq, dot', () => Index.ivfPq({ distanceType: 'dot', numBits: 4 }), 'IVF_PQ', 'dot'],
    ['ivfRq', () => Index.ivfRq({ maxIterations: 5, sampleRate: 32 }), 'IVF_RQ', 'l2'],
    ['hnswSq', () => Index.hnswSq({ m: 12, efConstruction: 100 }), 'IVF_HNSW_SQ', 'l2'],
    ['hnswSq, cosine', () => Index.hnswSq({ distanceType: 'cosine' }), 'IVF_HNSW_SQ', 'cosine'],
  ] as const

  test.each(configs)('%s: made, waited for, listed, asked, dropped', async (_, config, type, metric) => {
    await table.createIndex('vector', { config: config(), waitTimeoutSeconds: 60 })
    await table.waitForIndex(['vector_idx'], 60)
    const [info] = await table.listIndices()
    expect(info).toMatchObject({ name: 'vector_idx', columns: ['vector'] })
    expect(bare(info!.indexType)).toBe(bare(type))
    const stats = await table.indexStats('vector_idx')
    expect(stats).toMatchObject({ numIndexedRows: 2000, numUnindexedRows: 0, numIndices: 1 })
    expect(bare(stats!.indexType)).toBe(bare(type))
    expect(stats!.distanceType).toBe(metric)

    const by = (query: VectorQuery) => query.distanceType(metric)
    expect(await recallOf(by, metric)).toBeGreaterThanOrEqual(0.95)
    const filter = '`group` < 3'
    expect(await recallOf(query => by(query).where(filter), metric, filter)).toBeGreaterThanOrEqual(0.95)
    expect(await recallOf(query => by(query).bypassVectorIndex(), metric)).toBe(1)
    // Of one who says no metric the index knows which.
    expect(await recallOf(query => query, metric)).toBeGreaterThanOrEqual(0.95)
    const most = (query: VectorQuery) => by(query).refineFactor(400).nprobes(5000).ef(4000)
    expect(await recallOf(most, metric)).toBe(1)

    await table.dropIndex('vector_idx')
    expect(await table.listIndices()).toEqual([])
    expect(await recallOf(by, metric)).toBe(1)
  })

  test('without a config it is IVF_PQ', async () => {
    await table.createIndex('vector', { waitTimeoutSeconds: 60 })
    expect(bare((await table.listIndices())[0]!.indexType)).toBe('IVFPQ')
    expect(await recallOf(query => query)).toBeGreaterThanOrEqual(0.95)
  })

  test('what the client itself knows no word for it refuses', async () => {
    served.asked()
    await expect(table.createIndex('vector', { config: Index.hnswPq() })).rejects.toThrow(/not supported/)
    expect(served.asked().filter(name => name.includes('ndex'))).toEqual([])
  })

  test('what is said of the effort arrives, and changes what is found, not how far it is', async () => {
    const config = Index.ivfFlat({ numPartitions: 16 })
    await table.createIndex('vector', { config, waitTimeoutSeconds: 60 })
    expect(await recallOf(query => query.nprobes(16))).toBeGreaterThanOrEqual(0.99)
    const one = await recallOf(query => query.minimumNprobes(1).maximumNprobes(1))
    expect(one).toBeLessThanOrEqual(await recallOf(query => query.minimumNprobes(8).maximumNprobes(8)))
    const asked = served.calls('queryTable') as { nprobes?: number; maximum_nprobes?: number }[]
    expect(asked.some(({ maximum_nprobes }) => maximum_nprobes === 1)).toBe(true)
    // Who looks at one partition gets no more than what that holds.
    const near = () => table.vectorSearch(queries[0]!).limit(700)
    const few = await hits(near().minimumNprobes(1).maximumNprobes(1))
    expect(few.length).toBeLessThan(700)
    expect(await hits(near())).toHaveLength(700)
    expect(() => near().minimumNprobes(9).maximumNprobes(3)).toThrow(/nprobes/)
  })

  test('filters before and after, ranges of distances, columns and row ids', async () => {
    await table.createIndex('vector', { config: Index.hnswSq(), waitTimeoutSeconds: 60 })
    for (const query of queries.slice(0, 5)) {
      const near = () => table.vectorSearch(query)
      const truly = () => local.vectorSearch(query)
      const ids = (search: VectorQuery) => column(search.select(['id']), 'id')
      const few = await hits(near().where('`group` = 4 AND id < 300').limit(40))
      expect(few).toHaveLength(30)
      expect(few.every(({ id }) => id % 10 === 4 && id < 300)).toBe(true)
      const after = await hits(near().where('`group` = 4').postfilter().limit(10))
      const before = await hits(near().limit(10))
      const told = (hits: readonly Hit[]) => hits.map(({ id, _distance }) => [id, _distance])
      expect(told(after)).toEqual(told(before.filter(({ id }) => id % 10 === 4)))
      // From a bound on every row is measured; up to one they are those of the index that are nearer.
      expect(await ids(near().distanceRange(9, 11).limit(50))).toEqual(
        await ids(truly().distanceRange(9, 11).limit(50)),
      )
      const upper = await hits(near().distanceRange(undefined, 5).limit(10))
      expect(told(upper)).toEqual(told(before.filter(({ _distance }) => _distance < 5)))
      const [hit] = await near().select(['id']).withRowId().limit(1).toArray()
      expect(Object.keys(hit).sort()).toEqual(['_distance', '_rowid', 'id'])
    }
  })

  test('rows that came later are found, unless the search is to be fast', async () => {
    await table.createIndex('vector', { config: Index.ivfPq(), waitTimeoutSeconds: 60 })
    await table.add([{ id: 9999, group: 1, vector: queries[0]! }])
    const near = () => table.vectorSearch(queries[0]!).limit(3)
    expect((await hits(near()))[0]).toMatchObject({ id: 9999, _distance: 0 })
    expect((await hits(near().fastSearch())).map(({ id }) => id)).not.toContain(9999)
    expect(await table.indexStats('vector_idx')).toMatchObject({ numIndexedRows: 2000, numUnindexedRows: 1 })
  })

  test('several vectors are asked together, each with rows of its own', async () => {
    await table.createIndex('vector', { config: Index.ivfFlat(), waitTimeoutSeconds: 60 })
    const batch = table.vectorSearch(queries[0]!).addQueryVector(queries[1]!).limit(4)
    const found = (await batch.toArray()) as (Hit & { readonly query_index: number })[]
    for (const i of [0, 1]) {
      const own = found.filter(({ query_index }) => query_index === i)
      const alone = await hits(table.vectorSearch(queries[i]!).limit(4))
      expect(own.map(({ id, _distance }) => [id, _distance])).toEqual(
        alone.map(({ id, _distance }) => [id, _distance]),
      )
    }
    expect(found).toHaveLength(8)
  })

  test('plans name the index as those of LanceDB do, and tell what became of it', async () => {
    await table.createIndex('vector', { config: Index.ivfFlat(), waitTimeoutSeconds: 60 })
    const near = () => table.vectorSearch(queries[0]!).limit(7)
    const plan = await near().explainPlan()
    expect(plan).toContain('ANNSubIndex: name=vector_idx, k=7, deltas=1, metric=L2')
    expect(await near().bypassVectorIndex().explainPlan()).toContain('KNNVectorDistance')
    expect(await near().distanceType('cosine').explainPlan()).toContain('KNNVectorDistance')
    const analyzed = await near().analyzePlan()
    expect(analyzed).toContain('ANNSubIndex')
    expect(analyzed).toContain('output_rows=7')
  })

  test('what an index cannot be is told at once', async () => {
    const calls: (readonly [() => Promise<unknown>, RegExp])[] = [
      [() => table.createIndex('group', { config: Index.ivfFlat() }), /group/],
      [() => table.createIndex('vector', { config: Index.ivfFlat({ numPartitions: 70_000 }) }), /partitions/],
      [() => table.createIndex('vector', { config: Index.ivfPq({ numSubVectors: 17 }) }), /num_sub_vectors/],
      [() => table.createIndex('vector', { config: Index.btree() }), /vector/],
    ]
    for (const [call, message] of calls) await expect(call()).rejects.toThrow(message)
    expect(await table.listIndices()).toEqual([])
  })
})

type Metric = 'l2' | 'cosine' | 'dot'

/** Releases write kinds one way or the other: IVF_HNSW_SQ, IvfHnswSq. */
function bare(type: string | undefined): string {
  return type?.toUpperCase().replace(/[^A-Z]/g, '') ?? ''
}
