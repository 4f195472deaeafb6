/** Refreshes as jobs: at once, canceled, interrupted, by themselves. */
import { afterEach, expect, test } from 'vitest'
import { resolveMaintenance } from '../../src/client/maintenance-settings.js'
import { Namespace } from '../../src/client/namespace.js'
import { bindOperations } from '../../src/engine/handlers.js'
import { OpenedRoot } from '../../src/engine/opened-root.js'
import { connect } from '../../src/index.js'
import type { Change } from '../../src/manifest/change.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { jobEnd, viewRequest } from '../suites/views.js'
import { SeededClock } from '../support/clock.js'
import { failure } from '../support/failure.js'
import { CrashingStore, WrappedStore } from '../support/stores.js'

const open: Namespace[] = []
afterEach(async () => {
  for (const ns of open.splice(0)) await ns.close()
})

/** Numbers above 10, of which some ride in the slot and others do not. */
const rowsFrom = (first: bigint, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: first + BigInt(i), n: 100n + BigInt(i) }))

/** Lets writes below a prefix wait. */
class HoldingStore extends WrappedStore {
  #held: Promise<void> | null = null
  release = () => {}
  /** Resolves when something waits. */
  waits: Promise<void> = Promise.resolve()
  #noteWait = () => {}

  hold(): void {
    this.#held = new Promise(resolve => {
      this.release = () => {
        this.#held = null
        resolve()
      }
    })
    this.waits = new Promise(resolve => {
      this.#noteWait = resolve
    })
  }

  protected override async around<T>(
    call: string,
    _: boolean,
    run: () => Promise<T>,
    key: string,
  ): Promise<T> {
    if (this.#held !== null && call === 'put' && key.startsWith('_pins/')) {
      this.#noteWait()
      await this.#held
    }
    return run()
  }
}

async function opened(store: WrappedStore | MemoryStore, clock: SeededClock) {
  const ns = await connect('root', { store, clock, onWarning: () => {} })
  open.push(ns)
  return ns
}

async function prepared() {
  const clock = new SeededClock(1)
  const store = new MemoryStore('root', clock)
  const holding = new HoldingStore(store)
  const ns = await opened(holding, clock)
  const source = await ns.createTable('t', rowsFrom(0n, 3))
  await ns.operations.createMaterializedView(viewRequest())
  return { clock, store, holding, ns, source, view: ns.table('v') }
}

test('A-161 queued requests for the same version are one job, others run one after the other', async () => {
  const { holding, ns, source } = await prepared()
  const { operations: ops } = ns
  holding.hold()
  const refresh = async (request = {}) =>
    (await ops.refreshMaterializedView({ id: ['v'], ...request })).job_id
  const first = await refresh()
  await holding.waits
  await source.add(rowsFrom(10n, 1))
  const second = await refresh()
  const third = await refresh()
  const fourth = await refresh({ src_version: 1 })
  expect([second === first, third === second, fourth === second]).toEqual([false, true, false])
  holding.release()
  for (const id of [first, second, fourth]) {
    expect(await jobEnd(ops, id)).toMatchObject({ status: 'Succeeded' })
  }
  expect((await ns.table('v').versions()).map(({ metadata }) => metadata?.operation)).toEqual([
    'create',
    'refresh',
    'refresh',
    'refresh',
  ])
  expect(await ns.table('v').countRows()).toBe(3)
})

test('A-161 two processes never refresh a view at the same time', async () => {
  const { clock, store, source } = await prepared()
  const holding = new HoldingStore(store)
  const one = await opened(holding, clock)
  holding.hold()
  const first = (await one.operations.refreshMaterializedView({ id: ['v'], src_version: 1 })).job_id
  await holding.waits
  const two = await opened(store, clock)
  await source.add(rowsFrom(10n, 1))
  const second = (await two.operations.refreshMaterializedView({ id: ['v'] })).job_id
  await clock.sleep(20_000)
  const statusOf = async (id: string) => (await two.operations.describeTransaction({ id: [id] })).status
  expect([await statusOf(first), await statusOf(second)]).toEqual(['Running', 'Queued'])
  holding.release()
  expect(await jobEnd(two.operations, second)).toMatchObject({ status: 'Succeeded' })
  expect(await jobEnd(two.operations, first)).toMatchObject({ status: 'Succeeded' })
  expect(await two.table('v').countRows()).toBe(4)
})

test('A-149 a refresh that is canceled leaves the view as it was', async () => {
  const { clock, store } = await prepared()
  const holding = new HoldingStore(store)
  const ns = await opened(holding, clock)
  holding.hold()
  const refreshing = failure(ns.table('v').refresh())
  await holding.waits
  const jobs = await ns.operations.refreshMaterializedView({ id: ['v'] })
  const cancel = (id: string) =>
    ns.operations.alterTransaction({ id: [id], actions: [{ setStatusAction: { status: 'Canceled' } }] })
  await cancel(jobs.job_id)
  const entries = await transactionsOf(store)
  await cancel(entries.find(id => id !== jobs.job_id)!)
  holding.release()
  expect(await refreshing).toMatchObject({ code: 19, message: expect.stringContaining('Canceled') })
  expect(await ns.table('v').version()).toBe(1)
})

interface LoggedEntry {
  readonly id: string
  readonly ops: readonly {
    readonly op: string
    readonly state?: string
    readonly id?: string
    readonly kind?: string
    readonly spec?: unknown
  }[]
}

/** All entries of the log, by transaction id. */
async function* entriesIn(store: MemoryStore): AsyncGenerator<LoggedEntry> {
  for await (const { key } of store.list('_log/')) {
    const [line] = Buffer.from((await store.get(key))!)
      .toString()
      .split('\n')
    const { slot, entries = [] } = JSON.parse(line!)
    for (const { txn, ops } of entries) yield { id: `${slot.toString(36)}-${txn}`, ops }
  }
}

/** Ids of the jobs that were queued. */
async function transactionsOf(store: MemoryStore): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { id, ops } of entriesIn(store)) {
    if (ops.some(op => op.state === 'Queued' && !op.id && op.kind !== 'compaction')) ids.push(id)
  }
  return ids
}

test('a process that dies in a refresh leaves the old view or the new one; the job continues elsewhere', async () => {
  const shown = async (ns: Namespace) => {
    const rows = await ns.table('v').query().withRowId().toArray()
    return JSON.stringify(rows.sort((a, b) => Number(a.id) - Number(b.id)))
  }
  const begun = async () => {
    const { clock, store, ns, source, view } = await prepared()
    await view.refresh()
    await source.update({ n: 7n }, 'id = 1')
    await source.add(rowsFrom(10n, 3000))
    const before = await shown(ns)
    await ns.close()
    return { clock, store, before }
  }
  let died = true
  for (let survives = 8; died; survives++) {
    const { clock, store, before } = await begun()
    const crashing = new CrashingStore(store, survives, survives % 2 === 0)
    const dying = await opened(crashing, clock).catch(() => null)
    if (dying === null) continue
    await Promise.race([
      dying
        .table('v')
        .refresh()
        .catch(() => {}),
      clock.sleep(5_000),
    ])
    died = crashing.dead
    const next = await opened(store, clock)
    const found = await shown(next)
    await next.table('v').refresh()
    const after = await shown(next)
    expect(JSON.parse(after)).toHaveLength(3002)
    expect([before, after]).toContain(found)
    for (const id of await transactionsOf(store)) {
      expect(await jobEnd(next.operations, id)).toMatchObject({ status: 'Succeeded' })
    }
    await next.close()
  }
})

test('a view that follows its source is refreshed some time after a commit, once for many commits', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('root', clock)
  const ns = await opened(store, clock)
  const source = await ns.createTable('t', rowsFrom(0n, 3))
  await ns.createView('v', { source: 't', autoRefresh: true })
  await ns.createView('w', { source: 'v', autoRefresh: true, columns: ['id'] })
  const before = (await transactionsOf(store)).length
  for (let i = 0; i < 10; i++) await source.add(rowsFrom(10n, 1))
  await clock.sleep(5_000)
  expect([await ns.table('v').countRows(), await ns.table('w').countRows()]).toEqual([13, 13])
  expect((await transactionsOf(store)).length - before).toBeLessThan(8)
  await source.alterColumns({ id: { rename: 'x' } })
  await clock.sleep(5_000)
  const failed = (await transactionsOf(store)).length
  await ns.createTable('other', [{ a: 1 }])
  await clock.sleep(5_000)
  expect(await transactionsOf(store)).toHaveLength(failed)
  await source.alterColumns({ x: { rename: 'id' } })
  await source.add(rowsFrom(20n, 1))
  await ns.optimize()
  expect([await ns.table('v').countRows(), await ns.table('w').countRows()]).toEqual([14, 14])
})

test('a refresh writes only changed rows if they are few, and rewrites all under the same ids if most have changed', async () => {
  const ns = await connect('memory://')
  open.push(ns)
  const source = await ns.createTable('t', rowsFrom(0n, 20_000))
  const view = await ns.createView('v', { source: 't' })
  const fragmentsOf = async () =>
    (await ns.operations.getTableStats({ id: ['v'] })).fragment_stats.num_fragments
  await source.update({ n: 1n }, 'id < 50')
  await view.refresh()
  expect(await fragmentsOf()).toBe(2)
  expect(await view.diff(2, 3).changed.count()).toBe(50)
  await source.update({ n: 2n }, 'id < 9000')
  await view.refresh()
  expect(await view.diff(3, 4).changed.count()).toBe(9000)
  expect(await fragmentsOf()).toBeGreaterThan(1)
  await source.update({ n: 3n }, 'id < 15000')
  await view.refresh()
  expect(await fragmentsOf()).toBe(1)
  const diff = view.diff(4, 5)
  expect([await diff.added.count(), await diff.removed.count(), await diff.changed.count()]).toEqual([
    0, 0, 15_000,
  ])
})

test('a transaction follows the same rules', async () => {
  const { ns } = await prepared()
  expect(await failure(ns.transaction(tx => tx.table('v').delete('true')))).toMatchObject({ code: 19 })
  expect(await failure(ns.transaction(tx => tx.table('v').refresh()))).toMatchObject({ code: 0 })
  await ns.transaction(tx => tx.dropTable('v'))
  expect(await ns.tableNames()).toEqual(['t'])
})

test('A-149 a job names the versions that its refresh needs', async () => {
  const { clock, store } = await prepared()
  const holding = new HoldingStore(store)
  const ns = await opened(holding, clock)
  await ns.table('v').refresh()
  holding.hold()
  const { job_id } = await ns.operations.refreshMaterializedView({ id: ['v'], src_version: 1 })
  const { uuid } = await ns.operations.describeTable({ id: ['t'] })
  const queued = await specOf(store, job_id)
  expect(queued).toEqual({
    version: 1,
    pinned: [
      { table: uuid, version: 1 },
      { table: uuid, version: 1 },
    ],
  })
  holding.release()
  await jobEnd(ns.operations, job_id)
})

async function specOf(store: MemoryStore, wanted: string): Promise<unknown> {
  for await (const { id, ops } of entriesIn(store)) {
    if (id === wanted) return ops.find(({ op }) => op === 'job')!.spec
  }
  return null
}

test('a compaction of the source makes a refresh read no row; only other changes count', async () => {
  const engine = await OpenedRoot.open(new MemoryStore('memory://'), {
    location: 'memory://',
    create: true,
    readOnly: false,
    cacheBytes: 1e6,
    clock: systemClock,
    warn: message => expect.fail(message),
    keep: resolveMaintenance({}),
    report: () => {},
  })
  const ns = new Namespace(bindOperations(engine), () => engine.close())
  open.push(ns)
  const source = await ns.createTable('t', rowsFrom(0n, 3))
  const view = await ns.createView('v', { source: 't' })
  const other = await ns.createTable(
    'other',
    rowsFrom(0n, 3).map(({ id }) => ({ id, n: -1n })),
  )
  const { uuid } = await ns.operations.describeTable({ id: ['t'] })
  const blob = (await engine.versions.slots.get(engine.root.head)).blob(0)
  // A compaction that lies tells whether anybody looks.
  await source.add(rowsFrom(10n, 1))
  const { next } = engine.root.state.tables.get(uuid!)!
  const files = [{ blob: 0, bytes: blob.length, fields: [0, 1] }]
  const compaction: Change = {
    op: 'change',
    t: uuid!,
    v: 3,
    base: 2,
    start: 0,
    kind: 'compaction',
    add: [{ id: next.frag, rows: 3, ids: { row0: 0 }, files }],
    dead: [],
    drop: [0],
    schema: null,
    next: { ...next, frag: next.frag + 1 },
  }
  await engine.root.commit(() => ({ ops: [compaction], blobs: [blob] }))
  await source.add(rowsFrom(20n, 1))
  await view.refresh()
  const shown = await view.query().orderBy('id').toArray()
  expect(shown.map(({ id, n }) => [id, n])).toEqual([
    [0, 100],
    [1, 101],
    [2, 102],
    [10, 100],
    [20, 100],
  ])
  const { metadata } = await ns.operations.describeTable({ id: ['v'] })
  expect(metadata).toMatchObject({ 'geneva::view::base_version': '4' })
  expect(await other.countRows()).toBe(3)
})
