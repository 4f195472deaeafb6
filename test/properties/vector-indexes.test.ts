/** Whatever becomes of a table and of its vector index: no row and no distance is wrong, none is missing, and hardly any nearer one is missed. */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { connect, type Namespace, type Schema, type Search, type Table } from '../../src/index.js'
import { type VectorKind, vectorKinds } from '../../src/indexes/vector/kind.js'
import { distancesPlain } from '../../src/kernels/exact-plain.js'
import type { Metric } from '../../src/kernels/metric.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { temporaryRoots } from '../support/roots.js'
import { liveVersions } from '../support/row-steps.js'

// Of tables as small as these measuring the rows that pass would always be cheaper.
vi.mock('../../src/query/near-costs.js', async original => ({
  ...(await original<object>()),
  isLittle: () => false,
  asking: () => 0,
}))

const freshRoot = temporaryRoots()
const metrics = ['l2', 'cosine', 'dot'] as const

/** How vectors lie: around a few points, on a grid that has few points, anywhere; or most rows have none. */
const styles = ['clusters', 'grid', 'anywhere', 'sparse'] as const
const some = fc.record({
  count: fc.oneof(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 500, max: 800 })),
  style: fc.constantFrom(...styles),
  seed: fc.nat(),
})
type Some = typeof some extends fc.Arbitrary<infer S> ? S : never

const group = fc.nat(9)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: some }) },
  { weight: 2, arbitrary: fc.record({ move: group, seed: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ regroup: group, to: group }) },
  { weight: 2, arbitrary: fc.record({ delete: group }) },
  { weight: 4, arbitrary: fc.record({ index: fc.boolean(), metric: fc.constantFrom(...metrics) }) },
  { weight: 3, arbitrary: fc.record({ optimize: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ drop: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ rename: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ restart: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ restore: fc.nat() }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** The part of the nearest rows that searches found. */
class Tally {
  #found = 0
  #wanted = 0

  /** Both ascending: what was found, and what there is. */
  add(found: readonly number[], true_: readonly number[]): void {
    const farthest = true_.at(-1) ?? 0
    // Distances inside of an index are those of other vectors: a hair more is not farther.
    const bound = farthest + 1e-5 * (1 + Math.abs(farthest))
    this.#wanted += true_.length
    this.#found += found.filter(distance => distance <= bound).length
  }

  get recall(): number {
    return this.#found / Math.max(1, this.#wanted)
  }
}

const usual = new Tally()
const thorough = new Tally()

const life = fc.record({
  kind: fc.constantFrom(...vectorKinds),
  dim: fc.integer({ min: 2, max: 12 }),
  isOnDisk: fc.constantFrom(false, false, false, true),
  first: some,
  steps: fc.array(step, { minLength: 3, maxLength: 8 }),
})

test('vector indexes find the rows of a scan under any changes, compactions, restores, created and dropped indexes, at every version', async () => {
  await fc.assert(
    fc.asyncProperty(life, async ({ kind, dim, isOnDisk, first, steps }) => {
      const life = new Life(kind, dim, isOnDisk ? freshRoot() : null)
      await life.begin(first)
      await life.createIndex('l2', true)
      for (const [n, each] of steps.entries()) {
        await life.carryOut(each)
        await life.check(life.table, n)
      }
      const versions = await liveVersions(life.table)
      for (const n of [1, 3]) {
        const version = versions[Math.floor((versions.length * n) / 4)]!
        await life.check(await life.table.checkout(version), n)
      }
      await life.end()
    }),
    { numRuns: 12 },
  )
  expect(usual.recall).toBeGreaterThanOrEqual(0.9)
  expect(thorough.recall).toBeGreaterThanOrEqual(0.98)
}, 180_000)

class Life {
  readonly #kind: VectorKind
  readonly #dim: number
  readonly #folder: string | null
  readonly #store = new MemoryStore('memory://')
  #ns!: Namespace
  table!: Table
  #nextId = 0

  constructor(kind: VectorKind, dim: number, folder: string | null) {
    this.#kind = kind
    this.#dim = dim
    this.#folder = folder
  }

  async #open(): Promise<void> {
    const maintenance = { keepOrphansMs: 0, compact: false }
    this.#ns =
      this.#folder === null
        ? await connect('memory://', { store: this.#store, maintenance })
        : await connect(this.#folder, { maintenance })
  }

  async begin(rows: Some): Promise<void> {
    await this.#open()
    const item = { name: 'item', type: { kind: 'float', bits: 32 }, nullable: false } as const
    const v = { kind: 'fixed_size_list', size: this.#dim, child: item } as const
    const int = { kind: 'int', bits: 32, signed: true } as const
    const schema: Schema = {
      fields: [
        { name: 'id', type: int, nullable: false },
        { name: 'g', type: int, nullable: false },
        { name: 'v', type: v, nullable: true },
      ],
    }
    this.table = await this.#ns.createTable('t', this.#rows(rows), { schema })
  }

  async end(): Promise<void> {
    expect((await this.#ns.verify()).problems).toEqual([])
    await this.#ns.close()
  }

  async createIndex(metric: Metric, isPlain: boolean): Promise<void> {
    const type = this.#kind
    const more = isPlain ? {} : { targetPartitionSize: 50 }
    const column = await vectorColumn(this.table)
    await this.table.createIndex(column, { type, name: 'near', distanceType: metric, ...more })
    await this.table.waitForIndex('near')
  }

  async carryOut(each: Step): Promise<void> {
    const { table } = this
    const column = await vectorColumn(table)
    if ('add' in each) {
      await table.add(this.#rows(each.add).map(({ v, ...row }) => ({ ...row, [column]: v })))
    } else if ('move' in each) {
      const v = this.#vectors({ count: 1, style: 'anywhere', seed: each.seed })[0]!
      await table.update({ [column]: v }, 'g = ?', [each.move])
    } else if ('regroup' in each) await table.update({ g: each.to }, 'g = ?', [each.regroup])
    else if ('delete' in each) await table.delete('g = ?', [each.delete])
    else if ('index' in each) await this.createIndex(each.metric, each.index)
    else if ('optimize' in each) await this.#ns.optimize()
    else if ('drop' in each) {
      if ((await table.listIndices()).length > 0) await table.dropIndex('near')
    } else if ('rename' in each)
      await table.alterColumns({ [column]: { rename: column === 'v' ? 'w' : 'v' } })
    else if ('restore' in each) {
      const live = await liveVersions(table)
      await table.restore(live[each.restore % live.length]!)
    } else {
      await this.#ns.close()
      await this.#open()
      this.table = await this.#ns.openTable('t')
    }
  }

  async check(table: Pick<Table, 'query' | 'search' | 'listIndices' | 'indexStats' | 'schema'>, n: number) {
    const column = await vectorColumn(table)
    const [index] = await table.listIndices()
    const metric = index === undefined ? 'l2' : (await table.indexStats(index.name)).distanceType!
    const query = Float32Array.from(this.#vectors({ count: 1, style: 'clusters', seed: n })[0]!)
    const rows = (await table.query().withRowId().toArray()) as unknown as Row[]
    const k = [1, 5, 20][n % 3]!
    for (const most of [10, 5]) {
      const near = table.search(query).select(['id']).withRowId().limit(k)
      const asked = most === 10 ? near : near.where('g < ?', [most])
      const truth = nearest(rows, column, query, metric as Metric, most)
      expect(await answer(asked.bypassVectorIndex())).toEqual(truth.slice(0, k))
      const found = await answer(asked)
      expectSound(found, truth, k)
      usual.add(distances(found), distances(truth.slice(0, k)))
      const everywhere = await answer(asked.nprobes(65_536).ef(4096).refineFactor(4))
      expectSound(everywhere, truth, k)
      thorough.add(distances(everywhere), distances(truth.slice(0, k)))
      expect(await answer(asked.refineFactor(10_000))).toEqual(truth.slice(0, k))
    }
  }

  #rows(given: Some): readonly { readonly id: number; readonly g: number; readonly v: number[] | null }[] {
    return this.#vectors(given).map(v => {
      const id = this.#nextId++
      return { id, g: (id * 7919) % 10, v }
    })
  }

  #vectors({ count, style, seed }: Some): (number[] | null)[] {
    const random = seededRandom(seed)
    const centres = Array.from({ length: 6 }, (_, i) => (i % 3) * 4 - 3)
    return Array.from({ length: count }, (_, row) => {
      if (style === 'sparse' ? random() < 0.99 : row % 11 === 10) return null
      const centre = centres[Math.floor(random() * 6)]!
      return Array.from({ length: this.#dim }, () => {
        if (style === 'grid') return Math.floor(random() * 3)
        return style === 'clusters' ? centre + random() - random() : 6 * random() - 3
      })
    })
  }
}

type Row = Readonly<Record<string, unknown>> & { readonly _rowid: number; readonly g: number }
type Hit = readonly [distance: number, rowid: number]

async function vectorColumn(table: Pick<Table, 'schema'>): Promise<string> {
  return (await table.schema()).fields.at(-1)!.name
}

async function answer(search: Search<object>): Promise<Hit[]> {
  const rows = (await search.toArray()) as unknown as { _distance: number; _rowid: number }[]
  return rows.map(({ _distance, _rowid }) => [_distance, _rowid])
}

const distances = (hits: readonly Hit[]) => hits.map(([distance]) => distance)

/** All rows of the groups below `most` that have a vector, the nearest first. */
function nearest(
  all: readonly Row[],
  column: string,
  query: Float32Array,
  metric: Metric,
  most: number,
): readonly Hit[] {
  const rows = all.filter(row => row[column] !== null && row.g < most)
  const dim = query.length
  const values = Float32Array.from(rows.flatMap(row => Array.from(row[column] as ArrayLike<number>)))
  const found = distancesPlain({ kind: 'f32', dim, rows: rows.length, values }, query, metric)
  return rows.map(({ _rowid }, i): Hit => [found[i]!, _rowid]).sort((a, b) => a[0] - b[0] || a[1] - b[1])
}

/** As many as there are, each with its own distance, in order. */
function expectSound(found: readonly Hit[], truth: readonly Hit[], k: number): void {
  expect(found).toHaveLength(Math.min(k, truth.length))
  const known = new Map(truth.map(([distance, id]) => [id, distance]))
  for (const [distance, id] of found) expect([id, distance]).toEqual([id, known.get(id)])
  expect(new Set(found.map(([, id]) => id)).size).toBe(found.length)
  expect([...found].sort((a, b) => a[0] - b[0] || a[1] - b[1])).toEqual(found)
}
