/** Rows that vector indexes propose are the rows that measuring every row finds, as far as they propose the right ones. */
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { connect, type Namespace, type Schema, type Search, type Table } from '../../src/index.js'
import type { Recalls } from '../../src/indexes/vector/segment.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import type { TableReader } from '../../src/table/table-reader.js'
import { FakeVectorIndexes, type Proposing } from '../support/fake-vector-index.js'

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
  await table.query().limit(1).toArray()
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
    await table.query().limit(1).toArray()
  }
}

const steps = fc.array(step, { maxLength: 8 })
const queries = fc.array(query, { minLength: 8, maxLength: 16 })

test('A-051 A-054 after any changes of the table, an index that finds the nearest rows changes no answer', async () => {
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
    { numRuns: 7 },
  )
})

const badly: readonly Proposing[] = [
  () => new Uint32Array(0),
  nearest => nearest.slice(0, 1),
  nearest => nearest.slice().reverse(),
  (nearest, _, count) => nearest.slice(-count),
  nearest => nearest.filter((_, i) => i % 2 === 1),
]

test('A-054 an index that returns far rows, or few, loses recall, but no row count and no distance is wrong', async () => {
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
    { numRuns: 4 },
  )
})

// ---- what is asked, read and said

const ids = (rows: readonly object[]) => rows.map(row => (row as { id: number }).id)

/** A table of rows on a line with an index over all of them, and how it is searched from its beginning. */
function withLine(
  count: number,
  work: (table: Table, near: Search, ns: Namespace) => Promise<void>,
): Promise<void> {
  return withTable(async (table, ns) => {
    await table.add(line(count))
    await indexed(table)
    fake.probes.length = 0
    await work(table, (table.search([0, 0]) as Search).limit(3), ns)
  })
}

describe('an index is not used', () => {
  test.each([
    ['distance_type is another', (near: Search) => near.distanceType('cosine'), 'its metric is l2'],
    [
      'it is bypassed',
      (near: Search) => near.bypassVectorIndex(),
      'bypassVectorIndex (bypass_vector_index) is given',
    ],
    ['rows must not be too near', (near: Search) => near.distanceRange(4), 'a lower bound of the distance'],
  ])('where %s, and explain says why', async (_, change, reason) => {
    await withLine(20, async (_, near) => {
      await change(near).toArray()
      expect(fake.probes).toEqual([])
      const plan = await change(near).explain()
      expect(plan).toContain('KNNVectorDistance: exact, "v"')
      expect(plan).toContain(`not used: v_idx: `)
      expect(plan).toContain(reason)
    })
  })

  test('nor opened if few rows pass a filter', async () => {
    held.always = false
    await withLine(5000, async (_, near) => {
      expect(ids(await near.where('x = 3').toArray())).toEqual([3, 13, 23])
      expect(fake.opened).toBe(0)
    })
  })

  test('for rows that differ from another version', async () => {
    await withLine(20, async (table, _near, ns) => {
      await table.add([{ id: 99, x: 1, v: [7, 7] }])
      const versions = (await table.versions()).map(({ version }) => version)
      const request = { id: ['t'], vector: { single_vector: [0, 0] }, k: 5, differs_from: versions.at(-2)! }
      const { batches } = (await ns.operations.queryTable(request)) as unknown as {
        batches: { length: number }[]
      }
      expect(batches.reduce((sum, { length }) => sum + length, 0)).toBe(1)
      expect(fake.probes).toEqual([])
    })
  })
})

test('a distance range returns all of its rows, also those that an index misses', async () => {
  await withLine(20, async (_, near) => {
    fake.propose = (nearest, _distances, count) => nearest.filter((_row, rank) => rank !== 1).slice(0, count)
    const ranged = near.distanceRange(undefined, 9).limit(10)
    expect(ids(await ranged.toArray())).toEqual([0, 1, 2])
    expect(ids(await ranged.limit(2).toArray())).toEqual([0, 2])
    // Who limits the partitions gets what those hold.
    expect(ids(await ranged.nprobes({ max: 1 }).toArray())).toEqual([0, 2])
  })
})

test('a search that does not settle measures all rows, and analyze reports how a search ended', async () => {
  await withLine(20, async (_, near) => {
    fake.propose = (nearest, _distances, count) => nearest.slice(5, 5 + count)
    const endings = [
      ['saturated', 'saturated', [5, 6, 7]],
      ['limited', 'limited by the caller', [5, 6, 7]],
      ['unsettled', 'exact', [0, 1, 2]],
    ] as const
    for (const [ended, told, rows] of endings) {
      fake.ended = ended
      expect(ids(await near.toArray())).toEqual(rows)
      expect(await near.analyze()).toContain(`search=${told}]`)
    }
  })
})

describe('a segment with low recall', () => {
  const poor = { rows: 0.99, between: 0.83, excluded: 0.5 }
  const found = (recalls: Recalls, work: (near: Search) => Promise<void>) => {
    fake.recalls = recalls
    fake.propose = (nearest, _distances, count) => nearest.slice(5, 5 + count)
    return withLine(20, (_, near) => work(near))
  }

  test('is not used: all rows are measured, and the plan says why', async () => {
    await found(poor, async near => {
      expect(ids(await near.toArray())).toEqual([0, 1, 2])
      expect(fake.probes).toEqual([])
      const plan = await near.analyze()
      expect(plan).toContain('search=exact]')
      expect(plan).toContain('all rows measured, because the index finds only 0.83 of the ten nearest rows (')
      expect(await near.where('id > 0').explain()).toContain('only 0.50 of the ten nearest')
    })
  })

  test('is used by a caller that sets search parameters', async () => {
    await found(poor, async near => {
      const told = [near.ef(9), near.nprobes(2), near.nprobes({ max: 3 }), near.refineFactor(1)]
      for (const each of told) {
        expect(ids(await each.toArray())).toEqual([5, 6, 7])
        expect(await each.explain()).not.toContain('of the ten nearest')
      }
    })
  })

  test('under filters alone is used without a filter', async () => {
    await found({ ...poor, between: null }, async near => {
      expect(ids(await near.toArray())).toEqual([5, 6, 7])
      expect(ids(await near.where('id > 0').toArray())).toEqual([1, 2, 3])
    })
  })

  test('is not used if too many queries have low recall, though the average is high', async () => {
    fake.poor = { all: 0.02, filtered: 0.07 }
    await found({ rows: 0.99, between: 0.98, excluded: 0.97 }, async near => {
      expect(ids(await near.toArray())).toEqual([5, 6, 7])
      expect(ids(await near.where('id > 0').toArray())).toEqual([1, 2, 3])
      expect(await near.where('id > 0').explain()).toContain('and for 7 % of queries less than 0.8 of them (')
      expect(await near.explain()).not.toContain('% of queries')
    })
  })

  test('never counts as cheaper', async () => {
    held.always = false
    await found(poor, async near => {
      expect(ids(await near.toArray())).toEqual([0, 1, 2])
    })
  })
})

test('a query far from all rows measures all rows, unless the caller sets search parameters', async () => {
  fake.radius = 9
  fake.propose = (nearest, _distances, count) => nearest.slice(1, 1 + Math.max(10, count))
  await withLine(20, async table => {
    const from = (x: number) => (table.search([x, 0]) as Search).limit(3)
    expect(ids(await from(27).toArray())).toEqual([18, 17, 16])
    expect(ids(await from(28).toArray())).toEqual([19, 18, 17])
    expect(await from(28).analyze()).toContain('search=exact]')
    expect(ids(await from(28).ef(9).toArray())).toEqual([18, 17, 16])
    expect(ids(await from(-9).where('id < 5').toArray())).toEqual([1, 2, 3])
    expect(ids(await from(-15).where('id < 5').toArray())).toEqual([0, 1, 2])
  })
})

test('A-044 without a distance type the type of the index counts, whether it is used or not', async () => {
  fake.metric = 'dot'
  await withLine(20, async (table, near) => {
    const far = (table.search([1, 0]) as Search).limit(2)
    expect((await far.toArray()).map(row => [row.id, row._distance])).toEqual([
      [19, -18],
      [18, -17],
    ])
    expect(fake.probes).toHaveLength(1)
    expect(await far.bypassVectorIndex().toArray()).toEqual(await far.toArray())
    expect(ids(await near.distanceType('l2').toArray())).toEqual([0, 1, 2])
  })
})

test('A-049 search parameters take effect, and the constant parameters of one client do not', async () => {
  await withLine(20, async (_, near, ns) => {
    await near.nprobes(4).ef(1).refineFactor(2).toArray()
    await near.nprobes({ min: 2, max: 9 }).toArray()
    await near.nprobes({ max: 0 }).nprobes(0).ef(50).toArray()
    const always = { nprobes: 20, minimum_nprobes: 20, maximum_nprobes: 20 }
    const request = { id: ['t'], vector: { single_vector: [0, 0] }, k: 3 }
    await ns.operations.queryTable({ ...request, ...always })
    await ns.operations.queryTable({ ...request, nprobes: 4, maximum_nprobes: 9 })
    expect(fake.probes.map(({ count, effort }) => [count, effort])).toEqual([
      [6, { ef: 3, leastPartitions: 4 }],
      [3, { leastPartitions: 2, mostPartitions: 9 }],
      [3, { ef: 50 }],
      [3, {}],
      [3, { mostPartitions: 9 }],
    ])
    await expect(near.nprobes({ min: 3, max: 2 }).toArray()).rejects.toMatchObject({ code: 13 })
  })
})

test('only a caller that limits the partitions may get fewer rows', async () => {
  fake.propose = nearest => nearest.slice(0, 1)
  await withLine(20, async (_, near) => {
    expect(ids(await near.nprobes(1).toArray())).toEqual([0, 1, 2])
    expect(ids(await near.nprobes({ max: 1 }).toArray())).toEqual([0])
    expect(ids(await near.nprobes({ max: 1 }).where('x > 4').toArray())).toEqual([5])
  })
})

test('A-046 equal distances rank by row id, for any order of rows', async () => {
  await withTable(async (table, ns) => {
    await table.add(Array.from({ length: 20 }, (_, id) => ({ id, x: 0, v: [1, 1] })))
    await table.update({ x: 1 }, 'id IN (0, 3)')
    await ns.optimize()
    await indexed(table)
    expect(ids(await (table.search([1, 1]) as Search).limit(5).toArray())).toEqual([0, 1, 2, 3, 4])
  })
})

test('A-052 unindexed rows are found unless the search is restricted to indexed rows', async () => {
  await withLine(20, async (table, near) => {
    await table.delete('id < 2')
    await table.add([
      { id: 50, x: 1, v: [0, 0] },
      { id: 51, x: 7, v: [2, 1] },
    ])
    expect(ids(await near.toArray())).toEqual([50, 2, 51])
    expect(ids(await near.fastSearch().toArray())).toEqual([2, 3, 4])
    expect(ids(await near.where('x IN (1, 7)').toArray())).toEqual([50, 51, 7])
    expect(ids(await near.where('x IN (1, 7)').fastSearch().toArray())).toEqual([7, 11, 17])
    held.always = false
    expect(ids(await near.where('x IN (1, 7)').fastSearch().toArray())).toEqual([7, 11, 17])
    expect(ids(await near.fastSearch().bypassVectorIndex().toArray())).toEqual([50, 2, 51])
    expect(await near.explain()).toMatch(
      /ANNSubIndex: name=v_idx, k=3, deltas=1, metric=L2, "v", candidates measured, 2 unindexed rows measured$/,
    )
    expect(await near.fastSearch().explain()).toMatch(/2 unindexed rows skipped$/)
  })
})

test('A-052 if no index can be used, a fast search finds the indexed rows, and none without an index', async () => {
  await withTable(async table => {
    await table.add(line(5))
    const fast = (table.search([0, 0]) as Search).limit(3).fastSearch()
    expect(ids(await fast.toArray())).toEqual([])
    expect(ids(await fast.where('x > 1').toArray())).toEqual([])
    expect(ids(await fast.bypassVectorIndex().toArray())).toEqual([0, 1, 2])
    expect(await fast.explain()).toContain('k = 3, all rows skipped: the column has no index')
    await indexed(table)
    await table.add([{ id: 50, x: 1, v: [0, 0] }])
    const cosine = (table.search([1, 0]) as Search).limit(9).fastSearch().distanceType('cosine')
    expect(ids(await cosine.where('id > 2').toArray())).toEqual([3, 4])
    expect(await cosine.explain()).toContain(', unindexed rows skipped')
    expect(ids(await fast.distanceRange(4).toArray())).toEqual([2, 3, 4])
  })
})

test('a segment with only live rows is searched without a row filter; others get one', async () => {
  await withLine(20, async (table, near) => {
    await near.toArray()
    expect(fake.probes.at(-1)!.allowed).toBe(null)
    await table.delete('id IN (0, 7)')
    expect(ids(await near.toArray())).toEqual([1, 2, 3])
    const living = fake.probes.at(-1)!.allowed!
    expect([...living.toIndices()]).toEqual([
      1,
      2,
      3,
      4,
      5,
      6,
      ...Array.from({ length: 12 }, (_, i) => 8 + i),
    ])
    await near.toArray()
    expect(fake.probes.at(-1)!.allowed).toBe(living)
  })
})

test('concurrent queries share one load of a segment', async () => {
  await withLine(20, async (_, near) => {
    await Promise.all([near.toArray(), near.toArray(), near.where('x > 2').toArray()])
    expect(fake.opened).toBe(1)
  })
})

test('A-042 several vectors are a batch: the rows of each, after its number', async () => {
  const batch = (more: object = {}) => ({
    id: ['t'],
    vector: {
      multi_vector: [
        [9, 0],
        [0, 0],
        [9, 0],
      ],
    },
    k: 2,
    columns: { column_names: ['id'] },
    ...more,
  })
  await withLine(20, async (table, _, ns) => {
    const rows = async (more: object) => {
      const { schema, batches } = (await ns.operations.queryTable(batch(more))) as unknown as {
        schema: Schema
        batches: readonly { columns: readonly { values: ArrayLike<number> }[] }[]
      }
      expect(schema.fields.map(({ name }) => name)).toEqual(['query_index', 'id', '_distance'])
      return batches.flatMap(({ columns: [number, id] }) =>
        Array.from(number!.values, (each, row) => [each, id!.values[row]]),
      )
    }
    expect(await rows({})).toEqual([
      [0, 9],
      [0, 8],
      [1, 0],
      [1, 1],
      [2, 9],
      [2, 8],
    ])
    expect(await rows({ filter: 'id > 8', bypass_vector_index: true })).toEqual(
      await rows({ filter: 'id > 8' }),
    )
    const refused = (more: object, code: number) =>
      expect(ns.operations.queryTable(batch(more))).rejects.toMatchObject({ code })
    await refused({ order_by: [{ column_name: 'id' }] }, 0)
    await refused({ distinct: true }, 0)
    await refused({ columns: { column_aliases: { query_index: 'id' } } }, 13)
    await refused({ vector: { multi_vector: [[1, 2], [1]] } }, 13)
    expect(await table.countRows()).toBe(20)
  })
})

test('an analyzed search reports partitions, estimated and measured rows, and their bytes', async () => {
  await withLine(20, async (table, near) => {
    await table.add(line(4, 30))
    const [text] = (await near.analyze()).match(/ANNSubIndex: .*/)!
    expect(text).toMatch(
      /metrics=\[output_rows=3, .*, bytes=216, partitions=2, guessed=20, candidates=3, exact=4, search=saturated\]$/,
    )
  })
})

test('refineFactor measures exactly that many candidates per requested row', async () => {
  await withLine(200, async (_, near) => {
    fake.blur = { factor: 3, more: 5 }
    const candidates = async (search: Search) =>
      /candidates=(\d+), .*search=(.*)\]/.exec(await search.analyze())?.slice(1)
    expect(await candidates(near.limit(2))).toEqual(['48', 'saturated'])
    expect(await candidates(near.limit(2).refineFactor(1))).toEqual(['2', 'limited by the caller'])
    expect(await candidates(near.limit(2).refineFactor(3))).toEqual(['6', 'limited by the caller'])
  })
})
