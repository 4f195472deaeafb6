import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { snapshotsSuite } from '../suites/snapshots.js'
import { SeededClock } from '../support/clock.js'
import { folderOf } from '../support/lance.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const door of doors(temporaryRoots())) snapshotsSuite(door)

test('files of a dropped table stay while a snapshot shows it, and are deleted after that', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const ns = await connect('memory://', { store, clock })
  const table = await ns.createTable(
    't',
    Array.from({ length: 9000 }, (_, id) => ({ id, text: `row ${id}` })),
  )
  const { location } = await ns.operations.describeTable({ id: ['t'] })
  const files = async () => {
    const keys = []
    for await (const { key } of store.list(`${folderOf(location)}/`)) keys.push(key)
    return keys
  }
  expect(await files()).toHaveLength(1)
  const snapshot = await ns.snapshot()
  await ns.dropTable('t')
  /** Commits a day later, and does what is due then. */
  const later = async (name: string) => {
    clock.advance(25 * 60 * 60_000)
    await ns.createNamespace(name)
    await ns.optimize()
  }
  await later('a')
  await expect(table.countRows()).rejects.toMatchObject({ code: 4 })
  expect(await (await snapshot.openTable('t')).countRows('id % 2 = 0')).toBe(4500)
  expect(await files()).toHaveLength(1)
  await snapshot.close()
  await later('b')
  expect(await files()).toEqual([])
  await ns.close()
})

test('a snapshot of an idle process shows its versions after others replaced the pages it knows', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const keep = { keepVersionsMs: Number.POSITIVE_INFINITY, keepOrphansMs: 0, keepLogMs: 0 }
  const options = { clock, store, maintenance: { compact: false, ...keep }, cacheBytes: 0 }
  const active = await connect('memory://', options)
  const table = await active.createTable('t', [{ a: 1 }])
  await active.optimize()
  const resting = await connect('memory://', options)
  const snapshot = await resting.snapshot()
  const shown = await snapshot.openTable('t')
  const before = await shown.versions()
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 10; i++) await table.add([{ a: i }])
    await clock.sleep(60_000)
    await active.optimize()
    await active.createNamespace(`n${round}`)
    await clock.sleep(11 * 60_000)
    await active.optimize()
  }
  expect(await shown.versions()).toEqual(before)
  await snapshot.close()
  await resting.close()
  await active.close()
})
