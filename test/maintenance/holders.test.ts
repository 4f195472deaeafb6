/** Who keeps what is old enough to go is told, and goes when nobody knows of it any more. */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { keysIn } from '../support/stores.js'

const minute = 60_000
const maintenance = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0, compact: false }

function world() {
  const store = new MemoryStore()
  const open = (clock = new SeededClock(1)) => connect('memory://', { clock, store, maintenance })
  return { store, open }
}

test('optimize reports which reader keeps old data, as long as it does', async () => {
  const { open } = world()
  const clock = new SeededClock(1)
  const [ns, other] = [await open(clock), await open(clock)]
  const table = await ns.createTable('t', [{ a: 1 }])
  const snapshot = await other.snapshot()
  const { slot } = other.stats().log
  await table.add([{ a: 2 }])
  const file = expect.stringMatching(/^_pins\//)
  expect(await ns.optimize()).toEqual({
    held: [{ kind: 'reader', slot, file, process: null, stillMs: 0 }],
  })
  expect(await other.optimize()).toMatchObject({ held: [{ kind: 'reader', slot, file: null }] })
  await snapshot.close()
  expect(await ns.optimize()).toEqual({ held: [] })
  await Promise.all([ns.close(), other.close()])
})

test('short-lived processes together release the pin of a lost one', async () => {
  const { store, open } = world()
  const lost = new SeededClock(1)
  const dying = await open(lost)
  await dying.createTable('t', [{ a: 1 }])
  await dying.snapshot()
  lost.stop()
  let runs = 0
  for (let held = 1; held > 0; runs++) {
    const clock = new SeededClock(runs)
    const ns = await open(clock)
    await (await ns.openTable('t')).add([{ a: 2 }])
    held = (await ns.optimize()).held.length
    await clock.sleep(minute / 2)
    await ns.close()
    expect(runs).toBeLessThan(25)
  }
  expect(runs).toBeGreaterThan(20)
  expect(await keysIn(store, '_pins/')).toEqual([])
})
