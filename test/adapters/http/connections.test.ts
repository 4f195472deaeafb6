/** What happens when requests are not as they should be, and when one side stops listening. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { RequestRecord } from '../../../adapters/http/options.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import type { Operations } from '../../../src/protocol/calls.js'
import { ask, askJson, dial, repliesOf, sendRaw } from '../../support/http.js'
import { echo, withHandler } from '../echo.js'

let server: HttpServer | undefined

async function start(operations: Operations, logger?: (record: RequestRecord) => void): Promise<string> {
  server = await serve({ operations }, { port: 0, logger })
  return server.url
}

afterEach(async () => {
  await server?.close()
  server = undefined
})

/** Something that happens once, later. */
function signalled<T = void>(): { readonly promise: Promise<T>; readonly fire: (value: T) => void } {
  let fire!: (value: T) => void
  const promise = new Promise<T>(resolve => {
    fire = resolve
  })
  return { promise, fire }
}

const host = 'host: localhost\r\n'
const exists = `POST /v1/table/t/exists HTTP/1.1\r\n${host}content-length: 0\r\nconnection: close\r\n\r\n`

describe('malformed input gets its error, and the server goes on', () => {
  const asJson = { 'content-type': 'application/json' }
  test.each([
    ['percent-encoding in the path', { path: '/v1/table/%zz/describe' }, 400],
    ['percent-encoding cut short', { path: '/v1/table/a%2/describe' }, 400],
    ['percent-encoding that is no UTF-8', { path: '/v1/table/%ff/describe' }, 400],
    ['percent-encoding in an index name', { path: '/v1/table/t/index/%/stats' }, 400],
    ['percent-encoding in the query', { path: '/v1/table/t/count_rows?predicate=a%' }, 400],
    ['JSON', { path: '/v1/table/t/describe', headers: asJson, body: '{' }, 400],
    ['a number beyond JSON', { path: '/v1/table/t/describe', headers: asJson, body: '{"version":NaN}' }, 400],
    ['deep JSON', { path: '/v1/table/t/describe', headers: asJson, body: '{"a":'.repeat(5e5) }, 400],
    ['a content type', { path: '/v1/table/t/describe', body: '{}' }, 400],
    ['a version beyond int64', { path: '/v1/table/t/count_rows?version=99999999999999999999' }, 400],
    ['a list', { path: '/v1/table/t/count_rows?version=1&version=2' }, 400],
    ['__proto__', { path: '/v1/table/t/create?properties={"__proto__":"x"}', body: 'x' }, 400],
    ['a path', { path: '/../../etc/passwd' }, 404],
    ['a method', { path: '/v1/table/t/describe', method: 'DELETE' }, 405],
    ['a header', { path: '/v1/table/t/exists', headers: { 'x-long': 'x'.repeat(70_000) } }, 431],
    ['a URL', { path: `/v1/table/${'x'.repeat(70_000)}/exists` }, 431],
  ])('%s', async (_, request, status) => {
    const url = await start(echo().operations)
    const reply = await ask(url, request)
    expect(reply.json).toMatchObject({ status, code: expect.any(Number), error: expect.any(String) })
    expect(reply.status).toBe(status)
    expect((await ask(url, { path: '/v1/table/t/exists' })).status).toBe(200)
  })

  test.each([
    ['no HTTP at all', 'hello\r\n\r\n', [400]],
    [
      'two lengths',
      `POST /v1/table/t/exists HTTP/1.1\r\n${host}content-length: 1\r\ncontent-length: 2\r\n\r\nab`,
      [400],
    ],
    [
      'a length and chunks',
      `POST /v1/table/t/exists HTTP/1.1\r\n${host}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      [400],
    ],
    ['a negative length', `POST /v1/table/t/exists HTTP/1.1\r\n${host}content-length: -1\r\n\r\n`, [400]],
    ['a space before the colon', `POST /v1/table/t/exists HTTP/1.1\r\nhost : x\r\n\r\n`, [400]],
    [
      'more bytes than announced',
      `POST /v1/table/t/describe HTTP/1.1\r\n${host}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}{}`,
      [200, 400],
    ],
    [
      'chunks that are none, in the middle of an upload',
      `POST /v1/table/t/insert HTTP/1.1\r\n${host}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n`,
      [400],
    ],
  ])('%s ends the connection after an error', async (_, bytes, statuses) => {
    const fake = echo()
    const url = await start(fake.operations)
    const replies = await sendRaw(url, bytes)
    expect(replies.map(reply => reply.status)).toEqual(statuses)
    expect(replies.at(-1)).toMatchObject({
      headers: { connection: 'close', 'content-type': 'application/json', 'phalanx-version': '0.5.0' },
      json: { status: 400, code: ErrorCode.InvalidInput, type: '/errors/bad-request' },
    })
    expect(fake.heard.filter(({ name }) => name === 'insertIntoTable')).toHaveLength(0)
    expect((await sendRaw(url, exists)).map(reply => reply.status)).toEqual([200])
  })
})

describe('uploads', () => {
  /** What reading the body of an insert came to. */
  async function receiver() {
    const begun = signalled()
    const outcome = signalled<unknown>()
    const url = await start(
      withHandler(async (_name, _request, _options, body) => {
        try {
          for await (const _ of body as AsyncIterable<Uint8Array>) begun.fire()
          outcome.fire('whole')
        } catch (cause) {
          outcome.fire(cause)
          throw cause
        }
        return { num_inserted_rows: 0, version: 1 }
      }),
    )
    return { url, begun: begun.promise, outcome: outcome.promise }
  }

  test.each([
    ['announced length', 'content-length: 100', 'abc'],
    ['last chunk', 'transfer-encoding: chunked', '3\r\nabc\r\n'],
  ])('an upload that ends before its %s is an error to its reader', async (_, header, bytes) => {
    for (const end of ['end', 'destroy'] as const) {
      const { url, begun, outcome } = await receiver()
      const socket = dial(url)
      socket.write(`POST /v1/table/t/insert HTTP/1.1\r\n${host}${header}\r\n\r\n${bytes}`)
      await begun
      socket[end]()
      socket.on('error', () => {})
      socket.resume()
      expect(await outcome).toMatchObject({
        code: ErrorCode.InvalidInput,
        message: 'the connection ended after 3 bytes of the body, before its end',
      })
      await server!.close()
    }
  })

  test('an upload is read no faster than the operation consumes it', async () => {
    const go = signalled()
    let taken = 0
    const url = await start(
      withHandler(async (_name, _request, _options, body) => {
        await go.promise
        for await (const chunk of body as AsyncIterable<Uint8Array>) taken += chunk.length
        return { num_inserted_rows: 0, version: 1 }
      }),
    )
    const total = 64 << 20
    const request = httpRequest(`${url}/v1/table/t/insert`, { method: 'POST' })
    const answered = once(request, 'response')
    const piece = Buffer.alloc(1 << 20)
    let sent = 0
    const fill = () => {
      while (sent < total) {
        sent += piece.length
        if (!request.write(piece)) return
      }
      request.end()
    }
    request.on('drain', fill)
    fill()
    // Another request goes through meanwhile, so that whatever the socket takes has been taken.
    await ask(url, { method: 'GET', path: '/healthz' })
    expect(sent).toBeLessThan(total)
    go.fire()
    const [response] = await answered
    response.resume()
    expect([response.statusCode, taken]).toEqual([200, total])
  })

  test('an error before the end of an upload reaches a client that is still sending', async () => {
    const url = await start(
      withHandler(async () => {
        throw new SheafError(ErrorCode.TableNotFound, 'no table t')
      }),
    )
    const request = httpRequest(`${url}/v1/table/t/insert`, { method: 'POST' })
    const answered = once(request, 'response')
    request.write(Buffer.alloc(1 << 20))
    const [response] = await answered
    expect(response.statusCode).toBe(404)
    const chunks = await response.toArray()
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ code: ErrorCode.TableNotFound })
    request.on('error', () => {})
    request.destroy()
  })

  test('an operation may reply without reading the upload, and the connection stays usable', async () => {
    const url = await start(withHandler(async () => ({ num_inserted_rows: 0, version: 1 })))
    const insert = `POST /v1/table/t/insert HTTP/1.1\r\n${host}content-length: 3\r\n\r\nabc`
    const replies = await sendRaw(url, insert + insert + exists)
    expect(replies.map(reply => reply.status)).toEqual([200, 200, 200])
  })
})

describe('clients that go away', () => {
  /** Sends a request and hangs up when it has begun. */
  async function abandon(url: string, path: string, body: string, begun: Promise<unknown>): Promise<void> {
    const socket = dial(url)
    const length = `content-type: application/json\r\ncontent-length: ${body.length}`
    socket.write(`POST ${path} HTTP/1.1\r\n${host}${length}\r\n\r\n${body}`)
    await begun
    socket.destroy()
  }

  test('a read is aborted when its client disconnects, and the log says so', async () => {
    const begun = signalled()
    const logged = signalled<RequestRecord>()
    const url = await start(
      withHandler(async (_name, _request, { signal }) => {
        begun.fire()
        await once(signal!, 'abort')
        throw signal!.reason
      }),
      logged.fire,
    )
    await abandon(url, '/v1/table/t/count_rows', '{}', begun.promise)
    expect(await logged.promise).toMatchObject({ status: 499, error: { name: 'AbortError' } })
  })

  test('a disconnect does not abort a write', async () => {
    const begun = signalled()
    const logged = signalled<RequestRecord>()
    const closed = signalled()
    const url = await start(
      withHandler(async (_name, _request, { signal }) => {
        begun.fire()
        await closed.promise
        expect(signal).toBeUndefined()
        return { num_deleted_rows: 0, version: 1 }
      }),
      logged.fire,
    )
    await abandon(url, '/v1/table/t/delete', '{"predicate":"true"}', begun.promise)
    closed.fire()
    expect(await logged.promise).toMatchObject({ status: 200, operation: 'deleteFromTable' })
  })

  test('a client that disconnects during its reply leaves the server working', async () => {
    const chunks = Array.from({ length: 64 }, () => Buffer.alloc(1 << 20))
    const url = await start(withHandler(async () => ({ version: 1, chunks })))
    const body = '{"k":1,"vector":[1]}'
    const socket = dial(url)
    const length = `content-type: application/json\r\ncontent-length: ${body.length}`
    socket.write(`POST /v1/table/t/query HTTP/1.1\r\n${host}${length}\r\n\r\n${body}`)
    await once(socket, 'data')
    socket.destroy()
    const whole = await askJson(url, '/v1/table/t/query', JSON.parse(body))
    expect(whole.bytes.length).toBe(64 << 20)
  })

  test('a slow reader is awaited', async () => {
    const chunks = Array.from({ length: 32 }, (_, i) => Buffer.alloc(1 << 20, i))
    const url = await start(withHandler(async () => ({ version: 1, chunks })))
    const request = httpRequest(`${url}/v1/table/t/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    request.end('{"k":1,"vector":[1]}')
    const [response] = await once(request, 'response')
    // Meanwhile another request is answered.
    await ask(url, { method: 'GET', path: '/healthz' })
    const bytes = Buffer.concat(await response.toArray())
    expect(bytes.equals(Buffer.concat(chunks))).toBe(true)
  })
})

describe('closing', () => {
  test('close waits for requests that have begun, and refuses others', async () => {
    const begun = signalled()
    const go = signalled()
    const url = await start(
      withHandler(async () => {
        begun.fire()
        await go.promise
        return undefined
      }),
    )
    const idle = dial(url)
    await once(idle, 'connect')
    const reply = ask(url, { path: '/v1/table/t/exists' })
    await begun.promise
    let closed = false
    const closing = server!.close().then(() => {
      closed = true
    })
    const late = dial(url)
    const [error] = await once(late, 'error')
    expect(error.code).toBe('ECONNREFUSED')
    expect(closed).toBe(false)
    go.fire()
    expect((await reply).headers.connection).toBe('close')
    await closing
    expect(await repliesOf(idle)).toEqual([])
    await server!.close()
  })

  test('a connection kept open does not hold up close', async () => {
    const url = await start(echo().operations)
    const socket: Socket = dial(url)
    socket.write(exists.replace('connection: close\r\n', ''))
    await once(socket, 'data')
    const ended = repliesOf(socket)
    await server!.close()
    expect(await ended).toEqual([])
  })
})
