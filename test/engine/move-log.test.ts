/** Moves of the commit log between the files of a root and other logs. */
import { describe, expect, test } from 'vitest'
import type { ExternalLog } from '../../src/commit/external-log.js'
import { connect, moveLog, type Namespace, schema, verify } from '../../src/index.js'
import { Ambiguous, type BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { MemoryLog, type MemorySlots } from '../support/memory-log.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()
const maintenance = { keepOrphansMs: 0, keepLogMs: 0, keepVersionsMs: 0 }

class Logs {
  readonly #slots = new Map<string, MemorySlots>()

  open(name: string): MemoryLog {
    const slots = this.#slots.get(name) ?? new Map()
    this.#slots.set(name, slots)
    return new MemoryLog(name, slots)
  }

  slotsOf(name: string): MemorySlots {
    return this.#slots.get(name)!
  }
}

async function addRows(ns: Namespace, ids: readonly number[]): Promise<void> {
  const exists = (await ns.tableNames()).includes('t')
  const table = exists
    ? await ns.openTable('t')
    : await ns.createTable('t', [], { schema: schema({ id: 'int64' }) })
  for (const id of ids) await table.add([{ id }])
}

async function idsOf(ns: Namespace): Promise<number[]> {
  const rows = await (await ns.openTable('t')).query().select(['id']).toArray()
  return rows.map(({ id }) => Number(id)).sort((a, b) => a - b)
}

const count = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i)

describe('moveLog', () => {
  test('moves a root from its files to a log, to another log, and back, and keeps versions and tags', async () => {
    const [path, logs] = [freshRoot(), new Logs()]
    const first = await connect(path, { maintenance })
    await addRows(first, count(100))
    const table = await first.openTable('t')
    await table.tags.create('before', await table.version())
    await first.optimize()
    await addRows(first, count(50, 100))
    await first.close()

    const places = ['a', 'b', null, 'c', null] as const
    let from: string | null = null
    for (const [i, place] of places.entries()) {
      const to = place === null ? ('files' as const) : logs.open(place)
      const moved = await moveLog(path, { to, ...(from !== null && { from: logs.open(from) }) })
      expect(moved.copied).toBeGreaterThan(0)
      from = place
      const log = () => (from === null ? {} : { log: logs.open(from) })
      const ns = await connect(path, { maintenance, create: false, ...log() })
      expect(ns.stats().log.slot).toBe(moved.slot)
      await addRows(ns, count(80, 150 + 80 * i))
      await ns.optimize()
      await addRows(ns, [1000 + i])
      expect((await ns.verify()).problems).toEqual([])
      await ns.close()
      const again = await connect(path, { readOnly: true, ...log() })
      expect(await idsOf(again)).toEqual([...count(150 + 80 * (i + 1)), ...count(i + 1, 1000)])
      const tagged = await (await again.openTable('t')).checkout('before')
      expect(await tagged.countRows()).toBe(100)
      await again.close()
    }
  })

  test('moves a root whose log was never in its files', async () => {
    const [path, logs] = [freshRoot(), new Logs()]
    const ns = await connect(path, { log: logs.open('a') })
    await addRows(ns, count(5))
    await ns.close()
    await moveLog(path, { from: logs.open('a'), to: 'files' })
    const again = await connect(path)
    await addRows(again, [5])
    expect(await idsOf(again)).toEqual(count(6))
    expect((await again.verify()).problems).toEqual([])
    await again.close()
    await expect(connect(path, { log: logs.open('a') })).rejects.toMatchObject({
      name: 'InvalidInput',
      message: expect.stringMatching(/was moved to the files of the root, so it is not "a"/),
    })
  })

  test('refuses all other logs afterwards, and names the new one', async () => {
    const [path, logs] = [freshRoot(), new Logs()]
    const ns = await connect(path)
    await addRows(ns, [1])
    await ns.close()
    await moveLog(path, { to: logs.open('a') })
    const refused = { name: 'InvalidInput', message: expect.stringMatching(/was moved to "a", so it is not/) }
    await expect(connect(path)).rejects.toMatchObject(refused)
    await expect(connect(path, { readOnly: true })).rejects.toMatchObject(refused)
    await expect(connect(path, { log: logs.open('b') })).rejects.toMatchObject(refused)
    await expect(connect(path, { log: new MemoryLog('a') })).rejects.toMatchObject({
      name: 'Internal',
      message: expect.stringMatching(/has commits in "a", but "a" has no slots/),
    })
    await expect(connect(freshRoot(), { log: logs.open('a') })).rejects.toMatchObject({
      name: 'InvalidInput',
      message: expect.stringMatching(/"a" is the log of another root/),
    })
  })

  test('stops connections that are open, without losing what they committed', async () => {
    const [path, logs] = [freshRoot(), new Logs()]
    const writers = await Promise.all([1, 2, 3].map(() => connect(path)))
    await writers[0]!.createTable('t', [], { schema: schema({ id: 'int64' }) })
    const acknowledged: number[] = []
    let moved = false
    const writing = writers.map(async (ns, writer) => {
      const table = await ns.openTable('t')
      for (let i = 0; ; i++) {
        const id = writer * 10_000 + i
        try {
          await table.add([{ id }])
        } catch (error) {
          expect(error).toMatchObject({
            name: 'ServiceUnavailable',
            message: 'the log of this root was moved to "a"',
            hint: expect.stringMatching(/pass it to connect as the option log/),
          })
          expect(moved || acknowledged.length > 0).toBe(true)
          return
        }
        acknowledged.push(id)
      }
    })
    await new Promise(resolve => setTimeout(resolve, 100))
    const moving = moveLog(path, { to: logs.open('a') })
    await Promise.all([moving, ...writing])
    moved = true
    await expect(writers[0]!.tableNames()).rejects.toThrow(/was moved to "a"/)
    for (const ns of writers) await ns.close()
    const ns = await connect(path, { log: logs.open('a') })
    expect(await idsOf(ns)).toEqual(acknowledged.sort((a, b) => a - b))
    await ns.close()
  })

  test('does nothing if the root has the log already', async () => {
    const [path, logs] = [freshRoot(), new Logs()]
    const ns = await connect(path)
    await addRows(ns, [1])
    await ns.close()
    const { slot } = await moveLog(path, { to: logs.open('a') })
    expect(await moveLog(path, { to: logs.open('a') })).toEqual({ slot, copied: 0 })
    await expect(moveLog(path, { to: logs.open('b') })).rejects.toThrow(/was moved to "a"/)
    // Without from, the log of the root is named.
    await expect(moveLog(path, { to: 'files' })).rejects.toThrow(/is in "a"/)
    await expect(moveLog(path, { from: logs.open('a'), to: logs.open('a') })).rejects.toThrow(
      /are the same log/,
    )
  })

  test('writes nothing if the new log has slots', async () => {
    const [path, logs] = [freshRoot(), new Logs()]
    const other = await connect(freshRoot(), { log: logs.open('a') })
    await other.close()
    const ns = await connect(path)
    await addRows(ns, [1])
    await expect(moveLog(path, { to: logs.open('a') })).rejects.toMatchObject({
      name: 'InvalidInput',
      message: '"a" has slots of another log',
    })
    await addRows(ns, [2])
    await ns.close()
  })

  test('names the place without a root', async () => {
    const store = new MemoryStore('memory://empty place')
    await expect(moveLog('memory://', { store, to: new MemoryLog('a') })).rejects.toMatchObject({
      name: 'NamespaceNotFound',
      message: 'there is no root in "memory://empty place": its log is empty',
    })
    await expect(verify('s3://bucket/main')).rejects.toThrow(/verify takes a local directory/)
  })

  test('is refused without a root, and for a root in its files', async () => {
    await expect(moveLog(freshRoot(), { to: new MemoryLog('a') })).rejects.toThrow(/there is no directory/)
    const path = freshRoot()
    await (await connect(path)).close()
    await expect(moveLog(path, { to: 'files' })).rejects.toThrow(/is in its files already/)
    await expect(moveLog(path, {} as never)).rejects.toThrow(/moveLog needs to/)
  })
})

/** Fails at a call, after or before it takes effect. Counts the calls that write. */
class Crash {
  writes = 0
  readonly #at: number
  readonly #lands: boolean

  constructor(at: number, lands: boolean) {
    this.#at = at
    this.#lands = lands
  }

  async around<T>(write: () => Promise<T>): Promise<T> {
    this.writes++
    if (this.writes < this.#at) return write()
    if (this.writes === this.#at && this.#lands) await write()
    throw new Error('crashed')
  }

  store(store: BlobStore): BlobStore {
    const wrapped = Object.assign(Object.create(store) as BlobStore, {
      putIfAbsent: (...call: Parameters<BlobStore['putIfAbsent']>) =>
        this.around(() => store.putIfAbsent(...call)),
    })
    return bound(wrapped, store)
  }

  log(log: MemoryLog): ExternalLog {
    const [append, begin] = [log.append.bind(log), log.begin.bind(log)]
    log.append = (...call) => this.around(() => append(...call))
    log.begin = (...call) => this.around(() => begin(...call))
    return log
  }
}

/** Methods of a store with private fields need the store itself as `this`. */
function bound(wrapped: BlobStore, store: BlobStore): BlobStore {
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(store))) {
    const method = store[name as keyof BlobStore]
    if (typeof method === 'function' && !Object.hasOwn(wrapped, name))
      Object.assign(wrapped, { [name]: (method as (...call: unknown[]) => unknown).bind(store) })
  }
  return wrapped
}

describe.each(['to a log', 'to the files', 'between logs'])('a move %s', direction => {
  const logs = () => new Logs()
  const start = direction === 'to a log' ? null : 'a'
  const end = direction === 'to the files' ? null : 'b'

  async function prepare(all: Logs, name: string): Promise<MemoryStore> {
    const store = new MemoryStore(`memory://${name}`)
    const ns = await connect('memory://', { store, ...(start !== null && { log: all.open(start) }) })
    await addRows(ns, count(5))
    await ns.close()
    return store
  }

  const at = (all: Logs, place: string | null, store: BlobStore) =>
    connect('memory://', { store, create: false, ...(place !== null && { log: all.open(place) }) })

  test.each([true, false])(
    'that crashes at each step is completed by the same call, or left alone (last write lands: %s)',
    async lands => {
      let steps = 0
      for (let crashAt = 1; ; crashAt++) {
        const all = logs()
        const store = await prepare(all, `${direction} ${lands} ${crashAt}`)
        const crash = new Crash(crashAt, lands)
        const open = (place: string | null) => (place === null ? null : crash.log(all.open(place)))
        const [from, to] = [open(start), open(end)]
        const outcome = await moveLog('memory://', {
          store: crash.store(store),
          to: to ?? 'files',
          ...(from !== null && { from }),
        }).then(
          () => 'moved',
          error => error,
        )
        if (outcome === 'moved') break
        steps++
        // Either the old log works as before, or the fence is there and everybody is refused or has the new log.
        const old = await at(all, start, store).catch(error => error)
        if (!(old instanceof Error)) {
          await addRows(old, [5])
          await old.close()
        } else expect(old.message).toMatch(/was moved to/)
        const rows = old instanceof Error ? 5 : 6
        await moveLog('memory://', {
          store,
          to: end === null ? 'files' : all.open(end),
          ...(start !== null && { from: all.open(start) }),
        })
        await expect(at(all, start, store)).rejects.toThrow(/was moved to/)
        const ns = await at(all, end, store)
        await addRows(ns, [7])
        expect(await idsOf(ns)).toEqual([...count(rows), 7])
        expect((await ns.verify()).problems).toEqual([])
        await ns.close()
      }
      expect(steps).toBeGreaterThan(6)
    },
  )

  test('is completed although answers are lost', async () => {
    const all = logs()
    const store = await prepare(all, `${direction} lost`)
    let calls = 0
    const lossy = (log: MemoryLog) => {
      const [append, begin] = [log.append.bind(log), log.begin.bind(log)]
      const losing = async (answer: Promise<'won' | 'taken'>) => {
        const won = await answer
        if (calls++ % 2 === 0) throw new Ambiguous('lost')
        return won
      }
      log.append = (...call) => losing(append(...call))
      log.begin = (...call) => losing(begin(...call))
      return log
    }
    await moveLog('memory://', {
      store,
      to: end === null ? 'files' : lossy(all.open(end)),
      ...(start !== null && { from: lossy(all.open(start)) }),
    })
    const ns = await at(all, end, store)
    expect(await idsOf(ns)).toEqual(count(5))
    await ns.close()
  })

  test('that two processes make at the same time is made once', async () => {
    const all = logs()
    const store = await prepare(all, `${direction} twice`)
    const move = () =>
      moveLog('memory://', {
        store,
        to: end === null ? 'files' : all.open(end),
        ...(start !== null && { from: all.open(start) }),
      })
    const [one, two] = await Promise.allSettled([move(), move()])
    expect([one, two].some(({ status }) => status === 'fulfilled')).toBe(true)
    const { slot } = await move()
    const ns = await at(all, end, store)
    expect(ns.stats().log.slot).toBe(slot)
    expect(await idsOf(ns)).toEqual(count(5))
    await ns.close()
  })
})
