/**
 * An update is decided on exactly the version it follows, and while it works others append: each time it has to look again.
 * It must come through all the same, here and in another process, and no writer may lose its commit.
 */
import { expect, test } from 'vitest'
import { connect, sql } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { temporaryRoots } from '../support/roots.js'
import { WrappedStore } from '../support/stores.js'

const freshRoot = temporaryRoots()

/** Each commit is on its way for many turns of the loop. */
class SlowToWrite extends WrappedStore {
  protected async around<T>(_call: string, conditional: boolean, run: () => Promise<T>): Promise<T> {
    if (conditional) await turnsOfTheLoop(50)
    return run()
  }
}

async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
}

test('an update succeeds during many appends, of its own process and of another', async () => {
  const root = freshRoot()
  const [ns, other] = [await connect(root), await connect(root)]
  const table = await ns.createTable('t', [{ id: 0, n: 0 }])
  const storm = new Set([ns, other])
  let appended = 0
  const append = async (from: typeof ns) => {
    for (; storm.has(from); appended++) await from.table('t').add([{ id: 1, n: 0 }])
  }
  const storms = [append(ns), append(ns), append(ns), append(other), append(other)]
  for (let i = 0; i < 20; i++) await table.update({ n: sql`n + 1` }, 'id = 0')
  // A transaction that only knows what it read cannot outlive what others write all the time.
  storm.delete(other)
  for (let i = 0; i < 5; i++) {
    await ns.transaction(async tx => {
      await tx.table('t').update({ n: sql`n + 1` }, 'id = 0')
    })
  }
  storm.clear()
  await Promise.all(storms)
  expect(await table.countRows('id = 0 AND n = 25')).toBe(1)
  expect(await table.countRows()).toBe(1 + appended)
  await other.close()
  await ns.close()
})

test('a slow transaction succeeds during many commits of its own process', async () => {
  const store = new SlowToWrite(new MemoryStore())
  // A compaction of the updated row would be one more reason to run again.
  const ns = await connect('memory://', { store, maintenance: { compact: false } })
  const table = await ns.createTable('t', [{ id: 0, n: 0 }])
  let isStormy = true
  const append = async (turns: number) => {
    for (; isStormy; await turnsOfTheLoop(turns)) await ns.table('t').add([{ id: 1, n: 0 }])
  }
  const storms = [10, 20, 30, 40].map(append)
  let mostRuns = 0
  for (let i = 0; i < 20; i++) {
    let runs = 0
    await ns.transaction(async tx => {
      runs++
      await turnsOfTheLoop(100)
      await tx.table('t').update({ n: sql`n + 1` }, 'id = 0')
    })
    mostRuns = Math.max(mostRuns, runs)
  }
  isStormy = false
  await Promise.all(storms)
  expect(await table.countRows('id = 0 AND n = 20')).toBe(1)
  // Once unaware, once behind what was on its way, once alone.
  expect(mostRuns).toBeLessThanOrEqual(3)
  await ns.close()
})

test('a thousand concurrent writers all succeed', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [{ id: 0, n: 0 }])
  const calls = Array.from({ length: 1000 }, (_, i): Promise<unknown> => {
    if (i % 4 === 0) return table.update({ n: sql`n + 1` }, 'id = 0')
    if (i % 4 === 1)
      return table
        .mergeInsert('id')
        .whenNotMatchedInsertAll()
        .execute([{ id: i % 100, n: 0 }])
    if (i % 4 === 2) return table.delete('id = 1000')
    return table.add([{ id: 5000 + i, n: 1 }])
  })
  await Promise.all(calls)
  expect(await table.countRows('id = 0 AND n = 250')).toBe(1)
  expect(await table.countRows('id > 0 AND id < 100')).toBe(25)
  expect(await table.countRows('id >= 5000')).toBe(250)
  await ns.close()
})
