/** Orders and extremes by a sorted index: the rows are those of a scan, and few are looked at. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Namespace, type Table } from '../../src/index.js'

async function opened(rows: readonly object[]): Promise<{ readonly ns: Namespace; readonly table: Table }> {
  const ns = await connect('memory://', { maintenance: { compact: false } })
  const table = await ns.createTable('t', rows as never)
  return { ns, table }
}

const value = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -20, max: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom(null, Number.NaN, -0, 0.5, Number.POSITIVE_INFINITY) },
)

test('for any order, limit and filter, rows are the same with an index', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(value, { minLength: 1, maxLength: 40 }),
      fc.record({
        ascending: fc.boolean(),
        nullsFirst: fc.boolean(),
        limit: fc.integer({ min: 1, max: 5 }),
        offset: fc.nat(3),
        filter: fc.constantFrom(undefined, 'n % 3 = 0', 'n % 400 = 7', 'x > 3', 'n < 0'),
      }),
      fc.array(fc.nat(1999), { maxLength: 3 }),
      async (values, { ascending, nullsFirst, limit, offset, filter }, dead) => {
        const rows = Array.from({ length: 2000 }, (_, n) => ({
          n,
          x: values[(n * 7) % values.length] ?? null,
        }))
        const schema = [{ n: 0, x: 0.5 }]
        const { ns, table } = await opened(schema)
        await table.add(rows, { mode: 'overwrite' })
        for (const n of dead) await table.delete('n >= ? AND n < ?', [n, n + 100])
        const ask = async () => {
          const search = table
            .query()
            .orderBy({ column: 'x', ascending, nullsFirst })
            .limit(limit)
            .offset(offset)
          const found = await (filter === undefined ? search : search.where(filter)).toArray()
          const of = table.query().select({ least: 'min(x)', greatest: 'max(x)' })
          const extremes = await (filter === undefined ? of : of.where(filter)).toArray()
          const some = table.query().select({ least: 'min(x) FILTER (WHERE n % 400 = 7)' })
          const filtered = await (filter === undefined ? some : some.where(filter)).toArray()
          return { found, extremes, filtered }
        }
        const scanned = await ask()
        await table.createIndex('x')
        await table.waitForIndex('x_idx')
        expect(await ask()).toEqual(scanned)
        await table.add([
          { n: 5000, x: -50 },
          { n: 5001, x: 50 },
        ])
        const withOthers = await ask()
        await table.dropIndex('x_idx')
        expect(withOthers).toEqual(await ask())
        await ns.close()
      },
    ),
    { numRuns: 25 },
  )
})

test('few rows are read, and the plan says so', async () => {
  const { ns, table } = await opened(
    Array.from({ length: 50_000 }, (_, n) => ({ n, x: (n * 7919) % 50_000 })),
  )
  await table.createIndex('x')
  await table.waitForIndex('x_idx')
  const search = table.query().orderBy('x').limit(3)
  expect(await search.toArray()).toMatchObject([{ x: 0 }, { x: 1 }, { x: 2 }])
  expect(await search.explain()).toContain('ScalarIndexQuery: query=[x <= 64.0]@x_idx(BTREE)')
  expect(await search.analyze()).toContain('output_rows=65')
  expect(await table.query().select({ least: 'min(x)', greatest: 'max(x)' }).toArray()).toEqual([
    { least: 0, greatest: 49_999 },
  ])
  await ns.close()
})
