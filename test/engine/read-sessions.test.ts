import { readFileSync } from 'node:fs'
import { tableFromIPC } from 'apache-arrow'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { cursorAt, type SliceToken } from '../../src/engine/read-sessions.js'
import {
  type CutSlice,
  connect,
  type MaintenanceSettings,
  type Namespace,
  type Row,
  sql,
  type Table,
} from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { SessionTokens } from '../../src/root/session-tokens.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { numbered, readSessionSuite, rowsIn, rowsOf } from '../suites/read-sessions.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const { name, open } of doors(temporaryRoots())) readSessionSuite(name, open)

const none = { keepOrphansMs: 0, keepVersionsMs: 0, keepLogMs: 0 }

describe('read sessions of several servers of one root', () => {
  const opened: Namespace[] = []
  afterEach(() => Promise.all(opened.splice(0).map(ns => ns.close())))

  const servers = async (count: number, maintenance: MaintenanceSettings = none) => {
    const store = new MemoryStore('memory://read sessions')
    const all: Namespace[] = []
    for (let i = 0; i < count; i++) all.push(await connect('memory://', { store, maintenance }))
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

  test('one reads a session that another has begun on a version which it has not seen yet', async () => {
    const {
      all: [first, second],
    } = await servers(2)
    for (let i = 0; i < 3; i++) {
      const table = await first.createTable(`u${i}`, numbered(0, 2000))
      const { slices } = await table.scan({ slices: 3 })
      const tokens = slices.map(({ token }) => second.operations.readTableSlice({ id: [`u${i}`], token }))
      const counts = (await Promise.all(tokens)).map(
        ({ chunks }) => tableFromIPC(Buffer.concat(chunks)).numRows,
      )
      expect(counts.reduce((a, b) => a + b)).toBe(2000)
    }
  })

  test('a resume position is valid only for its slice, and only unchanged', async () => {
    const {
      all: [ns],
    } = await servers(1)
    const [slice, other] = (await (await ns.openTable('t')).scan({ slices: 2 })).slices
    const [batch] = tableFromIPC(
      Buffer.concat((await ns.operations.readTableSlice({ id: ['t'], token: slice!.token })).chunks),
    ).batches
    const after = batch!.metadata.get('sheaf:after')!
    const [place, seal] = after.split('-')
    const read = (token: string, after: string) => ns.operations.readTableSlice({ id: ['t'], token, after })
    await read(slice!.token, after)
    for (const wrong of [place!, `${Number(place) - 1}-${seal}`, `${place}-AAAAAAAAAAAA`, '']) {
      expect(await failure(read(slice!.token, wrong))).toMatchObject({ code: 13 })
    }
    expect(await failure(read(other!.token, after))).toMatchObject({ code: 13 })
  })

  test('a token is valid under the current name of its table', async () => {
    const {
      all: [ns],
    } = await servers(1)
    const table = await ns.openTable('t')
    const [slice] = (await table.scan({ slices: 1 })).slices
    await ns.renameTable('t', 'renamed')
    await ns.createTable('t', [{ id: 1 }])
    const read = (name: string) => ns.operations.readTableSlice({ id: [name], token: slice!.token })
    await read('renamed')
    await ns.createTable('other', [{ id: 1 }])
    expect(await failure(read('other'))).toMatchObject({ code: 13 })
  })

  test('a read-only server accepts tokens of the others, also if it was asked before any existed', async () => {
    const {
      store,
      all: [first],
    } = await servers(1)
    const reader = await connect('memory://', { store, readOnly: true })
    opened.push(reader)
    const read = (token: string) => reader.operations.readTableSlice({ id: ['t'], token })
    expect(await failure(read('AAAA'))).toMatchObject({ code: 13 })
    const own = await reader.operations.createTableReadSession({ id: ['t'] })
    const { slices } = await first.operations.createTableReadSession({ id: ['t'] })
    for (const { token } of [...own.slices, ...slices]) {
      expect(tableFromIPC(Buffer.concat((await read(token)).chunks)).numRows).toBe(5000)
    }
    expect(await failure(read('AAAA'))).toMatchObject({ code: 13 })
  })

  test('an expired version is readable while one server holds it', async () => {
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

  test('a version that no server holds is refused once its files are gone', async () => {
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

  test('a session that no server held for a while continues if its version still exists', async () => {
    const {
      all: [first, second],
    } = await servers(2, { ...none, keepVersionsMs: Number.POSITIVE_INFINITY })
    const scan = await (await first.openTable('t')).scan()
    await scan.close()
    await replaced(second)
    const slice = (await second.openTable('t')).slice(scan.slices[0]!.token)
    expect(await rowsOf(slice)).toEqual(numbered(0, 5000))
  })

  test('read all of their version while GC runs', async () => {
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

  test('have one time: all slices agree on now()', async () => {
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

  test('a damaged key is reported, and not replaced', async () => {
    const {
      store,
      all: [first],
    } = await servers(1)
    await store.putIfAbsent('_keys/read-sessions', Buffer.from('{"key":"x"}'))
    const table = await first.openTable('t')
    expect(await failure(table.scan())).toMatchObject({ code: 18, message: /_keys\/read-sessions/ })
  })
})

test('wide rows are sent in messages of about 8 MiB, and a reader resumes after any of them', async () => {
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
    const read = counts.slice(0, i + 1).reduce((sum, count) => sum + count)
    expect(rest.map(({ id }) => id)).toEqual(rows.slice(read).map(({ id }) => id))
  }
  await ns.close()
}, 30_000)

test('after any history, slices give the rows of a search, and reading resumes at any row', async () => {
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
      const store = new MemoryStore('memory://places')
      const ns = await connect('memory://', { store })
      const tokens = new SessionTokens(store, systemClock, true)
      const table = await ns.createTable('t', numbered(0, 10))
      let next = 10
      for (const step of steps) {
        if (step.kind === 'add') await table.add(numbered(next, next + step.count))
        else if (step.kind === 'delete') await table.delete(`id % ${step.of} = 1`)
        else await table.update({ name: `upd ${step.of}` }, `id % ${step.of} = 0`)
        if (step.kind === 'add') next += step.count
      }
      const scan = await table.scan({ slices, ...(where !== undefined && { where }) })
      const search = where === undefined ? table.query() : table.query().where(where)
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
        const said = (await tokens.open(slice.token)) as SliceToken
        expect(await rowsOf(slice, cursorAt(said, Number(row._rowoffset) + 1))).toEqual(plain(behind))
      }
      await ns.close()
    }),
    { numRuns: 25 },
  )
}, 60_000)

describe('files of a read session', () => {
  const roots = temporaryRoots()
  type Range = NonNullable<CutSlice['ranges']>[number]

  /** The rows of a range as another program reads them from the disk. */
  async function readRange(table: Table, { token, files, first = 0, count = 0, deleted = [], rows }: Range) {
    const found: Record<string, unknown>[] = []
    if (token !== undefined) {
      for await (const batch of table.slice(token).batches()) {
        found.push(...batch.toArray().map(row => ({ ...row.toJSON() })))
      }
    } else {
      const columns = files!.flatMap(({ path, columns }) => {
        const stored = tableFromIPC(readFileSync(path))
        return Object.entries(columns).map(([name, at]) => [name, stored.getChildAt(at)!] as const)
      })
      const dead = new Set(deleted.flatMap(([at, run]) => Array.from({ length: run }, (_, i) => at + i)))
      for (let at = first; at < first + count; at++) {
        if (!dead.has(at))
          found.push(Object.fromEntries(columns.map(([name, column]) => [name, column.get(at)])))
      }
    }
    expect(found).toHaveLength(rows)
    return found
  }

  test('have the rows, after any history', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), count: fc.constantFrom(3, 40, 4000, 9000) }),
      fc.record({ kind: fc.constant('delete' as const), of: fc.integer({ min: 2, max: 9 }) }),
      fc.record({ kind: fc.constant('update' as const), of: fc.integer({ min: 2, max: 9 }) }),
      fc.record({ kind: fc.constant('column' as const) }),
      fc.record({ kind: fc.constant('rename' as const) }),
      fc.record({ kind: fc.constant('optimize' as const) }),
    )
    const asked = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 7 }),
      slices: fc.integer({ min: 1, max: 7 }),
    })
    let files = 0
    await fc.assert(
      fc.asyncProperty(asked, async ({ steps, slices }) => {
        const ns = await connect(roots())
        const table = await ns.createTable<Row>('t', numbered(0, 5000))
        let next = 5000
        let columns = 0
        for (const step of steps) {
          if (step.kind === 'add') {
            const { fields } = await table.schema()
            const text = fields[1]!.name
            const rows = numbered(next, next + step.count).map(({ id, name }) => ({ id, [text]: name }))
            await table.add(rows)
            next += step.count
          } else if (step.kind === 'delete') await table.delete(`id % ${step.of} = 1`)
          else if (step.kind === 'update') {
            await table.update({ id: sql`id + ${next}` }, `id % ${step.of} = 0`)
          } else if (step.kind === 'column') await table.addColumns({ [`c${columns++}`]: 'id * 3' })
          else if (step.kind === 'rename') {
            const { fields } = await table.schema()
            await table.alterColumns({ [fields[1]!.name]: { rename: `text${columns++}` } })
          } else await ns.optimize()
        }
        const wanted = await table.query().toArray({ int64: 'bigint' })
        const scan = await table.scan({ slices, files: true })
        const found: Record<string, unknown>[] = []
        for (const slice of scan.slices) {
          for (const range of slice.ranges!) {
            files += range.files?.length ?? 0
            found.push(...(await readRange(table, range)))
          }
        }
        expect(found).toEqual(wanted)
        await ns.close()
      }),
      { numRuns: 20 },
    )
    expect(files).toBeGreaterThan(50)
  }, 60_000)

  test('a renamed column, and one that no file has', async () => {
    const ns = await connect(roots())
    const table = await ns.createTable('t', numbered(0, 5000))
    await table.addColumns({ later: { type: { kind: 'utf8', large: false } } })
    const scan = await table.scan({ files: true, select: { label: 'name', later: 'later' } })
    const [range] = scan.slices[0]!.ranges!
    expect(range).toMatchObject({ rows: 5000, first: 0, count: 5000, deleted: [] })
    expect(range!.files!.map(({ columns }) => columns)).toEqual([{ label: 1 }])
    const [row] = await readRange(table, range!)
    expect(row).toEqual({ label: 'row 0' })
    await ns.close()
  })

  test('deleted rows in too many runs to list are left to the server', async () => {
    const ns = await connect(roots())
    const table = await ns.createTable(
      't',
      Array.from({ length: 240_000 }, (_, id) => ({ id })),
    )
    await table.delete('id % 2 = 1')
    const scan = await table.scan({ files: true, slices: 3 })
    const ranges = scan.slices.flatMap(({ ranges }) => ranges!)
    expect(ranges.map(({ files, token }) => [files?.length, token !== undefined])).toEqual([
      [1, false],
      [1, false],
      [undefined, true],
    ])
    const found = []
    for (const range of ranges) found.push(...(await readRange(table, range)))
    expect(found.map(({ id }) => id)).toEqual(Array.from({ length: 120_000 }, (_, i) => i * 2))
    await ns.close()
  })
})
