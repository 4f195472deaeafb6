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
      near.push(...vectorIndexReaders(source, location, fake.taken(this, location, layout)))
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

// ---- properties

const small = fc.integer({ min: -3, max: 3 })
const vector = fc.option(fc.tuple(small, small), { nil: null, freq: 8 })
const row = fc.record({ x: fc.option(fc.nat(9), { nil: null }), v: vector })

type Vector = readonly [number, number] | null
type Step =
  | { readonly add: readonly { readonly x: number | null; readonly v: Vector }[]; readonly times: number }
  | { readonly drop: number }
  | { readonly move: number; readonly to: Vector }
  | { readonly optimize: true }
  | { readonly index: true }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      add: fc.array(row, { minLength: 1, maxLength: 20 }),
      times: fc.constantFrom(1, 1, 2, 100),
    }),
  },
  { weight: 2, arbitrary: fc.record({ drop: fc.integer({ min: 2, max: 7 }) }) },
  { weight: 2, arbitrary: fc.record({ move: fc.integer({ min: 2, max: 7 }), to: vector }) },
  { weight: 1, arbitrary: fc.record({ optimize: fc.constant<true>(true) }) },
  { weight: 2, arbitrary: fc.record({ index: fc.constant<true>(true) }) },
)
/** So that there is always an index, and something for it to find. */
const begin: readonly Step[] = [
  { add: Array.from({ length: 9 }, (_, i) => ({ x: i, v: [i % 4, 1] })), times: 4 },
  { index: true },
]

const wheres = ['x = 3', 'x < 5', 'x >= 0', 'x IS NULL', 'id = 4', 'id > 5 AND x <> 2', 'id < 0']
const query = fc.record({
  vector: fc.tuple(small, small),
  k: fc.constantFrom(1, 3, 10, 100),
  offset: fc.constantFrom(0, 0, 1, 7),
  upper: fc.constantFrom(undefined, undefined, 0, 4, 9),
  where: fc.constantFrom(undefined, undefined, ...wheres),
  post: fc.boolean(),
  refine: fc.constantFrom(undefined, 2),
})

interface Asked {
  readonly vector: readonly number[]
  readonly k: number
  readonly offset: number
  readonly upper: number | undefined
  readonly where: string | undefined
  readonly post: boolean
  readonly refine: number | undefined
}

function searchOf(table: Pick<Table, 'search'>, asked: Asked): Search {
  const { vector, k, offset, upper, where, post, refine } = asked
  let search = (table.search(vector) as Search).limit(k).offset(offset).withRowId()
  if (upper !== undefined) search = search.distanceRange(undefined, upper)
  if (where !== undefined) search = search.where(where)
  if (refine !== undefined) search = search.refineFactor(refine)
  return post ? search.postfilter() : search
}

async function built(table: Table, ns: Namespace, steps: readonly Step[]): Promise<void> {
  let id = 0
  for (const each of [...begin, ...steps]) {
    if ('drop' in each) await table.delete('id % ? = 1', [each.drop])
    else if ('move' in each) await table.update({ v: each.to as number[] | null }, 'id % ? = 0', [each.move])
    else if ('optimize' in each) await ns.optimize()
    else if ('index' in each) await indexed(table)
    else {
      const rows = Array.from({ length: each.times }, () => each.add).flat()
      await table.add(rows.map(row => ({ id: id++, ...row })))
    }
    await table.search().limit(1).toArray()
  }
}

const steps = fc.array(step, { maxLength: 8 })
const queries = fc.array(query, { minLength: 3, maxLength: 6 })

test('A-051 A-054 whatever became of the table, an index that finds the nearest changes no answer', async () => {
  const metrics = fc.constantFrom('l2', 'dot', 'cosine')
  await fc.assert(
    fc.asyncProperty(steps, queries, metrics, fc.nat(), async (steps, queries, metric, which) => {
      fake = new FakeVectorIndexes()
      fake.metric = metric
      await withTable(async (table, ns) => {
        await built(table, ns, steps)
        const versions = (await table.versions()).map(({ version }) => version)
        for (const [i, asked] of queries.entries()) {
          const at = i < 2 ? table : await table.checkout(versions[(i * which) % versions.length]!)
          const search = searchOf(at, asked)
          expect(await search.toArray()).toEqual(await search.bypassVectorIndex().toArray())
        }
      })
    }),
    { numRuns: 30 },
  )
})

const badly: readonly Proposing[] = [
  () => new Uint32Array(0),
  nearest => nearest.slice(0, 1),
  nearest => nearest.slice().reverse(),
  (nearest, _, count) => nearest.slice(-count),
  nearest => nearest.filter((_, i) => i % 2 === 1),
]

test('A-054 an index that proposes far rows, or few, costs nearness: no rows, and no distance is wrong', async () => {
  await fc.assert(
    fc.asyncProperty(steps, queries, fc.constantFrom(...badly), async (steps, queries, propose) => {
      fake = new FakeVectorIndexes()
      fake.propose = propose
      await withTable(async (table, ns) => {
        await built(table, ns, steps)
        for (const asked of queries) {
          const unbounded = { ...asked, upper: undefined, post: false }
          const rows = await searchOf(table, unbounded).toArray()
          const all = { ...unbounded, k: 10_000, offset: 0 }
          const every = await searchOf(table, all).bypassVectorIndex().toArray()
          const { k, offset } = asked
          expect(rows.length).toBe(Math.max(0, Math.min(k, every.length - offset)))
          const known = new Map(every.map(row => [row._rowid, row]))
          for (const row of rows) expect(row).toEqual(known.get(row._rowid))
          const distances = rows.map(row => row._distance as number)
          expect(distances).toEqual(distances.toSorted((a, b) => a - b))
        }
      })
    }),
    { numRuns: 15 },
  )
})
