/** An aggregate with FILTER beside the same aggregate of a query with the same condition in `where`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Namespace, type Table } from '../../src/index.js'

let ns: Namespace
let table: Table

beforeAll(async () => {
  ns = await connect('memory://', { maintenance: { compact: false } })
  const rows = Array.from({ length: 3000 }, (_, n) => ({
    n,
    city: n % 11 === 0 ? null : `c${n % 7}`,
    x: n % 5 === 0 ? null : ((n * 37) % 101) / 4,
    tag: `t${(n * 13) % 6}`,
  }))
  table = await ns.createTable('t', rows.slice(0, 1000))
  await table.add(rows.slice(1000))
  await table.delete('n % 17 = 3')
})
afterAll(() => ns.close())

const conditions = [
  'x > 10',
  'n < 900',
  'n < 0',
  'x IS NULL',
  "tag = 't1' AND x < 20",
  'NULL',
  'x > 3 OR NULL',
]
const aggregates = [
  'count(*)',
  'count(x)',
  'count(DISTINCT tag)',
  'sum(x)',
  'avg(n)',
  'min(x)',
  'max(tag)',
  'median(x)',
  'percentile(n, 0.3)',
  'stddev(x)',
  'mode(tag)',
  "string_agg(DISTINCT tag, '-')",
  'array_agg(x)',
  'first(x)',
  'last(n)',
]

test.each(conditions)('rows without %s do not count', async condition => {
  const columns = (filter: string) =>
    Object.fromEntries(aggregates.map((text, i) => [`a${i}`, `${text}${filter}`]))
  const read = async (where: string | null, filter: string) => {
    const search = table
      .query()
      .select({ city: 'city', ...columns(filter) })
      .groupBy('city')
    const rows = await (where === null ? search : search.where(where)).toArray()
    return new Map(rows.map(row => [row.city, row]))
  }
  const filtered = await read(null, ` FILTER (WHERE ${condition})`)
  const expected = await read(condition, '')
  for (const [city, row] of filtered) {
    const own = expected.get(city)
    if (own !== undefined) expect(row).toEqual(own)
    else {
      const empty = aggregates.map((text, i) => [`a${i}`, text.startsWith('count') ? 0 : null])
      expect(row).toEqual({ city, ...Object.fromEntries(empty) })
    }
  }
  expect(filtered.size).toBe(8)
})

test('an argument is evaluated only for rows that pass the filter', async () => {
  const total = table.query().select({ n: 'sum(100 / (n % 10)) FILTER (WHERE n % 10 <> 0)' })
  const where = table.query().where('n % 10 <> 0').select({ n: 'sum(100 / (n % 10))' })
  expect(await total.toArray()).toEqual(await where.toArray())
})

type Group = Readonly<Record<'city' | 'n' | 'least', unknown>>

const having: readonly (readonly [condition: string, passes: (group: Group) => boolean])[] = [
  ['n > 380', ({ n }) => Number(n) > 380],
  ['count(*) <= 380', ({ n }) => Number(n) <= 380],
  ["city = 'c3' OR n = 1", ({ city }) => city === 'c3'],
  ['city IS NULL', ({ city }) => city === null],
  ['least + 0 < 0.5 AND city IS NOT NULL', ({ least, city }) => Number(least) < 0.5 && city !== null],
  ['sum(n) FILTER (WHERE n < 0) IS NOT NULL', () => false],
]

test.each(having)('having %s keeps the groups that pass', async (condition, passes) => {
  const groups = table
    .query()
    .select({ city: 'city', n: 'count(*)', least: 'min(x)' })
    .groupBy('city')
    .orderBy('city')
  const all = (await groups.toArray()) as unknown as readonly Group[]
  expect(await groups.having(condition).toArray()).toEqual(all.filter(passes))
})
