/** The change feed of a table as server-sent events. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import { databases } from '../../../adapters/http/databases.js'
import type { HandlerOptions, RequestRecord } from '../../../adapters/http/options.js'
import { handler, serve } from '../../../adapters/http/server.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect, type Namespace, type Table } from '../../../src/index.js'
import type { Operations } from '../../../src/protocol/calls.js'
import { type Change, type ChangedRow, EventStream, type ReceivedEvent } from '../../support/event-stream.js'
import { ask, dial } from '../../support/http.js'
import { temporaryRoots } from '../../support/roots.js'
import { parseMetrics } from './parse-metrics.js'

const newRoot = temporaryRoots()
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Get = (path: string, init?: RequestInit) => Promise<Response>

interface Serving {
  readonly get: Get
  readonly close: () => Promise<void>
}

type Served = Parameters<typeof serve>[0]

/** The three ways to reach a server. */
const ways: Readonly<Record<string, (served: Served, options?: HandlerOptions) => Promise<Serving>>> = {
  async serve(served, options) {
    const server = await serve(served, { port: 0, ...options })
    closing.push(() => server.close())
    return { get: (path, init) => fetch(server.url + path, init), close: () => server.close() }
  },
  async 'handler.node'(served, options) {
    const sheaf = await handler(served, { allowAnonymous: true, ...options })
    const app = createServer((request, response) => void sheaf.node(request, response)).listen(0, '127.0.0.1')
    await once(app, 'listening')
    closing.push(
      () => app.close(),
      () => sheaf.close(),
    )
    const url = `http://127.0.0.1:${(app.address() as AddressInfo).port}`
    return { get: (path, init) => fetch(url + path, init), close: () => sheaf.close() }
  },
  async 'handler.fetch'(served, options) {
    const sheaf = await handler(served, { allowAnonymous: true, ...options })
    closing.push(() => sheaf.close())
    const get: Get = (path, init) => sheaf.fetch(new Request(`http://localhost${path}`, init))
    return { get, close: () => sheaf.close() }
  },
}

/** Without compaction, all versions are those of the test. */
async function opened(compact = false): Promise<{ ns: Namespace; table: Table }> {
  const ns = await connect('memory://', { maintenance: { compact } })
  closing.push(() => ns.close())
  return { ns, table: await ns.createTable('t', [{ id: 1, name: 'one' }]) }
}

const eventStream = { accept: 'text/event-stream' }

async function follow(get: Get, query = '', headers: Record<string, string> = {}): Promise<EventStream> {
  const reply = await get(`/v1/table/t/changes${query}`, { headers: { ...eventStream, ...headers } })
  expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const stream = new EventStream(reply)
  closing.push(() => stream.cut().catch(() => {}))
  return stream
}

const errorOf = (event: ReceivedEvent | undefined) => {
  expect(event?.type).toBe('error')
  return JSON.parse(event!.data)
}

/** Delete versions as expiry does. */
function expire(ns: Namespace, first: number, last: number) {
  const ranges = [{ start_version: first, end_version: last + 1 }]
  return ns.operations.batchDeleteTableVersions({ id: ['t'], ranges })
}

/** Resolves when a request for a stream of changes is logged, which is when the stream has ended. */
function logging(): {
  readonly logger: (record: RequestRecord) => void
  readonly ended: Promise<RequestRecord>
} {
  let logger!: (record: RequestRecord) => void
  const ended = new Promise<RequestRecord>(resolve => {
    logger = record => record.operation === 'tableChanges' && record.status === 200 && resolve(record)
  })
  return { logger, ended }
}

async function metric(get: Get, name: string): Promise<number | undefined> {
  const samples = parseMetrics(await (await get('/metrics')).text())
  return samples.find(sample => sample.name === name)?.value
}

describe.each(Object.keys(ways))('a stream of changes through %s', way => {
  const start = ways[way]!

  test('has one event for each later version, in order, and then for each commit', async () => {
    const { ns, table } = await opened()
    await table.add([
      { id: 2, name: 'two' },
      { id: 3, name: 'three' },
    ])
    await table.update({ name: 'zwei' }, 'id = 2')
    await table.delete('id = 1')
    const { get } = await start(ns)
    const stream = await follow(get, '?since=1')
    const { versions } = await ns.operations.listTableVersions({ id: ['t'] })
    const timestamp = (version: number) =>
      new Date(versions.find(each => each.version === version)!.timestamp_millis).toISOString()
    const none = { added: 0, removed: 0, changed: 0 }
    expect(await stream.changes(3)).toEqual([
      { version: 2, previous: 1, timestamp: timestamp(2), operation: 'append', ...none, added: 2 },
      { version: 3, previous: 2, timestamp: timestamp(3), operation: 'update', ...none, changed: 1 },
      { version: 4, previous: 3, timestamp: timestamp(4), operation: 'delete', ...none, removed: 1 },
    ])
    expect(stream.parser.retryMs).toBe(2000)
    expect(stream.reply.headers.get('cache-control')).toBe('no-store')
    const next = stream.changes(1)
    await table.add([{ id: 4, name: 'four' }])
    expect(await next).toMatchObject([{ version: 5, previous: 4, added: 1 }])
  })

  test('begins after the latest version without since, and after Last-Event-ID if the client sends it', async () => {
    const { ns, table } = await opened()
    await table.add([{ id: 2, name: 'two' }])
    const { get } = await start(ns)
    const latest = await follow(get)
    await latest.position(2)
    await table.add([{ id: 3, name: 'three' }])
    expect(await latest.changes(1)).toMatchObject([{ version: 3 }])
    const again = await follow(get, '?since=2', { 'last-event-id': '1' })
    expect(await again.changes(2)).toMatchObject([{ version: 2 }, { version: 3 }])
    const all = await follow(get, '?since=0', { 'last-event-id': '' })
    expect(await all.changes(1)).toMatchObject([{ version: 1, previous: 0, added: 1, operation: 'create' }])
  })

  test('ends with an error event when the table is dropped, also if another table has its name', async () => {
    const { ns } = await opened()
    const { logger, ended } = logging()
    const { get } = await start(ns, { logger })
    const stream = await follow(get, '?since=0')
    await stream.changes(1)
    await ns.dropTable('t')
    await ns.createTable('t', [{ other: 1 }])
    expect(errorOf(await stream.next())).toMatchObject({
      name: 'TableNotFound',
      code: ErrorCode.TableNotFound,
      status: 404,
      instance: '/v1/table/t/changes',
    })
    expect(await stream.next()).toBeUndefined()
    expect(await ended).toMatchObject({ status: 200, error: { code: ErrorCode.TableNotFound } })
  })

  test('ends when the server closes', async () => {
    const { ns } = await opened()
    const { get, close } = await start(ns)
    const stream = await follow(get)
    await stream.position(1)
    await close()
    expect(await stream.next()).toBeUndefined()
  })

  test('is refused if the server closes before the stream begins', async () => {
    const { ns } = await opened()
    const operations: Operations = {
      ...ns.operations,
      describeTable: (request, options) => {
        closed = close()
        return ns.operations.describeTable(request, options)
      },
    }
    let closed: Promise<void> | undefined
    const { get, close } = await start({ operations })
    const reply = await get('/v1/table/t/changes')
    expect([reply.status, await reply.json()]).toMatchObject([503, { error: 'the server is closing' }])
    await closed
  })

  test('is computed as fast as its client reads, and its client does not delay the end of the server', async () => {
    const { ns, table } = await opened()
    const name = 'x'.repeat(1000)
    const rows = Array.from({ length: 400 }, (_, id) => ({ id, name }))
    const versions = 60
    for (let i = 0; i < versions; i++) await table.add(rows)
    const read = new Set<unknown>()
    const operations: Operations = {
      ...ns.operations,
      queryTable: (request, options) => {
        read.add(request.version)
        return ns.operations.queryTable(request, options)
      },
    }
    const { get, close } = await start({ operations })
    /** Wait until the sockets are full. */
    const stalled = async () => {
      for (let before = -1; before !== read.size; ) {
        before = read.size
        for (let i = 0; i < 50; i++) await (await get('/healthz')).text()
      }
    }
    const slow = await follow(get, '?since=1&rows=true')
    await stalled()
    expect(read.size).toBeLessThan(versions - 10)
    const changes = await slow.changes(versions)
    expect(changes.map(({ version }) => version)).toEqual(Array.from({ length: versions }, (_, i) => i + 2))
    expect(changes.every(({ rows }) => rows?.added.length === 400)).toBe(true)
    read.clear()
    await follow(get, '?since=1&rows=true')
    await stalled()
    await close()
  })

  test('ends when its client aborts, and then its place is free', async () => {
    const { ns } = await opened()
    const { logger, ended } = logging()
    const { get } = await start(ns, { logger, limits: { openStreams: 1 } })
    const leaving = new AbortController()
    const stream = new EventStream(await get('/v1/table/t/changes', { signal: leaving.signal }))
    await stream.position(1)
    const refused = await get('/v1/table/t/changes')
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
      503,
      '1',
      { code: ErrorCode.ServiceUnavailable, error: expect.stringContaining('1 open streams') },
    ])
    expect(await metric(get, 'sheaf_http_streams')).toBe(1)
    // A stream does not occupy the place of a call.
    expect(await metric(get, 'sheaf_http_in_flight')).toBe(0)
    leaving.abort()
    await expect(stream.next()).rejects.toThrow()
    expect(await ended).toMatchObject({ path: '/v1/table/t/changes', method: 'GET' })
    while ((await metric(get, 'sheaf_http_streams')) === 1);
    await (await follow(get)).position(1)
  })

  test('has comments while there are no commits, so it survives the limit for pauses', async () => {
    const { ns, table } = await opened()
    const { get } = await start(ns, { limits: { pauseMs: 600 } })
    const stream = await follow(get)
    while (stream.parser.comments.length < 3) expect(await stream.readMore()).toBe(true)
    expect(new Set(stream.parser.comments)).toEqual(new Set(['keep-alive']))
    await table.add([{ id: 2, name: 'two' }])
    expect(await stream.changes(1)).toMatchObject([{ version: 2 }])
  })

  test('needs the credentials and the permission of a query, as long as it is open', async () => {
    const { ns, table } = await opened()
    const asked: unknown[] = []
    const allowed = new Set(['t'])
    const { get } = await start(ns, {
      auth: { apiKeys: { ann: 'a long random text' } },
      authorize: (operation, id) => {
        asked.push([operation, ...id])
        return allowed.has(id[0]!)
      },
    })
    expect((await get('/v1/table/t/changes')).status).toBe(401)
    const key = { 'x-api-key': 'a long random text' }
    const stream = await follow(get, '?since=0', key)
    await stream.changes(1)
    expect(asked).toEqual([['queryTable', 't']])
    await ns.renameTable('t', 'hidden')
    await table.add([{ id: 2, name: 'secret' }])
    expect(errorOf(await stream.next())).toMatchObject({ name: 'PermissionDenied', status: 403 })
    expect(await stream.next()).toBeUndefined()
    expect((await get('/v1/table/hidden/changes', { headers: key })).status).toBe(403)
    expect(asked.slice(1)).toEqual([
      ['queryTable', 'hidden'],
      ['queryTable', 'hidden'],
    ])
  })

  test('HEAD has the head of a stream without a body, or the status of an error', async () => {
    const { ns } = await opened()
    const { get } = await start(ns)
    const reply = await get('/v1/table/t/changes', { method: 'HEAD' })
    expect([reply.status, reply.headers.get('content-type'), await reply.text()]).toEqual([
      200,
      'text/event-stream',
      '',
    ])
    expect((await get('/v1/table/none/changes', { method: 'HEAD' })).status).toBe(404)
    while ((await metric(get, 'sheaf_http_streams')) !== 0);
  })

  test.each([
    ['since=x', {}, 400, 'since'],
    ['since=-1', {}, 400, 'since'],
    ['since=1&since=1', {}, 400, 'since'],
    ['since=', {}, 400, 'since'],
    ['sinc=1', {}, 400, 'since'],
    ['rows=yes', {}, 400, 'rows'],
    ['', { 'last-event-id': '1, 2' }, 400, 'Last-Event-ID'],
    ['since=9', {}, 404, 'version 9'],
    ['', { 'last-event-id': '9' }, 404, 'version 9'],
    ['since=1', {}, 404, 'since 2'],
    ['', { accept: 'application/json' }, 406, 'text/event-stream'],
  ])('?%s with %j is refused with status %i', async (query, headers, status, named) => {
    const { ns, table } = await opened()
    await table.add([{ id: 2, name: 'two' }])
    await expire(ns, 1, 1)
    const { get } = await start(ns)
    const reply = await get(`/v1/table/t/changes?${query}`, { headers })
    const body = (await reply.json()) as { detail: string }
    expect([reply.status, reply.headers.get('content-type')]).toEqual([status, 'application/json'])
    expect(body.detail).toContain(named)
  })
})

describe('a client that connects again', () => {
  /** Commits by number, and cuts of the connection after some more bytes. */
  const step = fc.oneof(
    fc.record({ commit: fc.integer({ min: 0, max: 5 }) }),
    fc.record({ cutAfter: fc.integer({ min: 0, max: 400 }) }),
  )

  async function commit(ns: Namespace, table: Table, kind: number, id: number): Promise<void> {
    if (kind <= 1) await table.add([{ id, name: `n${id}` }])
    if (kind === 2) await table.update({ name: `u${id}` }, 'id % 2 = 0')
    if (kind === 3) await table.delete(`id % 3 = ${id % 3}`)
    if (kind === 4) await table.restore(1)
    if (kind === 5) await ns.optimize()
  }

  test('receives each version with changes once, in order, wherever the connection was cut', async () => {
    const run = async (way: string, steps: readonly ({ commit: number } | { cutAfter: number })[]) => {
      const { ns, table } = await opened(true)
      const { get, close } = await ways[way]!(ns)
      const received: Change[] = []
      let lastEventId = '0'
      const reading = async (bytes: number) => {
        const until = await table.version()
        const stream = await follow(get, '?rows=true', { 'last-event-id': lastEventId })
        const events = await stream.cutAfter(bytes, until)
        lastEventId = stream.parser.lastEventId || lastEventId
        received.push(...events.map(event => JSON.parse(event.data)))
      }
      let id = 2
      let work = Promise.resolve()
      for (const step of steps) {
        // The commits run while the client reads.
        if ('commit' in step) work = work.then(() => commit(ns, table, step.commit, id++))
        else await reading(step.cutAfter)
      }
      await work
      await table.add([{ id: 0, name: 'last' }])
      await reading(Number.POSITIVE_INFINITY)
      const { versions } = await ns.operations.listTableVersions({ id: ['t'] })
      const kept = new Set(['compaction', 'index'])
      const expected = versions.filter(({ metadata }) => !kept.has(metadata!.operation!))
      expect(received.map(({ version }) => version)).toEqual(
        expected.map(({ version }) => version).sort((a, b) => a - b),
      )
      const rows = new Map<number, ChangedRow>()
      for (const { rows: changed } of received) {
        for (const row of changed!.removed) expect(rows.delete(row._rowid)).toBe(true)
        for (const row of changed!.added) rows.set(row._rowid, row)
        for (const { before, after } of changed!.changed) {
          expect(rows.get(before._rowid)).toEqual(before)
          rows.set(after._rowid, after)
        }
      }
      const stored = await table.query().withRowId().limit(10_000).toArray()
      expect([...rows.values()].sort(byRowId)).toEqual((stored as unknown as ChangedRow[]).sort(byRowId))
      await close()
    }
    const steps = fc.array(step, { minLength: 1, maxLength: 14 })
    await fc.assert(fc.asyncProperty(fc.constantFrom(...Object.keys(ways)), steps, run), { numRuns: 25 })
  }, 120_000)

  const byRowId = (a: ChangedRow, b: ChangedRow) => a._rowid - b._rowid

  test('knows the position after versions without events', async () => {
    const { ns, table } = await opened(true)
    for (const id of [2, 3, 4]) await table.add([{ id, name: 'more' }])
    await table.delete('id = 2')
    const written = await table.version()
    const { get } = await ways.serve!(ns)
    const stream = await follow(get)
    await stream.position(written)
    await ns.optimize()
    const compacted = await table.version()
    expect(compacted).toBeGreaterThan(written)
    await stream.position(compacted)
    // A client that had only the version of the last event could not go on.
    await expire(ns, 1, written)
    await stream.cut()
    const { version } = await table.add([{ id: 5, name: 'five' }])
    const again = await follow(get, '', { 'last-event-id': stream.parser.lastEventId })
    expect(await again.changes(1)).toMatchObject([{ version, added: 1 }])
  })
})

describe('a version that expires', () => {
  /** Operations that call `expiring` before the first query of a version. */
  function expiringAt(ns: Namespace, version: number, expiring: () => Promise<unknown>): Operations {
    let isFirst = true
    return {
      ...ns.operations,
      queryTable: async (request, options) => {
        if (request.version === version && isFirst) {
          isFirst = false
          await expiring()
        }
        return ns.operations.queryTable(request, options)
      },
    }
  }

  async function fourVersions() {
    const both = await opened()
    for (const id of [2, 3, 4]) await both.table.add([{ id, name: 'more' }])
    return both
  }

  test('while it is read is part of the next event', async () => {
    const { ns } = await fourVersions()
    const { get } = await ways.serve!({ operations: expiringAt(ns, 3, () => expire(ns, 3, 3)) })
    const stream = await follow(get, '?since=1')
    expect(await stream.changes(2)).toMatchObject([
      { version: 2, previous: 1, added: 1 },
      { version: 4, previous: 2, added: 2 },
    ])
  })

  test('and from which the stream must continue ends the stream with a version to continue from', async () => {
    const { ns } = await fourVersions()
    const { get } = await ways.serve!({ operations: expiringAt(ns, 3, () => expire(ns, 1, 2)) })
    const stream = await follow(get, '?since=1')
    expect(await stream.changes(1)).toMatchObject([{ version: 2 }])
    expect(errorOf(await stream.next())).toMatchObject({
      name: 'TableVersionNotFound',
      code: ErrorCode.TableVersionNotFound,
      error: expect.stringContaining('version 2 does not exist'),
      hint: expect.stringContaining('changes since 3'),
    })
    expect(await stream.next()).toBeUndefined()
  })
})

describe('rows=true', () => {
  test('events have the rows as GET .../rows writes them, with their ids', async () => {
    const { ns } = await opened()
    const big = await ns.createTable('big', [{ id: 2n ** 60n, at: new Date(0), v: [1, 0.5] }], {
      vectorColumns: ['v'],
    })
    await big.update({ v: [0, 2] }, 'true')
    await big.delete('true')
    const { get } = await ways.serve!(ns)
    const reply = await get('/v1/table/big/changes?since=0&rows=true')
    const stream = new EventStream(reply)
    closing.push(() => stream.cut())
    const before = '{"id":1152921504606846976,"at":"1970-01-01T00:00:00","v":[1,0.5],"_rowid":0}'
    const after = before.replace('[1,0.5]', '[0,2]')
    const data = []
    for (let i = 0; i < 3; i++) data.push((await stream.next())!.data)
    expect(data[0]).toContain(`"rows":{"added":[${before}],"removed":[],"changed":[]}`)
    expect(data[1]).toContain(`"changed":[{"before":${before},"after":${after}}]`)
    expect(data[2]).toContain(`"removed":[${after}]`)
  })

  test.each([
    ['1,001 new rows', 'more than 1000 rows', Array.from({ length: 1001 }, (_, id) => ({ id, name: null }))],
    [
      'more than 1 MiB of rows',
      'more than 1048576 bytes',
      Array.from({ length: 20 }, (_, id) => ({ id, name: 'x'.repeat(60_000) })),
    ],
  ])('an event with %s has counts only, and tells why', async (_, reason, rows) => {
    const { ns, table } = await opened()
    await table.add(rows)
    await table.update({ name: 'y'.repeat(60_000) }, 'true')
    const { get } = await ways.serve!(ns)
    const stream = await follow(get, '?since=1&rows=true')
    const count = rows.length
    expect(await stream.changes(2)).toMatchObject([
      { version: 2, added: count, rows: null, rows_omitted: expect.stringContaining(reason) },
      { version: 3, changed: count + 1, rows: null, rows_omitted: expect.stringContaining('more than') },
    ])
    await expire(ns, 1, 2)
    const whole = await follow(get, '?since=0&rows=true')
    expect(await whole.changes(1)).toMatchObject([{ previous: 0, added: count + 1, rows: null }])
  })
})

describe('commits are seen', () => {
  test('by other processes, with a database that stays open for the stream', async () => {
    const root = newRoot()
    const elsewhere = await connect(`${root}/a`)
    closing.push(() => elsewhere.close())
    const table = await elsewhere.createTable('t', [{ id: 1, name: 'one' }])
    const all = databases(root, { keepOpen: 0 })
    closing.push(() => all.close())
    const { get } = await ways.serve!(all)
    const stream = await follow(get, '', { 'x-lancedb-database': 'a' })
    await stream.position(1)
    await table.add([{ id: 2, name: 'two' }])
    expect(await stream.changes(1)).toMatchObject([{ version: 2, added: 1 }])
    await stream.cut()
  })

  test('through a server of a server, which polls', async () => {
    const { ns, table } = await opened()
    const inner = await serve(ns, { port: 0 })
    closing.push(() => inner.close())
    const remote = connectHttp(inner.url)
    closing.push(() => remote.close())
    const { get } = await ways['handler.fetch']!(remote)
    const stream = await follow(get)
    await stream.position(1)
    await table.add([{ id: 2, name: 'two' }])
    expect(await stream.changes(1)).toMatchObject([{ version: 2, added: 1 }])
  })
})

test('a body and other methods are refused', async () => {
  const { ns } = await opened()
  const server = await serve(ns, { port: 0 })
  closing.push(() => server.close())
  const path = '/v1/table/t/changes'
  const headers = { 'content-type': 'application/json', 'content-length': '2' }
  expect((await ask(server.url, { method: 'GET', path, headers, body: '{}' })).status).toBe(400)
  const posted = await ask(server.url, { path })
  expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD'])
})

test('a stream has no time limit, but limits per caller', async () => {
  const { ns, table } = await opened()
  const { get } = await ways['handler.fetch']!(ns, { limits: { requestMs: 1_000, inFlightPerCaller: 1 } })
  const stream = await follow(get, '', { 'x-request-timeout-ms': '500' })
  expect((await get('/v1/table/t/changes')).status).toBe(429)
  expect((await get('/v1/table/t/rows')).status).toBe(200)
  await table.add([{ id: 2, name: 'two' }])
  expect(await stream.changes(1)).toHaveLength(1)
})

test('a connection is usable after HEAD, and a client of HTTP 1.0 gets a stream', async () => {
  const { ns } = await opened()
  const server = await serve(ns, { port: 0 })
  closing.push(() => server.close())
  const socket = dial(server.url)
  closing.push(() => socket.destroy())
  let text = ''
  const has = async (part: string) => {
    while (!text.includes(part)) text += String((await once(socket, 'data'))[0])
  }
  socket.write('HEAD /v1/table/t/changes HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await has('\r\n\r\n')
  expect(text).toMatch(/^HTTP\/1.1 200 OK\r\ncontent-type: text\/event-stream\r\n/)
  text = ''
  socket.write('GET /v1/table/t/changes HTTP/1.0\r\n\r\n')
  await has('id: 1\n\n')
  expect(text).not.toContain('chunked')
})
