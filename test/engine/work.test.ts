/** Workers: index builds in units, claims of compactions, and processes that leave the work to workers. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type ConnectOptions,
  connect,
  type MaintenanceEvent,
  type Namespace,
  type SheafError,
  type WorkOptions,
  work,
  workOnJob,
} from '../../src/index.js'
import type { JobOp } from '../../src/jobs/job-op.js'
import { loadAll } from '../../src/lazy-import.js'
import type { Change } from '../../src/manifest/change.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { BucketStore } from '../support/bucket-store.js'
import { SeededClock, stopClocks } from '../support/clock.js'
import { CrashingStore, WrappedStore } from '../support/stores.js'

const ends: (() => Promise<unknown>)[] = []

// The simulated clock does not wait for imports.
beforeAll(async () => {
  await loadAll()
  await import('p-queue')
})

afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  stopClocks()
})

interface LoggedEntry {
  readonly slot: number
  readonly by: string
  readonly ops: readonly (JobOp | Change | { readonly op: 'other' })[]
}

/** The entries of a log. */
async function entriesIn(store: BlobStore): Promise<readonly LoggedEntry[]> {
  const found: LoggedEntry[] = []
  for await (const { key } of store.list('_log/')) {
    const line = Buffer.from((await store.get(key))!)
      .toString()
      .split('\n', 1)[0]!
    const { slot, by, entries = [] } = JSON.parse(line)
    for (const { ops } of entries) found.push({ slot, by, ops })
  }
  return found
}

function jobOpsIn(entries: readonly LoggedEntry[]): readonly JobOp[] {
  return entries.flatMap(({ ops }) => ops.filter(({ op }) => op === 'job') as JobOp[])
}

function open(store: BlobStore, clock: SeededClock, options: ConnectOptions = {}): Promise<Namespace> {
  return connect('memory://', { store, clock, onWarning: () => {}, ...options }).then(ns => {
    ends.push(() => ns.close())
    return ns
  })
}

function startWorker(store: BlobStore, clock: SeededClock, options: WorkOptions = {}) {
  const stop = new AbortController()
  const events: MaintenanceEvent[] = []
  const onMaintenance = (event: MaintenanceEvent) => void events.push(event)
  const warnings: string[] = []
  const onWarning = (message: string, cause: unknown) => void warnings.push(`${message}: ${String(cause)}`)
  const done = work('memory://', {
    store,
    clock,
    signal: stop.signal,
    onMaintenance,
    onWarning,
    buildThreads: 1,
    ...options,
  })
  done.catch(() => {})
  const end = () => {
    stop.abort()
    return done
  }
  ends.push(() => end().catch(() => {}))
  return { events, warnings, end }
}

const rowsFrom = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    id: from + i,
    text: `word${(from + i) % 7} and more`,
    v: Float32Array.from({ length: 4 }, (_, d) => Math.sin((from + i) * (d + 1))),
  }))

/** A node that leaves work to workers, with a table of 1000 rows in two fragments. */
async function served(store: BlobStore = new MemoryStore('root')) {
  const clock = new SeededClock(7)
  const ns = await open(store, clock, { maintenance: 'elsewhere' })
  const table = await ns.createTable('t', rowsFrom(0, 600))
  await table.add(rowsFrom(600, 400))
  return { store, clock, ns, table }
}

/** How many segments the newest definition of an index has in the log. */
function definedSegments(entries: readonly LoggedEntry[], name: string): number {
  const puts = entries.flatMap(({ ops }) =>
    ops.flatMap(op => {
      if (op.op !== 'change') return []
      return (op.indexes ?? []).flatMap(each => ('put' in each && each.put.name === name ? [each.put] : []))
    }),
  )
  return puts.at(-1)!.segments.length
}

describe('an index build over many rows', () => {
  test.each([
    ['id', 'BTREE'],
    ['text', 'FTS'],
    ['v', 'IVF_FLAT'],
  ] as const)(
    'of %s (%s) is done by several workers in units, and lands in one commit',
    async (column, type) => {
      const { store, clock, table } = await served()
      const slow = new SlowStore(store, clock)
      const workers = [0, 1, 2].map(() => startWorker(slow, clock, { segmentRows: 200 }))
      await table.createIndex(column, { type, name: 'i' })
      await table.waitForIndex('i')
      await Promise.all(workers.map(({ end }) => end()))
      const entries = await entriesIn(store)
      expect(definedSegments(entries, 'i')).toBe(5)
      const landed = entries.filter(({ ops }) => ops.some(op => op.op === 'change' && op.kind === 'index'))
      expect(landed).toHaveLength(1)
      const units = jobOpsIn(entries).flatMap(op => (op.state === 'Succeeded' ? [op.id.split('.')[1]] : []))
      expect(units.filter(unit => unit !== undefined).sort()).toEqual(['0', '1', '2', '3', '4'])
      const claims = jobOpsIn(entries).flatMap(op => (op.state === 'Running' ? [op] : []))
      const ofUnits = claims.filter(({ id }) => id.includes('.'))
      expect(ofUnits.map(({ id }) => id.split('.')[1]).sort()).toEqual(['0', '1', '2', '3', '4'])
      expect(new Set(ofUnits.map(({ owner }) => owner)).size).toBeGreaterThan(1)
      expect(workers.flatMap(({ warnings }) => warnings)).toEqual([])
      const { indexedRows, unindexedRows } = (await table.indexStats('i'))!
      expect([indexedRows, unindexedRows]).toEqual([1000, 0])
      expect(await table.query().where('id = 777').select(['id']).toArray()).toEqual([{ id: 777 }])
      const near = await table.search(rowsFrom(321, 1)[0]!.v).select(['id']).limit(1).toArray()
      expect(near).toMatchObject([{ id: 321 }])
      expect((await table.search('word3').select(['id']).limit(1000).toArray()).length).toBe(143)
    },
  )

  test('keeps its segments when small segments are merged', async () => {
    const { store, clock, ns, table } = await served()
    const worker = startWorker(store, clock, { segmentRows: 250 })
    await table.createIndex('id', { type: 'BTREE', name: 'i' })
    await table.waitForIndex('i')
    await worker.end()
    for (let i = 0; i < 3; i++) {
      await table.add(rowsFrom(1000 + 100 * i, 100))
      await ns.optimize()
    }
    const { unindexedRows } = (await table.indexStats('i'))!
    expect(unindexedRows).toBe(0)
    const folds = (await entriesIn(store)).flatMap(({ ops }) =>
      ops.flatMap(op =>
        op.op === 'change' ? (op.indexes ?? []).flatMap(each => ('fold' in each ? [each] : [])) : [],
      ),
    )
    expect(folds.length).toBeGreaterThan(0)
    for (const { to } of folds) for (const { rows } of to) expect(rows).toBeLessThanOrEqual(250)
  })

  test('is one segment if a process without workers builds it', async () => {
    const clock = new SeededClock(7)
    const store = new MemoryStore('root')
    const ns = await open(store, clock)
    const table = await ns.createTable('t', rowsFrom(0, 1000))
    await table.createIndex('id', { type: 'BTREE', name: 'i' })
    await table.waitForIndex('i')
    expect(definedSegments(await entriesIn(store), 'i')).toBe(1)
  })

  test('ends with all its units when it is canceled', async () => {
    const { store, clock, ns, table } = await served()
    await table.createIndex('v', { type: 'IVF_FLAT', name: 'i' })
    const [job] = await ns.listJobs()
    const slow = new SlowStore(store, clock)
    startWorker(slow, clock, { segmentRows: 100 })
    startWorker(slow, clock, { segmentRows: 100 })
    while (!jobOpsIn(await entriesIn(store)).some(({ state }) => state === 'Split')) await clock.sleep(100)
    await ns.cancelJob(job!.id)
    await clock.sleep(120_000)
    const entries = await entriesIn(store)
    expect(entries.some(({ ops }) => ops.some(op => op.op === 'change' && op.kind === 'index'))).toBe(false)
    expect(await table.listIndices()).toEqual([])
    const last = jobOpsIn(entries).at(-1)!
    expect(last).toMatchObject({ state: 'Canceled', id: job!.id })
  })

  test('fails with the reason of a unit', async () => {
    const { store, clock, ns, table } = await served()
    await table.createIndex('v', { type: 'IVF_FLAT', name: 'i' })
    const slow = new SlowStore(store, clock)
    startWorker(slow, clock, { segmentRows: 100 })
    while (!jobOpsIn(await entriesIn(store)).some(({ state }) => state === 'Split')) await clock.sleep(100)
    await ns.dropTable('t')
    await clock.sleep(120_000)
    const jobs = await ns.listJobs()
    expect(jobs).toMatchObject([{ state: 'failed' }])
  })

  test('is continued after its worker died, and every unit lands once', async () => {
    for (let survives = 20; survives < 220; survives += 25) {
      const { store, clock, ns, table } = await served(new MemoryStore(`root ${survives}`))
      await table.createIndex('v', { type: 'IVF_FLAT', name: 'i' })
      const dying = new CrashingStore(store, survives, survives % 2 === 0)
      startWorker(dying, clock, { segmentRows: 200 })
      startWorker(store, clock, { segmentRows: 200 })
      await table.waitForIndex('i')
      const entries = await entriesIn(store)
      const landed = entries.filter(({ ops }) => ops.some(op => op.op === 'change' && op.kind === 'index'))
      expect(landed).toHaveLength(1)
      expect(definedSegments(entries, 'i')).toBe(5)
      const ended = jobOpsIn(entries).flatMap(op => (op.state === 'Succeeded' ? [op.id] : []))
      expect(new Set(ended).size).toBe(ended.length)
      await ns.close()
    }
  })
})

/** Each call takes a while, and writing a file much longer. */
class SlowStore extends WrappedStore {
  readonly #clock: SeededClock

  constructor(inner: BlobStore, clock: SeededClock) {
    super(inner)
    this.#clock = clock
  }

  protected override async around<T>(call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
    await this.#clock.sleep(call === 'putStream' ? 5000 : 20)
    return run()
  }
}

describe('workOnJob', () => {
  test('runs the job, and says that it has succeeded before', async () => {
    const { store, clock, ns, table } = await served()
    await table.createIndex('id', { type: 'BTREE', name: 'i' })
    const [job] = await ns.listJobs()
    const run = () => workOnJob('memory://', job!.id, { store, clock })
    expect(await run()).toEqual({ state: 'finished', ranHere: true })
    expect(await run()).toEqual({ state: 'finished', ranHere: false })
    await table.createIndex('text', { type: 'BTREE', name: 'j' })
    const next = (await ns.listJobs()).find(({ id }) => id !== job!.id)!
    await ns.cancelJob(next.id)
    expect(await workOnJob('memory://', next.id, { store, clock })).toEqual({
      state: 'cancelled',
      ranHere: false,
    })
  })

  test('on several machines at once runs each unit once', async () => {
    const { store, clock, ns, table } = await served()
    await table.createIndex('v', { type: 'IVF_FLAT', name: 'i' })
    const [job] = await ns.listJobs()
    const slow = new SlowStore(store, clock)
    const options = { store: slow, clock, segmentRows: 100, buildThreads: 1 }
    const ends = await Promise.all([0, 1, 2].map(() => workOnJob('memory://', job!.id, options)))
    expect(ends.every(({ ranHere }) => ranHere)).toBe(true)
    expect(ends.some(({ state }) => state === 'finished')).toBe(true)
    const claims = jobOpsIn(await entriesIn(store)).flatMap(op => (op.state === 'Running' ? [op.id] : []))
    expect(claims).toHaveLength(11)
    expect(new Set(claims).size).toBe(11)
  })

  test('says that another process runs the job as soon as that process is known to be alive', async () => {
    const { store, clock, ns, table } = await served()
    await table.createIndex('id', { type: 'BTREE', name: 'i' })
    const [job] = await ns.listJobs()
    class Stuck extends WrappedStore {
      protected override async around<T>(call: string, _: boolean, run: () => Promise<T>): Promise<T> {
        if (call === 'putStream') await clock.sleep(3_600_000)
        return run()
      }
    }
    const running = workOnJob('memory://', job!.id, { store: new Stuck(store), clock })
    await clock.sleep(5000)
    const began = clock.elapsed()
    expect(await workOnJob('memory://', job!.id, { store, clock })).toEqual({
      state: 'running',
      ranHere: false,
    })
    expect(clock.elapsed() - began).toBeLessThan(25_000)
    expect(await running).toEqual({ state: 'finished', ranHere: true })
  })

  test('takes the job over from a process that died', async () => {
    const { store, clock, ns, table } = await served()
    await table.createIndex('id', { type: 'BTREE', name: 'i' })
    const [job] = await ns.listJobs()
    let dies = false
    class Dying extends WrappedStore {
      protected override async around<T>(call: string, _: boolean, run: () => Promise<T>): Promise<T> {
        if (call === 'putStream') dies = true
        if (dies) await new Promise(() => {})
        return run()
      }
    }
    workOnJob('memory://', job!.id, { store: new Dying(store), clock })
    while (!dies) await clock.sleep(100)
    expect(await workOnJob('memory://', job!.id, { store, clock })).toEqual({
      state: 'finished',
      ranHere: true,
    })
  })

  test('refuses an id that is not the id of a job', async () => {
    const { store, clock } = await served()
    const error = await workOnJob('memory://', 'x', { store, clock }).catch((cause: SheafError) => cause)
    expect(error).toMatchObject({ name: 'TransactionNotFound' })
  })
})

describe("a process with maintenance: 'elsewhere'", () => {
  test('runs no job and compacts nothing, and a worker does it', async () => {
    const store = new MemoryStore('root')
    const { clock, table } = await served(store)
    for (let i = 0; i < 80; i++) await table.add([rowsFrom(1000 + i, 1)[0]!])
    await table.createIndex('id', { type: 'BTREE', name: 'i' })
    await clock.sleep(600_000)
    const before = await entriesIn(store)
    expect(jobOpsIn(before).map(({ state }) => state)).toEqual(['Queued'])
    expect(before.some(({ ops }) => ops.some(op => op.op === 'change' && op.kind === 'compaction'))).toBe(
      false,
    )
    const { events } = startWorker(store, clock)
    await table.waitForIndex('i')
    await clock.sleep(60_000)
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'job', type: 'index', status: 'Succeeded' }),
    )
    expect(events).toContainEqual(expect.objectContaining({ kind: 'compaction' }))
    // And what comes later, while nobody else runs.
    for (let i = 0; i < 80; i++) await table.add([rowsFrom(2000 + i, 1)[0]!])
    const compactions = () => events.filter(({ kind }) => kind === 'compaction').length
    const known = compactions()
    await clock.sleep(60_000)
    expect(compactions()).toBeGreaterThan(known)
  })

  test('waits in createIndex for the worker, as asked', async () => {
    const { store, clock, table } = await served()
    const waited = table.createIndex('id', { type: 'BTREE', name: 'i', waitTimeoutMs: 600_000 })
    await clock.sleep(5000)
    startWorker(store, clock)
    await waited
    expect(await table.listIndices()).toMatchObject([{ name: 'i', status: 'ready' }])
  })

  test('refreshes views of its commits only elsewhere', async () => {
    const { store, clock, ns, table } = await served()
    startWorker(store, clock)
    const view = await ns.createView('w', { source: 't', columns: ['id'], autoRefresh: true })
    await table.add(rowsFrom(1000, 5))
    await clock.sleep(20_000)
    expect(await view.countRows()).toBe(1005)
  })
})

test('a compaction is done by one of the processes that write, and no result is thrown away', async () => {
  const inner = new MemoryStore('root')
  const clock = new SeededClock(3)
  const written = new Set<string>()
  class Noting extends WrappedStore {
    protected override async around<T>(
      call: string,
      _: boolean,
      run: () => Promise<T>,
      key?: string,
    ): Promise<T> {
      if (call === 'putStream' && /\/data\//.test(key ?? '')) written.add(key!)
      await clock.sleep(clock.random() * 5)
      return run()
    }
  }
  const first = await open(new Noting(inner), clock)
  await first.createTable('t', rowsFrom(0, 1))
  const nodes = [first, ...(await Promise.all([0, 1, 2, 3].map(() => open(new Noting(inner), clock))))]
  await Promise.all(
    nodes.map(async (ns, n) => {
      const table = await ns.openTable('t')
      for (let i = 0; i < 60; i++) await table.add(rowsFrom(1000 * n + i, 1))
    }),
  )
  await clock.sleep(120_000)
  const entries = await entriesIn(inner)
  const changes = entries.flatMap(({ ops }) =>
    ops.flatMap(op => (op.op === 'change' && op.kind === 'compaction' ? [op] : [])),
  )
  const landed = changes.flatMap(({ add }) => add.flatMap(({ files }) => files))
  const claims = jobOpsIn(entries).filter(({ state }) => state === 'Running')
  console.log(
    `5 processes, 300 commits: ${claims.length} claims, ${changes.length} compactions landed, ${written.size} files written, ${landed.length} files landed`,
  )
  expect(changes.length).toBeGreaterThan(0)
  expect(written.size).toBe(landed.length)
  expect(await first.table('t').countRows()).toBe(301)
})

test('a process continues when the process that compacts a table has died', async () => {
  const inner = new MemoryStore('root')
  const clock = new SeededClock(5)
  let dies = false
  class Dying extends WrappedStore {
    protected override async around<T>(call: string, _: boolean, run: () => Promise<T>): Promise<T> {
      if (call === 'putStream') dies = true
      if (dies) await new Promise(() => {})
      return run()
    }
  }
  const ns = await connect('memory://', { store: new Dying(inner), clock, onWarning: () => {} })
  const table = await ns.createTable('t', [{ id: 0 }])
  for (let i = 1; i < 70; i++) await Promise.race([table.add([{ id: i }]), clock.sleep(1000)])
  while (!dies) await clock.sleep(100)
  const next = await open(inner, clock)
  await next.optimize()
  const { fragment_stats } = await next.operations.getTableStats({ id: ['t'] })
  expect(fragment_stats.num_fragments).toBe(1)
})

test('an idle worker makes at most two requests a minute', async () => {
  const bucket = new BucketStore()
  const { clock, table } = await served(bucket)
  const worker = startWorker(bucket, clock)
  await table.createIndex('id', { type: 'BTREE', name: 'i' })
  await table.waitForIndex('i')
  await clock.sleep(3_600_000)
  bucket.reset()
  await clock.sleep(3_600_000)
  const requests = [...bucket.calls.values()].reduce((sum, n) => sum + n, 0)
  console.log(
    `an idle worker makes ${(requests / 60).toFixed(2)} requests a minute (${JSON.stringify([...bucket.calls])})`,
  )
  expect(requests / 60).toBeLessThanOrEqual(2)
  expect(requests).toBeGreaterThan(0)
  await worker.end()
})
