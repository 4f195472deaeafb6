/** The life of vector indexes through every door, with segments as they are. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { readReply } from '../../src/client/read-replies.js'
import { rowObjects } from '../../src/client/row-objects.js'
import type { Namespace, Search, Table } from '../../src/index.js'
import type { Door, OpenedRoot } from '../support/transports.js'

const dim = 8
const random = seededRandom(11)
const vectorAround = (centre: number) =>
  Array.from({ length: dim }, (_, i) => Math.fround(((centre * 7 + i * 3) % 11) + random() - random()))
const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    id: first + i,
    half: i % 2,
    v: i % 50 === 49 ? null : vectorAround(Math.floor(9 * random())),
  }))
const rows = rowsFrom(0, 1200)
const queries = Array.from({ length: 8 }, (_, i) => vectorAround(i))

/** Rows without a word of how long the vectors are: their numbers and distances. */
async function found(search: Search<object>): Promise<readonly (readonly [number, number])[]> {
  const rows = (await search.select(['id']).toArray()) as unknown as { id: number; _distance: number }[]
  return rows.map(({ id, _distance }) => [id, _distance])
}

/** Of the ten nearest rows the part that is found; each is one there is, at its distance. */
async function recall(table: Pick<Table, 'search'>, filter?: string): Promise<number> {
  let right = 0
  for (const query of queries) {
    const near = filter === undefined ? table.search(query) : table.search(query).where(filter)
    const all = await found(near.limit(5000).bypassVectorIndex())
    const known = new Map(all)
    const own = await found(near)
    expect(own).toHaveLength(10)
    for (const [id, distance] of own) expect(distance).toBe(known.get(id))
    const nearest = new Set(all.slice(0, 10).map(([id]) => id))
    right += own.filter(([id]) => nearest.has(id)).length
  }
  return right / (10 * queries.length)
}

const uses = async (table: Pick<Table, 'search'>) =>
  (await table.search(queries[0]!).explain()).includes('ANNSubIndex')

export function vectorIndexSuite({ name, open }: Door): void {
  describe(name, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let table: Table
    beforeEach(async () => {
      opened = await open()
      ns = opened.ns
      table = await ns.createTable('t', rows, { vectorColumns: ['v'] })
    })
    afterEach(() => opened.close())

    const shown = async (of: Pick<Table, 'listIndices'> = table) =>
      (await of.listIndices()).map(({ type, status, indexedRows, unindexedRows }) => {
        return `${type} ${status} ${indexedRows}+${unindexedRows}`
      })
    const built = (type: 'IVF_PQ' | 'IVF_RQ' | 'IVF_HNSW_SQ') =>
      table.createIndex('v', { type, waitTimeoutMs: 60_000 })

    test.each(['IVF_PQ', 'IVF_HNSW_SQ'] as const)('%s: built, queried, described, dropped', async type => {
      await table.createIndex('v', { type, distanceType: 'cosine' })
      await table.waitForIndex('v_idx', { timeoutMs: 60_000 })
      expect(await table.indexStats('v_idx')).toEqual({
        type,
        distanceType: 'cosine',
        status: 'ready',
        indexedRows: 1200,
        unindexedRows: 0,
        segments: 1,
        recall: expect.any(Number),
        recallBetween: expect.any(Number),
        recallExcluded: expect.any(Number),
      })
      expect(await recall(table)).toBeGreaterThanOrEqual(0.95)
      expect(await recall(table, 'half = 1')).toBeGreaterThanOrEqual(0.95)
      expect(await uses(table)).toBe(true)
      await table.dropIndex('v_idx')
      expect([await shown(), await uses(table)]).toEqual([[], false])
      expect(await recall(table)).toBe(1)
    })

    test('a build is canceled like any job, and leaves nothing', async () => {
      const { transaction_id } = await ns.operations.createTableIndex({
        id: ['t'],
        column: 'v',
        index_type: 'IVF_HNSW_PQ',
        ef_construction: 2000,
      })
      const id = [transaction_id!]
      await ns.operations.alterTransaction({ id, actions: [{ setStatusAction: { status: 'Canceled' } }] })
      expect(await ns.operations.describeTransaction({ id })).toMatchObject({ status: 'Canceled' })
      expect([await shown(), await uses(table), await table.version()]).toEqual([[], false, 1])
      expect(await recall(table)).toBe(1)
    })

    test('added, changed and deleted rows are found or not from then on', async () => {
      await built('IVF_HNSW_SQ')
      await table.add([{ id: 5000, half: 0, v: queries[0]! }])
      expect(await shown()).toEqual(['IVF_HNSW_SQ stale 1200+1'])
      expect((await found(table.search(queries[0]!)))[0]).toEqual([5000, 0])
      expect((await found(table.search(queries[0]!).fastSearch())).map(([id]) => id)).not.toContain(5000)
      await table.update({ v: queries[1]! }, 'id = 5000')
      expect((await found(table.search(queries[1]!)))[0]).toEqual([5000, 0])
      await table.delete('half = 0')
      expect(await recall(table)).toBeGreaterThanOrEqual(0.95)
      expect((await found(table.search(queries[1]!).limit(5000))).length).toBe(576)
    })

    test('a change of the column applies to the index, and earlier versions keep theirs', async () => {
      await built('IVF_RQ')
      const version = await table.version()
      const old = async () => {
        const at = await table.checkout(version)
        return [await shown(at), await uses(at), (await recall(at)) >= 0.95]
      }
      const whole = [['IVF_RQ ready 1200+0'], true, true]
      await table.alterColumns({ v: { type: `vector(${dim}, float64)` } })
      expect(await shown()).toEqual(['IVF_RQ stale 0+1200'])
      expect(await recall(table)).toBe(1)
      await table.restore(version)
      expect([await shown(), await uses(table), (await recall(table)) >= 0.95]).toEqual(whole)
      await table.add(rowsFrom(2000, 600), { mode: 'overwrite' })
      expect(await shown()).toEqual(['IVF_RQ stale 0+600'])
      expect(await recall(table)).toBe(1)
      expect(await old()).toEqual(whole)
      await table.restore(version)
      await table.dropColumns(['v'])
      expect(await shown()).toEqual([])
      expect(await old()).toEqual(whole)
    })

    test('several vectors are searched together', async () => {
      await built('IVF_PQ')
      const request = { id: ['t'], vector: { multi_vector: queries }, k: 3 }
      const rows = await rowObjects(readReply(await ns.operations.queryTable(request)).batches, {})
      const numbered = rows.map(({ query_index, id, _distance }) => [query_index, id, _distance])
      const alone = await Promise.all(queries.map(query => found(table.search(query).limit(3))))
      expect(numbered).toEqual(alone.flatMap((hits, i) => hits.map(hit => [i, ...hit])))
    })
  })
}
