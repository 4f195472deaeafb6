/** Old versions cease to exist, files that nothing refers to are deleted, slots that nobody needs are trimmed. */
import { describe, expect, test } from 'vitest'
import { connect, ErrorCode, type MaintenanceEvent, type Namespace } from '../../src/index.js'
import { manifestName } from '../../src/protocol/manifest-name.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { manifestOf } from '../support/lance.js'
import { BusyStore, CrashingStore, keysIn, WrappedStore } from '../support/stores.js'

const hour = 60 * 60 * 1000
const now = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }

/** Rows of more bytes than ride in a slot. */
function manyRows(from = 0): { a: number; b: string }[] {
  return Array.from({ length: 3_000 }, (_, i) => ({ a: from + i, b: `row ${from + i} ${'.'.repeat(20)}` }))
}

const dataOf = (store: BlobStore) => keysIn(store, 'tables/')

/** Something happens before the first call of a kind goes through. */
class InterruptedStore extends WrappedStore {
  #left: number
  readonly #call: string
  readonly #interruption: () => Promise<unknown>

  constructor(inner: BlobStore, call: string, interruption: () => Promise<unknown>) {
    super(inner)
    this.#left = 1
    this.#call = call
    this.#interruption = interruption
  }

  protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string) {
    if (call === this.#call && key.startsWith('tables/') && this.#left-- > 0) await this.#interruption()
    return run()
  }
}

async function rowsAt(ns: Namespace, version?: number): Promise<number> {
  const table = await ns.openTable('t')
  return (await (version === undefined ? table : await table.checkout(version)).query().toArray()).length
}

test('records of versions that can no longer be requested are deleted with their slots', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const ns = await connect('memory://', { clock, store, maintenance: now })
  const table = await ns.createTable('t', [{ a: 0 }])
  await table.tags.create('first', 1)
  const bytesOf = async (prefix: string) => {
    let bytes = 0
    for await (const { size } of store.list(prefix)) bytes += size
    return bytes
  }
  const sizes: number[] = []
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 60; i++) await table.add([{ a: i }])
    await ns.optimize()
    for (let i = 0; i < 3; i++) {
      await ns.createNamespace(`n${round}-${i}`)
      // What others took the place of stays for a little while.
      clock.advance(3 * 60 * 1000)
      await ns.optimize()
    }
    sizes.push(await bytesOf('_hist/'))
  }
  // What is not worth writing again is less than 64 KiB a pack.
  expect(Math.max(...sizes)).toBeLessThan(130_000)
  expect(await (await table.checkout('first')).countRows()).toBe(1)
  expect(await table.countRows()).toBe(361)
  await ns.close()
})

describe('versions', () => {
  test('expire that long after the next version was made, except the newest and tagged ones', async () => {
    const clock = new SeededClock(1)
    const events: MaintenanceEvent[] = []
    const ns = await connect('memory://', {
      clock,
      maintenance: { keepVersionsMs: hour },
      onMaintenance: event => events.push(event),
    })
    const table = await ns.createTable('t', [{ a: 1 }])
    clock.advance(30 * hour)
    await table.add([{ a: 2 }])
    await table.tags.create('kept', 2)
    await table.add([{ a: 3 }])
    const versions = async () => (await table.versions()).map(({ version }) => version)
    await ns.optimize()
    // Version 1 was the newest until a moment ago; a compaction made version 4.
    expect(await versions()).toEqual([1, 2, 3, 4])
    clock.advance(2 * hour)
    await ns.optimize()
    expect(await versions()).toEqual([2, 4])
    expect(events).toContainEqual({ kind: 'expired', table: expect.any(String), versions: 2 })
    await table.tags.delete('kept')
    await ns.optimize()
    expect(await versions()).toEqual([4])
    await expect(table.checkout(1).then(at => at.countRows())).rejects.toMatchObject({
      code: ErrorCode.TableVersionNotFound,
    })
    await ns.close()
  })

  test('expire in the background, and those of other processes at the next look', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const options = { clock, store, maintenance: { keepVersionsMs: hour, compact: false } }
    const gone = await connect('memory://', options)
    const table = await gone.createTable('t', [{ a: 1 }])
    for (let i = 0; i < 5; i++) await table.add([{ a: i }])
    await gone.close()
    const ns = await connect('memory://', options)
    await ns.createNamespace('first')
    await clock.sleep(3 * hour)
    expect((await (await ns.openTable('t')).versions()).map(({ version }) => version)).toEqual([6])
    const own = await ns.createTable('own', [{ a: 1 }])
    await own.add([{ a: 2 }])
    expect(await own.versions()).toHaveLength(2)
    await clock.sleep(2 * hour)
    expect(await own.versions()).toHaveLength(1)
    await ns.close()
  })
})

test('files of versions that expire while the root is idle are deleted', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const ns = await connect('memory://', { clock, store })
  const rows = Array.from({ length: 3000 }, (_, a) => ({ a, b: `row ${a} .................` }))
  const table = await ns.createTable('t', rows)
  for (let i = 0; i < 5; i++) await table.add(rows, { mode: 'overwrite' })
  // Day by day: what paces itself by the machine's time would sleep through all of them at once.
  const month = async () => {
    for (let day = 0; day < 30; day++) await clock.sleep(24 * hour)
  }
  await month()
  const keys: string[] = []
  for await (const { key } of store.list('tables/')) keys.push(key)
  expect(await table.versions()).toHaveLength(1)
  expect(keys).toHaveLength(1)
  // Then there is nothing left to do.
  const slot = ns.stats().log.slot
  await month()
  expect(ns.stats().log.slot).toBe(slot)
  await ns.close()
})

describe('files', () => {
  test('of expired versions are deleted, and nothing else', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const events: MaintenanceEvent[] = []
    const ns = await connect('memory://', {
      clock,
      store,
      maintenance: now,
      onMaintenance: event => events.push(event),
    })
    const table = await ns.createTable('t', manyRows())
    await table.add(manyRows(3_000))
    await table.tags.create('both', 2)
    await table.add(manyRows(6_000), { mode: 'overwrite' })
    const [own] = await dataOf(store)
    const folder = own!.slice(0, own!.lastIndexOf('/data/'))
    const stranger = `${folder}/data/notes.arrow`
    await store.put(stranger, new Uint8Array(1))
    await store.put(`${folder}/data/0-00000000-0000-4000-8000-000000000000.arrow`, new Uint8Array(7))
    await store.put(
      'tables/00000000-0000-4000-8000-000000000000/rows/0-00000000-0000-4000-8000-000000000000.runs',
      new Uint8Array(1),
    )
    await ns.optimize()
    expect(await dataOf(store)).toHaveLength(4)
    expect(await rowsAt(ns, 2)).toBe(6_000)
    expect(events).toContainEqual({ kind: 'swept', files: 2, bytes: 8 })
    await table.tags.delete('both')
    await ns.optimize()
    expect(await dataOf(store)).toHaveLength(2)
    expect(await dataOf(store)).toContain(stranger)
    expect(await rowsAt(ns)).toBe(3_000)
    await ns.close()
  })

  test('stay as long as a snapshot of any process shows them', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const [reader, writer] = [
      await connect('memory://', { clock, store }),
      await connect('memory://', { clock, store, maintenance: now }),
    ]
    const table = await writer.createTable('t', manyRows())
    const snapshots = [await reader.snapshot(), await writer.snapshot()]
    await table.add(manyRows(3_000), { mode: 'overwrite' })
    await writer.optimize()
    for (const snapshot of snapshots) {
      expect(await dataOf(store)).toHaveLength(2)
      expect(await rowsAt(snapshot)).toBe(3_000)
      await snapshot.close()
      await writer.optimize()
    }
    expect(await dataOf(store)).toHaveLength(1)
    await Promise.all([reader.close(), writer.close()])
  })

  test('of a reader whose version expires are deleted: the reader gets an error', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const writer = await connect('memory://', { clock, store, maintenance: now })
    const table = await writer.createTable('t', manyRows())
    const late = new InterruptedStore(store, 'getRange', async () => {
      await table.add(manyRows(3_000), { mode: 'overwrite' })
      await writer.optimize()
    })
    const reader = await connect('memory://', { clock, store: late })
    await expect(rowsAt(reader)).rejects.toMatchObject({
      code: ErrorCode.TableVersionNotFound,
      message: expect.stringMatching(/expired/),
    })
    expect(await rowsAt(reader)).toBe(3_000)
    await Promise.all([reader.close(), writer.close()])
  })

  test('that clients staged for a Lance table are deleted after a day, except those of versions', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const ns = await connect('memory://', { clock, store, maintenance: now })
    const { location } = await ns.operations.declareTable({ id: ['l'] })
    const folder = location.slice(location.indexOf('tables/'))
    const staged = (version: number, uuid: string) => `${manifestName(version, 'V2')}-${uuid}`
    const [used, left, late] = [1, 2, 3].map(i => `0000000${i}-0000-4000-8000-000000000000`)
    const put = (name: string) => store.put(`${folder}/_versions/${name}`, manifestOf(name))
    await put(staged(1, used!))
    await ns.operations.createTableVersion({ id: ['l'], version: 1, manifest_path: staged(1, used!) })
    await put(staged(2, left!))
    clock.advance(25 * hour)
    await put(staged(2, late!))
    await ns.createNamespace('later')
    await ns.optimize()
    const names = (await keysIn(store, `${folder}/`)).map(key => key.slice(key.lastIndexOf('/') + 1))
    expect(names.sort()).toEqual([manifestName(1, 'V2'), staged(2, late!)].sort())
    await ns.close()
  })

  test('of a writer slower than GC cannot enter the log', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const [slow, other] = [
      await connect('memory://', { clock, store }),
      await connect('memory://', { clock, store, maintenance: now }),
    ]
    await other.createTable('t', manyRows())
    const table = await slow.openTable('t')
    let staged = false
    const batches = async function* () {
      yield manyRows(3_000)
      staged = true
      await other.createNamespace('meanwhile')
      await other.optimize()
    }
    await expect(table.add(batches())).rejects.toMatchObject({
      code: ErrorCode.ConcurrentModification,
      status: 409,
      hint: /try again/,
    })
    expect(staged).toBe(true)
    await table.add(manyRows(3_000))
    expect(await rowsAt(other)).toBe(6_000)
    await Promise.all([slow.close(), other.close()])
  })
})

describe('slots', () => {
  /** Trims what can be trimmed: two checkpoints must say so. */
  async function trim(ns: Namespace): Promise<void> {
    for (let i = 0; i < 3; i++) {
      await ns.createNamespace(`trim ${i}`)
      await ns.dropNamespace(`trim ${i}`)
      await ns.optimize()
    }
  }

  test('that nothing needs are deleted; versions, inline rows and replies in other slots stay', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const events: MaintenanceEvent[] = []
    const options = { clock, store, maintenance: now }
    const ns = await connect('memory://', { ...options, onMaintenance: event => events.push(event) })
    const table = await ns.createTable('t', [{ a: 1 }])
    await table.tags.create('first', 1)
    for (let a = 2; a < 80; a++) await table.add([{ a }])
    await table.delete('a = 5')
    const keyed = await ns.createNamespace('keyed', { idempotencyKey: 'once' })
    for (let i = 0; i < 50; i++) await ns.createNamespace(`n${i}`)
    await trim(ns)
    expect(events).toContainEqual({ kind: 'trimmed', slots: expect.any(Number) })
    expect((await keysIn(store, '_log/')).length).toBeLessThan(12)
    const fresh = await connect('memory://', options)
    for (const each of [ns, fresh]) {
      expect(await rowsAt(each)).toBe(78)
      expect(await rowsAt(each, 1)).toBe(1)
      expect(await each.createNamespace('keyed', { idempotencyKey: 'once' })).toEqual(keyed)
      expect(await each.namespaceNames()).toHaveLength(51)
    }
    await Promise.all([ns.close(), fresh.close()])
  })

  test('that were trimmed meanwhile are skipped by a process that was idle', async () => {
    const clock = new SeededClock(1)
    const store = new MemoryStore('memory://', clock)
    const options = { clock, store, maintenance: { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 } }
    const [reader, writer, active] = [
      await connect('memory://', options),
      await connect('memory://', options),
      await connect('memory://', options),
    ]
    const table = await active.createTable('t', manyRows())
    for (const ns of [reader, writer]) expect(await rowsAt(ns)).toBe(3_000)
    const snapshot = await reader.snapshot()
    await table.add([{ a: 1, b: 'x' }], { mode: 'overwrite' })
    await trim(active)
    await writer.createNamespace('late')
    expect(await rowsAt(reader)).toBe(1)
    expect(await reader.namespaceNames()).toEqual(['late'])
    expect(await rowsAt(snapshot)).toBe(3_000)
    await snapshot.close()
    await trim(active)
    await trim(writer)
    await (await reader.openTable('t')).add([{ a: 2, b: 'y' }])
    expect(await rowsAt(active)).toBe(2)
    await Promise.all([reader.close(), writer.close(), active.close()])
  })

  test('that cannot be deleted now are tried again after the next checkpoint, without a report', async () => {
    const clock = new SeededClock(1)
    const store = new BusyStore(
      new MemoryStore('memory://', clock),
      key => key === `_log/${'3'.padStart(20, '0')}`,
    )
    const warnings: string[] = []
    const onWarning = (message: string) => warnings.push(message)
    const ns = await connect('memory://', { clock, store, maintenance: now, onWarning })
    for (let i = 0; i < 20; i++) await ns.createNamespace(`n${i}`)
    await trim(ns)
    const { refused } = store
    await ns.createNamespace('more')
    await clock.sleep(hour)
    expect({ refused, warnings }).toEqual({ refused: store.refused, warnings: [] })
    expect(refused).toBeGreaterThan(0)
    expect((await keysIn(store, '_log/')).length).toBeGreaterThan(20)
    store.isOpen = () => false
    await trim(ns)
    expect((await keysIn(store, '_log/')).length).toBeLessThan(15)
    await ns.close()
  })

  test.each(['won', 'lost'])(
    'a writer that sleeps in its append (%s) does not write into the trimmed log',
    async fate => {
      const clock = new SeededClock(1)
      const store = new MemoryStore('memory://', clock)
      const options = { clock, store, maintenance: now }
      const active = await connect('memory://', options)
      await active.createNamespace('first')
      let asleep = false
      const sleeper = new (class extends WrappedStore {
        protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string) {
          if (!asleep || call !== 'putIfAbsent' || !key.startsWith('_log/')) return run()
          asleep = false
          const early = fate === 'won' ? await run() : null
          for (let i = 0; i < 3; i++) await trim(active)
          return early ?? run()
        }
      })(store)
      const writer = await connect('memory://', { ...options, store: sleeper })
      asleep = true
      await writer.createNamespace('late')
      for (const ns of [writer, active]) expect(await ns.namespaceNames()).toEqual(['first', 'late'])
      const slots = (await keysIn(store, '_log/')).map(key => Number(key.slice('_log/'.length)))
      expect(slots.slice(1)).toEqual(Array.from({ length: slots.length - 1 }, (_, i) => slots[1]! + i))
      await Promise.all([writer.close(), active.close()])
    },
  )
})

test('a process that dies at any step of GC leaves a root that opens with everything in it', async () => {
  const clock = new SeededClock(1)
  const origin = new MemoryStore('memory://', clock)
  const first = await connect('memory://', { store: origin, clock })
  const table = await first.createTable('t', manyRows())
  await table.add([{ a: 3_000, b: 'in a slot' }])
  await table.tags.create('kept', 2)
  await first.close()
  const tidied = async (store: BlobStore, rounds: number, onMaintenance = (_: MaintenanceEvent) => {}) => {
    const ns = await connect('memory://', {
      store,
      clock,
      maintenance: now,
      onWarning: () => {},
      onMaintenance,
    })
    for (let i = 0; i < rounds; i++) {
      await ns.createNamespace(`${rounds} ${i}`, { mode: 'exist_ok' })
      await ns.optimize()
    }
    await ns.close()
  }
  await tidied(origin, 3)
  const last = await connect('memory://', { store: origin, clock })
  for (let i = 1; i <= 2; i++)
    await (await last.openTable('t')).add(manyRows(3_000 * i), { mode: 'overwrite' })
  await last.close()
  const kinds = new Set<string>()
  await tidied(await copyOf(origin), 1, ({ kind }) => kinds.add(kind))
  expect(kinds).toEqual(new Set(['checkpoint', 'expired', 'swept', 'trimmed']))
  for (let survives = 0, died = true; died; survives++) {
    for (const lastLands of [false, true]) {
      const store = await copyOf(origin)
      const dying = new CrashingStore(store, survives, lastLands)
      await tidied(dying, 1).catch(error => {
        if (!dying.dead) throw error
      })
      died = dying.dead
      const next = await connect('memory://', { store, clock, maintenance: now })
      const check = async () => {
        expect(await rowsAt(next)).toBe(3_000)
        expect(await rowsAt(next, 2)).toBe(3_001)
      }
      await check()
      await next.optimize()
      await check()
      expect(await dataOf(store)).toHaveLength(2)
      await next.close()
    }
  }
})

async function copyOf(store: MemoryStore): Promise<MemoryStore> {
  const copy = new MemoryStore('memory://')
  for (const key of await keysIn(store, '')) await copy.put(key, (await store.get(key))!)
  return copy
}

test('a restored table is readable after the versions in between are forgotten', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const maintenance = { compact: false, keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }
  const made = await connect('memory://', { clock, store })
  const table = await made.createTable('t', [{ a: 1 }])
  await table.add([{ a: 2 }])
  await table.restore(1)
  await table.add([{ a: 3 }])
  await made.close()
  const ns = await connect('memory://', { clock, store, maintenance })
  for (let i = 0; i < 5; i++) {
    await ns.createTable(`t${i}`, [{ a: i }])
    clock.advance(20_000)
    await ns.optimize()
  }
  await ns.close()
  const fresh = await connect('memory://', { clock, store, maintenance })
  expect(await (await fresh.openTable('t')).query().select(['a']).toArray()).toEqual([{ a: 1 }, { a: 3 }])
  await fresh.close()
})

test('parts of uploads are freed when they are as old as unreferenced files', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const calls: [prefix: string, before: number][] = []
  const inner: BlobStore = Object.assign(store, {
    async abortUploads(prefix: string, before: number) {
      calls.push([prefix, before])
    },
  })
  const ns = await connect('memory://', { clock, store: inner, maintenance: { keepOrphansMs: hour } })
  await ns.createTable('t', [{ a: 1 }])
  clock.advance(2 * hour)
  await ns.createNamespace('n')
  const newest = clock.now()
  await ns.optimize()
  expect(calls.length).toBeGreaterThan(0)
  for (const [prefix, before] of calls) {
    expect(prefix).toBe('tables/')
    expect(before).toBeGreaterThan(newest - hour - 1000)
    expect(before).toBeLessThanOrEqual(clock.now() - hour)
  }
  await ns.close()
})
