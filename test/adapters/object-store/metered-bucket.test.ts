/** Counts of the requests of a store: in statistics, in plans, in `/metrics`, and by observers. */
import { afterEach, describe, expect, test } from 'vitest'
import { serve } from '../../../adapters/http/server.js'
import type { FailureKind } from '../../../adapters/object-store/bucket.js'
import { ObjectStore, partBytes } from '../../../adapters/object-store/object-store.js'
import { connect, type Namespace } from '../../../src/index.js'
import { systemClock } from '../../../src/primitives/clock.js'
import type { RequestKind } from '../../../src/storage/request-tally.js'
import { RequestTally } from '../../../src/storage/request-tally.js'
import { parseMetrics } from '../http/parse-metrics.js'
import { type Fault, MemoryBucket } from './memory-bucket.js'

/** Pauses end at once. */
const hasty = { ...systemClock, sleep: systemClock.yield }
const prices = { perMillionReads: 0.4, perMillionWrites: 5, perGiBReceived: 100 }

function open() {
  const bucket = new MemoryBucket()
  return {
    bucket,
    store: new ObjectStore(bucket, { prefix: '', timeoutMs: 1000, retries: 2, prices }, hasty),
  }
}

/** The kinds of requests that were sent, with their numbers. */
const sent = (store: ObjectStore) =>
  Object.fromEntries(Object.entries(store.meter.stats().requests).filter(([, count]) => count > 0))

const failing = (method: string, ...kinds: FailureKind[]) => {
  const faults: Fault[] = kinds.map(kind => ({ before: { kind, reason: kind } }))
  return (called: string) => (called.startsWith(method) ? faults.shift() : undefined)
}

describe('the meter of a store counts', () => {
  test('each kind of request, and the bytes of objects', async () => {
    const { store } = open()
    await store.put('a', new Uint8Array(10))
    await store.replace('b', new Uint8Array(20))
    await store.get('a')
    await store.get('absent')
    await store.getRange('a', 2, 3)
    await store.stat('a')
    for await (const _ of store.list(''));
    await store.delete('a')
    expect(sent(store)).toEqual({ putIfAbsent: 1, put: 1, get: 2, range: 1, head: 1, list: 1, delete: 1 })
    const { sentBytes, receivedBytes, retries, errors, durations } = store.meter.stats()
    expect({ sentBytes, receivedBytes, retries, errors }).toEqual({
      sentBytes: 30,
      receivedBytes: 13,
      retries: 0,
      errors: {},
    })
    expect(durations.get.counts.reduce((sum, count) => sum + count)).toBe(2)
    expect(durations.multipart).toEqual({ counts: expect.not.arrayContaining([1]), sum: 0 })
  })

  test('the parts of an upload', async () => {
    const { store } = open()
    await store.putStream('a', [new Uint8Array(partBytes), new Uint8Array(5)])
    // Start, two parts, completion.
    expect(sent(store)).toEqual({ head: 1, multipart: 4 })
    expect(store.meter.stats().sentBytes).toBe(partBytes + 5)
  })

  test('failures by their reason, and repetitions', async () => {
    const { bucket, store } = open()
    bucket.fault = failing('read', 'busy', 'busy')
    await store.get('a')
    bucket.fault = failing('read', 'denied')
    await expect(store.get('a')).rejects.toThrow()
    bucket.fault = () => undefined
    await store.putIfAbsent('k', new Uint8Array(1))
    expect(await store.putIfAbsent('k', new Uint8Array(1))).toBe('taken')
    const { errors, retries } = store.meter.stats()
    expect({ errors, retries }).toEqual({ errors: { busy: 2, denied: 1 }, retries: 2 })
    expect(sent(store)).toEqual({ get: 4, putIfAbsent: 2 })
  })

  test('a request without an answer in time, but none that its caller aborted', async () => {
    const bucket = new MemoryBucket()
    const store = new ObjectStore(bucket, { prefix: '', timeoutMs: 20, retries: 0 })
    bucket.fault = () => ({ hangs: true })
    await expect(store.get('a')).rejects.toThrow('no answer')
    const aborted = store.get('a', AbortSignal.timeout(1))
    await expect(aborted).rejects.toThrow('aborted')
    await systemClock.sleep(50, undefined, true)
    expect(store.meter.stats().errors).toEqual({ timeout: 1 })
  })
})

describe('a tally', () => {
  test('has the requests of one call only, and their rounds', async () => {
    const { store } = open()
    await store.put('a', new Uint8Array(10))
    const tally = new RequestTally()
    const other = store.meter.tallied(new RequestTally(), () => store.get('a'))
    await store.meter.tallied(tally, async () => {
      await Promise.all([store.get('a'), store.getRange('a', 0, 5), store.get('absent')])
      await store.stat('a')
      await Promise.all([store.get('a'), store.replace('b', new Uint8Array(7))])
    })
    await other
    await store.get('a')
    expect(Object.fromEntries(tally.requests)).toEqual({ get: 3, range: 1, head: 1, put: 1 })
    expect(tally).toMatchObject({ rounds: 3, total: 6, receivedBytes: 25, sentBytes: 7 })
    const bytes = (25 / 2 ** 30) * 100
    expect(tally.cost(prices)).toBeCloseTo((5 * 0.4 + 5) / 1e6 + bytes, 12)
  })

  test('goes on after a failed call', async () => {
    const { bucket, store } = open()
    bucket.fault = failing('read', 'denied')
    const tally = new RequestTally()
    await expect(store.meter.tallied(tally, () => store.get('a'))).rejects.toThrow()
    await store.meter.tallied(tally, () => store.get('a'))
    expect(tally).toMatchObject({ total: 2, rounds: 2 })
  })
})

test('the observer of a tally sees each request with its end', async () => {
  const { bucket, store } = open()
  const seen: [RequestKind, string, number, string | null][] = []
  const tally = new RequestTally(
    (kind, key, round) =>
      ({ error }) =>
        seen.push([kind, key, round, error]),
  )
  bucket.fault = failing('read', 'busy')
  await store.meter.tallied(tally, async () => {
    await store.get('a')
    await store.stat('a')
  })
  await store.get('a')
  expect(seen).toEqual([
    ['get', 'a', 1, 'busy'],
    ['get', 'a', 2, null],
    ['head', 'a', 3, null],
  ])
})

describe('a root in object storage', () => {
  const opened: Namespace[] = []
  afterEach(async () => {
    for (const ns of opened.splice(0)) await ns.close()
  })
  const openRoot = async (store: ObjectStore, options: object = {}) => {
    const ns = await connect('bucket', { store, ...options })
    opened.push(ns)
    return ns
  }

  test('stats() has the requests of its store', async () => {
    const { store } = open()
    const ns = await openRoot(store)
    const before = ns.stats().store!.requests
    await ns.createTable('t', [{ id: 1 }])
    const after = ns.stats().store!.requests
    expect(after.putIfAbsent).toBeGreaterThan(before.putIfAbsent)
    expect(ns.stats().store).toEqual(store.meter.stats())
  })

  test('stats() of a root in memory has no requests', async () => {
    const ns = await connect('memory://')
    expect(ns.stats().store).toBeUndefined()
    await ns.close()
  })

  test('analyze() shows requests, rounds and cost of the query', async () => {
    const { store } = open()
    const first = await openRoot(store)
    await first.createTable('t', [{ id: 1 }, { id: 2 }])
    await first.optimize()
    const cold = await openRoot(store)
    const query = () => cold.table('t').query().where('id = 2').analyze()
    const before = store.meter.stats().requests
    const text = await query()
    const after = store.meter.stats().requests
    const line =
      /^Requests: total=(\d+), .*rounds=(\d+), received_bytes=(\d+), sent_bytes=0, usd_per_million=([\d.]+)$/m
    const [, total, rounds, bytes, usd] = line.exec(text)!
    const reads = (of: typeof before) => of.get + of.range + of.head
    expect(Number(total)).toBe(reads(after) - reads(before))
    expect(Number(rounds)).toBeGreaterThanOrEqual(1)
    expect(Number(usd)).toBeCloseTo(Number(total) * 0.4 + (Number(bytes) / 2 ** 30) * 100 * 1e6, 0)
    // The data is in the cache: the query only looks for a new slot.
    expect(await query()).toMatch(
      /^Requests: total=1, get=1, rounds=1, received_bytes=0, sent_bytes=0, usd_per_million=0.40$/m,
    )
  })

  test('analyze() shows no requests if the root is in memory', async () => {
    const ns = await connect('memory://')
    const table = await ns.createTable('t', [{ id: 1 }])
    expect(await table.query().analyze()).not.toContain('Requests')
    await ns.close()
  })

  test('/metrics has the requests of its store', async () => {
    const { bucket, store } = open()
    const ns = await openRoot(store)
    await ns.createTable('t', [{ id: 1 }])
    bucket.fault = failing('read', 'busy')
    await ns.table('t').countRows()
    const server = await serve(ns, { port: 0 })
    const samples = parseMetrics(await (await fetch(`${server.url}/metrics`)).text())
    await server.close()
    const value = (name: string, labels: object = {}) =>
      samples.find(
        sample =>
          sample.name === name &&
          Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      )?.value
    const stats = ns.stats().store!
    for (const [kind, count] of Object.entries(stats.requests)) {
      expect(value('sheaf_store_requests_total', { kind })).toBe(count)
      expect(value('sheaf_store_request_duration_seconds_count', { kind })).toBe(count)
    }
    expect(value('sheaf_store_retries_total')).toBe(1)
    expect(value('sheaf_store_errors_total', { reason: 'busy' })).toBe(1)
    expect(value('sheaf_store_received_bytes_total')).toBe(stats.receivedBytes)
    expect(value('sheaf_store_sent_bytes_total')).toBe(stats.sentBytes)
  })
})
