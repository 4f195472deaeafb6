/** What a server tells of itself: health, metrics, the log. */
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { databases } from '../../../adapters/http/databases.js'
import type { RequestRecord, ServeOptions } from '../../../adapters/http/options.js'
import { type HttpServer, type serve as Serve, serve } from '../../../adapters/http/server.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import { connect } from '../../../src/index.js'
import { ask, askJson, dial, repliesOf, sendRaw } from '../../support/http.js'
import { temporaryRoots } from '../../support/roots.js'
import { echo, withHandler } from '../echo.js'
import { parseMetrics, type Sample } from './parse-metrics.js'

const freshRoot = temporaryRoots()
let server: HttpServer | undefined

async function start(served: Parameters<typeof Serve>[0], options: ServeOptions = {}): Promise<string> {
  server = await serve(served, { port: 0, ...options })
  return server.url
}

afterEach(async () => {
  await server?.close()
  server = undefined
})

const host = 'host: localhost\r\n'

async function metricsOf(url: string): Promise<readonly Sample[]> {
  const reply = await ask(url, { method: 'GET', path: '/metrics' })
  expect([reply.status, reply.headers['content-type']]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ])
  return parseMetrics(reply.text)
}

function sampled(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}) {
  const wanted = JSON.stringify(labels)
  return samples.find(sample => sample.name === name && JSON.stringify(sample.labels) === wanted)?.value
}

describe('health', () => {
  test('is 200 whatever the namespace does, below the base path, with any method', async () => {
    const url = await start(
      { operations: withHandler(() => new Promise(() => {})) },
      { basePath: 'some/base' },
    )
    for (const method of ['GET', 'HEAD', 'POST']) {
      expect((await ask(url, { method, path: '/some/base/healthz' })).status).toBe(200)
    }
    expect((await ask(url, { method: 'GET', path: '/healthz' })).status).toBe(404)
  })

  test('a server that answers is ready', async () => {
    const fake = echo()
    const url = await start(fake)
    const ready = async () => {
      const { status, json } = await ask(url, { method: 'GET', path: '/readyz' })
      return [status, json]
    }
    expect(await ready()).toEqual([200, { status: 'ok' }])
    fake.answer = () => {
      throw new SheafError(ErrorCode.ServiceUnavailable, 'the root cannot be read')
    }
    expect(await ready()).toEqual([503, { status: 'not ready' }])
  })

  test('a stopping server is healthy and not ready', async () => {
    let begin!: () => void
    let go!: () => void
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    const gate = new Promise<void>(resolve => {
      go = resolve
    })
    const url = await start({
      operations: withHandler(async () => {
        begin()
        await gate
        return undefined
      }),
    })
    const [busy, asking] = [dial(url), dial(url)]
    busy.write(`POST /v1/table/t/exists HTTP/1.1\r\n${host}content-length: 0\r\n\r\n`)
    // Begun, and not whole: no idle connection.
    asking.write(`GET /readyz HTTP/1.1\r\n`)
    await Promise.all([begun, once(asking, 'connect')])
    await ask(url, { path: '/healthz' })
    const closing = server!.close()
    asking.write(`${host}\r\n`)
    const [reply] = await repliesOf(asking)
    expect([reply?.status, reply?.json]).toEqual([503, { status: 'closing' }])
    go()
    await closing
  })
})

describe('drain', () => {
  const readiness = async (url: string) => {
    const { status, json } = await ask(url, { method: 'GET', path: '/readyz' })
    return [status, json]
  }

  test('a closing server is not ready, and answers requests until its drain time is over', async () => {
    const url = await start(echo(), { drainMs: 400 })
    const begun = performance.now()
    const closing = server!.close()
    expect(await readiness(url)).toEqual([503, { status: 'closing' }])
    for (let asked = 0; performance.now() - begun < 300; asked++) {
      const { status, headers } = await ask(url, { path: '/v1/table/t/exists' })
      expect([asked, status, headers.connection]).toEqual([asked, 200, 'close'])
    }
    await closing
    expect(performance.now() - begun).toBeGreaterThanOrEqual(399)
    await expect(ask(url, { path: '/healthz' })).rejects.toThrow(/ECONNREFUSED/)
  })

  test('streams of changes continue until the drain time is over', async () => {
    const ns = await connect('memory://')
    const table = await ns.createTable('t', [{ id: 1 }])
    const url = await start(ns, { drainMs: 300 })
    const { body } = await fetch(`${url}/v1/table/t/changes`)
    const closing = server!.close()
    await table.add([{ id: 2 }])
    let text = ''
    for await (const chunk of body!) text += Buffer.from(chunk).toString()
    expect(text).toContain('"version":2')
    await closing
    await ns.close()
  })
})

describe('prewarm', () => {
  test('the server is not ready until the tables are loaded, and answers requests meanwhile', async () => {
    const loaded: unknown[] = []
    let finish!: () => void
    const finished = new Promise<void>(resolve => {
      finish = resolve
    })
    const fake = echo()
    fake.answer = async ({ name, request }) => {
      if (name === 'listAllTables') return { tables: ['a', 'n$b'] }
      if (name === 'listTableIndices')
        return { indexes: (request.id as string[]).length === 2 ? [{ index_name: 'i', columns: ['x'] }] : [] }
      if (!name.startsWith('prewarm')) return undefined
      loaded.push([name, request])
      await finished
      return undefined
    }
    const url = await start(fake, { prewarm: 'all' })
    const ready = () => ask(url, { method: 'GET', path: '/readyz' })
    const { status, json } = await ready()
    expect([status, json]).toEqual([503, { status: 'warming' }])
    expect((await ask(url, { path: '/v1/table/t/exists' })).status).toBe(200)
    finish()
    await expect.poll(async () => (await ready()).status).toBe(200)
    expect(loaded).toEqual([
      ['prewarmTable', { id: ['a'] }],
      ['prewarmTableIndex', { id: ['n', 'b'], index_name: 'i' }],
      ['prewarmTable', { id: ['n', 'b'], columns: ['x'] }],
    ])
  })

  test('a table that does not exist is a warning, and the next table is loaded', async () => {
    const ns = await connect('memory://')
    await ns.createTable('t', [{ id: 1, x: 2 }])
    const warned = once(process, 'warning')
    const url = await start(ns, { prewarm: ['no', 't'] })
    const [{ message }] = await warned
    expect(message).toMatch(/^sheaf: prewarm: table "no" cannot be loaded: /)
    await expect.poll(async () => (await ask(url, { method: 'GET', path: '/readyz' })).status).toBe(200)
    expect(ns.stats().memory.partitions.columns!.bytes).toBeGreaterThan(0)
    await server!.close()
    await ns.close()
  })

  test('databases cannot be loaded', async () => {
    const served = databases(freshRoot())
    await expect(serve(served, { port: 0, prewarm: 'all' })).rejects.toThrow(
      'prewarm cannot be used with databases',
    )
    await served.close()
  })
})

describe('metrics', () => {
  test('count requests by operation and status, their time and their bytes', async () => {
    const fake = echo()
    const url = await start(fake)
    const one = await askJson(url, '/v1/table/t/describe', { version: 1 })
    const two = await askJson(url, '/v1/table/t/describe', { version: -1 })
    const three = await ask(url, { path: '/v1/nowhere/%22{}' })
    await sendRaw(url, 'hello\r\n\r\n')
    const samples = await metricsOf(url)
    const requests = 'sheaf_http_requests_total'
    expect(sampled(samples, requests, { operation: 'describeTable', status: '200' })).toBe(1)
    expect(sampled(samples, requests, { operation: 'describeTable', status: '400' })).toBe(1)
    expect(sampled(samples, requests, { operation: 'none', status: '404' })).toBe(1)
    expect(sampled(samples, requests, { operation: 'none', status: '400' })).toBe(1)
    const duration = 'sheaf_http_request_duration_seconds'
    expect(sampled(samples, `${duration}_count`, { operation: 'describeTable' })).toBe(2)
    const buckets = samples.filter(
      ({ name, labels }) => name === `${duration}_bucket` && labels.operation === 'describeTable',
    )
    const counts = buckets.map(({ value }) => value)
    expect(counts).toEqual([...counts].sort((a, b) => a - b))
    expect(buckets.at(-1)).toMatchObject({ labels: { le: '+Inf' }, value: 2 })
    expect(sampled(samples, 'sheaf_http_received_bytes_total')).toBe(27)
    const sent = one.bytes.length + two.bytes.length + three.bytes.length
    expect(sampled(samples, 'sheaf_http_sent_bytes_total')).toBeGreaterThan(sent)
    expect(sampled(samples, 'sheaf_http_connections')).toBeGreaterThanOrEqual(1)
    expect(sampled(samples, 'sheaf_http_in_flight')).toBe(0)
    expect(sampled(samples, 'process_resident_memory_bytes')).toBeGreaterThan(1e7)
  })

  test('clients cannot add lines to the metrics', async () => {
    const url = await start(echo())
    const ask100 = async (seed: string) => {
      for (let i = 0; i < 30; i++) {
        const headers = { 'content-type': 'application/json', 'x-api-key': `${seed}${i}` }
        await ask(url, { path: `/v1/table/${seed}${i}/exists`, headers })
        await ask(url, { path: `/v1/${seed}${i}` })
      }
      return metricsOf(url)
    }
    await ask100('a')
    const before = await ask100('b')
    expect((await ask100('c')).length).toBe(before.length)
  })

  test('describe a root in this process, and are absent for a root elsewhere', async () => {
    const ns = await connect('memory://')
    await ns.createTable('t', [{ id: 1 }])
    const url = await start(ns)
    await askJson(url, '/v1/table/t/query', { k: 1, filter: 'true' })
    const samples = await metricsOf(url)
    expect(sampled(samples, 'sheaf_memory_budget_bytes')).toBe(ns.stats().memory.budgetBytes)
    expect(sampled(samples, 'sheaf_memory_partition_bytes', { partition: 'columns' })).toBeGreaterThan(0)
    expect(sampled(samples, 'sheaf_log_slot')).toBe(ns.stats().log.slot)
    await server!.close()
    await ns.close()
    const other = await start({
      ...echo(),
      stats: () => {
        throw new SheafError(ErrorCode.Unsupported, 'elsewhere')
      },
    })
    expect(sampled(await metricsOf(other), 'sheaf_log_slot')).toBeUndefined()
  })

  test('the event-loop delay is there from the second time on', async () => {
    const url = await start(echo())
    await metricsOf(url)
    for (let i = 0; i < 4; i++) {
      const end = performance.now() + 60
      while (performance.now() < end);
      await ask(url, { path: '/healthz' })
    }
    const late = sampled(await metricsOf(url), 'sheaf_event_loop_delay_seconds', { quantile: '1' })
    expect(late).toBeGreaterThan(0.03)
    expect(late).toBeLessThan(10)
  })
})

describe('the log', () => {
  test('has a record before the client has the reply', async () => {
    const records: RequestRecord[] = []
    const url = await start(echo(), { logger: record => void records.push(record) })
    for (let i = 1; i <= 50; i++) {
      await askJson(url, '/v1/table/t/describe', {})
      expect(records).toHaveLength(i)
    }
    expect(records[0]).toMatchObject({ operation: 'describeTable', status: 200, bytesIn: 2, bytesOut: 2 })
    expect(records[0]!.durationMs).toBeGreaterThan(0)
  })

  test('has a record of input that is not HTTP', async () => {
    const records: RequestRecord[] = []
    const url = await start(echo(), { logger: record => void records.push(record) })
    const [reply] = await sendRaw(url, 'hello\r\n\r\n')
    expect(records).toMatchObject([
      { method: '', path: '', status: 400, bytesIn: 0, bytesOut: reply!.bytes.length },
    ])
  })

  test('a failing log does not change replies', async () => {
    const url = await start(echo(), {
      logger: () => {
        throw new Error('the disk is full')
      },
    })
    expect((await askJson(url, '/v1/table/t/describe', {})).status).toBe(200)
    expect(await sendRaw(url, 'hello\r\n\r\n')).toMatchObject([{ status: 400 }])
  })
})
