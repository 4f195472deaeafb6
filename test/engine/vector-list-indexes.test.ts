/** Indexes of columns whose rows hold lists of vectors, against distances that are worked out here. */
import { afterEach, describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { connect, type DataType, type Namespace, type Table } from '../../src/index.js'
import type { SectionFooter } from '../../src/indexes/sections/section-file.js'
import { type VectorKind, vectorKinds } from '../../src/indexes/vector/kind.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { failure } from '../support/failure.js'
import { keysIn } from '../support/stores.js'

const dim = 16
const topics = 60
type Metric = 'l2' | 'cosine' | 'dot'
type Lists = (number[] | null)[] | null

const element = (bits: 16 | 32): DataType => ({ kind: 'float', bits })
const vectorType = (bits: 16 | 32): DataType => ({
  kind: 'fixed_size_list',
  size: dim,
  child: { name: 'item', type: element(bits), nullable: true },
})
const listType = (bits: 16 | 32): DataType => ({
  kind: 'list',
  large: false,
  child: { name: 'item', type: vectorType(bits), nullable: true },
})
const schemaOf = (bits: 16 | 32 = 32) => ({
  fields: [
    { name: 'id', type: { kind: 'int', bits: 32, signed: true } as const, nullable: false },
    { name: 'v', type: listType(bits), nullable: true },
  ],
})

/** Rows about a few topics each; some have no list, an empty one, or a vector that is null. */
function maker(seed: number) {
  const random = seededRandom(seed)
  const gauss = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random())
  const centres = Array.from({ length: topics }, () => Array.from({ length: dim }, gauss))
  const vector = () => centres[Math.floor(random() * topics)]!.map(each => Math.fround(each + 0.2 * gauss()))
  const listOf = (id: number): Lists => {
    if (id % 23 === 5) return null
    if (id % 23 === 6) return []
    const list: (number[] | null)[] = Array.from({ length: 1 + Math.floor(random() * 8) }, vector)
    if (id % 23 === 7) list[0] = null
    return list
  }
  const rows = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ id: first + i, v: listOf(first + i) }))
  return { rows, query: () => Array.from({ length: 4 }, vector) }
}

type Rows = ReturnType<ReturnType<typeof maker>['rows']>

function distance(metric: Metric, a: readonly number[], b: readonly number[]): number {
  const dot = a.reduce((sum, each, i) => sum + each * b[i]!, 0)
  const norm = (of: readonly number[]) => Math.sqrt(of.reduce((sum, each) => sum + each * each, 0))
  if (metric === 'dot') return 1 - dot
  if (metric === 'cosine') return 1 - dot / (norm(a) * norm(b))
  return a.reduce((sum, each, i) => sum + (each - b[i]!) ** 2, 0)
}

/** All rows with a vector, the nearest first: the sum over the query of the least distance. */
function ranked(rows: Rows, query: readonly number[][], metric: Metric) {
  return rows
    .flatMap(({ id, v }) => {
      const vectors = (v ?? []).filter(each => each !== null)
      if (vectors.length === 0) return []
      const least = (of: number[]) => Math.min(...vectors.map(each => distance(metric, of, each)))
      return [{ id, far: query.reduce((sum, of) => sum + least(of), 0) }]
    })
    .sort((a, b) => a.far - b.far)
}

const opened: Namespace[] = []
afterEach(() => Promise.all(opened.splice(0).map(ns => ns.close())))

async function open(store = new MemoryStore('memory://lists')) {
  const ns = await connect('memory://', { store, maintenance: { compact: false } })
  opened.push(ns)
  return { ns, store }
}

async function indexed(table: Table, type: VectorKind, more: object = {}) {
  await table.createIndex('v', { type, partitions: 4, waitTimeoutMs: 60_000, ...more } as never)
}

/** Searches, and compares each distance with the one worked out here; gives the part of the nearest that was found. */
async function recall(
  table: Table,
  rows: Rows,
  queries: readonly number[][][],
  metric: Metric,
  where?: readonly [string, (row: Rows[number]) => boolean],
): Promise<number> {
  let found = 0
  for (const query of queries) {
    const all = table.search(query).limit(10).select(['id', '_distance'])
    // Where it is told how hard to look, the index is asked however few rows there are.
    const search = (where === undefined ? all : all.where(where[0])).nprobes(4)
    expect(await search.explain()).toContain('ANNSubIndex')
    const answer = (await search.toArray()) as { id: number; _distance: number }[]
    const expected = ranked(where === undefined ? rows : rows.filter(where[1]), query, metric)
    const far = new Map(expected.map(({ id, far }) => [id, far]))
    expect(answer).toHaveLength(Math.min(10, expected.length))
    for (const { id, _distance } of answer) {
      expect(Math.abs(_distance - far.get(id)!)).toBeLessThan(1e-4 * (1 + Math.abs(far.get(id)!)))
    }
    const nearest = new Set(expected.slice(0, 10).map(({ id }) => id))
    found += answer.filter(({ id }) => nearest.has(id)).length / nearest.size
  }
  return found / queries.length
}

describe.each(vectorKinds.map(kind => [kind]))('%s', kind => {
  test('finds the nearest rows, with a filter and without, after rows were added, changed and deleted', async () => {
    const { rows, query } = maker(3)
    const { ns } = await open()
    let all = rows(0, 700)
    const table = await ns.createTable('t', all.slice(0, 400), { schema: schemaOf() })
    await table.add(all.slice(400))
    await indexed(table, kind)
    const queries = Array.from({ length: 6 }, query)
    expect(await recall(table, all, queries, 'cosine')).toBeGreaterThanOrEqual(0.95)
    const third = ['id % 3 = 1', ({ id }: { readonly id: number }) => id % 3 === 1] as const
    expect(await recall(table, all, queries, 'cosine', third)).toBeGreaterThanOrEqual(0.95)

    await table.delete('id % 5 = 0')
    const more = rows(700, 150)
    await table.add(more)
    const [changed] = rows(11, 1)
    await table.mergeInsert('id').whenMatchedUpdateAll().execute([changed!])
    all = [...all.filter(({ id }) => id % 5 !== 0 && id !== 11), changed!, ...more]
    expect(await recall(table, all, queries, 'cosine')).toBeGreaterThanOrEqual(0.95)
    await ns.optimize()
    expect(await table.listIndices()).toMatchObject([{ status: 'ready', unindexedRows: 0 }])
    expect(await recall(table, all, queries, 'cosine')).toBeGreaterThanOrEqual(0.95)
  }, 60_000)
})

test.each([['IVF_FLAT'], ['IVF_SQ'], ['IVF_HNSW_SQ']] as const)(
  '%s of 3,000 rows measures a part of them',
  async kind => {
    const { rows } = maker(4)
    const all = rows(0, 3000)
    const { ns } = await open()
    const table = await ns.createTable('t', all, { schema: schemaOf() })
    await indexed(table, kind, { partitions: 40 })
    // Each asks for rows like one that there is.
    const whole = all.filter(({ id }) => id % 23 > 7)
    const queries = Array.from({ length: 10 }, (_, i) =>
      whole[90 * i]!.v!.map(each => each!.map(x => x + 0.05)),
    )
    expect(await recall(table, all, queries, 'cosine')).toBeGreaterThanOrEqual(0.95)
    const vectors = all.reduce((sum, { v }) => sum + (v?.length ?? 0), 0)
    const shares: number[] = []
    for (const asked of queries) {
      const text = await table.search(asked).nprobes(4).limit(10).select(['id']).analyze()
      shares.push(Number(/exact=(\d+)/.exec(text)![1]) / vectors)
    }
    expect(shares.sort((a, b) => a - b)[5]).toBeLessThan(0.95)
  },
  60_000,
)

test.each([
  ['l2', 32],
  ['dot', 32],
  ['cosine', 16],
] as const)('distances by %s, of float%i, are those of the column', async (metric, bits) => {
  const { rows, query } = maker(5)
  const round = bits === 16 ? (each: number) => Math.round(each * 64) / 64 : (each: number) => each
  const all = rows(0, 400).map(({ id, v }) => ({ id, v: v?.map(each => each?.map(round) ?? null) ?? null }))
  const { ns, store } = await open()
  const table = await ns.createTable('t', all, { schema: schemaOf(bits) })
  await indexed(table, 'IVF_HNSW_SQ', { distanceType: metric })
  const queries = Array.from({ length: 5 }, query)
  expect(await recall(table, all, queries, metric)).toBeGreaterThanOrEqual(0.95)
  // Another process opens the same file.
  const other = await (await open(store)).ns.openTable('t')
  expect(await recall(other, all, queries, metric)).toBeGreaterThanOrEqual(0.95)
})

test('a bound, a limit beyond all rows, one vector and a search of indexed rows alone', async () => {
  const { rows, query } = maker(8)
  const all = rows(0, 300)
  const { ns } = await open()
  const table = await ns.createTable('t', all, { schema: schemaOf() })
  await indexed(table, 'IVF_FLAT')
  const asked = query()
  const expected = ranked(all, asked, 'cosine')
  const upper = (expected[4]!.far + expected[5]!.far) / 2
  const ids = async (search: ReturnType<Table['search']>) =>
    ((await search.select(['id']).toArray()) as { id: number }[]).map(({ id }) => id)
  expect(await ids(table.search(asked).distanceRange(undefined, upper).limit(50))).toEqual(
    expected.slice(0, 5).map(({ id }) => id),
  )
  expect((await ids(table.search(asked).limit(1000))).length).toBe(expected.length)
  const one = ranked(all, [asked[0]!], 'cosine')
  expect(await ids(table.search(asked[0]!).limit(3))).toEqual(one.slice(0, 3).map(({ id }) => id))
  await table.add(rows(1000, 50))
  const fast = await ids(table.search(asked).fastSearch().limit(1000))
  expect(fast.every(id => id < 300)).toBe(true)
})

test('a table without any vector in its lists, and one without rows', async () => {
  const { ns } = await open()
  for (const rows of [
    [],
    [{ id: 1, v: [] }],
    [
      { id: 1, v: null },
      { id: 2, v: [null] },
    ],
  ]) {
    const table = await ns.createTable('t', rows, { schema: schemaOf(), mode: 'overwrite' })
    await indexed(table, 'IVF_PQ', { partitions: undefined })
    expect(
      await table
        .search([new Array(dim).fill(1)])
        .limit(5)
        .toArray(),
    ).toEqual([])
    await table.add(maker(1).rows(100, 20))
    expect(
      (
        await table
          .search([new Array(dim).fill(1)])
          .limit(50)
          .toArray()
      ).length,
    ).toBeGreaterThan(10)
  }
})

test('unindexed rows are merged into its segments', async () => {
  const { rows, query } = maker(9)
  const all = rows(0, 500)
  const { ns } = await open()
  const table = await ns.createTable('t', all.slice(0, 250), { schema: schemaOf() })
  await indexed(table, 'IVF_SQ')
  await table.add(all.slice(250))
  await ns.optimize()
  const queries = Array.from({ length: 4 }, query)
  expect(await recall(table, all, queries, 'cosine')).toBeGreaterThanOrEqual(0.95)
})

test('a file whose rows end elsewhere is reported as damaged', async () => {
  const { ns, store } = await open()
  const table = await ns.createTable('t', maker(2).rows(0, 200), { schema: schemaOf() })
  await indexed(table, 'IVF_FLAT')
  const [key] = (await keysIn(store, 'tables/')).filter(each => each.includes('/indexes/'))
  const bytes = Buffer.from((await store.get(key!))!)
  const footerBytes = bytes.readUInt32LE(bytes.length - 16)
  const footer = JSON.parse(bytes.toString('utf8', bytes.length - 16 - footerBytes, bytes.length - 16))
  const { start } = (footer as SectionFooter).sections.find(({ name }) => name === 'ends')!
  bytes[start + 5]! ^= 1
  await store.delete(key!)
  await store.putIfAbsent(key!, bytes)
  const again = await (await open(store)).ns.openTable('t')
  const search = again
    .search([new Array(dim).fill(1)])
    .nprobes(2)
    .limit(3)
  expect(await failure(search.toArray())).toMatchObject({ code: 18, message: /^bytes \d+ to \d+ of tables/ })
})

test('a search without search parameters measures all rows: the recall of the index is unknown', async () => {
  const { rows, query } = maker(12)
  const all = rows(0, 3000)
  const { ns } = await open()
  const table = await ns.createTable('t', all, { schema: schemaOf() })
  await indexed(table, 'IVF_FLAT')
  for (let i = 0; i < 5; i++) {
    const asked = query()
    const search = table.search(asked).limit(10).select(['id'])
    const ids = (await search.toArray()).map(({ id }) => id)
    expect(ids).toEqual(
      ranked(all, asked, 'cosine')
        .slice(0, 10)
        .map(({ id }) => id),
    )
    expect(await search.explain()).toContain('all rows are measured')
  }
  expect(await table.indexStats('v_idx')).not.toHaveProperty('recall')
})
