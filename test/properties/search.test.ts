/**
 * Any search over any history of writes finds what a plain loop over the surviving rows finds. Vectors hold small
 * whole numbers, so that distances are exact in float32 and ties are common.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'

const dimension = 8

interface Row {
  readonly id: number
  readonly group: string | null
  readonly vector: readonly number[] | null
}

interface Question {
  readonly vector: readonly number[]
  readonly metric: 'l2' | 'dot'
  readonly k: number
  readonly offset: number
  readonly lower: number | undefined
  readonly upper: number | undefined
  readonly filter: Filter | undefined
  readonly prefilter: boolean
}

interface Filter {
  readonly sql: string
  readonly passes: (row: Row) => boolean
}

const filters: readonly Filter[] = [
  { sql: "`group` = 'a'", passes: row => row.group === 'a' },
  { sql: "NOT `group` = 'a'", passes: row => row.group !== null && row.group !== 'a' },
  { sql: '`group` IS NULL OR id % 3 = 1', passes: row => row.group === null || row.id % 3 === 1 },
  {
    sql: 'id BETWEEN 5 AND 40 AND id NOT IN (7, 8, 9)',
    passes: ({ id }) => id >= 5 && id <= 40 && (id < 7 || id > 9),
  },
  {
    sql: "`group` LIKE '_' AND vector IS NOT NULL",
    passes: row => row.group !== null && row.vector !== null,
  },
]

const vector = fc.array(fc.nat(3), { minLength: dimension, maxLength: dimension })
const row = fc.record({
  group: fc.constantFrom('a', 'b', 'c', null),
  vector: fc.option(vector, { freq: 6, nil: null }),
})
/** A few rows ride in the slot; many go to a data file. */
const write = fc.oneof(
  { weight: 4, arbitrary: fc.array(row, { maxLength: 25 }) },
  {
    weight: 1,
    arbitrary: fc.array(row, { minLength: 5, maxLength: 9 }).map(rows => Array(400).fill(rows).flat()),
  },
)
const step = fc.oneof(
  { weight: 3, arbitrary: write.map(rows => ({ rows })) },
  { weight: 1, arbitrary: fc.integer({ min: 2, max: 9 }).map(divisor => ({ divisor })) },
)
const question: fc.Arbitrary<Question> = fc.record({
  vector,
  metric: fc.constantFrom('l2' as const, 'dot' as const),
  k: fc.oneof(fc.nat(20), fc.constant(100_000)),
  offset: fc.nat(8),
  lower: fc.option(fc.integer({ min: -20, max: 10 }), { nil: undefined }),
  upper: fc.option(fc.integer({ min: -10, max: 40 }), { nil: undefined }),
  filter: fc.option(fc.constantFrom(...filters), { nil: undefined }),
  prefilter: fc.boolean(),
})

function distance(metric: 'l2' | 'dot', a: readonly number[], b: readonly number[]): number {
  const sum = a.reduce((total, x, i) => total + (metric === 'l2' ? (x - b[i]!) ** 2 : x * b[i]!), 0)
  return metric === 'l2' ? sum : 1 - sum
}

function answer(rows: readonly Row[], asked: Question): [id: number, distance: number][] {
  const { lower = -Infinity, upper = Infinity, filter, prefilter } = asked
  const passing = filter === undefined || !prefilter ? rows : rows.filter(filter.passes)
  const found = passing
    .filter(row => row.vector !== null)
    .map(row => ({ row, far: distance(asked.metric, row.vector!, asked.vector) }))
    .filter(({ far }) => far >= lower && far < upper)
    .sort((a, b) => a.far - b.far || a.row.id - b.row.id)
    .slice(asked.offset, asked.offset + asked.k)
  const kept = filter === undefined || prefilter ? found : found.filter(({ row }) => filter.passes(row))
  return kept.map(({ row, far }) => [row.id, far])
}

test('A-046 A-047 A-048 A-053 A-054 a search finds what a plain loop finds, ties by row id', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 6 }),
      fc.array(question, { minLength: 1, maxLength: 6 }),
      async (steps, questions) => {
        const ns = await connect('memory://')
        const first: Row = { id: 0, group: 'a', vector: Array(dimension).fill(1) }
        const table = await ns.createTable('t', [first])
        let rows: Row[] = [first]
        let nextId = 1
        for (const step of steps) {
          if ('rows' in step) {
            const added = step.rows.map(content => ({ id: nextId++, ...content }))
            await table.add(added)
            rows.push(...added)
          } else {
            await table.delete(`id % ${step.divisor} = 1`)
            rows = rows.filter(({ id }) => id % step.divisor !== 1)
          }
        }
        for (const asked of questions) {
          let search = table.search(asked.vector).distanceType(asked.metric).select(['id']).limit(asked.k)
          search = search.offset(asked.offset)
          if (asked.lower !== undefined || asked.upper !== undefined) {
            search = search.distanceRange(asked.lower, asked.upper)
          }
          if (asked.filter !== undefined) search = search.where(asked.filter.sql)
          if (!asked.prefilter) search = search.postfilter()
          const found = (await search.toArray()).map(({ id, _distance }) => [id, _distance])
          expect(found).toEqual(answer(rows, asked))
          if (asked.filter === undefined) continue
          const matching = rows.filter(asked.filter.passes)
          expect(await table.countRows(asked.filter.sql)).toBe(matching.length)
          const scanned = await table
            .query()
            .where(asked.filter.sql)
            .select(['id'])
            .offset(asked.offset)
            .limit(asked.k)
            .toArray()
          expect(scanned.map(({ id }) => id)).toEqual(
            matching.slice(asked.offset, asked.offset + asked.k).map(({ id }) => id),
          )
        }
        await ns.close()
      },
    ),
    { numRuns: 120 },
  )
})
