/** What is done in the background, as seen in the store and by who opens the root next. */
import { describe, expect, test } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import type { CatalogCommitted } from '../../src/catalog/log-types.js'
import { Checkpoints } from '../../src/commit/checkpoints.js'
import { connect, type Namespace } from '../../src/index.js'
import { Maintenance } from '../../src/maintenance/maintenance.js'
import { baseKey } from '../../src/manifest/layout-base.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { BusyStore, CountingStore, CrashingStore, keysIn } from '../support/stores.js'

/** Enough log for a checkpoint, in a few slots. */
async function fillLog(ns: Namespace, from: number): Promise<void> {
  for (let i = from; i < from + 5; i++) {
    await ns.createNamespace(`n${i}`, { properties: { p: 'x'.repeat(60_000) } })
  }
}

test('a long log gets a checkpoint, and opening the root replays the log from there', async () => {
  const store = new MemoryStore('memory://')
  const ns = await connect('memory://', { store })
  await ns.createTable('t', [{ a: 1 }])
  await fillLog(ns, 0)
  await ns.close()
  expect(await keysIn(store, '_ckpt/')).toHaveLength(1)
  expect(await keysIn(store, '_hist/')).toHaveLength(1)
  const counting = new CountingStore(store)
  const next = await connect('memory://', { store: counting, readOnly: true })
  // One for the listing's checkpoint, one for slot 0 or the checkpoint's own slot, and what came after.
  expect(counting.calls.get('get')).toBeLessThan(8)
  expect(await next.namespaceNames()).toHaveLength(5)
  expect(await (await next.openTable('t')).query().toArray()).toEqual([{ a: 1 }])
  expect(await (await next.openTable('t')).versions()).toMatchObject([
    { version: 1, metadata: { operation: 'create' } },
  ])
  await next.close()
})

test('each 64th version gets a stored manifest, also when many commits share a slot', async () => {
  const store = new MemoryStore('memory://')
  const ns = await connect('memory://', { store, maintenance: { compact: false } })
  const table = await ns.createTable('t', [{ a: 0 }])
  await table.add([{ a: 1 }])
  await Promise.all(Array.from({ length: 400 }, (_, i) => table.add([{ a: i }])))
  await ns.optimize()
  const { location } = await ns.operations.describeTable({ id: ['t'] })
  const folder = new URL(location!, 'memory://x/').pathname.split('/').at(-1)!
  const stored = (await keysIn(store, `tables/${folder}/_versions/`)).sort()
  expect(stored).toEqual([64, 128, 192, 256, 320, 384].map(v => baseKey(`tables/${folder}`, v)).sort())
  await ns.close()
})

test('the two newest checkpoints are kept, with the checkpoints that they are based on', async () => {
  const store = new MemoryStore('memory://')
  for (let i = 0; i < 60; i += 5) {
    const ns = await connect('memory://', { store })
    await fillLog(ns, i)
    await ns.close()
  }
  const { state } = (await new Checkpoints(store, catalogMachine, systemClock).newest())!
  const kept = await keysIn(store, '_ckpt/')
  // The newest one is named after its state was written. Its state names the two before it.
  expect(kept.length).toBeGreaterThan(1)
  for (const { name } of state.checkpoints.slice(1)) expect(kept).toContain(`_ckpt/${name}`)
  const pages = (await keysIn(store, '_hist/')).length
  expect(pages).toBeLessThan(9)
})

test('the parts of checkpoints that two processes write in turn are the replayed state', async () => {
  const store = new MemoryStore('memory://')
  const options = { store, maintenance: { compact: false } } as const
  const processes = [await connect('memory://', options), await connect('memory://', options)]
  const props = (i: number) => ({ properties: { p: `${i}`.padEnd(100, 'x') } })
  await Promise.all(Array.from({ length: 600 }, (_, i) => processes[0]!.createNamespace(`n${i}`, props(i))))
  const sizes: number[] = []
  for (let i = 0; i < 1200; i++) {
    // Each process commits for a while. Then the other one does.
    const ns = processes[Math.floor(i / 50) % 2]!
    await ns.createNamespace(`n${(i * 7) % 600}`, { mode: 'overwrite', ...props(i) })
    if (i % 9 === 0) await ns.dropNamespace(`n${(i * 11) % 600}`).catch(() => {})
    if (i % 100 === 99) {
      const note = await new Checkpoints(store, catalogMachine, systemClock).newestNote()
      sizes.push(note!.parts.length)
    }
  }
  expect(Math.max(...sizes)).toBeGreaterThan(0)
  const { problems } = await processes[1]!.verify()
  expect(problems).toEqual([])
  const names = await processes[0]!.namespaceNames()
  for (const ns of processes) await ns.close()
  const again = await connect('memory://', { store, readOnly: true })
  expect(await again.namespaceNames()).toEqual(names)
  await again.close()
})

test('one of two processes writes the checkpoint, and both use it', async () => {
  const store = new MemoryStore('memory://')
  const a = await connect('memory://', { store })
  const b = await connect('memory://', { store })
  await fillLog(a, 0)
  await a.close()
  await b.createTable('t', [{ a: 1 }])
  await fillLog(b, 5)
  await b.close()
  expect((await keysIn(store, '_ckpt/')).length).toBeLessThanOrEqual(2)
  const next = await connect('memory://', { store })
  expect(await next.namespaceNames()).toHaveLength(10)
  expect(await (await next.openTable('t')).version()).toBe(1)
  await next.close()
})

test('a checkpoint that two processes write from the same state stays after one of them names it', async () => {
  const store = new MemoryStore('memory://')
  const written: string[] = []
  let meet = () => {}
  const both = new Promise<void>(resolve => {
    meet = resolve
  })
  const meeting = new Proxy(store, {
    get(target, name) {
      if (name !== 'putIfAbsent') {
        const member = Reflect.get(target, name, target)
        return typeof member === 'function' ? member.bind(target) : member
      }
      return async (...call: Parameters<MemoryStore['putIfAbsent']>) => {
        if (call[0].startsWith('_ckpt/') && written.push(call[0]) === 2) meet()
        if (call[0].startsWith('_ckpt/')) await both
        return target.putIfAbsent(...call)
      }
    },
  })
  const options = { store: meeting, maintenance: { compact: false } } as const
  const processes = [await connect('memory://', options), await connect('memory://', options)]
  await fillLog(processes[0]!, 0)
  await processes[1]!.namespaceNames()
  await Promise.all(processes.map(ns => ns.optimize()))
  expect(written[1]).toBe(written[0])
  expect(await keysIn(store, '_ckpt/')).toContain(written[0])
  for (const ns of processes) await ns.close()
})

test('the 64th version of a table gets a stored manifest, and older ones are readable without it', async () => {
  const store = new MemoryStore('memory://')
  const ns = await connect('memory://', { store, maintenance: { compact: false } })
  const table = await ns.createTable('t', [{ a: 1 }])
  for (let i = 2; i <= 70; i++) await table.add([{ a: i }])
  await ns.close()
  const bases = (await keysIn(store, 'tables/')).filter(key => key.includes('/_versions/'))
  expect(bases).toHaveLength(1)
  for (const lost of [false, true]) {
    if (lost) await store.delete(bases[0]!)
    const next = await connect('memory://', { store })
    const opened = await next.openTable('t')
    expect(await opened.countRows()).toBe(70)
    expect(await (await opened.checkout(65)).countRows()).toBe(65)
    expect(await (await opened.checkout(3)).countRows()).toBe(3)
    await next.close()
  }
})

test('files of a dropped table stay for a day, and for as long as a snapshot shows it', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const ns = await connect('memory://', { store, clock })
  const rows = Array.from({ length: 20_000 }, (_, i) => ({ a: i, b: `row ${i}` }))
  await ns.createTable('t', rows)
  const filesOf = async () => (await keysIn(store, 'tables/')).length
  expect(await filesOf()).toBe(1)
  const snapshot = await ns.snapshot()
  await ns.dropTable('t')
  const later = async (name: string, hours: number) => {
    clock.advance(hours * 60 * 60 * 1000)
    await ns.createNamespace(name)
    // One sets the floor, and what is behind it goes with the next.
    await ns.optimize()
  }
  await later('a', 25)
  expect(await filesOf()).toBe(1)
  expect(await (await snapshot.openTable('t')).countRows()).toBe(20_000)
  await snapshot.close()
  await later('b', 1)
  expect(await filesOf()).toBe(0)
  await ns.createTable('u', rows)
  await ns.dropTable('u')
  await later('c', 23)
  expect(await filesOf()).toBe(1)
  await later('d', 2)
  expect(await filesOf()).toBe(0)
  await ns.close()
})

test('what a snapshot in another process shows stays as well', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const [reader, writer] = [
    await connect('memory://', { store, clock }),
    await connect('memory://', { store, clock }),
  ]
  await reader.createTable(
    't',
    Array.from({ length: 20_000 }, (_, i) => ({ a: i, b: `row ${i}` })),
  )
  const snapshot = await reader.snapshot()
  await writer.dropTable('t')
  for (let i = 0; i < 3; i++) {
    await clock.sleep(12 * 60 * 60 * 1000)
    await writer.createNamespace(`n${i}`)
    await writer.optimize()
  }
  expect(await (await snapshot.openTable('t')).countRows('a >= 0')).toBe(20_000)
  await snapshot.close()
  await clock.sleep(60 * 60 * 1000)
  await writer.createNamespace('later')
  await writer.optimize()
  expect(await keysIn(store, 'tables/')).toEqual([])
  await reader.close()
  await writer.close()
})

test('deleted files leave the cache too', async () => {
  const store = new MemoryStore('memory://')
  const maintenance = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }
  const ns = await connect('memory://', { store, maintenance })
  const table = await ns.createTable('t', [{ id: 0, text: 'x'.repeat(70_000) }])
  const round = async () => {
    for (let i = 0; i < 10; i++) {
      await table.add([{ id: i, text: `${i}`.repeat(70_000) }])
      await table.add([{ id: i, text: `small ${i}` }])
      await table.update({ text: 'updated' }, 'id = ?', [i])
      await table.query().where("text <> 'no'").toArray()
    }
    // What one checkpoint makes dispensable goes with the next.
    for (let i = 0; i < 3; i++) {
      await ns.createNamespace(`n${await table.version()}-${i}`)
      await ns.optimize()
    }
    await table.query().toArray()
    const { partitions } = ns.stats().memory
    return Object.values(partitions).reduce((sum, { entries }) => sum + entries, 0)
  }
  // Each round brings hundreds.
  for (let i = 0; i < 5; i++) expect(await round()).toBeLessThan(100)
  await ns.close()
})

test('failed maintenance is reported, and repeated', async () => {
  const warnings: string[] = []
  const inner = new MemoryStore('memory://')
  let refuse = true
  const store = new Proxy(inner, {
    get(target, name) {
      if (name === 'putIfAbsent') {
        return (key: string, bytes: Uint8Array) => {
          if (refuse && key.startsWith('_ckpt/')) throw new Error('disk full')
          return target.putIfAbsent(key, bytes)
        }
      }
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const clock = new SeededClock(1)
  const ns = await connect('memory://', { store, clock, onWarning: message => warnings.push(message) })
  await fillLog(ns, 0)
  await ns.createNamespace('more')
  await clock.sleep(10)
  expect(warnings.length).toBeGreaterThan(0)
  await expect(ns.optimize()).rejects.toThrow('disk full')
  expect(await keysIn(inner, '_ckpt/')).toHaveLength(0)
  refuse = false
  await clock.sleep(2000)
  await ns.close()
  expect(await keysIn(inner, '_ckpt/')).toHaveLength(1)
})

test('a process that dies at any step of maintenance leaves a root that opens with everything in it', async () => {
  const origin = new MemoryStore('memory://')
  const first = await connect('memory://', { store: origin })
  await fillLog(first, 0)
  const table = await first.createTable('t', [{ a: 1 }])
  for (let i = 2; i < 64; i++) await table.add([{ a: i }])
  await first.close()
  for (let survives = 0; survives < 40; survives++) {
    for (const lastLands of [false, true]) {
      const store = await copyOf(origin)
      const dying = new CrashingStore(store, survives, lastLands)
      let acknowledged = 63
      try {
        const ns = await connect('memory://', { store: dying, onWarning: () => {} })
        const opened = await ns.openTable('t')
        await opened.add([{ a: 64 }])
        acknowledged = 64
        await fillLog(ns, 5)
        await ns.close()
      } catch (error) {
        if (!dying.dead) throw error
      }
      const next = await connect('memory://', { store })
      const rows = await (await next.openTable('t')).countRows()
      expect(rows).toBeGreaterThanOrEqual(acknowledged)
      expect(rows).toBeLessThanOrEqual(64)
      await next.close()
    }
  }
})

async function copyOf(store: MemoryStore): Promise<MemoryStore> {
  const copy = new MemoryStore('memory://')
  for (const key of await keysIn(store, '')) await copy.put(key, (await store.get(key))!)
  return copy
}

test('a dropped table with a file that cannot be deleted does not block others', async () => {
  const clock = new SeededClock(1)
  const store = new BusyStore(new MemoryStore('memory://', clock), () => false)
  const warnings: string[] = []
  const onWarning = (message: string) => warnings.push(message)
  const ns = await connect('memory://', {
    clock,
    store,
    maintenance: { compact: false, keepOrphansMs: 1000 },
    onWarning,
  })
  const rows = Array.from({ length: 9_000 }, (_, a) => ({ a, b: `row ${a}` }))
  await ns.createTable('x', rows)
  const [open] = await keysIn(store, 'tables/')
  store.isOpen = key => key === open
  await ns.dropTable('x')
  await ns.createTable('y', rows)
  await ns.dropTable('y')
  await clock.sleep(3 * 60 * 60_000)
  expect(await keysIn(store, 'tables/')).toEqual([open])
  expect(warnings).toEqual([])
  store.isOpen = () => false
  await ns.createNamespace('more')
  await clock.sleep(60 * 60_000)
  expect(await keysIn(store, 'tables/')).toEqual([])
  await ns.close()
})

/** Tells how long it was asked to wait. */
class RecordingClock extends SeededClock {
  readonly waits: number[] = []

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.waits.push(ms)
    return super.sleep(ms, signal)
  }
}

describe('a maintenance task', () => {
  const committed = {} as CatalogCommitted

  test('that fails waits twice as long each time, up to an hour, and is reported once until it succeeds', async () => {
    const clock = new SeededClock(1)
    const warnings: unknown[] = []
    let fails = true
    let tries: number[] = []
    const work = async () => {
      tries.push(Math.round(clock.elapsed() / 1000))
      if (fails) throw new Error('EPERM')
    }
    const dueIn = () => (fails || tries.length === 0 ? 0 : Number.POSITIVE_INFINITY)
    const warn = (_: string, cause: unknown) => warnings.push(cause)
    const maintenance = new Maintenance({ tasks: [{ name: 'x', dueIn, work }], clock, warn })
    maintenance.afterCommit(committed)
    await clock.sleep(40_000)
    expect(tries).toEqual([0, 1, 3, 7, 15, 31])
    await clock.sleep(24 * 3600_000)
    expect(tries.at(-1)! - tries.at(-2)!).toBe(3600)
    expect(warnings).toHaveLength(1)
    fails = false
    tries = []
    await clock.sleep(2 * 3600_000)
    expect(tries).toHaveLength(1)
    fails = true
    tries = []
    maintenance.afterCommit(committed)
    await clock.sleep(2_500)
    expect(tries.map(at => at - tries[0]!)).toEqual([0, 1])
    expect(warnings).toHaveLength(2)
    await maintenance.stop()
  })

  test('that is due many times in a row lets the event loop run other work', async () => {
    let left = 50
    const work = async () => {
      left--
      for (const until = performance.now() + 1; performance.now() < until; );
    }
    const dueIn = () => (left > 0 ? 0 : Number.POSITIVE_INFINITY)
    const tasks = [{ name: 'x', dueIn, work }]
    const maintenance = new Maintenance({ tasks, clock: systemClock, warn: () => {} })
    maintenance.afterCommit(committed)
    for (let turn = 0; turn < 4; turn++) await new Promise(resolve => setImmediate(resolve))
    expect(left).toBeGreaterThan(0)
    while (left > 0) await new Promise(resolve => setImmediate(resolve))
    await maintenance.stop()
  })

  test('that is due by the wall clock, which counts whole milliseconds, is awaited once, not again after every commit', async () => {
    const clock = new RecordingClock(1)
    const { waits } = clock
    const due = clock.now() + 60_000
    let done = 0
    const dueIn = () => (done > 0 ? Number.POSITIVE_INFINITY : Math.max(0, due - clock.now()))
    const work = async () => void done++
    const maintenance = new Maintenance({ tasks: [{ name: 'x', dueIn, work }], clock, warn: () => {} })
    for (let i = 0; i < 10; i++) {
      clock.advance(0.7)
      maintenance.afterCommit(committed)
      await Promise.resolve()
    }
    expect(waits).toHaveLength(1)
    await clock.sleep(60_001)
    expect(done).toBe(1)
    await maintenance.stop()
  })

  test('that is due in a month is awaited no longer than a timer can be set', async () => {
    const clock = new RecordingClock(1)
    const { waits } = clock
    const due = 30 * 24 * 3600_000
    let done = 0
    const dueIn = () => (done > 0 ? Number.POSITIVE_INFINITY : Math.max(0, due - clock.elapsed()))
    const work = async () => void done++
    const maintenance = new Maintenance({ tasks: [{ name: 'x', dueIn, work }], clock, warn: () => {} })
    maintenance.afterCommit(committed)
    await Promise.resolve()
    expect(waits).toEqual([2 ** 31 - 1])
    await clock.sleep(due + 1)
    expect(done).toBe(1)
    await maintenance.stop()
  })
})
