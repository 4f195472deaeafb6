/** What HTTP allows a client to do with its connection, each kind once. */
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import type { Operations } from '../../../src/protocol/calls.js'
import { ask, dial, repliesOf, sendRaw } from '../../support/http.js'
import { echo, withHandler } from '../echo.js'

let server: HttpServer | undefined

async function start(operations: Operations, bodyBytes = 1000): Promise<string> {
  server = await serve({ operations }, { port: 0, limits: { bodyBytes } })
  return server.url
}

afterEach(async () => {
  await server?.close()
  server = undefined
})

const host = 'host: localhost\r\n'
const close = 'connection: close\r\n'
const exists = (table: string, fields = '') =>
  `POST /v1/table/${table}/exists HTTP/1.1\r\n${host}content-length: 0\r\n${fields}\r\n`

describe('pipelining', () => {
  test('replies are sent in the order of the requests, whichever is ready first', async () => {
    let go!: () => void
    const gate = new Promise<void>(resolve => {
      go = resolve
    })
    const url = await start(
      withHandler(async (_name, { id }) => {
        if ((id as string[])[0] === 'slow') await gate
        else go()
        throw new Error()
      }),
    )
    const replies = await sendRaw(url, exists('slow') + exists('quick') + exists('last', close))
    expect(replies.map(({ json }) => (json as { instance: string }).instance)).toEqual(
      ['slow', 'quick', 'last'].map(table => `/v1/table/${table}/exists`),
    )
  })

  test('a refused upload does not lose the reply before it', async () => {
    let go!: () => void
    const gate = new Promise<void>(resolve => {
      go = resolve
    })
    const url = await start(
      withHandler(async name => {
        if (name === 'tableExists') await gate
        return undefined
      }),
    )
    const socket = dial(url)
    socket.write(exists('t'))
    socket.write(`POST /v1/table/t/describe HTTP/1.1\r\n${host}content-length: 5000\r\n\r\nabc`)
    const replies = repliesOf(socket)
    await ask(url, { path: '/healthz' })
    go()
    await once(socket, 'data')
    socket.end()
    expect((await replies).map(({ status }) => status)).toEqual([200, 413])
  })
})

describe('clients that send Expect', () => {
  const expecting = (path: string, length: number) =>
    `POST ${path} HTTP/1.1\r\n${host}${close}expect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`

  test('get 100 when the body is wanted', async () => {
    const fake = echo()
    const url = await start(fake.operations)
    const socket = dial(url)
    socket.write(expecting('/v1/table/t/insert', 3))
    const [first] = await once(socket, 'data')
    expect(String(first)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('abc')
    expect(await repliesOf(socket)).toMatchObject([{ status: 200 }])
    expect(fake.last.body!.toString()).toBe('abc')
  })

  test.each([
    ['a body too large', '/v1/table/t/insert', 5000, 413],
    ['an unknown path', '/v1/nowhere', 3, 404],
  ])('are not told to send %s', async (_, path, length, status) => {
    const url = await start(echo().operations)
    const socket = dial(url)
    socket.write(expecting(path, length))
    const replies = repliesOf(socket)
    await once(socket, 'data')
    socket.end()
    expect(await replies).toMatchObject([{ status, headers: { connection: 'close' }, json: { status } }])
  })

  test('with another value get 417', async () => {
    const url = await start(echo().operations)
    const replies = await sendRaw(url, exists('t', `${close}expect: the best\r\n`))
    expect(replies).toMatchObject([{ status: 417, json: { code: 13 } }])
  })
})

describe('requests of a special form', () => {
  test('HEAD has the head of an error without a body, and the connection stays usable', async () => {
    const url = await start(echo().operations)
    const socket = dial(url)
    socket.write(`HEAD /v1/table/t/describe HTTP/1.1\r\n${host}\r\n`)
    const [head] = await once(socket, 'data')
    expect(String(head)).toMatch(/^HTTP\/1.1 405 .*\r\ncontent-length: [1-9]\d*\r\n.*\r\n\r\n$/s)
    socket.write(exists('t', close))
    expect(await repliesOf(socket)).toMatchObject([{ status: 200 }])
  })

  test('an absolute URL as target means its path', async () => {
    const fake = echo()
    const url = await start(fake.operations)
    const target = 'http://localhost:80/v1/table/a%24b/exists?x=1'
    const replies = await sendRaw(url, `POST ${target} HTTP/1.1\r\n${host}${close}content-length: 0\r\n\r\n`)
    expect([replies.map(({ status }) => status), fake.last.request]).toEqual([[200], { id: ['a', 'b'] }])
  })

  test('no Host is 400 with an error, except in HTTP/1.0', async () => {
    const url = await start(echo().operations)
    const head = 'content-length: 0\r\n\r\n'
    const replies = await sendRaw(url, `POST /v1/table/t/exists HTTP/1.1\r\n${close}${head}`)
    expect(replies).toMatchObject([{ status: 400, json: { code: 13 } }])
    expect(await sendRaw(url, `POST /v1/table/t/exists HTTP/1.0\r\n${head}`)).toMatchObject([{ status: 200 }])
  })

  test('CONNECT is 405 with an error, and blocks no other request', async () => {
    const url = await start(echo().operations)
    const replies = await sendRaw(url, `CONNECT sheaf:443 HTTP/1.1\r\n${host}\r\n`)
    expect(replies).toMatchObject([{ status: 405, headers: { connection: 'close' }, json: { code: 0 } }])
    const held = dial(url)
    held.write(`CONNECT sheaf:443 HTTP/1.1\r\n${host}\r\n`)
    await once(held, 'data')
    await server!.close()
    held.destroy()
  })

  test('an upgrade is ignored, and the request is answered', async () => {
    const url = await start(echo().operations)
    const fields = 'connection: upgrade, close\r\nupgrade: websocket\r\n'
    expect(await sendRaw(url, exists('t', fields))).toMatchObject([{ status: 200 }])
  })
})

test.each([
  ['the length of which is known', 'content-length: 14', ['{"versio', 'n": 7', '}']],
  ['in chunks', 'transfer-encoding: chunked', ['8\r\n{"versio\r\n', '6\r\nn": 7}', '\r\n', '0\r\n\r\n']],
])('a body %s comes in parts, or with its head', async (_how, field, parts) => {
  const versions: unknown[] = []
  const url = await start(
    withHandler(async (_name, { version }) => {
      versions.push(version)
      return undefined
    }),
  )
  const head = `POST /v1/table/t/describe HTTP/1.1\r\n${host}content-type: application/json\r\n${field}\r\n`
  const socket = dial(url)
  const replies = repliesOf(socket)
  socket.write(`${head}\r\n${parts.join('')}`)
  for (const part of [`${head}${close}\r\n`, ...parts]) {
    socket.write(part)
    // By then that part is there.
    await ask(url, { path: '/healthz' })
  }
  expect((await replies).length).toBe(2)
  expect(versions).toEqual([7, 7])
})

test('a client that closes its side gets no reply: this looks the same as a disconnect', async () => {
  let begin!: () => void
  const begun = new Promise<void>(resolve => {
    begin = resolve
  })
  const url = await start(
    withHandler(async (_name, _request, { signal }) => {
      begin()
      await new Promise(resolve => signal!.addEventListener('abort', resolve))
      throw signal!.reason
    }),
  )
  const socket = dial(url)
  socket.write(exists('t'))
  await begun
  socket.end()
  expect(await repliesOf(socket)).toEqual([])
})
