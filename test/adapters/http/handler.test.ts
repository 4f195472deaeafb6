/** The server inside the server of an application: `handler`. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tableFromIPC } from 'apache-arrow'
import { afterEach, describe, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import type { HandlerOptions, RequestRecord } from '../../../adapters/http/options.js'
import { type HttpHandler, handler } from '../../../adapters/http/server.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect, type Namespace } from '../../../src/index.js'
import { ask } from '../../support/http.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function mounted(options: HandlerOptions = {}): Promise<{ ns: Namespace; sheaf: HttpHandler }> {
  const ns = await connect('memory://')
  const sheaf = await handler(ns, { allowAnonymous: true, ...options })
  closing.push(
    () => ns.close(),
    () => sheaf.close(),
  )
  return { ns, sheaf }
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const json = { 'content-type': 'application/json', 'user-agent': 'test' }

describe('node', () => {
  test('answers the requests that the application passes on', async () => {
    const { sheaf } = await mounted({ basePath: '/db' })
    const url = await listening(
      createServer((request, response) => {
        if (request.url!.startsWith('/db/')) void sheaf.node(request, response)
        else response.end('app')
      }),
    )
    expect((await ask(url, { path: '/' })).text).toBe('app')
    const remote = connectHttp(`${url}/db`)
    closing.push(() => remote.close())
    const table = await remote.createTable('t', [{ id: 1 }])
    await table.add([{ id: 2 }])
    expect(await table.countRows()).toBe(2)
    const rows = await ask(url, { method: 'GET', path: '/db/v1/table/t/rows?order=-id' })
    expect(rows.json).toEqual([{ id: 2 }, { id: 1 }])
    expect((await ask(url, { method: 'GET', path: '/db/' })).json).toMatchObject({
      openapi: '/db/openapi.json',
    })
    expect((await ask(url, { path: '/db/v1/nowhere' })).json).toMatchObject({ status: 404, code: 0 })
  })

  test('tells that another handler has read the body', async () => {
    const { sheaf } = await mounted()
    const url = await listening(
      createServer(async (request, response) => {
        for await (const _ of request);
        await sheaf.node(request, response)
      }),
    )
    const reply = await ask(url, { path: '/v1/table/t/describe', headers: json, body: '{}' })
    expect([reply.status, reply.json]).toMatchObject([
      500,
      { detail: expect.stringContaining('express.json()') },
    ])
  })

  test('close waits for requests that have begun', async () => {
    const { ns, sheaf } = await mounted()
    await ns.createTable('t', [{ id: 1 }])
    const url = await listening(createServer((request, response) => void sheaf.node(request, response)))
    const reply = ask(url, { method: 'GET', path: '/v1/table/t/rows' })
    await new Promise(resolve => setTimeout(resolve, 20))
    await sheaf.close()
    expect((await reply).json).toEqual([{ id: 1 }])
  })
})

describe('fetch', () => {
  const request = (path: string, init: RequestInit = {}) =>
    new Request(`http://localhost${path}`, { ...init, headers: { ...json, ...init.headers } })
  const post = (path: string, body: unknown, headers = {}) =>
    request(path, { method: 'POST', body: JSON.stringify(body), headers })

  test('answers requests with bodies, streams and errors', async () => {
    const { ns, sheaf } = await mounted()
    const made = await sheaf.fetch(post('/v1/table/t/create', [{ id: 1 }, { id: 2 }]))
    expect([made.status, await made.json()]).toMatchObject([200, { version: 1 }])
    const inserted = new ReadableStream({
      async pull(controller) {
        controller.enqueue(new TextEncoder().encode('[{"id":3},'))
        controller.enqueue(new TextEncoder().encode('{"id":4}]'))
        controller.close()
      },
    })
    const init = { method: 'POST', body: inserted, duplex: 'half' } as RequestInit
    expect((await sheaf.fetch(request('/v1/table/t/insert', init))).status).toBe(200)
    const rows = await sheaf.fetch(request('/v1/table/t/rows?filter=id%3E1&format=csv'))
    expect(rows.headers.get('content-type')).toBe('text/csv')
    expect(await rows.text()).toBe('id\n2\n3\n4\n')
    const query = await sheaf.fetch(post('/v1/table/t/query', { vector: null, k: 9 }))
    expect(tableFromIPC(await query.arrayBuffer()).numRows).toBe(4)
    const missing = await sheaf.fetch(post('/v1/table/none/describe', {}))
    expect([missing.status, await missing.json()]).toMatchObject([404, { code: ErrorCode.TableNotFound }])
    const exists = await sheaf.fetch(post('/v1/table/t/exists', {}))
    expect([exists.status, await exists.text()]).toEqual([200, ''])
    expect(await (await ns.openTable('t')).countRows()).toBe(4)
  })

  test('streams a long answer at the speed of its reader', async () => {
    const { ns, sheaf } = await mounted()
    const text = 'x'.repeat(1000)
    await ns.createTable(
      't',
      Array.from({ length: 40_000 }, (_, id) => ({ id, text })),
    )
    const response = await sheaf.fetch(request('/v1/table/t/rows?format=ndjson'))
    let bytes = 0
    for await (const chunk of response.body!) bytes += chunk.length
    expect(bytes).toBeGreaterThan(40_000_000)
    // One that is not read to its end.
    const other = await sheaf.fetch(request('/v1/table/t/rows?format=ndjson'))
    await other.body!.cancel()
  })

  test('calls at once, and an aborted one', async () => {
    const { ns, sheaf } = await mounted()
    await ns.createTable('t', [{ id: 1 }])
    const replies = await Promise.all(
      Array.from({ length: 20 }, async () => (await sheaf.fetch(request('/v1/table/t/count_rows'))).json()),
    )
    expect(replies).toEqual(Array(20).fill(1))
    const reason = new Error('enough')
    const aborted = request('/v1/table/t/rows', { signal: AbortSignal.abort(reason) })
    await expect(sheaf.fetch(aborted)).rejects.toBe(reason)
    const controller = new AbortController()
    const call = sheaf.fetch(request('/v1/table/t/rows', { signal: controller.signal }))
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
  })

  test('credentials, hosts and the log are those of the handler', async () => {
    const records: RequestRecord[] = []
    const { sheaf } = await mounted({
      allowAnonymous: false,
      auth: { apiKeys: { ann: 'a long random text' } },
      logger: record => void records.push(record),
    })
    expect((await sheaf.fetch(request('/v1/table'))).status).toBe(401)
    const headers = { 'x-api-key': 'a long random text' }
    expect((await sheaf.fetch(request('/v1/table', { headers }))).status).toBe(200)
    expect(records.map(({ status, principal }) => [status, principal])).toEqual([
      [401, undefined],
      [200, 'ann'],
    ])
    const { sheaf: open } = await mounted({ allowHosts: ['app.example'] })
    expect((await open.fetch(new Request('https://app.example/v1/table'))).status).toBe(200)
    expect((await open.fetch(new Request('https://evil.example/v1/table'))).status).toBe(403)
  })
})

test('options that have no effect, and open access by mistake, are refused', async () => {
  const ns = await connect('memory://')
  closing.push(() => ns.close())
  for (const options of [
    {},
    { allowAnonymous: true, port: 1 },
    { allowAnonymous: true, host: 'x' },
    { allowAnonymous: true, limits: { connections: 1 } },
  ]) {
    await expect(handler(ns, options as HandlerOptions)).rejects.toMatchObject({
      code: ErrorCode.InvalidInput,
    })
  }
})
