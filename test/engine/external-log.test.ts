/** Whole roots whose log is not in their files. */
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { connect, verify } from '../../src/index.js'
import { MemoryLog, type MemorySlots } from '../support/memory-log.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()

describe('connect with the option log', () => {
  test('keeps no slot in the files, and finds the rows again', async () => {
    const [path, slots] = [freshRoot(), new Map() as MemorySlots]
    const ns = await connect(path, { log: new MemoryLog('log', slots) })
    const table = await ns.createTable('t', [{ id: 1 }])
    for (let id = 2; id <= 20; id++) await table.add([{ id }])
    await ns.close()
    expect(readdirSync(join(path, '_log'))).toEqual(['00000000000000000000', '00000000000000000000.begun'])
    const again = await connect(path, { log: new MemoryLog('log', slots), create: false })
    expect(await (await again.openTable('t')).countRows()).toBe(20)
    expect((await again.verify()).problems).toEqual([])
    await again.close()
  })

  test('sees the commits of other connections at once', async () => {
    const [path, slots] = [freshRoot(), new Map() as MemorySlots]
    const first = await connect(path, { log: new MemoryLog('log', slots) })
    const second = await connect(path, { log: new MemoryLog('log', slots) })
    const table = await first.createTable('t', [{ id: 0 }])
    const same = await second.openTable('t')
    for (let id = 1; id <= 10; id++) {
      await Promise.all([table.add([{ id }]), same.add([{ id: -id }])])
      expect(await table.countRows()).toBe(1 + 2 * id)
      expect(await same.countRows()).toBe(1 + 2 * id)
    }
    await first.close()
    await second.close()
  })

  test('works through checkpoints, compaction and trims', async () => {
    const [path, slots] = [freshRoot(), new Map() as MemorySlots]
    const maintenance = { keepOrphansMs: 0, keepLogMs: 0 }
    const ns = await connect(path, { log: new MemoryLog('log', slots), maintenance })
    const table = await ns.createTable('t', [{ id: 0 }])
    for (let round = 0; round < 4; round++) {
      for (let id = 0; id < 80; id++) await table.add([{ id }])
      await ns.optimize()
    }
    expect(await table.countRows()).toBe(321)
    expect(slots.get(1)?.bytes).toBeNull()
    expect((await ns.verify()).problems).toEqual([])
    await ns.close()
    const again = await connect(path, { log: new MemoryLog('log', slots) })
    expect(await (await again.openTable('t')).countRows()).toBe(321)
    expect((await again.verify()).problems).toEqual([])
    await again.close()
  })

  test('a copy is complete if the checkpoints are copied before the log, and all other files after it', async () => {
    const [path, copy, slots] = [freshRoot(), freshRoot(), new Map() as MemorySlots]
    const maintenance = { keepLogMs: 0 }
    const ns = await connect(path, { log: new MemoryLog('log', slots), maintenance })
    const table = await ns.createTable('t', [{ id: 0 }])
    const commitMore = async () => {
      const before = ns.stats().log.checkpoint
      for (let id = 0; id < 80; id++) await table.add([{ id }])
      await ns.optimize()
      expect(ns.stats().log.checkpoint).toBeGreaterThan(before)
    }
    await commitMore()
    cpSync(join(path, '_ckpt'), join(copy, '_ckpt'), { recursive: true })
    await commitMore()
    const copied: MemorySlots = new Map(slots)
    const rows = await table.countRows()
    await commitMore()
    const filter = (name: string) => name !== join(path, '_ckpt')
    cpSync(path, copy, { recursive: true, filter })
    await ns.close()
    const restored = await connect(copy, { log: new MemoryLog('log', copied) })
    expect(await (await restored.openTable('t')).countRows()).toBe(rows)
    expect((await restored.verify()).problems).toEqual([])
    await restored.close()
  })

  test('refuses a log that ends before the newest checkpoint', async () => {
    const [path, slots] = [freshRoot(), new Map() as MemorySlots]
    const ns = await connect(path, { log: new MemoryLog('log', slots) })
    const table = await ns.createTable('t', [{ id: 0 }])
    const early: MemorySlots = new Map(slots)
    for (let id = 1; id < 80; id++) await table.add([{ id }])
    await ns.optimize()
    expect(ns.stats().log.checkpoint).toBeGreaterThan(50)
    await ns.close()
    await expect(connect(path, { log: new MemoryLog('log', early) })).rejects.toMatchObject({
      name: 'Internal',
      message: expect.stringMatching(
        /the checkpoint of slot \d+ .* does not belong to this log: .*the log ends with slot \d$/,
      ),
    })
  })

  test('a log serves one connection, and a second connect does not close it', async () => {
    const log = new MemoryLog('log', new Map() as MemorySlots)
    const ns = await connect(freshRoot(), { log })
    await expect(connect(freshRoot(), { log })).rejects.toMatchObject({
      code: 13,
      message: expect.stringContaining('passed to connect or moveLog before'),
    })
    await ns.createTable('t', [{ id: 0 }])
    await ns.close()
  })

  test('an open connection stops if its log is restored to an earlier time', async () => {
    const [path, slots] = [freshRoot(), new Map() as MemorySlots]
    const ns = await connect(path, { log: new MemoryLog('log', slots) })
    const table = await ns.createTable('t', [{ id: 0 }])
    const early = [...slots]
    for (let id = 1; id < 4; id++) await table.add([{ id }])
    slots.clear()
    for (const [slot, row] of early) slots.set(slot, row)
    await expect(table.add([{ id: 9 }])).rejects.toMatchObject({
      name: 'Internal',
      message: expect.stringMatching(/slot \d+ no longer exists/),
    })
    expect(slots.size).toBe(early.length)
    await ns.close()
  })

  test('refuses a root that has its log in its files', async () => {
    const path = freshRoot()
    const ns = await connect(path)
    await ns.createTable('t', [{ id: 0 }])
    await ns.close()
    const log = new MemoryLog('other log')
    await expect(connect(path, { log })).rejects.toMatchObject({
      name: 'InvalidInput',
      message: expect.stringMatching(/has its log in its files, not in "other log"$/),
    })
    expect(log.closed).toBeGreaterThan(0)
    const used: MemorySlots = new Map()
    await (await connect(freshRoot(), { log: new MemoryLog('other log', used) })).close()
    await expect(connect(path, { log: new MemoryLog('other log', used) })).rejects.toMatchObject({
      name: 'InvalidInput',
      message: expect.stringMatching(/and the other log has slots, too$/),
    })
  })

  test('a root with an external log is refused without it, and the error names the log', async () => {
    const path = freshRoot()
    await (await connect(path, { log: new MemoryLog('postgres://host/db') })).close()
    const refused = {
      name: 'InvalidInput',
      message: expect.stringMatching(
        /the log of the root in .* is not in its files, but in "postgres:\/\/host\/db"$/,
      ),
      hint: expect.stringContaining('option log'),
    }
    await expect(connect(path)).rejects.toMatchObject(refused)
    await expect(connect(path, { readOnly: true })).rejects.toMatchObject(refused)
    await expect(verify(path)).rejects.toMatchObject(refused)
  })

  test('says that there is no root without create', async () => {
    const path = freshRoot()
    mkdirSync(path)
    await expect(connect(path, { log: new MemoryLog('log'), create: false })).rejects.toMatchObject({
      name: 'NamespaceNotFound',
    })
    await expect(connect(path, { log: new MemoryLog('log'), readOnly: true })).rejects.toMatchObject({
      name: 'NamespaceNotFound',
    })
  })

  test('the connection closes the log', async () => {
    const log = new MemoryLog('log')
    const ns = await connect(freshRoot(), { log })
    expect(log.closed).toBe(0)
    await ns.close()
    expect(log.closed).toBe(1)
  })
})

describe('watch', () => {
  test('wakes up when the log notifies, long before the next poll', async () => {
    const slots: MemorySlots = new Map()
    const log = new MemoryLog('log', slots)
    const ns = await connect(freshRoot(), { log })
    const table = await ns.createTable('t', [{ id: 0 }])
    const stop = new AbortController()
    const changes = ns.watch({ signal: stop.signal })[Symbol.asyncIterator]()
    await changes.next()
    expect(log.watchers).toBe(1)
    const latencies: number[] = []
    for (let id = 1; id <= 5; id++) {
      const next = changes.next()
      await new Promise(resolve => setTimeout(resolve, 20))
      await table.add([{ id }])
      const started = performance.now()
      await next
      latencies.push(performance.now() - started)
    }
    expect(Math.min(...latencies)).toBeLessThan(50)
    await changes.return?.()
    expect(log.watchers).toBe(0)
    await ns.close()
  })

  test('finds a commit although the notification is lost', async () => {
    const [path, slots] = [freshRoot(), new Map() as MemorySlots]
    // Two logs over the same slots do not notify each other.
    const ns = await connect(path, { log: new MemoryLog('log', slots) })
    const other = await connect(path, { log: new MemoryLog('log', slots) })
    const changes = ns.watch()[Symbol.asyncIterator]()
    await changes.next()
    const next = changes.next()
    await other.createTable('t', [{ id: 0 }])
    expect((await next).value).toBeGreaterThan(0)
    await changes.return?.()
    await ns.close()
    await other.close()
  })
})
