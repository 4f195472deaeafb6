/** Work of maintenance that looks at everything there is lets others go on meanwhile. */
import { expect, test } from 'vitest'
import type { CatalogCommitted } from '../../src/catalog/log-types.js'
import type { CatalogState } from '../../src/catalog/state.js'
import { resolveMaintenance } from '../../src/client/maintenance-settings.js'
import { Compaction } from '../../src/maintenance/compaction.js'
import { ViewRefreshes } from '../../src/maintenance/view-refreshes.js'
import { PersistentMap } from '../../src/primitives/persistent-map.js'
import type { Engine } from '../../src/root/engine.js'
import { SeededClock } from '../support/clock.js'

/** Every look at it takes a millisecond. */
class SlowClock extends SeededClock {
  turns = 0

  override elapsed(): number {
    this.advance(1)
    return super.elapsed()
  }

  override yield(): Promise<void> {
    this.turns++
    return super.yield()
  }
}

const { signal } = new AbortController()
const count = 200

/** Views of one table that show its newest version, and how often tables were looked up. */
function viewsUpToDate() {
  const src = { uuid: 'source', version: 5 }
  const view = { definition: { source: { id: ['s'], uuid: 'source' } }, src }
  let following = PersistentMap.empty<true>()
  const heads = new Map<string, unknown>([['source', { uuid: 'source', live: [[1, 5]] }]])
  for (let i = 0; i < count; i++) {
    following = following.set(`v${i}`, true)
    heads.set(`v${i}`, { uuid: `v${i}`, view })
  }
  const looks = { count: 0 }
  const get = (uuid: string) => {
    looks.count++
    return heads.get(uuid)
  }
  return { looks, state: { following, tables: { get } } as unknown as CatalogState }
}

test('a commit reads no view', () => {
  const { looks, state } = viewsUpToDate()
  const task = new ViewRefreshes({ clock: new SeededClock(1) } as unknown as Engine)
  task.noteCommit({ state } as CatalogCommitted)
  expect(looks.count).toBe(0)
  expect(task.dueIn()).toBe(500)
})

test('up-to-date views are checked once, with pauses, and again when a table has changed', async () => {
  const { looks, state } = viewsUpToDate()
  const clock = new SlowClock(1)
  const task = new ViewRefreshes({ clock, root: { state }, running: {} } as unknown as Engine)
  await task.work(true, signal)
  expect(looks.count).toBe(2 * count)
  expect(clock.turns).toBeGreaterThan(count / 10)
  task.noteCommit({ state } as CatalogCommitted)
  expect(task.dueIn()).toBe(Number.POSITIVE_INFINITY)
  task.noteCommit({ state: { ...state, tables: { ...state.tables } } } as CatalogCommitted)
  expect(task.dueIn()).toBeLessThan(Number.POSITIVE_INFINITY)
})

test('a thorough compaction pauses between tables without work', async () => {
  const clock = new SlowClock(1)
  const tables = new Map(
    Array.from({ length: count }, (_, i) => [`t${i}`, { uuid: `t${i}`, kind: 'declared', live: [] }]),
  )
  const state = { tables, jobs: [] }
  const engine = { clock, running: {}, root: { state, refresh: async () => state } } as unknown as Engine
  const task = new Compaction({ engine, keep: resolveMaintenance({}), report: () => {} })
  await task.work(true, signal)
  expect(clock.turns).toBeGreaterThan(count / 10)
})
