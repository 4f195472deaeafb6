/** What a server takes on, and what who asks for more is told. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { RequestBody } from '../../../adapters/http/body.js'
import { type Limits, limitsShape, resolveLimits } from '../../../adapters/http/limits.js'
import type { RequestRecord, ServeOptions } from '../../../adapters/http/options.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { decodeIpc } from '../../../src/arrow/decode-ipc.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect } from '../../../src/index.js'
import type { Operations } from '../../../src/protocol/calls.js'
import { parse } from '../../../src/protocol/parse.js'
import { compressedStream } from '../../support/arrow-compressed.js'
import { ask, askJson, dial, type RawReply, repliesOf, sendRaw } from '../../support/http.js'
import { echo, withHandler } from '../echo.js'

let server: HttpServer | undefined

async function start(
  operations: Operations,
  limits: Partial<Limits> = {},
  options: ServeOptions = {},
): Promise<string> {
  server = await serve({ operations }, { port: 0, limits, ...options })
  return server.url
}

afterEach(async () => {
  await server?.close()
  server = undefined
})

const host = 'host: localhost\r\n'
const exists = '/v1/table/t/exists'

/** Calls that wait until they are let go. */
function waiting(): { operations: Operations; begun(calls: number): Promise<void>; go(): void } {
  let calls = 0
  let look = () => {}
  let go!: () => void
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  return {
    operations: withHandler(async name => {
      if (name !== 'tableExists') return undefined
      calls++
      look()
      await gate
      return undefined
    }),
    begun: expected =>
      new Promise(resolve => {
        look = () => calls >= expected && resolve()
        look()
      }),
    go,
  }
}

function expectRefusal(reply: RawReply, status: number, code: ErrorCode): void {
  expect([reply.status, reply.json]).toMatchObject([status, { status, code }])
  const isLoad = status === 429 || status === 503
  expect(reply.headers['retry-after']).toBe(isLoad ? '1' : undefined)
}

test('a limit that is none is refused', () => {
  expect(resolveLimits({ inFlight: 3 }).inFlight).toBe(3)
  const settle = (limits: object) => () => parse(limitsShape, limits, 'limits')
  expect(settle({ inFlight: 0 })).toThrow('limits: inFlight must be a number > 0, got 0')
  expect(settle({ inFlight: '3' })).toThrow('must be a number > 0, got "3"')
  expect(settle({ inFlights: 1 })).toThrow('inFlights is not a known option')
})

describe('calls at a time', () => {
  test('A-037 above the limit 503 with Retry-After; a place is free again when its reply is sent', async () => {
    const calls = waiting()
    const url = await start(calls.operations, { inFlight: 2 })
    const both = [ask(url, { path: exists }), ask(url, { path: exists })]
    await calls.begun(2)
    expectRefusal(await ask(url, { path: exists }), 503, ErrorCode.ServiceUnavailable)
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect((await ask(url, { method: 'GET', path })).status, path).toBe(200)
    calls.go()
    for (const reply of await Promise.all(both)) expect(reply.status).toBe(200)
    expect((await ask(url, { path: exists })).status).toBe(200)
  })

  test('A-037 above the limit of one caller 429 with Retry-After', async () => {
    const calls = waiting()
    const url = await start(calls.operations, { inFlightPerCaller: 1 })
    const reply = ask(url, { path: exists })
    await calls.begun(1)
    expectRefusal(await ask(url, { path: exists }), 429, ErrorCode.Throttling)
    calls.go()
    expect((await reply).status).toBe(200)
    expect((await ask(url, { path: exists })).status).toBe(200)
  })

  test('a refused call takes no place of other calls', async () => {
    const url = await start(echo().operations, { inFlight: 1, inFlightPerCaller: 1 })
    for (let i = 0; i < 3; i++) {
      expect((await ask(url, { path: '/v1/table/%/exists' })).status).toBe(400)
      expect((await ask(url, { path: exists, headers: { 'x-request-timeout-ms': 'soon' } })).status).toBe(400)
    }
    expect((await ask(url, { path: exists })).status).toBe(200)
  })

  test.each([
    [503, { inFlight: 1 }],
    [429, { inFlightPerCaller: 1 }],
    [413, { bodyBytes: 1000 }],
  ])('%i reaches a client that is still sending', async (status, limits) => {
    const calls = waiting()
    const url = await start(status === 413 ? echo().operations : calls.operations, limits)
    const first = status === 413 ? undefined : ask(url, { path: exists })
    if (first !== undefined) await calls.begun(1)
    const request = httpRequest(`${url}/v1/table/t/insert`, { method: 'POST' })
    const answered = once(request, 'response')
    request.on('error', () => {})
    request.write(Buffer.alloc(4 << 20))
    const [response] = (await answered) as [IncomingMessage]
    expect(response.statusCode).toBe(status)
    expect(JSON.parse(Buffer.concat(await response.toArray()).toString())).toMatchObject({ status })
    request.destroy()
    calls.go()
    await first
  })
})

describe('callers without verified credentials', () => {
  const auth = { apiKeys: { ann: 'key-of-ann' } }
  const known = { 'x-api-key': 'key-of-ann' }
  const limits = { inFlight: 4, inFlightPerCaller: 2 }
  const head = (fields: string) =>
    `POST ${exists} HTTP/1.1\r\n${host}content-type: application/json\r\n${fields}content-length: 1000\r\n\r\n{`

  /** Connections whose bodies never come to an end. */
  async function hold(url: string, count: number, fields: string): Promise<() => void> {
    const sockets = Array.from({ length: count }, () => dial(url))
    await Promise.all(
      sockets.map(socket => {
        socket.on('error', () => {})
        return new Promise<void>(resolve => socket.write(head(fields), () => resolve()))
      }),
    )
    return () => {
      for (const socket of sockets) socket.destroy()
    }
  }

  test.each([
    ['that send a part of a body', ''],
    ['with a wrong key, whose bodies trickle', 'x-api-key: wrong\r\n'],
    ['with a wrong token, whose bodies trickle', 'authorization: Bearer wrong\r\n'],
  ])('%s take no place of callers with keys', async (_, fields) => {
    const url = await start(echo().operations, limits, { auth })
    const end = await hold(url, 3 * limits.inFlight, fields)
    for (let i = 0; i < 3; i++) {
      const replies = [1, 2].map(() => ask(url, { path: exists, headers: known }))
      expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200])
    }
    end()
  })

  test('from one address are bounded, and get their places back', async () => {
    const url = await start(echo().operations, { ...limits, inFlight: 8 }, { auth })
    const identity = { identity: { api_key: 'key-of-ann' } }
    const end = await hold(url, 1, '')
    await expect.poll(async () => (await askJson(url, exists, identity)).status).toBe(429)
    end()
    await expect.poll(async () => (await askJson(url, exists, identity)).status).toBe(200)
  })

  test.each([
    ['a query that is not percent-encoded', `${exists}?x=%zz`, {}, 400],
    ['no time for its call', exists, { 'x-request-timeout-ms': '0' }, 408],
  ])('a request with %s gives its place back', async (_, path, headers, status) => {
    const url = await start(echo().operations, { ...limits, inFlight: 8 }, { auth })
    const identity = { identity: { api_key: 'key-of-ann' } }
    const asked = {
      path,
      body: JSON.stringify(identity),
      headers: { 'content-type': 'application/json', ...headers },
    }
    for (let i = 0; i < 3; i++) expect((await ask(url, asked)).status).toBe(status)
    expect((await askJson(url, exists, identity)).status).toBe(200)
  })

  test('a slow body must arrive within a time limit', async () => {
    const trickling = new PassThrough()
    const message = Object.assign(trickling, { headers: {}, complete: false })
    const body = new RequestBody(message as unknown as IncomingMessage, { bodyBytes: 1e6, pauseMs: 60_000 })
    const timer = setInterval(() => trickling.write(' '), 2)
    await expect(body.json(undefined, { withinMs: 30 })).rejects.toMatchObject({ status: 408 })
    clearInterval(timer)
  })
})

describe('the time of a call', () => {
  /** Operations that last until their signal ends them. */
  const endless = withHandler(
    (_name, _request, { signal }) =>
      new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason))),
  )

  test.each([
    ['a read, by the client', 'count_rows', '{}', {}, '20', 20, 408],
    ['a write, by the client', 'delete', '{"predicate":"true"}', {}, '20', 20, 408],
    ['a read, by the server', 'count_rows', '{}', { requestMs: 15 }, '60000', 15, 503],
    ['a write, by the server', 'delete', '{"predicate":"true"}', { requestMs: 15 }, undefined, 15, 503],
  ])('%s: an error that says so', async (_, operation, body, limits, asked, ms, status) => {
    const url = await start(endless, limits)
    const headers = {
      'content-type': 'application/json',
      ...(asked !== undefined && { 'x-request-timeout-ms': asked }),
    }
    const reply = await ask(url, { path: `/v1/table/t/${operation}`, body, headers })
    expectRefusal(reply, status, ErrorCode.ServiceUnavailable)
    expect(reply.text).toContain(`the call timed out after ${ms} ms`)
  })

  test('no time at all is a timeout, for reads and writes', async () => {
    const ns = await connect('memory://')
    await ns.createTable('t', [{ id: 1 }])
    const url = await start(ns.operations)
    for (const [operation, body] of [
      ['count_rows', '{}'],
      ['delete', '{"predicate":"true"}'],
    ] as const) {
      const headers = { 'content-type': 'application/json', 'x-request-timeout-ms': '0' }
      const reply = await ask(url, { path: `/v1/table/t/${operation}`, body, headers })
      expectRefusal(reply, 408, ErrorCode.ServiceUnavailable)
    }
    expect(await (await ns.openTable('t')).countRows()).toBe(1)
    await ns.close()
  })

  test.each(['-1', '1.5', 'soon', '1e3', ''])('%j is not a time', async time => {
    const url = await start(echo().operations)
    const reply = await ask(url, { path: exists, headers: { 'x-request-timeout-ms': time } })
    expectRefusal(reply, 400, ErrorCode.InvalidInput)
  })

  test('times longer than any timer mean no limit', async () => {
    const url = await start(echo().operations)
    for (const time of ['2147483648', '999999999999999']) {
      expect((await ask(url, { path: exists, headers: { 'x-request-timeout-ms': time } })).status).toBe(200)
    }
  })

  test('ends the wait for the rest of an upload, and no row of it is committed', async () => {
    const ns = await connect('memory://')
    await ns.createTable('t', [{ id: 1 }])
    const url = await start(ns.operations)
    const socket = dial(url)
    socket.write(
      `POST /v1/table/t/insert HTTP/1.1\r\n${host}x-request-timeout-ms: 30\r\ncontent-length: 1000\r\n\r\nABC`,
    )
    const [chunk] = await once(socket, 'data')
    expect(String(chunk)).toContain('HTTP/1.1 408 ')
    socket.destroy()
    expect((await askJson(url, '/v1/table/t/count_rows', {})).text).toBe('1')
    await server!.close()
    await ns.close()
  })
})

describe('clients that pause', () => {
  test.each(['/v1/table/t/insert', '/v1/table/t/describe'])(
    'in sending to %s get 408, and the connection ends',
    async path => {
      const records: RequestRecord[] = []
      const url = await start(
        echo().operations,
        { pauseMs: 40 },
        { logger: record => void records.push(record) },
      )
      const socket = dial(url)
      socket.write(`POST ${path} HTTP/1.1\r\n${host}content-length: 10\r\n\r\nabc`)
      const replies = await repliesOf(socket)
      expect(replies).toMatchObject([{ status: 408, headers: { connection: 'close' } }])
      expect(records).toMatchObject([{ status: 408, bytesIn: 3, bytesOut: replies[0]!.bytes.length }])
    },
  )

  test('get 408 before the head of a request is complete', async () => {
    const records: RequestRecord[] = []
    const url = await start(
      echo().operations,
      { pauseMs: 40 },
      { logger: record => void records.push(record) },
    )
    const replies = await sendRaw(url, `POST ${exists} HTTP/1.1\r\nho`)
    expect(replies).toMatchObject([{ status: 408, json: { status: 408 } }])
    expect(records).toMatchObject([{ method: '', path: '', status: 408, bytesOut: replies[0]!.bytes.length }])
  })

  test('while reading lose the connection, and do not delay close', async () => {
    const chunks = Array.from({ length: 64 }, () => Buffer.alloc(1 << 20))
    const records: RequestRecord[] = []
    let begin!: () => void
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    const url = await start(
      withHandler(async () => {
        begin()
        return { version: 1, chunks }
      }),
      { pauseMs: 40 },
      { logger: record => void records.push(record) },
    )
    const body = '{"k":1,"vector":[1]}'
    const socket = dial(url)
    socket.on('error', () => {})
    const json = `content-type: application/json\r\ncontent-length: ${body.length}`
    socket.write(`POST /v1/table/t/query HTTP/1.1\r\n${host}${json}\r\n\r\n${body}`)
    await begun
    await server!.close()
    expect(records).toMatchObject([{ operation: 'queryTable', status: 200, bytesIn: body.length }])
    expect(records[0]!.bytesOut).toBeLessThan(64 << 20)
    socket.destroy()
  })

  test('while the server computes are awaited', async () => {
    const url = await start(
      withHandler(() => new Promise(resolve => setTimeout(() => resolve(undefined), 120))),
      { pauseMs: 30 },
    )
    expect((await ask(url, { path: exists })).status).toBe(200)
  })
})

test('connections above the limit are closed unanswered, and counted', async () => {
  const url = await start(echo().operations, { connections: 1 })
  const socket = dial(url)
  await once(socket, 'connect')
  expect(await sendRaw(url, `GET /healthz HTTP/1.1\r\n${host}\r\n`)).toEqual([])
  socket.write(`GET /metrics HTTP/1.1\r\n${host}connection: close\r\n\r\n`)
  const [reply] = await repliesOf(socket)
  expect(reply!.text).toContain('\nsheaf_http_connections_refused_total 1\n')
  expect(reply!.text).toContain('\nsheaf_http_connections 1\n')
})

describe('bodies', () => {
  test('an unknown content coding is 415', async () => {
    const url = await start(echo().operations)
    for (const path of ['/v1/table/t/insert', '/v1/table/t/describe']) {
      for (const encoding of ['deflate', 'br', 'identity, gzip']) {
        const reply = await ask(url, { path, headers: { 'content-encoding': encoding }, body: 'x' })
        expectRefusal(reply, 415, ErrorCode.InvalidInput)
      }
    }
    const plain = { 'content-encoding': 'identity', 'content-type': 'application/json' }
    expect((await ask(url, { path: '/v1/table/t/describe', headers: plain, body: '{}' })).status).toBe(200)
    const rows = { path: '/v1/table/t/insert', headers: { 'content-encoding': 'identity' }, body: 'x' }
    expect((await ask(url, rows)).status).toBe(200)
  })

  test('a message of an Arrow body above the limit is 413, as sent and as decoded', async () => {
    const ns = await connect('memory://')
    await ns.createTable('t', [{ text: 'x'.repeat(20_000) }])
    const url = await start(ns.operations, { messageBytes: 10_000 })
    const { bytes } = await askJson(url, '/v1/table/t/query', { k: 1, filter: 'true' })
    const path = '/v1/table/t/insert'
    expectRefusal(await ask(url, { path, body: bytes }), 413, ErrorCode.InvalidInput)
    // The same rows in few bytes.
    const packed = compressedStream(decodeIpc(bytes).batches[0]!)
    expect(packed.length).toBeLessThan(10_000)
    expectRefusal(await ask(url, { path, body: packed }), 413, ErrorCode.InvalidInput)
    expect((await askJson(url, '/v1/table/t/count_rows', {})).text).toBe('1')
    await server!.close()
    await ns.close()
  })
})
