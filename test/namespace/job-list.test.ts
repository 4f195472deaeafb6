import { expect, test } from 'vitest'
import type { CatalogState } from '../../src/catalog/state.js'
import { connect } from '../../src/index.js'
import type { JobKind } from '../../src/jobs/job-kind.js'
import { openEngine } from '../../src/namespace/connect.js'
import { listJobs } from '../../src/namespace/job-list.js'
import { settleUpkeep } from '../../src/namespace/upkeep/upkeep-settings.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

test('jobs that have not ended come first, oldest first, then those that failed, the latest first; what succeeded is not told', async () => {
  let running = 0
  const kind: JobKind<CatalogState> = {
    name: 'test',
    onOrphan: 'fail',
    async run(job) {
      if (job.spec === 'fails') throw new Error('it was to fail')
      if (job.spec === 'runs') {
        job.progress(1, 3, 'halting')
        running++
        await new Promise((_, reject) => job.signal.addEventListener('abort', reject))
      }
      return () => ({ ops: [] })
    },
  }
  const { engine, close } = await openEngine(new MemoryStore('memory://'), {
    location: 'memory://',
    create: true,
    readOnly: false,
    cacheBytes: 0,
    clock: systemClock,
    warn: () => {},
    keep: settleUpkeep({}),
    report: () => {},
    jobKinds: [kind],
  })
  const [first, second, done] = [
    await engine.jobs.queue('test', 'fails'),
    await engine.jobs.queue('test', 'fails'),
    await engine.jobs.queue('test', 'succeeds'),
  ]
  for (const id of [first, second, done]) await engine.jobs.settled(id)
  const [older, newer] = [await engine.jobs.queue('test', 'runs'), await engine.jobs.queue('test', 'runs')]
  await expect.poll(() => running).toBe(1)
  const progress = { done: 1, total: 3, phase: 'halting' }
  expect(await listJobs(engine, {})).toEqual([
    { id: older, kind: 'test', table: null, status: 'Running', progress },
    { id: newer, kind: 'test', table: null, status: 'Queued' },
    {
      id: second,
      kind: 'test',
      table: null,
      status: 'Failed',
      reason: expect.stringContaining('it was to fail'),
    },
    {
      id: first,
      kind: 'test',
      table: null,
      status: 'Failed',
      reason: expect.stringContaining('it was to fail'),
    },
  ])
  await close()
})

test('a namespace lists its jobs, a snapshot of it does not', async () => {
  await using ns = await connect('memory://')
  expect(await ns.jobs()).toEqual([])
  await using snapshot = await ns.snapshot()
  await expect(snapshot.jobs()).rejects.toMatchObject({ code: 0 })
})
