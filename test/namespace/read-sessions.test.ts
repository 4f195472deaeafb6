import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { connect, type Namespace, type Row, type UpkeepSettings } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { numbered, readSessionSuite, rowsIn, rowsOf } from '../suites/read-sessions.js'
import { doors } from '../support/doors.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

for (const { name, open } of doors(temporaryRoots())) readSessionSuite(name, open)

const none = { keepOrphansMs: 0, keepVersionsMs: 0, keepLogMs: 0 }

describe('read sessions of several servers of one root', () => {
  const opened: Namespace[] = []
  afterEach(() => Promise.all(opened.splice(0).map(ns => ns.close())))

  const servers = async (count: number, upkeep: UpkeepSettings = none) => {
    const store = new MemoryStore('memory://read sessions')
    const all: Namespace[] = []
    for (let i = 0; i < count; i++) all.push(await connect('memory://', { store, upkeep }))
    opened.push(...all)
    await all[0]!.createTable('t', numbered(0, 5000))
    return { store, all: all as [Namespace, Namespace] }
  }
  const replaced = async (ns: Namespace) => {
    const table = await ns.openTable('t')
    await table.add(numbered(0, 3), { mode: 'overwrite' })
    for (let i = 0; i < 3; i++) await table.add(numbered(i, i + 1))
    await ns.optimize()
  }

  test('a version that expired is read on while one of them holds it', async () => {
    const {
      store,
      all: [first, second],
    } = await servers(2)
    const scan = await (await first.openTable('t')).scan({ slices: 3 })
    await replaced(second)
    expect((await (await second.openTable('t')).versions()).map(({ version }) => version)).not.toContain(1)
    expect(await rowsIn(scan)).toEqual(numbered(0, 5000))
    const elsewhere = await second.openTable('t')
    const slices = scan.slices.map(({ token }) => elsewhere.slice(token))
    expect(await rowsOf(slices[0]!)).toEqual(await rowsOf(scan.slices[0]!))
    // The second one holds it by now.
    await first.close()
    await replaced(second)
    expect((await Promise.all(slices.map(slice => rowsOf(slice)))).flat()).toEqual(numbered(0, 5000))
    const keys: string[] = []
    for await (const { key } of store.list('_keys/')) keys.push(key)
    expect(keys).toEqual(['_keys/read-sessions'])
  })

  test('one that nobody holds any more is refused once its files are gone', async () => {
    const {
      all: [first, second],
    } = await servers(2)
    const scan = await (await first.openTable('t')).scan()
    await scan.close()
    await replaced(second)
    await replaced(second)
    const slice = (await second.openTable('t')).slice(scan.slices[0]!.token)
    expect(await failure(rowsOf(slice))).toMatchObject({ code: 11, hint: 'begin a new session' })
  })

  test('one that nobody held for a while goes on where its version is still there', async () => {
    const {
      all: [first, second],
    } = await servers(2, { ...none, keepVersionsMs: Number.POSITIVE_INFINITY })
    const scan = await (await first.openTable('t')).scan()
    await scan.close()
    await replaced(second)
    const slice = (await second.openTable('t')).slice(scan.slices[0]!.token)
    expect(await rowsOf(slice)).toEqual(numbered(0, 5000))
  })

  test('begun while sweeps run, it always reads all of its version', async () => {
    const {
      all: [first, second],
    } = await servers(2)
    const table = await first.openTable('t')
    for (let round = 0; round < 8; round++) {
      const [scan] = await Promise.all([table.scan({ slices: 2 }), replaced(second)])
      const at = (await rowsIn(scan)).length
      expect(at).toBe(scan.version === 1 ? 5000 : at)
      expect(scan.slices.reduce((sum, { rows }) => sum + rows, 0)).toBe(at)
      await scan.close()
    }
  })

  test('its time stands still: all slices agree on now()', async () => {
    const {
      all: [first, second],
    } = await servers(2)
    const scan = await (await first.openTable('t')).scan({ slices: 2, select: { now: 'now()' } })
    const times = new Set<number>()
    const handles = [scan.slices[0]!, (await second.openTable('t')).slice(scan.slices[1]!.token)]
    for (const slice of handles) {
      for await (const batch of slice.batches()) for (const row of batch.toArray()) times.add(Number(row.now))
    }
    expect(times.size).toBe(1)
  })

  test('a key that is damaged is told, and none is made over it', async () => {
    const {
      store,
      all: [first],
    } = await servers(1)
    await store.putIfAbsent('_keys/read-sessions', Buffer.from('{"key":"x"}'))
    const table = await first.openTable('t')
    expect(await failure(table.scan())).toMatchObject({ code: 18, message: /_keys\/read-sessions/ })
  })
})

test('wide rows come in messages of about 8 MiB, and a reader goes on behind any of them', async () => {
  const ns = await connect('memory://')
  const text = 'x'.repeat(1024 * 1024)
  const rows = Array.from({ length: 30 }, (_, id) => ({ id, name: `${id}${text}` }))
  const table = await ns.createTable('wide', rows.slice(0, 17))
  await table.add(rows.slice(17))
  const [slice] = (await table.scan({ slices: 1 })).slices
  const counts: number[] = []
  const places: string[] = []
  for await (const batch of slice!.batches()) {
    counts.push(batch.numRows)
    places.push(batch.metadata.get('sheaf:after')!)
  }
  expect(Math.max(...counts)).toBeLessThanOrEqual(9)
  expect(counts.reduce((sum, count) => sum + count)).toBe(30)
  for (const [i, after] of places.entries()) {
    const rest = await rowsOf(slice!, after)
    expect(rest.map(({ id }) => id)).toEqual(rows.slice(Number(after)).map(({ id }) => id))
    expect(Number(after)).toBe(counts.slice(0, i + 1).reduce((sum, count) => sum + count))
  }
  await ns.close()
}, 30_000)

test('after any history the slices are what a search finds, and any row is a place to go on at', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), count: fc.integer({ min: 1, max: 3000 }) }),
    fc.record({ kind: fc.constant('delete' as const), of: fc.integer({ min: 2, max: 5 }) }),
    fc.record({ kind: fc.constant('update' as const), of: fc.integer({ min: 2, max: 9 }) }),
  )
  const asked = fc.record({
    steps: fc.array(step, { maxLength: 6 }),
    slices: fc.integer({ min: 1, max: 9 }),
    where: fc.constantFrom(undefined, 'id % 3 = 1', 'id < 2000', "name LIKE '%7%'", '_rowid > 100', 'false'),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  await fc.assert(
    fc.asyncProperty(asked, async ({ steps, slices, where, at }) => {
      const ns = await connect('memory://')
      const table = await ns.createTable('t', numbered(0, 10))
      let next = 10
      for (const step of steps) {
        if (step.kind === 'add') await table.add(numbered(next, next + step.count))
        else if (step.kind === 'delete') await table.delete(`id % ${step.of} = 1`)
        else await table.update({ name: `upd ${step.of}` }, `id % ${step.of} = 0`)
        if (step.kind === 'add') next += step.count
      }
      const scan = await table.scan({ slices, ...(where !== undefined && { where }) })
      const search = where === undefined ? table.search() : table.search().where(where)
      const wanted = await search.select(['id', 'name', '_rowoffset']).toArray()
      const plain = (rows: readonly Row[]) => rows.map(({ id, name }) => ({ id, name }))
      expect(await rowsIn(scan)).toEqual(plain(wanted))
      expect(scan.slices.length).toBeLessThanOrEqual(slices)
      let first = 0
      for (const slice of scan.slices) {
        const own = wanted.slice(first, first + (await rowsOf(slice)).length)
        first += own.length
        const row = own[Math.floor(at * own.length)]
        if (row === undefined) continue
        const behind = own.filter(({ _rowoffset }) => Number(_rowoffset) > Number(row._rowoffset))
        expect(await rowsOf(slice, String(Number(row._rowoffset) + 1))).toEqual(plain(behind))
      }
      await ns.close()
    }),
    { numRuns: 25 },
  )
}, 60_000)
