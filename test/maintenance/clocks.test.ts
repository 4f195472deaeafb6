/** No clock of any process deletes what somebody needs: deletion follows the log, ages only delay it. */
import { describe, expect, test } from 'vitest'
import { connect, type Namespace } from '../../src/index.js'
import type { Clock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { keysIn, WrappedStore } from '../support/stores.js'

const hour = 60 * 60 * 1000
const day = 24 * hour

/** The clock of another process, whose wall clock shows another time. */
function skewed(clock: SeededClock, skewMs: () => number): Clock {
  return {
    now: () => clock.now() + skewMs(),
    elapsed: () => clock.elapsed(),
    uuid: () => clock.uuid(),
    random: () => clock.random(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    yield: () => clock.yield(),
  }
}

/** Does something before the next call of a kind on keys with a prefix goes through. */
class PausingStore extends WrappedStore {
  before: { readonly call: string; readonly prefix: string; readonly run: () => Promise<void> } | null = null

  protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string) {
    const { before } = this
    if (before !== null && before.call === call && key.startsWith(before.prefix)) {
      this.before = null
      await before.run()
    }
    return run()
  }
}

async function commits(ns: Namespace, count: number): Promise<void> {
  const table = await ns.openTable('t')
  for (let a = 0; a < count; a++) await table.add([{ a }])
}

describe('a process whose clock is days ahead', () => {
  const maintenance = { keepVersionsMs: Number.POSITIVE_INFINITY, keepOrphansMs: 3000, keepLogMs: 0 }

  async function checkAll(namespaces: readonly Namespace[]): Promise<void> {
    // Verify reads the root itself: one process is enough.
    expect((await namespaces[0]!.verify()).problems).toEqual([])
    for (const ns of namespaces) {
      const table = await ns.openTable('t')
      for (const { version } of await table.versions()) {
        expect(await (await table.checkout(version)).countRows('a >= 0')).toBeGreaterThan(0)
      }
      await ns.close()
    }
  }

  test('deletes no page and no pack that another process has just named in a checkpoint', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const paused = new PausingStore(store)
    const writer = await connect('memory://', { clock, store, maintenance })
    const ahead = await connect('memory://', {
      clock: skewed(clock, () => 3 * day),
      store: paused,
      maintenance,
    })
    await writer.createTable('t', [{ a: 0 }])
    for (let round = 0; round < 4; round++) {
      await commits(ahead, 12)
      clock.advance(10_000)
      const run = async () => {
        for (let i = 0; i < 2; i++) {
          await commits(writer, 6)
          clock.advance(10_000)
          await writer.optimize()
        }
      }
      paused.before = { call: 'list', prefix: '_hist/', run }
      await ahead.optimize()
    }
    expect(await keysIn(store, '_log/')).not.toContain(`_log/${'1'.padStart(20, '0')}`)
    await checkAll([writer, ahead, await connect('memory://', { clock, store })])
  })

  test.each([
    ['page', '_hist/', 1],
    ['checkpoint', '_ckpt/', 1],
    ['checkpoint, while several others are named,', '_ckpt/', 3],
  ])('deletes nothing of one that sleeps before it writes a %s', async (_, prefix, rounds) => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const paused = new PausingStore(store)
    const writer = await connect('memory://', { clock, store: paused, maintenance })
    const ahead = await connect('memory://', { clock: skewed(clock, () => 3 * day), store, maintenance })
    await writer.createTable('t', [{ a: 0 }])
    for (let round = 0; round < 3; round++) {
      await commits(writer, 12)
      clock.advance(10_000)
      const run = async () => {
        for (let i = 0; i < rounds; i++) {
          await commits(ahead, 3)
          await ahead.optimize()
        }
      }
      paused.before = { call: 'putIfAbsent', prefix, run }
      await writer.optimize()
      await ahead.optimize()
    }
    await checkAll([writer, ahead, await connect('memory://', { clock, store })])
  })
})

describe('a process whose clock is ahead', () => {
  const maintenance = { keepVersionsMs: 2 * hour, keepOrphansMs: 0, keepLogMs: 0, compact: false }

  /** Two processes on one root; the clock of the second shows `skewMs` more, which can be changed. */
  async function two() {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const skew = { ms: 0 }
    const warnings: string[] = []
    const onWarning = (message: string) => warnings.push(message)
    const right = await connect('memory://', { clock, store, maintenance })
    const other = await connect('memory://', {
      clock: skewed(clock, () => skew.ms),
      store,
      maintenance,
      onWarning,
    })
    await right.createTable('t', [{ a: 0 }])
    const oldest = async () => (await (await right.openTable('t')).versions())[0]!.version
    return { clock, skew, warnings, right, other, oldest }
  }

  test.each([
    ['from the start', false],
    ['though all times in the log are its own', true],
  ])('of another that commits expires none of its versions, %s', async (_, commitsFirst) => {
    const { skew, warnings, right, other, oldest } = await two()
    await commits(right, 2)
    skew.ms = 3 * hour
    if (commitsFirst) await other.createNamespace('of the future')
    await commits(right, 3)
    await other.optimize()
    expect(await oldest()).toBe(1)
    expect(warnings).toEqual([
      expect.stringMatching(/1(79|80) minutes ahead of that of the process which wrote slot \d+/),
    ])
    skew.ms = 0
    await right.createNamespace('later')
    await other.optimize()
    expect(await oldest()).toBe(1)
    expect(warnings).toHaveLength(1)
  })

  test('by less than an hour expires what is old by its own clock', async () => {
    const { clock, skew, right, other, oldest } = await two()
    await commits(right, 2)
    clock.advance(1.5 * hour)
    skew.ms = 0.9 * hour
    await commits(right, 1)
    await other.optimize()
    expect(await oldest()).toBe(3)
  })

  test('by a jump while it is idle expires nothing after another process has committed', async () => {
    const { clock, skew, right, other, oldest } = await two()
    await commits(right, 2)
    await other.optimize()
    clock.advance(hour)
    skew.ms = 5 * day
    await commits(right, 1)
    await other.optimize()
    expect(await oldest()).toBe(1)
  })
})

describe('a slot that was trimmed and written again by a late writer', () => {
  /** The root as a process still sees it that has applied that slot and rested since. */
  async function rested(skewMs = 0) {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const maintenance = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }
    const resting = await connect('memory://', { clock: skewed(clock, () => skewMs), store, maintenance })
    const active = await connect('memory://', { clock, store, maintenance })
    await active.createNamespace('first')
    await resting.namespaceNames()
    const known = (await keysIn(store, '_log/')).at(-1)!
    for (let i = 0; i < 4; i++) {
      await active.createNamespace(`n${i}`)
      await active.optimize()
    }
    expect(await store.stat(known)).toBeNull()
    const late = (await keysIn(store, '_log/')).at(-1)!
    await store.put(known, (await store.get(late))!)
    const close = () => Promise.all([resting.close(), active.close()])
    return { clock, resting, active, close }
  }

  test.each([
    ['though its clock is behind', -day, hour],
    ['within a moment', 0, 0],
  ])(
    'is not taken for the one that a resting process knows, %s: it commits behind the newest',
    async (_, skewMs, laterMs) => {
      const { clock, resting, active, close } = await rested(skewMs)
      clock.advance(laterMs)
      await resting.createNamespace('second')
      expect(await active.namespaceNames()).toContain('second')
      await close()
    },
  )

  test('is not mistaken for the one that an idle process knows: that process shows the newest', async () => {
    const { resting, close } = await rested()
    expect(await resting.namespaceNames()).toEqual(['first', 'n0', 'n1', 'n2', 'n3'])
    await close()
  })
})
