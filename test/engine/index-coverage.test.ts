/** how many rows an index has, and how many it lacks, after anything that can happen to its table. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Table } from '../../src/index.js'
import { compactTable } from '../../src/maintenance/compact-table.js'
import { Pacer } from '../../src/primitives/pacer.js'
import type { Engine } from '../../src/root/engine.js'
import { openVersion } from '../../src/root/open-table.js'
import { type Builder, openWithBuilder } from '../support/index-builds.js'

/** What is known of a version: its rows by key, and which of them the index has; null where there is none. */
interface Known {
  readonly rows: readonly number[]
  readonly covered: ReadonlySet<number> | null
}

interface World {
  readonly table: Table
  readonly engine: Engine
  readonly builder: Builder
  readonly versions: Map<number, Known>
  now: Known
  nextKey: number
}

type Step = (world: World) => Promise<void>

const chosen = ({ now: { rows } }: World, picks: readonly number[]) => {
  return [...new Set(picks.flatMap(pick => (rows.length === 0 ? [] : [rows[pick % rows.length]!])))]
}
const indexed = async (table: Table) => (await table.schema()).fields[1]!
const condition = (keys: readonly number[]) => `id IN (${keys.join()})`

/** Without those that are elsewhere now. */
function left({ now: { rows, covered } }: World, keys: readonly number[]): Known {
  const stays = (key: number) => !keys.includes(key)
  return { rows: rows.filter(stays), covered: covered && new Set([...covered].filter(stays)) }
}

/** Keys of the living rows among the first so many of each fragment. */
async function firstOfFragments({ table, engine }: World, share: (rows: number) => number) {
  const head = [...engine.root.state.tables][0]![1]
  const { reader, layout } = await openVersion(engine, head, head.mark)
  const ids = new Set<number>()
  for (const fragment of layout.fragments) {
    const rowIds = await reader.rowIds(fragment)
    for (const part of await reader.partsOf(fragment)) {
      const live = await reader.live(part)
      for (let row = 0; row < part.rows && part.first + row < share(fragment.rows); row++) {
        if (live === null || live.has(row)) ids.add(rowIds.at(part.first + row))
      }
    }
  }
  const rows = await table.query().select(['id']).withRowId().toArray()
  return new Set(rows.flatMap(row => (ids.has(Number(row._rowid)) ? [Number(row.id)] : [])))
}

const picks = fc.array(fc.nat(1000), { minLength: 1, maxLength: 5 })

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.integer({ min: 1, max: 6 }).map(
    (count): Step =>
      async world => {
        const keys = Array.from({ length: count }, () => world.nextKey++)
        const { name } = await indexed(world.table)
        await world.table.add(keys.map(id => ({ id, [name]: id, text: 'x' })))
        world.now = { ...world.now, rows: [...world.now.rows, ...keys] }
      },
  ),
  picks.map(
    (picks): Step =>
      async world => {
        const keys = chosen(world, picks)
        if (keys.length === 0) return
        await world.table.delete(condition(keys))
        world.now = left(world, keys)
      },
  ),
  picks.map(
    (picks): Step =>
      async world => {
        const keys = chosen(world, picks)
        if (keys.length === 0) return
        await world.table.update({ text: 'other' }, condition(keys))
        world.now = { ...left(world, keys), rows: world.now.rows }
      },
  ),
  fc.constantFrom(1, 0.5, 0.3).map(
    (part): Step =>
      async world => {
        world.builder.share = rows => Math.ceil(rows * part)
        const { name } = await indexed(world.table)
        await world.table.createIndex(name, { name: 'i' })
        await world.table.waitForIndex('i')
        world.now = { ...world.now, covered: await firstOfFragments(world, world.builder.share) }
      },
  ),
  fc.constant<Step>(async world => {
    const [, { uuid }] = [...world.engine.root.state.tables][0]!
    await compactTable(world.engine, uuid, 'thorough', 1 << 20, new Pacer())
  }),
  fc.constantFrom('int64', 'float64').map(
    (type): Step =>
      async world => {
        const before = await indexed(world.table)
        await world.table.alterColumns({ [before.name]: { type } })
        if ((await indexed(world.table)).type.kind !== before.type.kind && world.now.covered !== null)
          world.now = { ...world.now, covered: new Set() }
      },
  ),
  fc.constantFrom('n', 'm').map(
    (rename): Step =>
      async ({ table }) => {
        const { name } = await indexed(table)
        if (name !== rename) await table.alterColumns({ [name]: { rename } })
      },
  ),
  fc.nat(100).map(
    (pick): Step =>
      async world => {
        const known = [...world.versions]
        const [version, then] = known[pick % known.length]!
        await world.table.restore(version)
        world.now = then
      },
  ),
  fc.constant<Step>(async world => {
    if (world.now.covered === null) return
    await world.table.dropIndex('i')
    world.now = { ...world.now, covered: null }
  }),
)

test('indexed and unindexed rows together are all live rows, at every version', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 14 }), async history => {
      const { ns, engine, builder } = await openWithBuilder()
      try {
        const table = await ns.createTable('t', [{ id: 0, n: 0, text: 'x' }])
        const first: Known = { rows: [0], covered: null }
        const world: World = {
          table,
          engine,
          builder,
          versions: new Map([[1, first]]),
          now: first,
          nextKey: 1,
        }
        for (const step of history) {
          await step(world)
          world.versions.set(await table.version(), world.now)
        }
        for (const [version, { rows, covered }] of world.versions) {
          const found = await (await table.checkout(version)).listIndices()
          const counts = found.map(({ indexedRows, unindexedRows }) => [indexedRows, unindexedRows])
          expect(counts).toEqual(covered === null ? [] : [[covered.size, rows.length - covered.size]])
        }
      } finally {
        await ns.close()
      }
    }),
    { numRuns: 20 },
  )
})
