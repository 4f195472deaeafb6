/** What `connectHttp` does when a server is slow, busy or gone, and header fields from a function. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type ConnectHttpOptions, connectHttp } from '../../../adapters/http/client.js'
import { serve } from '../../../adapters/http/server.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect, type Namespace } from '../../../src/index.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Handler = (request: IncomingMessage, response: ServerResponse, nth: number) => void

/** A server that `handler` answers. `heads`: the requests so far. */
async function front(handler: Handler): Promise<{ url: string; heads: IncomingMessage[] }> {
  const heads: IncomingMessage[] = []
  const server = createServer((request, response) => handler(request, response, heads.push(request)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heads }
}

function client(url: string, options: ConnectHttpOptions): Namespace {
  const ns = connectHttp(url, options)
  closing.push(() => ns.close())
  return ns
}

const busy = (response: ServerResponse, status = 503) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ code: 17, error: 'busy', status, kind: 'service-unavailable' }))
}

const tables = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end('{"tables":[]}')
}

const list = (ns: Namespace) => ns.operations.listTables({ id: [] })

describe('retries', () => {
  test.each([429, 502, 503, 504])('a read is sent again after %d', async status => {
    const { url, heads } = await front((_, response, nth) =>
      nth < 3 ? busy(response, status) : tables(response),
    )
    expect(await list(client(url, { retries: 2 }))).toEqual({ tables: [] })
    expect(heads).toHaveLength(3)
  })

  test('a read is sent again after a lost connection', async () => {
    const { url, heads } = await front((request, response, nth) =>
      nth === 1 ? request.socket.destroy() : tables(response),
    )
    expect(await list(client(url, { retries: 1 }))).toEqual({ tables: [] })
    expect(heads).toHaveLength(2)
  })

  test('by default, and after the last repetition, the error is that of the reply', async () => {
    const { url, heads } = await front((_, response) => busy(response))
    await expect(list(client(url, {}))).rejects.toMatchObject({ code: ErrorCode.ServiceUnavailable })
    await expect(list(client(url, { retries: 1 }))).rejects.toMatchObject({ status: 503 })
    expect(heads).toHaveLength(3)
  })

  test.each([400, 404, 408, 409, 500])('status %d is not repeated', async status => {
    const { url, heads } = await front((_, response) => busy(response, status))
    await expect(list(client(url, { retries: 3 }))).rejects.toMatchObject({ status })
    expect(heads).toHaveLength(1)
  })

  test('a write is sent again only with an idempotency key, with the same key and rows', async () => {
    const ns = await connect('memory://')
    const server = await serve(ns, { port: 0 })
    closing.push(
      () => ns.close(),
      () => server.close(),
    )
    await ns.createTable('t', [{ id: 1 }])
    const keys: unknown[] = []
    // Passes a request on, and loses every second reply to an insert.
    const { url } = await front(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(
          ([name]) => !/^(host|connection|transfer-encoding)$/.test(name),
        ),
      ) as Record<string, string>
      const body = Buffer.concat(chunks)
      const reply = await fetch(server.url + request.url, { method: 'POST', headers, body })
      const isInsert = request.url!.includes('insert')
      if (isInsert && keys.push(request.headers['idempotency-key']) % 2 === 1) {
        return void request.socket.destroy()
      }
      response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' })
      response.end(Buffer.from(await reply.arrayBuffer()))
    })
    const remote = client(url, { retries: 3 })
    const table = await remote.openTable('t')
    async function* rows() {
      yield { id: 2 }
      yield { id: 3 }
    }
    await table.add(rows(), { idempotencyKey: 'once' })
    expect(keys).toEqual(['once', 'once'])
    expect(await (await ns.openTable('t')).countRows()).toBe(3)
    await expect(table.add([{ id: 4 }])).rejects.toMatchObject({ kind: 'commit-state-unknown' })
    expect(keys).toEqual(['once', 'once', undefined])
    expect(await (await ns.openTable('t')).countRows()).toBe(4)
  })

  test('rows that never come do not keep an aborted call', async () => {
    const { url } = await front(() => {})
    async function* never() {
      yield new Uint8Array(8)
      await new Promise(() => {})
    }
    const reason = new Error('enough')
    const controller = new AbortController()
    const { operations } = client(url, { retries: 2 })
    const options = { signal: controller.signal, idempotencyKey: 'k' }
    const call = operations.insertIntoTable({ id: ['t'] }, never(), options)
    setTimeout(() => controller.abort(reason), 50)
    await expect(call).rejects.toBe(reason)
  })

  test('more rows than are kept are sent once', async () => {
    const { url, heads } = await front(async (request, response) => {
      for await (const _ of request);
      busy(response)
    })
    async function* many() {
      for (let i = 0; i < 17; i++) yield new Uint8Array(1 << 20)
    }
    const { operations } = client(url, { retries: 2 })
    const call = operations.insertIntoTable({ id: ['t'] }, many(), { idempotencyKey: 'k' })
    await expect(call).rejects.toMatchObject({ status: 503 })
    expect(heads).toHaveLength(1)
  })

  test('the pause ends with the signal of the call', async () => {
    const { url } = await front((_, response) => {
      response.setHeader('retry-after', '60')
      busy(response)
    })
    const reason = new Error('enough')
    const controller = new AbortController()
    const call = client(url, { retries: 3 }).operations.listTables({ id: [] }, { signal: controller.signal })
    setTimeout(() => controller.abort(reason), 150)
    await expect(call).rejects.toBe(reason)
  })
})

describe('timeoutMs', () => {
  test('a read that gets no reply is ServiceUnavailable', async () => {
    const { url, heads } = await front(() => {})
    const call = list(client(url, { timeoutMs: 50, retries: 5 }))
    await expect(call).rejects.toMatchObject({
      code: ErrorCode.ServiceUnavailable,
      message: expect.stringContaining('timeoutMs (50 ms)'),
    })
    expect(heads).toHaveLength(1)
  })

  test('it bounds all repetitions together', async () => {
    const { url } = await front((_, response) => busy(response))
    const begun = performance.now()
    const call = list(client(url, { timeoutMs: 300, retries: 100 }))
    await expect(call).rejects.toMatchObject({ code: ErrorCode.ServiceUnavailable })
    expect(performance.now() - begun).toBeLessThan(3_000)
  })

  test('the outcome of a write that was sent is unknown', async () => {
    const { url } = await front(() => {})
    const call = client(url, { timeoutMs: 100 }).operations.createNamespace({ id: ['a'] })
    await expect(call).rejects.toMatchObject({ kind: 'commit-state-unknown' })
  })
})

describe('headers', () => {
  test.each([
    ['a function', (n: { next: number }) => ({ authorization: `Bearer ${n.next++}` })],
    ['an async function', async (n: { next: number }) => ({ authorization: `Bearer ${n.next++}` })],
  ])('%s is called for each request', async (_, make) => {
    const { url, heads } = await front((_, response, nth) => (nth === 1 ? busy(response) : tables(response)))
    const n = { next: 0 }
    const ns = client(url, { headers: () => make(n), retries: 1 })
    await list(ns)
    await list(ns)
    expect(heads.map(({ headers }) => headers.authorization)).toEqual(['Bearer 0', 'Bearer 1', 'Bearer 2'])
  })

  test('its error is the error of the call, and its result is checked', async () => {
    const { url, heads } = await front((_, response) => tables(response))
    const failure = new Error('no token')
    const failing = client(url, { headers: () => Promise.reject(failure) })
    await expect(list(failing)).rejects.toBe(failure)
    for (const headers of [() => ({ a: 1 }), () => null, () => ({ 'a b': 'x' }), () => ({ a: 'x\ny' })]) {
      const wrong = client(url, { headers: headers as never })
      await expect(list(wrong)).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
    }
    expect(heads).toHaveLength(0)
  })

  test('the signal ends the wait for it', async () => {
    const { url } = await front((_, response) => tables(response))
    const ns = client(url, { headers: () => new Promise(() => {}), timeoutMs: 50 })
    await expect(list(ns)).rejects.toMatchObject({ code: ErrorCode.ServiceUnavailable })
    const reason = new Error('enough')
    const call = ns.operations.listTables({ id: [] }, { signal: AbortSignal.abort(reason) })
    await expect(call).rejects.toBe(reason)
  })
})

test('invalid and misspelt options are refused', () => {
  for (const options of [
    { retries: -1 },
    { retries: '2' },
    { timeoutMs: 0 },
    { timeoutMs: 2 ** 31 },
    { headers: { a: 1 } },
    { headers: { 'a b': 'x' } },
    { header: {} },
    { timeout: 5 },
  ]) {
    expect(() => connectHttp('http://127.0.0.1:1', options as never), JSON.stringify(options)).toThrow(
      expect.objectContaining({ code: ErrorCode.InvalidInput }),
    )
  }
})
