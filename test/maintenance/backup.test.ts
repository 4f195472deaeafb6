/** A plain copy of a live root opens and is whole, whatever maintenance does meanwhile (STORAGE S25). */
import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { connect, type MaintenanceEvent } from '../../src/index.js'
import { type Clock, systemClock } from '../../src/primitives/clock.js'
import { FileStore } from '../../src/storage/file-store.js'
import { reachable } from '../support/reachable.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()
const hour = 60 * 60 * 1000

/** The system's clock, moved on at will; nothing in the background wakes by itself. */
class MovedClock implements Clock {
  #moved = 0
  now = () => systemClock.now() + this.#moved
  elapsed = () => systemClock.elapsed() + this.#moved
  uuid = systemClock.uuid
  random = systemClock.random
  yield = systemClock.yield
  sleep: Clock['sleep'] = (ms, signal, awaited) => {
    return systemClock.sleep(awaited === true ? ms : 1_000_000, signal, awaited)
  }

  advance(ms: number): void {
    this.#moved += ms
  }
}

/** Files below `folder` in the order of a recursive listing, each folder listed when it is come to. */
function* filesIn(folder: string, path = ''): Generator<string> {
  for (const name of readdirSync(join(folder, path)).sort()) {
    const below = join(path, name)
    if (!existsSync(join(folder, below))) continue
    if (statSync(join(folder, below)).isDirectory()) yield* filesIn(folder, below)
    else yield below
  }
}

test('a copy of a live root opens with every version that existed when the copy began', async () => {
  const [root, copy] = [freshRoot(), freshRoot()]
  const clock = new MovedClock()
  const events: MaintenanceEvent[] = []
  const store = await FileStore.open(root, { create: true, readOnly: false, clock })
  const ns = await connect(root, { store, clock, onMaintenance: event => events.push(event) })
  let count = 0
  const live = async (hours: number) => {
    for (let i = 0; i < hours; i++) {
      count++
      await ns.createNamespace(`n${count}`)
      const table = await ns.createTable(`t${count % 3}`, [{ a: count }], {
        mode: count < 4 ? 'create' : 'overwrite',
      })
      await table.add(Array.from({ length: 9_000 }, (_, a) => ({ a })))
      if (count % 2 === 0) await ns.optimize()
      clock.advance(5 * hour)
    }
  }
  await live(44)
  const kinds = () => new Set(events.map(({ kind }) => kind))
  expect(kinds()).toEqual(new Set(['compaction', 'checkpoint', 'expired', 'swept', 'trimmed']))
  events.length = 0
  const versions = await (await ns.openTable('t1')).versions()
  let copied = 0
  for (const path of filesIn(root)) {
    // The copy takes less than a day.
    if (copied++ % 30 === 0 && copied < 120) await live(1)
    if (!existsSync(join(root, path))) continue
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    cpSync(join(root, path), join(copy, path))
  }
  expect(kinds()).toEqual(new Set(['compaction', 'checkpoint', 'expired', 'swept', 'trimmed']))
  const other = await FileStore.open(copy, { create: false, readOnly: false, clock })
  const opened = await connect(copy, { store: other, clock })
  // What had expired before need not be whole.
  expect((await reachable(other, clock, () => head => head.live)).missing).toEqual([])
  for (const name of await opened.tableNames()) {
    const table = await opened.openTable(name)
    for (const { version } of await table.versions()) {
      expect(await (await table.checkout(version)).countRows('a >= 0')).toBeGreaterThan(0)
    }
  }
  const newest = Number(versions.at(-1)!.version)
  expect(await (await (await opened.openTable('t1')).checkout(newest)).countRows()).toBe(9_001)
  await opened.createNamespace('goes on')
  await opened.optimize()
  await Promise.all([ns.close(), opened.close()])
})
