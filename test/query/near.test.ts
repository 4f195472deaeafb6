/** Rows that vector indexes propose are the rows that measuring every row finds, as far as they propose the right ones. */
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { connect, type Namespace, type Schema, type Search, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import type { TableReader } from '../../src/table/table-reader.js'
import { FakeVectorIndexes, type Proposing, perfectly } from '../support/fake-vector-index.js'

const held = vi.hoisted(() => ({
  fake: null as unknown,
  /** Whether indexes are asked for filtered rows whatever it costs: tables are small here. */
  always: true,
}))

vi.mock('../../src/indexes/vector/open.js', () => ({
  openSegment: ({ name }: { name: string }, rows: number, dim: number) => fake.open(name, rows, dim),
}))
vi.mock('../../src/table/section-file.js', () => ({
  openSectionFile: async (_: unknown, name: string) => ({ name }),
}))
vi.mock('../../src/query/near-costs.js', async original => {
  const module = await original<typeof import('../../src/query/near-costs.js')>()
  const isLittle: typeof module.isLittle = (...what) => !held.always && module.isLittle(...what)
  const asking: typeof module.asking = (...what) => (held.always ? 0 : module.asking(...what))
  return { ...module, isLittle, asking }
})
vi.mock('../../src/table/table-reader.js', async original => {
  const module = await original<typeof import('../../src/table/table-reader.js')>()
  const { vectorIndexReaders } = await import('../../src/table/vector-index.js')
  class IndexedReader extends module.TableReader {
    constructor(...[source, location, layout, indexes = []]: ConstructorParameters<typeof TableReader>) {
      const near: unknown[] = []
      const scalar = indexes.filter(({ name }) => !name.startsWith('v_'))
      super(source, location, layout, scalar, near as never)
      near.push(...vectorIndexReaders(source, location, layout, fake.indexesOf(this, location, layout)))
    }
  }
  return { ...module, TableReader: IndexedReader }
})

let fake = new FakeVectorIndexes()

afterEach(() => {
  fake = new FakeVectorIndexes()
  held.always = true
})

const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
    { name: 'x', type: { kind: 'int', bits: 32, signed: true }, nullable: true },
    {
      name: 'v',
      type: {
        kind: 'fixed_size_list',
        size: 2,
        child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
      },
      nullable: true,
    },
  ],
}

/** What is measured where an index proposes, and where it does not. */
async function bothWays(search: Search, options: { readonly exact?: Search } = {}) {
  const { exact = search.bypassVectorIndex() } = options
  return { near: await search.withRowId().toArray(), exact: await exact.withRowId().toArray() }
}

async function withTable(work: (table: Table, ns: Namespace) => Promise<void>): Promise<void> {
  const ns = await connect('memory://', { store: new MemoryStore('memory://') })
  try {
    await work(await ns.createTable('t', [], { schema }), ns)
  } finally {
    await ns.close()
  }
}

async function indexed(table: Table): Promise<void> {
  await table.createIndex('id', { name: 'v_idx' })
  await table.waitForIndex(['v_idx'])
  // Whoever opens a segment later needs somebody who saw it when all of its rows were there.
  await table.search().limit(1).toArray()
}

/** Rows on a line, row `i` at (i, 0). */
function line(count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ({ id: from + i, x: (from + i) % 10, v: [from + i, 0] }))
}

// ---- the property

const small = fc.integer({ min: -3, max: 3 })
const vector = fc.option(fc.tuple(small, small), { nil: null, freq: 8 })
const row = fc.record({ x: fc.option(fc.nat(9), { nil: null }), v: vector })
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      add: fc.array(row, { minLength: 1, maxLength: 20 }),
      times: fc.constantFrom(1, 1, 2, 300),
    }),
  },
  { weight: 2, arbitrary: fc.record({ drop: fc.integer({ min: 2, max: 7 }) }) },
  { weight: 2, arbitrary: fc.record({ move: fc.integer({ min: 2, max: 7 }), to: vector }) },
  { weight: 1, arbitrary: fc.record({ optimize: fc.constant(true) }) },
  { weight: 2, arbitrary: fc.record({ index: fc.constant(true) }) },
)
const query = fc.record({
  vector: fc.tuple(small, small),
  k: fc.constantFrom(1, 3, 10, 100),
  offset: fc.constantFrom(0, 0, 1, 7),
  upper: fc.constantFrom(undefined, undefined, 0, 4, 9),
  where: fc.constantFrom(
    undefined,
    undefined,
    'x = 3',
    'x < 5',
    'x >= 0',
    'x IS NULL',
    'id = 4',
    'id > 5 AND x <> 2',
  ),
  post: fc.boolean(),
  refine: fc.constantFrom(undefined, 2),
})
type Query = typeof query extends fc.Arbitrary<infer Q> ? Q : never

function searchOf(
  table: Pick<Table, 'search'>,
  { vector, k, offset, upper, where, post, refine }: Query,
): Search {
  let search = (table.search(vector) as Search).limit(k).offset(offset)
  if (upper !== undefined) search = search.distanceRange(undefined, upper)
  if (where !== undefined) search = search.where(where)
  if (refine !== undefined) search = search.refineFactor(refine)
  return post ? search.postfilter() : search
}

async function carryOut(
  table: Table,
  ns: Namespace,
  each: typeof step extends fc.Arbitrary<infer S> ? S : never,
  next: () => number,
) {
  if ('drop' in each) await table.delete('id % ? = 1', [each.drop])
  else if ('move' in each) {
    await table.update({ v: each.to }, 'id % ? = 0', [each.move])
  } else if ('optimize' in each) await ns.optimize()
  else if ('index' in each) await indexed(table)
  else {
    const rows = Array.from({ length: each.times }, () => each.add).flat()
    await table.add(rows.map(row => ({ id: next(), ...row })))
  }
  await table.search().limit(1).toArray()
}

test('A-051 A-054 whatever became of the table, with an index that finds the nearest the rows are those without', async () => {
  const metrics = fc.constantFrom('l2', 'dot', 'cosine')
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 9 }),
      fc.array(query, { minLength: 3, maxLength: 6 }),
      metrics,
      async (steps, queries, metric) => {
        fake = new FakeVectorIndexes()
        fake.metric = metric
        await withTable(async (table, ns) => {
          let id = 0
          for (const each of [{ add: [{ x: 3, v: [1, 2] as [number, number] }], times: 5 }, ...steps]) {
            await carryOut(table, ns, each, () => id++)
          }
          const versions = (await table.versions()).map(({ version }) => version)
          for (const [i, each] of queries.entries()) {
            const at = i < 2 ? table : await table.checkout(versions[(i * 7) % versions.length]!)
            const { near, exact } = await bothWays(searchOf(at, each))
            expect(near).toEqual(exact)
          }
        })
      },
    ),
    { numRuns: 25 },
  )
})

const badly: readonly Proposing[] = [
  () => new Uint32Array(0),
  nearest => nearest.slice(0, 1),
  nearest => nearest.slice().reverse(),
  (nearest, _, count) => nearest.slice(-count),
  nearest => nearest.filter((_, i) => i % 2 === 1),
]

test('A-054 an index that proposes far rows, or few, costs nearness: never rows, never their distances', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 7 }),
      fc.array(query, { minLength: 3, maxLength: 6 }),
      fc.constantFrom(...badly),
      async (steps, queries, propose) => {
        fake = new FakeVectorIndexes()
        fake.propose = propose
        await withTable(async (table, ns) => {
          let id = 0
          for (const each of [{ add: [{ x: 3, v: [1, 2] as [number, number] }], times: 5 }, ...steps]) {
            await carryOut(table, ns, each, () => id++)
          }
          for (const each of queries) {
            const { upper: _, ...unbounded } = each
            const search = searchOf(table, { ...unbounded, upper: undefined, post: false })
            const { near, exact } = await bothWays(search)
            expect(near.length).toBe(exact.length)
            const all = await bothWays(
              searchOf(table, { ...unbounded, upper: undefined, post: false, k: 10_000, offset: 0 }),
            )
            const distances = new Map(all.exact.map(row => [row._rowid, row._distance]))
            for (const row of near) expect(row._distance).toBe(distances.get(row._rowid))
            expect(near.map(row => row._distance)).toEqual(
              near.map(row => row._distance as number).sort((a, b) => a - b),
            )
          }
        })
      },
    ),
    { numRuns: 15 },
  )
})
