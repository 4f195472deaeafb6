/** A kind of job made for tests, through the operations: a job is a transaction that callers describe and cancel. */
import { expect, test } from 'vitest'
import type { CatalogJobKind, CatalogJobRun } from '../../src/catalog/log-types.js'
import type { CatalogOp } from '../../src/catalog/ops.js'
import { resolveMaintenance } from '../../src/client/maintenance-settings.js'
import { bindOperations } from '../../src/engine/handlers.js'
import { OpenedRoot } from '../../src/engine/opened-root.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

/** Makes the namespace its spec names, in the entry that ends the job, once `work` is done. */
function namespaceMaker(work: (job: CatalogJobRun) => Promise<void>): CatalogJobKind {
  return {
    name: 'make-namespace',
    onOrphan: 'fail',
    async run(job) {
      await work(job)
      const op: CatalogOp = { op: 'namespace', id: [job.spec as string], props: {} }
      await job.commit(() => ({ ops: [op] }))
    },
  }
}

async function open(work: (job: CatalogJobRun) => Promise<void>, store = new MemoryStore('memory://')) {
  const settings = {
    location: 'memory://',
    create: true,
    readOnly: false,
    cacheBytes: 0,
    clock: systemClock,
    warn: (message: string) => expect.fail(message),
    keep: resolveMaintenance({}),
    report: () => {},
    jobKinds: [namespaceMaker(work)],
  }
  const engine = await OpenedRoot.open(store, settings)
  return { engine, close: () => engine.close(), operations: bindOperations(engine) }
}

test('a job’s result and its success are one commit, described under its id for ever', async () => {
  const { engine, close, operations } = await open(async job => job.progress(1, 2, 'half'))
  const id = await engine.jobs.queue('make-namespace', 'n')
  await engine.jobs.settled(id)
  const { status, properties } = await operations.describeTransaction({ id: [id] })
  expect({ status, ...properties }).toMatchObject({ status: 'Succeeded', operation: 'make-namespace' })
  expect((await operations.listNamespaces({ id: [] })).namespaces).toEqual(['n'])
  const { header } = await engine.versions.slots.get(engine.root.head)
  expect(header.entries[0]!.ops.map(op => (op as { op: string }).op)).toEqual(['namespace', 'job'])
  await close()
})

test('A-149: setting Canceled stops a running job for good, and commits nothing of it', async () => {
  let begin!: () => void
  const began = new Promise<void>(resolve => {
    begin = resolve
  })
  let stopped: unknown
  const { engine, close, operations } = await open(async job => {
    job.progress(3, 10, 'counting')
    begin()
    await new Promise<void>(resolve => job.signal.addEventListener('abort', () => resolve()))
    stopped = job.signal.reason
  })
  const id = await engine.jobs.queue('make-namespace', 'n')
  await began
  expect(await operations.describeTransaction({ id: [id] })).toMatchObject({
    status: 'Running',
    properties: { done: '3', total: '10', phase: 'counting' },
  })
  const note = { setPropertyAction: { key: 'by', value: 'me' } }
  const canceled = await operations.alterTransaction({
    id: [id],
    actions: [note, { setStatusAction: { status: 'Canceled' } }],
  })
  expect(canceled).toMatchObject({ status: 'Canceled', properties: { by: 'me' } })
  await engine.jobs.settled(id)
  expect((await operations.listNamespaces({ id: [] })).namespaces).toEqual([])
  for (const status of ['Running', 'Succeeded'] as const) {
    const again = operations.alterTransaction({ id: [id], actions: [{ setStatusAction: { status } }] })
    await expect(again).rejects.toMatchObject({ code: 14 })
  }
  await close()
  expect(stopped).toMatchObject({ name: 'JobStopped' })
})

test('a job that throws has failed, with its reason, also for a process that opens the root later', async () => {
  const store = new MemoryStore('memory://')
  const first = await open(async () => {
    throw new Error('no such luck')
  }, store)
  const id = await first.engine.jobs.queue('make-namespace', 'n')
  await first.engine.jobs.settled(id)
  await first.close()
  const second = await open(async () => {}, store)
  expect(await second.operations.describeTransaction({ id: [id] })).toMatchObject({
    status: 'Failed',
    properties: { reason: expect.stringContaining('no such luck') },
  })
  await second.close()
})

test('jobs are listed by pages, described while they run and when they failed, and cancelled', async () => {
  let begin!: () => void
  const began = new Promise<void>(resolve => {
    begin = resolve
  })
  const { engine, close, operations } = await open(async job => {
    if (job.spec === 'bad') throw new Error('no such luck')
    job.progress(3, 10, 'counting')
    begin()
    await new Promise<void>(resolve => job.signal.addEventListener('abort', () => resolve()))
  })
  const bad = await engine.jobs.queue('make-namespace', 'bad')
  await engine.jobs.settled(bad)
  const id = await engine.jobs.queue('make-namespace', 'n')
  const next = await engine.jobs.queue('make-namespace', 'm')
  await began
  const pages = []
  let page_token: string | undefined
  do {
    const page = await operations.listJobs({ limit: 1, page_token })
    pages.push(page.jobs.map(({ job_id, state }) => [job_id, state]))
    page_token = page.page_token
  } while (page_token !== undefined)
  expect(pages).toEqual([[[next, 'IN_PROGRESS']], [[id, 'IN_PROGRESS']], [[bad, 'FAILED']]])
  const failed = await operations.describeJob({ job_id: bad })
  expect(failed).toMatchObject({ job_state: 'FAILED', failure: { message: expect.stringContaining('luck') } })
  expect(await operations.describeJob({ job_id: id })).toEqual({
    job_id: id,
    job_type: 'make-namespace',
    job_state: 'IN_PROGRESS',
    creation_ms: expect.any(Number),
    spec: {},
    progress: { done: 3, total: 10, phase: 'counting' },
  })
  for (const job_id of [id, next]) expect(await operations.cancelJob({ job_id })).toEqual({ job_id })
  await engine.jobs.settled(id)
  expect(await operations.describeJob({ job_id: id })).toMatchObject({ job_state: 'CANCELLED' })
  expect(await operations.cancelJob({ job_id: bad })).toEqual({ job_id: bad })
  expect((await operations.describeJob({ job_id: bad })).job_state).toBe('FAILED')
  const missing = operations.cancelJob({ job_id: next.replace(/.$/, '') })
  await expect(missing).rejects.toMatchObject({ code: 10, status: 404 })
  await close()
})
