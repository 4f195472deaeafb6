/** Compaction beside everything else that happens to a table. */
import { afterEach, expect, test } from 'vitest'
import { connect, type MaintenanceEvent, type Namespace, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { WrappedStore } from '../support/stores.js'

/** Holds up whoever writes a data file. */
class HoldingStore extends WrappedStore {
  #held: (() => void)[] = []
  #isHolding = false
  #arrived: (() => void) | null = null

  /** Resolves when somebody waits. */
  hold(): Promise<void> {
    this.#isHolding = true
    return new Promise(resolve => {
      this.#arrived = resolve
    })
  }

  release(): void {
    this.#isHolding = false
    for (const go of this.#held.splice(0)) go()
  }

  protected override async around<T>(call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
    if (this.#isHolding && call === 'putStream') {
      this.#arrived?.()
      await new Promise<void>(resolve => this.#held.push(resolve))
    }
    return run()
  }
}

const opened: Namespace[] = []

afterEach(async () => {
  for (const ns of opened.splice(0)) await ns.close()
})

async function open(store = new HoldingStore(new MemoryStore('memory://'))) {
  const events: MaintenanceEvent[] = []
  const ns = await connect('memory://', {
    store,
    onMaintenance: event => events.push(event),
    maintenance: { compact: false },
  })
  opened.push(ns)
  return { ns, store, events }
}

async function tenRows(ns: Namespace): Promise<Table> {
  const table = await ns.createTable('t', [{ k: 0, n: 0 }])
  for (let k = 1; k < 10; k++) await table.add([{ k, n: 0 }])
  return table
}

function rowsOf(table: Table) {
  return table.query().withRowId().toArray()
}

/** What others do while a compaction has read the rows and not committed yet. */
const meanwhile: Record<string, (table: Table, ns: Namespace) => Promise<unknown>> = {
  'deletes rows': table => table.delete('k % 3 = 0'),
  'deletes a whole fragment': table => table.delete('k = 4'),
  'deletes all rows': table => table.delete('k >= 0'),
  'updates rows': table => table.update({ n: 7 }, 'k < 5'),
  'updates the same row twice': async table => {
    await table.update({ n: 7 }, 'k = 5')
    await table.update({ n: 8 }, 'k = 5')
  },
  appends: table => table.add([{ k: 10, n: 1 }]),
  merges: table =>
    table
      .mergeInsert('k')
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute([
        { k: 3, n: 3 },
        { k: 11, n: 3 },
      ]),
  'renames a column': table => table.alterColumns({ n: { rename: 'm' } }),
  'adds a column': table => table.addColumns({ m: 'k + 1' }),
  'drops a column': table => table.dropColumns(['n']),
  'casts a column': table => table.alterColumns({ n: { type: 'int64' } }),
  overwrites: table => table.add([{ k: 99, n: 99 }], { mode: 'overwrite' }),
  'restores an earlier version': table => table.restore(6),
  'deletes and restores': async table => {
    const version = await table.version()
    await table.delete('k > 4')
    await table.restore(version)
  },
  'changes rows in a transaction': (_, ns) =>
    ns.transaction(async tx => {
      await tx.table('t').update({ n: 5 }, 'k = 1')
      await tx.table('t').delete('k = 2')
    }),
}

/** What leaves nothing of what a compaction has read, or gives it other columns. */
const inVain = [
  'deletes all rows',
  'adds a column',
  'casts a column',
  'overwrites',
  'restores an earlier version',
]

test.each(Object.keys(meanwhile))('while another process %s', async name => {
  const plain = await open()
  const expected = await tenRows(plain.ns)
  await meanwhile[name]!(expected, plain.ns)
  const { ns, store, events } = await open()
  const table = await tenRows(ns)
  const arrived = store.hold()
  const optimized = ns.optimize()
  await arrived
  await meanwhile[name]!(table, ns)
  store.release()
  await optimized
  const landed = events.filter(event => event.kind === 'compaction' && event.fragmentsBefore > 4)
  // Work that was in vain is done anew where something is left to do.
  if (!inVain.includes(name)) expect(landed).toHaveLength(1)
  expect(await rowsOf(table)).toEqual(await rowsOf(expected))
  await ns.optimize()
  expect(await rowsOf(table)).toEqual(await rowsOf(expected))
  expect((await table.versions()).length).toBeLessThan(16)
})

test('rows that a restore makes live again survive a compaction that read them as deleted', async () => {
  const { ns, store } = await open()
  const table = await tenRows(ns)
  await table.add(Array.from({ length: 4 }, (_, k) => ({ k: 20 + k, n: 0 })))
  const whole = await table.version()
  const before = await rowsOf(table)
  await table.delete('k = 20 OR k = 22')
  const arrived = store.hold()
  const optimized = ns.optimize()
  await arrived
  await table.restore(whole)
  store.release()
  await optimized
  expect(await rowsOf(table)).toEqual(before)
})

test('rows that a restore brings back between others survive a compaction that did not read them', async () => {
  const { ns, store } = await open()
  const rows = (from: number) =>
    Array.from({ length: 3000 }, (_, i) => ({ k: from + i, s: `row ${from + i} ......` }))
  const table = await ns.createTable('t', rows(0))
  await table.add(rows(3000))
  await table.add(rows(6000))
  const before = await rowsOf(table)
  await table.delete('k >= 3000 AND k < 6000')
  const arrived = store.hold()
  const optimized = ns.optimize()
  await arrived
  await table.restore(3)
  store.release()
  await optimized
  expect(await rowsOf(table)).toEqual(before)
})

test('two processes compact one table: one result is discarded, and no row is lost', async () => {
  const { ns, store } = await open()
  const table = await tenRows(ns)
  const before = await rowsOf(table)
  const other = await open(store)
  await Promise.all([ns.optimize(), other.ns.optimize()])
  expect(await rowsOf(table)).toEqual(before)
  expect(await rowsOf(other.ns.table('t'))).toEqual(before)
})

test('a process that slept through changes and GC begins with the current state', async () => {
  const store = new MemoryStore('memory://')
  const ages = { compact: false, keepVersionsMs: 0, keepOrphansMs: 0 }
  const [slept, other] = [
    await connect('memory://', { store, maintenance: ages }),
    await connect('memory://', { store, maintenance: ages }),
  ]
  opened.push(slept, other)
  const rows = (from: number) =>
    Array.from({ length: 3000 }, (_, i) => ({ k: from + i, s: `row ${from + i} ......` }))
  await slept.createTable('t', rows(0))
  await slept.table('t').add(rows(3000))
  await other.table('t').add(rows(0), { mode: 'overwrite' })
  await other.table('t').add([{ k: 1, s: 'one' }])
  await other.optimize()
  await slept.optimize()
  expect(await slept.table('t').countRows()).toBe(3001)
})

test('a compaction is reported, leaves one fragment, and makes a version with equal rows', async () => {
  const { ns, events } = await open()
  const table = await tenRows(ns)
  await table.delete('k = 9')
  await ns.optimize()
  const [event] = events.filter(({ kind }) => kind === 'compaction')
  expect(event).toMatchObject({ table: ['t'], version: 12, fragmentsBefore: 9, fragmentsAfter: 1, rows: 9 })
  expect((await table.versions()).at(-1)).toMatchObject({
    version: 12,
    metadata: { operation: 'compaction' },
  })
  const { fragment_stats, num_rows } = await ns.operations.getTableStats({ id: ['t'] })
  expect({ num_rows, fragments: fragment_stats.num_fragments }).toEqual({ num_rows: 9, fragments: 1 })
  const diff = await table.diff(11, 12)
  expect(await diff.added.toArray()).toEqual([])
  expect(await diff.removed.toArray()).toEqual([])
})

test('rows that do not ascend by id are found, searched, changed and compared like others', async () => {
  const { ns } = await open()
  const table = await ns.createTable(
    't',
    Array.from({ length: 300 }, (_, k) => ({ k, v: [k % 3, 1] })),
    { vectorColumns: ['v'] },
  )
  await table.update({ k: -1 }, 'k % 7 = 0')
  await table.add([{ k: 1000, v: [0, 1] }])
  await table.update({ k: -2 }, 'k % 5 = 0 AND k >= 0')
  const search = () => table.search([0, 1]).withRowId().limit(50).toArray()
  const nearest = await search()
  const before = await rowsOf(table)
  await ns.optimize()
  expect(await rowsOf(table)).toEqual(before)
  expect(await search()).toEqual(nearest)
  expect(nearest.map(row => row._rowid)).toEqual(
    nearest.map(row => row._rowid as number).sort((a, b) => a - b),
  )
  const version = await table.version()
  expect(await table.update({ k: 5000 }, '_rowid IN (0, 7, 300, 299)')).toMatchObject({ rows: 4 })
  expect(await table.delete('_rowid BETWEEN 10 AND 19')).toMatchObject({ rows: 10 })
  const diff = await table.diff(version, await table.version())
  expect((await diff.removed.toArray()).length).toBe(10)
  await ns.optimize()
  expect(await table.countRows('k = 5000')).toBe(4)
  expect(await table.countRows()).toBe(291)
})

test('small commits before and after changes of the schema are compacted without a changed value', async () => {
  const { ns } = await open()
  const text = { kind: 'utf8', large: false } as const
  const kind = {
    kind: 'dictionary',
    index: { kind: 'int', bits: 8, signed: true },
    value: text,
    ordered: false,
  } as const
  const fields = [
    { name: 'k', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
    { name: 'name', type: text, nullable: true },
    { name: 'kind', type: kind, nullable: true },
    {
      name: 'v',
      type: {
        kind: 'fixed_size_list',
        size: 2,
        child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
      },
      nullable: true,
    },
  ] as const
  const table: Table = await ns.createTable('t', [], { schema: { fields } })
  const add = async (from: number, name: string, more: object = {}) => {
    const row = (k: number) => {
      const v = k % 5 === 0 ? null : [k, 0.5]
      return { k, [name]: k % 3 === 0 ? null : `n${k}`, kind: `kind ${k % 4}`, v, ...more }
    }
    for (let k = from; k < from + 6; k++) await table.add([row(k)])
    await table.add([row(from + 6), row(from + 7), row(from + 8)])
  }
  await add(0, 'name')
  await table.delete('k IN (2, 7)')
  await table.addColumns({ extra: 'k * 2' })
  await add(10, 'name', { extra: 5 })
  await table.alterColumns({ name: { rename: 'title' } })
  await add(20, 'title', { extra: 7 })
  await table.update({ extra: 6 }, 'k IN (12, 24)')
  const before = await rowsOf(table)
  expect(before).toHaveLength(25)
  await ns.optimize()
  const { fragment_stats } = await ns.operations.getTableStats({ id: ['t'] })
  expect(fragment_stats.num_fragments).toBe(1)
  expect(await rowsOf(table)).toEqual(before)
})

test('compaction runs by itself: soon if there is much to do, at rest if there is little', async () => {
  const clock = new SeededClock(3)
  const store = new MemoryStore('memory://', clock)
  const events: MaintenanceEvent[] = []
  const ns = await connect('memory://', { store, clock, onMaintenance: event => events.push(event) })
  opened.push(ns)
  const table = await ns.createTable('t', [{ k: 0 }])
  // Load the code of compactions, which takes longer than the commits below.
  await ns.optimize()
  events.length = 0
  for (let k = 1; k < 300; k++) await table.add([{ k }])
  const fragments = async () =>
    (await ns.operations.getTableStats({ id: ['t'] })).fragment_stats.num_fragments
  // At most a second of the simulated time, which is less than the rest that a table with few changes needs.
  for (let ms = 0; ms < 1000 && (await fragments()) >= 128; ms++) await clock.sleep(1)
  expect(events.length).toBeGreaterThan(0)
  expect(await fragments()).toBeLessThan(128)
  await clock.sleep(60_000)
  expect(await fragments()).toBeLessThan(12)
  const done = events.length
  await clock.sleep(3_600_000)
  expect(events.length).toBe(done)
  expect(await table.countRows()).toBe(300)
})

test('many commits that delete rows leave few deletion vector parts to read', async () => {
  const { ns } = await open()
  const table = await ns.createTable(
    't',
    Array.from({ length: 20_000 }, (_, k) => ({ k, s: `row ${k}` })),
  )
  for (let i = 0; i < 40; i++) await table.delete(`k = ${i * 3}`)
  const before = await rowsOf(table)
  await ns.optimize()
  expect(await rowsOf(table)).toEqual(before)
  await table.delete('k = 1')
  expect(await table.countRows()).toBe(before.length - 1)
})

test('a process that appends one row and exits keeps the table compacted', async () => {
  const store = new MemoryStore('memory://')
  for (let k = 0; k < 150; k++) {
    const ns = await connect('memory://', { store })
    if (k === 0) await ns.createTable('t', [{ k }])
    else await ns.table('t').add([{ k }])
    await ns.close()
  }
  const { ns } = await open(new HoldingStore(store))
  const { fragment_stats } = await ns.operations.getTableStats({ id: ['t'] })
  expect(fragment_stats.num_fragments).toBeLessThan(100)
  expect(await ns.table('t').countRows()).toBe(150)
})

test('a table whose rows are updated one by one without a pause is compacted', async () => {
  const events: MaintenanceEvent[] = []
  const store = new MemoryStore('memory://')
  const ns = await connect('memory://', { store, onMaintenance: event => events.push(event) })
  opened.push(ns)
  const n = Array.from({ length: 100 }, (_, k) => k)
  const table = await ns.createTable(
    't',
    n.map(k => ({ k, n: k })),
  )
  for (let i = 0; i < 600; i++) {
    const k = (i * 37) % 40
    n[k] = i
    await table.update({ n: i }, 'k = ?', [k])
    if (i % 150 === 0) await table.delete('k = ?', [99 - i / 150])
  }
  const compactions = events.filter(({ kind }) => kind === 'compaction')
  expect(compactions.length).toBeGreaterThan(5)
  const rows = await table.query().orderBy('k').toArray()
  expect(rows).toEqual(n.slice(0, 96).map((value, k) => ({ k, n: value })))
  await expect(ns.verify()).resolves.toMatchObject({ problems: [] })
})
