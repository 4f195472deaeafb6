/** Whatever indexes there are, and whatever becomes of the table: filters give the rows that they give without. */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { type CreateIndexOptions, connect, type Namespace, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { openWithBuilder } from '../support/index-builds.js'
import { changeRows, expireVersion, liveVersions, rowSteps, small } from '../support/row-steps.js'
import { expectFound } from '../support/text-index.js'

// Of tables as small as these a scan would always be cheaper.
vi.mock('../../src/query/probe-costs.js', async original => ({
  ...(await original<object>()),
  probing: () => 0,
  gathering: () => 0,
}))

/** By the names of the indexes. */
const indexes = {
  k_idx: ['k', { type: 'BTREE' }],
  x_idx: ['x', { type: 'BITMAP' }],
  text_idx: ['text', { type: 'BTREE' }],
  words: ['text', { type: 'FTS' }],
} as const satisfies Record<string, readonly [string, CreateIndexOptions]>
const names = fc.constantFrom(...(Object.keys(indexes) as (keyof typeof indexes)[]))

const step = fc.oneof(
  ...rowSteps,
  { weight: 3, arbitrary: fc.record({ index: names }) },
  { weight: 1, arbitrary: fc.record({ drop: names }) },
  { weight: 3, arbitrary: fc.record({ optimize: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ expire: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ restart: fc.constant(true) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface Row {
  readonly k: number
  readonly x: number | null
  readonly text: string | null
}

const filters: readonly (readonly [string, (row: Row) => boolean])[] = [
  ['k = 3', ({ k }) => k === 3],
  ['k >= 2 AND k < 7', ({ k }) => k >= 2 && k < 7],
  ['k IN (1, 4, 8) AND x > 1', ({ k, x }) => [1, 4, 8].includes(k) && x !== null && x > 1],
  ['x IS NULL OR k = 5', ({ k, x }) => x === null || k === 5],
  ['NOT (x = 2)', ({ x }) => x !== null && x !== 2],
  ["text LIKE 'long%'", ({ text }) => text?.startsWith('long') === true],
  ['text IS NOT NULL AND x IN (0, 1, 2)', ({ text, x }) => text !== null && x !== null && x < 3],
]

test('indexes find the rows of a scan under any changes, compactions, restores, created and dropped indexes, at every version', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), small, async (steps, which) => {
      const store = new MemoryStore('memory://')
      const open = () => connect('memory://', { store, maintenance: { keepOrphansMs: 0 } })
      let ns = await open()
      await ns.createTable('t', [{ k: 0, x: 1, text: 'long' }])
      for (const each of steps) {
        if ('restart' in each) {
          await ns.close()
          ns = await open()
        } else await carryOut(ns, each)
        const [text, isTrue] = filters[which % filters.length]!
        await check(ns.table('t'), text, isTrue)
      }
      const { engine, ns: other } = await openWithBuilder(store)
      for (const version of await liveVersions(ns.table('t'))) {
        const at = await ns.table('t').checkout(version)
        for (const [text, isTrue] of filters) await check(at, text, isTrue)
        await expectFound(engine, at, 'text')
      }
      await other.close()
      expect((await ns.verify()).problems).toEqual([])
      await ns.close()
    }),
    { numRuns: 40 },
  )
})

async function carryOut(ns: Namespace, each: Exclude<Step, { restart: unknown }>): Promise<void> {
  const table = ns.table('t')
  if ('index' in each) {
    const [column, options] = indexes[each.index]
    await table.createIndex(column, { ...options, name: each.index })
    await table.waitForIndex([each.index])
  } else if ('drop' in each) {
    const names = (await table.listIndices()).map(({ name }) => name)
    if (names.includes(each.drop)) await table.dropIndex(each.drop)
  } else if ('optimize' in each) await ns.optimize()
  else if ('expire' in each) {
    const live = await liveVersions(table)
    const version = live[each.expire % live.length]!
    if (version !== live.at(-1)) await expireVersion(ns, table, version)
  } else await changeRows(table, each)
}

async function check(
  table: Pick<Table, 'query' | 'search' | 'countRows'>,
  text: string,
  isTrue: (row: Row) => boolean,
): Promise<void> {
  const all = (await table.query().withRowId().toArray()) as unknown as Row[]
  const expected = all.filter(isTrue)
  expect(await table.query().where(text).withRowId().toArray(), text).toEqual(expected)
  expect(await table.countRows(text), text).toBe(expected.length)
}
