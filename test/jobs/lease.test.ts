import { expect, test } from 'vitest'
import type { Progress } from '../../src/jobs/job-kind.js'
import { keepLease, listLeases, readProgress } from '../../src/jobs/lease.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { storeWith } from './processes.js'

const id = '2x-9f567dee-8da0-482c-a6cc-701ed4daef27'
const job = { id, kind: 'kind', spec: null, table: null, status: 'Running', owner: 'us', epoch: 3 } as const

function kept(store = new MemoryStore()) {
  const clock = new SeededClock(1)
  const ended = new AbortController()
  const keep = (progress: () => Progress | null, over = storeWith(store, {})) =>
    keepLease(over, clock, job, progress, ended.signal)
  const keys = async () => (await listLeases(store)).leases.flatMap(({ keys }) => keys)
  return { store, clock, ended, keep, keys }
}

test('a lease begins after a second, is renewed every ten, reports progress, and is removed at the end', async () => {
  const { store, clock, ended, keep, keys } = kept()
  let progress: Progress | null = null
  const keeping = keep(() => progress)
  await clock.sleep(900)
  expect(await keys()).toEqual([])
  await clock.sleep(600)
  expect(await keys()).toEqual([`_jobs/${id}-3-0`])
  expect(await readProgress(store, id)).toBeNull()
  progress = { done: 1, total: 2, phase: 'x'.repeat(1000) }
  await clock.sleep(10_000)
  expect((await listLeases(store)).leases).toEqual([
    {
      owner: `_jobs/${id}-3`,
      counter: 1,
      key: `_jobs/${id}-3-1`,
      keys: [`_jobs/${id}-3-1`],
      job: id,
      epoch: 3,
    },
  ])
  expect(await readProgress(store, id)).toEqual({ done: 1, total: 2, phase: 'x'.repeat(200) })
  ended.abort()
  await keeping
  expect(await keys()).toEqual([])
})

test('a failed renewal is repeated', async () => {
  const { store, clock, ended, keep, keys } = kept()
  let calls = 0
  const failEveryThird = () => {
    if (calls++ % 3 === 0) throw new Error('refused')
  }
  const keeping = keep(
    () => null,
    storeWith(store, {
      async put(key, bytes, signal) {
        failEveryThird()
        return store.put(key, bytes, signal)
      },
      async delete(key, signal) {
        if (!ended.signal.aborted) failEveryThird()
        return store.delete(key, signal)
      },
    }),
  )
  await clock.sleep(95_000)
  const left = await keys()
  expect(left.length).toBeGreaterThan(0)
  expect(left.length).toBeLessThan(5)
  ended.abort()
  await keeping
  expect(await keys()).toEqual([])
})

test('a lease that is replaced while it is read is followed to its successor', async () => {
  const { store } = kept()
  await store.put(`_jobs/${id}-3-8`, Buffer.from('null'))
  let reads = 0
  const moving = storeWith(store, {
    async get(key, signal) {
      if (reads++ === 0) {
        await store.put(`_jobs/${id}-3-9`, Buffer.from('{"done":5,"total":6,"phase":"p"}'))
        await store.delete(`_jobs/${id}-3-8`)
      }
      return store.get(key, signal)
    },
  })
  expect(await readProgress(moving, id)).toEqual({ done: 5, total: 6, phase: 'p' })
  expect(reads).toBe(2)
})

test.each([
  'nonsense',
  'null',
  '[]',
  '{"done":"1","total":2,"phase":"p"}',
  '{"done":1,"total":2}',
  `{"done":1,"total":2,"phase":"${'x'.repeat(5000)}"}`,
])('what lies where a lease should is no progress: %.40s', async text => {
  const store = new MemoryStore()
  await store.put(`_jobs/${id}-3-0`, Buffer.from(text))
  await store.put('_jobs/readme.txt', Buffer.from('{"done":1,"total":2,"phase":"p"}'))
  expect(await readProgress(store, id)).toBeNull()
})
