/** Counts the requests of processes that have a root in object storage open and do nothing. */
import { describe, expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { BucketStore } from '../support/bucket-store.js'
import { SeededClock } from '../support/clock.js'

const minute = 60_000
const hour = 60 * minute
/**
 * Maximum number of requests of an idle process in a minute, on average over an hour: two, and some requests of maintenance
 * that was late, because its work is not on the simulated clock.
 */
const perMinuteMax = 2.2

/** Open a root in a bucket, make commits, and wait until maintenance has nothing to do for them. */
async function opened(seed: number, maintenance: object = {}) {
  const clock = new SeededClock(seed)
  const store = new BucketStore()
  const ns = await connect('bucket', { store, clock, maintenance })
  const table = await ns.createTable('t', [{ id: 0 }])
  for (let id = 1; id < 100; id++) await table.add([{ id }])
  // Work that is not on this clock, for example the loading of modules, may delay maintenance.
  for (let i = 0; i < 10; i++) {
    store.reset()
    await clock.sleep(30 * minute)
    if (requestsOf(store) === 0) break
  }
  return { clock, store, ns, table }
}

function requestsOf(store: BucketStore): number {
  return [...store.calls.values()].reduce((sum, count) => sum + count, 0)
}

/** Count the requests of an hour, print them, and return the number in a minute, on average. */
async function requestsOfAnHour(what: string, clock: SeededClock, store: BucketStore) {
  store.reset()
  let most = 0
  for (let i = 0; i < 60; i++) {
    const before = requestsOf(store)
    await clock.sleep(minute)
    most = Math.max(most, requestsOf(store) - before)
  }
  const calls = [...store.calls].map(([name, count]) => `${name} ${count}`).join(', ')
  console.log(
    `${what}: ${requestsOf(store)} requests in an hour, at most ${most} in a minute (${calls || 'none'})`,
  )
  return requestsOf(store) / 60
}

describe('an idle process with a root in object storage', () => {
  test('sends at most 2 requests a minute without watchers', async () => {
    const { clock, store, ns } = await opened(1)
    expect(await requestsOfAnHour('without watchers', clock, store)).toBeLessThanOrEqual(perMinuteMax)
    await ns.close()
    clock.stop()
  })

  test('sends at most 2 requests a minute with three watchers', async () => {
    const { clock, store, ns } = await opened(2)
    const stop = new AbortController()
    const watching = Array.from({ length: 3 }, async () => {
      for await (const _ of ns.watch({ signal: stop.signal })) {
      }
    })
    await clock.sleep(3 * minute)
    const perMinute = await requestsOfAnHour('three watchers', clock, store)
    expect(perMinute).toBeLessThanOrEqual(perMinuteMax)
    // They do look.
    expect(perMinute).toBeGreaterThanOrEqual(1.5)
    stop.abort()
    await Promise.allSettled(watching)
    await ns.close()
    clock.stop()
  })

  test('sends at most 2 requests a minute with a change feed', async () => {
    const { clock, store, ns, table } = await opened(3)
    const since = await table.version()
    const stop = new AbortController()
    const reading = (async () => {
      for await (const _ of table.changes({ since, signal: stop.signal })) {
      }
    })()
    await clock.sleep(3 * minute)
    expect(await requestsOfAnHour('change feed', clock, store)).toBeLessThanOrEqual(perMinuteMax)
    stop.abort()
    await reading.catch(() => {})
    await ns.close()
    clock.stop()
  })

  test('sends at most 2 requests a minute with an open snapshot', async () => {
    const { clock, store, ns } = await opened(4)
    const snapshot = await ns.snapshot()
    await clock.sleep(3 * minute)
    expect(await requestsOfAnHour('open snapshot', clock, store)).toBeLessThanOrEqual(perMinuteMax)
    await snapshot.close()
    await ns.close()
    clock.stop()
  })

  test('sends at most 2 requests a minute while the snapshot of another process delays garbage collection', async () => {
    // A compaction takes real time, in which its claim would be renewed for hours of the clock.
    const maintenance = { compact: false, keepVersionsMs: 0, keepOrphansMs: 10 * minute }
    const { clock, store, ns } = await opened(5, maintenance)
    const other = new BucketStore(store.inner as never)
    const second = await connect('bucket', { store: other, clock })
    const snapshot = await second.snapshot()
    await (await ns.openTable('t')).add([{ id: 1000 }])
    await clock.sleep(30 * minute)
    expect(await requestsOfAnHour('snapshot of another process', clock, store)).toBeLessThanOrEqual(
      perMinuteMax,
    )
    await snapshot.close()
    await second.close()
    await ns.close()
    clock.stop()
  })

  test('notices a commit of another process within a quarter of the idle time, at most 30 s', async () => {
    const { clock, store, ns } = await opened(6)
    const second = await connect('bucket', { store: new BucketStore(store.inner as never), clock })
    const table = await second.openTable('t')
    const stop = new AbortController()
    const changes = ns.watch({ signal: stop.signal })[Symbol.asyncIterator]()
    await changes.next()
    for (const idleMs of [200, 4_000, 60_000, hour]) {
      const next = changes.next()
      await clock.sleep(idleMs)
      const begun = clock.elapsed()
      await table.add([{ id: idleMs }])
      await next
      expect(clock.elapsed() - begun).toBeLessThanOrEqual(Math.min(idleMs / 2, 30_000) + 200)
    }
    stop.abort()
    await second.close()
    await ns.close()
    clock.stop()
  })
})
