/** Groups, distinct rows and orders of what a search finds, and pages of a hybrid search, beside plain loops over the rows of the answer. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FuseOptions, FuseRows, Search, Table } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { openWithBuilder } from '../support/index-builds.js'

interface Found {
  readonly id: number
  readonly city: string
  readonly year: number
  readonly _rowid: number
}

const words = ['ape', 'bee', 'cow', 'dog', 'elk']
const count = 600
const rows = Array.from({ length: count }, (_, id) => ({
  id,
  city: `c${(id * 7) % 5}`,
  year: 1990 + ((id * 13) % 17),
  text: id % 11 === 0 ? null : `${words[id % 5]} ${words[(id * 3) % 4]} ${'fox '.repeat(id % 6)}`,
  v: id % 13 === 0 ? null : [id % 23, (id * 5) % 19],
}))

let root: Awaited<ReturnType<typeof openWithBuilder>>
/** The same rows without indexes, and with some of them in indexes. */
let tables: readonly Table[]

beforeAll(async () => {
  root = await openWithBuilder()
  const plain = await root.ns.createTable('plain', rows, { vectorColumns: ['v'] })
  const indexed = await root.ns.createTable('indexed', rows.slice(0, 500), { vectorColumns: ['v'] })
  await indexed.createIndex('text', { type: 'FTS', withPosition: true })
  await indexed.createIndex('v', { type: 'IVF_FLAT', partitions: 4 })
  await indexed.waitForIndex(['text_idx', 'v_idx'])
  await indexed.add(rows.slice(500))
  for (const table of [plain, indexed]) await table.delete('id % 9 = 4')
  tables = [plain, indexed]
})
afterAll(() => root.ns.close())

/** Searches that have matching rows; `whole` gives all of those. */
const searches: Readonly<Record<string, (table: Table) => Search>> = {
  'a text': table => table.query().fullText('ape bee'),
  'a phrase or a word': table =>
    table.query().fullText({ should: [{ match: 'cow' }, { phrase: 'ape ape' }] }),
  'a range of distances': table => table.search([3, 4]).distanceRange(5, 90),
  'distances below a bound': table => table.search([3, 4]).distanceRange(undefined, 60),
  'distances from a bound on': table => table.search([3, 4]).distanceRange(200),
  hybrid: table => table.search([3, 4]).fullText('ape bee').fuse({ candidates: 40 }),
  'hybrid by weight, all candidates': table =>
    table.search([3, 4]).fullText('dog').fuse({ candidates: 1000, vectorWeight: 0.3 }),
}

/** All rows that a search finds, the best first. A hybrid search finds those of either search. */
async function whole(search: Search): Promise<readonly Found[]> {
  const columns = ['id', 'city', 'year']
  const limited = await search
    .select(columns)
    .withRowId()
    .limit(count)
    .toArray()
    .catch(() => null)
  if (limited !== null) return limited as unknown as Found[]
  // More rows than a page of the hybrid search may have: in an order they are all there.
  const ordered = search.select(columns.concat('_relevance_score', '_rowid')).orderBy('_rowid')
  const all = (await ordered.limit(count).toArray()) as unknown as (Found & { _relevance_score: number })[]
  return all.sort((a, b) => b._relevance_score - a._relevance_score || a._rowid - b._rowid)
}

const drawn = fc.record({
  name: fc.constantFrom(...Object.keys(searches)),
  table: fc.constantFrom(0, 1),
  where: fc.constantFrom(undefined, 'id % 2 = 0', "city <> 'c1'", 'id < 0'),
  after: fc.boolean(),
  limit: fc.option(fc.nat(7), { nil: undefined }),
  offset: fc.nat(3),
})

test('groups, distinct rows and orders use all rows that a search finds', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, async ({ name, table, where, after, limit, offset }) => {
      let search = searches[name]!(tables[table]!)
      if (where !== undefined) search = search.where(where)
      if (after) search = search.postfilter()
      const found = await whole(search)
      const page = (asked: Search) => (limit === undefined ? asked : asked.limit(limit)).offset(offset)
      const cut = <T>(list: readonly T[], usual: number) => list.slice(offset, offset + (limit ?? usual))

      const counted = await search.limit(1).select({ n: 'count(*)', last: 'max(year)' }).toArray()
      expect(counted).toEqual([
        { n: found.length, last: found.length === 0 ? null : Math.max(...found.map(({ year }) => year)) },
      ])

      const groups = new Map<string, { city: string; n: number; total: number }>()
      // Groups come as they are met, and equal rows stay, in row order.
      const inOrder = [...found].sort((a, b) => a._rowid - b._rowid)
      for (const { city, year } of inOrder) {
        const group = groups.get(city) ?? { city, n: 0, total: 0 }
        groups.set(city, { city, n: group.n + 1, total: group.total + year })
      }
      const byCity = search.groupBy('city').select({ city: 'city', n: 'count(*)', total: 'sum(year)' })
      expect(await page(byCity).toArray()).toEqual(cut([...groups.values()], Infinity))

      const once = search.select(['city']).distinct().orderBy('city')
      const cities = [...new Set(found.map(({ city }) => city))].sort()
      expect(await page(once).toArray()).toEqual(cut(cities, Infinity).map(city => ({ city })))

      const latest = search.select({ id: 'id' }).orderBy({ column: 'year', ascending: false })
      const sorted = inOrder.sort((a, b) => b.year - a.year)
      expect((await page(latest).toArray()).map(({ id }) => id)).toEqual(cut(sorted, 10).map(({ id }) => id))
    }),
    { numRuns: 30 },
  )
})

test('without a text search or a range, the set of matches is undefined: groups and orders are refused', async () => {
  const near = tables[0]!.search([3, 4])
  const refused = { code: 13, hint: expect.stringContaining('distanceRange') }
  for (const search of [
    near.select({ n: 'count(*)' }),
    near.groupBy('city').select({ city: 'city' }),
    near.select(['city']).distinct(),
    near.orderBy('year'),
    near.limit(5).orderBy('year'),
  ]) {
    expect(await failure(search.toArray())).toMatchObject(refused)
    expect(await failure(search.explain())).toMatchObject(refused)
  }
  const vectors = tables[0]!.search([
    [3, 4],
    [1, 2],
  ])
  expect(await failure(vectors.distanceRange(0, 9).select({ n: 'count(*)' }).toArray())).toMatchObject({
    code: 0,
  })
})

describe('an error', () => {
  test.each(['_distance < 3', 'id > 3 AND _DISTANCE < 3', '_score > 1', '_relevance_score > 0'])(
    'of %s names distanceRange and postfilter',
    async filter => {
      const hybrid = tables[0]!.search([3, 4]).fullText('ape').where(filter)
      const told = await failure(hybrid.toArray())
      expect(told).toMatchObject({ code: 13, hint: expect.stringMatching(/distanceRange.*postfilter/) })
      expect(told.at).toBeDefined()
      expect((await hybrid.postfilter().limit(40).toArray()).length).toBeLessThanOrEqual(40)
    },
  )
  test('of a text names postfilter, which filters the scores', async () => {
    const search = tables[0]!.query().fullText('ape').where('_score > 0.5')
    expect(await failure(search.toArray())).toMatchObject({ hint: expect.stringContaining('postfilter') })
    const all = await tables[0]!.query().fullText('ape').limit(count).toArray()
    const above = all.filter(({ _score }) => _score > 0.5).length
    expect(above).toBeGreaterThan(0)
    expect(await search.postfilter().select({ n: 'count(*)' }).toArray()).toEqual([{ n: above }])
  })
  test('of a scan, or for an unknown column, names the existing columns', async () => {
    expect(await failure(tables[0]!.query().where('_distance < 3').toArray())).toMatchObject({ code: 12 })
    const search = tables[0]!.search([3, 4]).where('_distance < 3 AND nowhere = 1')
    expect(await failure(search.toArray())).toMatchObject({ code: 12 })
  })
})

describe('a hybrid search', () => {
  const hybrid = (table: Table) => table.search([3, 4]).fullText('ape bee').select(['id'])
  const ids = async (search: Search | ReturnType<typeof hybrid>) =>
    (await search.toArray()).map(({ id }) => id)
  const fusions: readonly (FuseOptions | FuseRows)[] = [
    {},
    { rrf: { k: 1 } },
    { vectorWeight: 0.6 },
    { candidates: 60 },
    (near, matching) =>
      [...near, ...matching.filter(({ _rowid }) => near.every(row => row._rowid !== _rowid))].map(
        ({ _rowid }, i) => ({ _rowid, _relevance_score: (i * 17) % 31 }),
      ),
  ]

  test.each(fusions)('has pages of one list: %j', async by => {
    for (const table of tables) {
      const search = hybrid(table).fuse(by as object)
      const list = await ids(search.limit(50))
      expect(new Set(list).size).toBe(50)
      for (const size of [5, 7, 50]) {
        for (let offset = 0; offset + size <= 50; offset += size) {
          expect(await ids(search.limit(size).offset(offset))).toEqual(list.slice(offset, offset + size))
        }
      }
    }
  })

  test('that is postfiltered has pages of one list, too', async () => {
    const search = hybrid(tables[1]!).where('id % 2 = 0').postfilter()
    const list = await ids(search.limit(50))
    expect(list).toHaveLength(50)
    expect(await ids(search.limit(10).offset(20))).toEqual(list.slice(20, 30))
  })

  test('refuses a page that ends beyond the candidates, and names the option', async () => {
    const search = hybrid(tables[0]!)
    const refused = {
      code: 13,
      message: expect.stringContaining('candidates'),
      hint: expect.stringContaining('fuse({ candidates: 205 })'),
    }
    expect(await ids(search.limit(10).offset(190))).toHaveLength(10)
    expect(await failure(search.limit(10).offset(195).toArray())).toMatchObject(refused)
    expect(
      await failure(
        search
          .fuse(() => [])
          .limit(10)
          .offset(195)
          .toArray(),
      ),
    ).toMatchObject(refused)
    expect(await failure(search.fuse({ candidates: 4 }).toArray())).toMatchObject({ code: 13 })
    expect(await ids(search.fuse({ candidates: 205 }).limit(10).offset(195))).toHaveLength(10)
    // 4 x limit.
    expect(await ids(search.limit(100).offset(300))).toHaveLength(100)
    expect(await failure(search.limit(100).offset(301).toArray())).toMatchObject({ code: 13 })
    expect(await failure(search.fuse(() => [], { candidates: 3 }).toArray())).toMatchObject({ code: 13 })
  })

  test('is grouped and ordered only with an explicit number of candidates', async () => {
    const search = hybrid(tables[0]!)
    const asked = [search.select({ n: 'count(*)' }), search.select(['city']).distinct(), search.orderBy('id')]
    for (const each of asked) {
      expect(await failure(each.toArray())).toMatchObject({
        code: 13,
        hint: expect.stringContaining('fuse({ candidates'),
      })
    }
    const joined = search.fuse(() => [], { candidates: 100 }).select({ n: 'count(*)' })
    expect(await failure(joined.toArray())).toMatchObject({ code: 13 })
    // Each search gives three rows, which may be the same.
    const [{ n }] = (await asked[0]!.fuse({ candidates: 3 }).toArray()) as unknown as [{ n: number }]
    expect(n).toBeGreaterThanOrEqual(3)
    expect(n).toBeLessThanOrEqual(6)
  })

  test('passes a function as many rows as there are candidates', async () => {
    const told: number[][] = []
    const search = hybrid(tables[0]!).limit(2)
    const fuse = (near: readonly unknown[], matching: readonly unknown[]) => {
      told.push([near.length, matching.length])
      return []
    }
    await search.fuse(fuse).toArray()
    await search.fuse(fuse, { candidates: 12 }).toArray()
    expect(told).toEqual([
      [200, 200],
      [12, 12],
    ])
  })

  test('accepts one way to join rows', async () => {
    const search = hybrid(tables[0]!).fuse({ rrf: {}, vectorWeight: 0.5 })
    expect(await failure(search.toArray())).toMatchObject({ code: 13 })
  })
})

test('plans say what is read and what is limited', async () => {
  const found = tables[1]!.query().fullText('ape').orderBy('year').limit(3)
  const plan = await found.explain()
  expect(plan).toContain('Limit: 3 rows')
  expect(plan).toContain('k = all that match')
  expect(await found.analyze()).toMatch(/Limit: 3 rows, metrics=\[output_rows=3,/)
  expect(await tables[1]!.search([3, 4]).fullText('ape').explain()).toContain(
    'Fuse: reciprocal ranks, k = 60, candidates = 200',
  )
})
