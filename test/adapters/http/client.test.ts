import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type ConnectHttpOptions, connectHttp } from '../../../adapters/http/client.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import type { Namespace } from '../../../src/index.js'
import type { Operations } from '../../../src/protocol/calls.js'
import {
  type OperationEntry,
  type OperationName,
  operationNames,
  operations,
} from '../../../src/protocol/operations.js'
import { echo, withHandler } from '../echo.js'
import { callOf, sampleReply, samplesOf, uncut } from '../samples.js'

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function served(operations: Operations): Promise<HttpServer> {
  const server = await serve({ operations }, { port: 0, basePath: 'base' })
  closing.push(() => server.close())
  return server
}

function client(url: string, options?: ConnectHttpOptions): Namespace {
  const namespace = connectHttp(url, options)
  closing.push(() => namespace.close())
  return namespace
}

async function startEcho() {
  const fake = echo(sampleReply)
  const server = await served(fake.operations)
  return { fake, server, remote: client(`${server.url}/`) }
}

/** A server of another make. */
async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What of a reply travels: where the wire has a bare value, only that. */
function carried(name: OperationName, reply: unknown): unknown {
  const { bare }: OperationEntry = operations[name]
  return bare === undefined ? reply : { [bare]: (reply as Record<string, unknown>)[bare] }
}

const query = { id: ['t'], k: 1, vector: { single_vector: [1] } }

describe('calls', () => {
  test.each(operationNames)('%s arrives unchanged, and so does its reply', async name => {
    const { fake, remote } = await startEcho()
    for (const { request, body, reply } of samplesOf(name, 8)) {
      fake.answer = () => reply
      const received = await callOf(remote.operations, name, { request, body })
      expect(fake.last).toMatchObject({ name, body: body && Buffer.from(body) })
      expect(fake.last.request).toEqual(request)
      expect(uncut(received)).toEqual(uncut(carried(name, reply)))
    }
  })

  test.each([['a/b'], ['a$b', 'c'], ['$'], ['é %25?#'], ['a', 'b.c']])(
    'A-010 names arrive with any content: %s',
    async (...id) => {
      const { fake, remote } = await startEcho()
      await remote.operations.tableExists({ id })
      await remote.operations.describeTableIndexStats({ id, index_name: id[0]! })
      expect(fake.heard.map(({ request }) => request.id)).toEqual([id, id])
      expect(fake.last.request.index_name).toBe(id[0])
    },
  )

  test.each(['.', '..'])('the name %j, which no URL can carry, is InvalidInput', async name => {
    const { remote } = await startEcho()
    const call = remote.operations.tableExists({ id: [name] })
    await expect(call).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
  })

  test('vectors of any kind arrive as numbers', async () => {
    const { fake, remote } = await startEcho()
    const all = new Float32Array([1, 0.5, 2])
    await remote.operations.queryTable({ ...query, vector: { single_vector: all.subarray(1) } })
    expect(fake.last.request.vector).toEqual({ single_vector: [0.5, 2] })
  })

  test('a bad request is refused in the client, with the same message as in process', async () => {
    const { fake, remote } = await startEcho()
    const bad = { id: ['t'], k: -1, vector: null }
    const [far, near] = await Promise.all(
      [remote.operations, fake.operations].map(operations =>
        operations.queryTable(bad).catch(cause => cause),
      ),
    )
    expect(far).toMatchObject({ code: ErrorCode.InvalidInput, message: near.message })
    const noBody = callOf(remote.operations, 'insertIntoTable', { request: { id: ['t'] }, body: undefined })
    await expect(noBody).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
  })

  test('A-017 A-021 identity, context and key are sent as header fields; fields of the options come first', async () => {
    const { fake, server, remote } = await startEcho()
    const identity = { api_key: 'k', auth_token: 't' }
    const context = { tenant: 'a b' }
    await remote.operations.insertIntoTable({ id: ['t'], identity, context }, new Uint8Array(1), {
      idempotencyKey: 'once',
    })
    expect(fake.last).toMatchObject({
      request: { id: ['t'], identity, context },
      options: { identity, context, idempotencyKey: 'once' },
    })
    await remote.operations.tableExists({ id: ['t'], identity }, { identity: { api_key: 'other' } })
    expect(fake.last.options.identity).toEqual({ api_key: 'other' })

    const configured = client(server.url, { headers: { 'x-api-key': 'always' } })
    await configured.operations.tableExists({ id: ['t'] })
    expect(fake.last.options.identity).toEqual({ api_key: 'always' })

    const unsendable = { context: { name: 'a\nb' } }
    await expect(remote.operations.tableExists({ id: ['t'] }, unsendable)).rejects.toMatchObject({
      code: ErrorCode.InvalidInput,
    })
  })

  test('the dialect of LanceDB is asked for by a trailing slash, and its shapes are understood', async () => {
    const { fake, remote } = await startEcho()
    const reply = { tags: { v1: { version: 1, manifestSize: 2 } } }
    fake.answer = () => reply
    const request = { id: ['a$b'], limit: 1 }
    expect(await remote.operations.listTableTags(request, { dialect: 'lance' })).toEqual(reply)
    expect(fake.last).toMatchObject({ request, options: { dialect: 'lance' } })
    fake.answer = () => {
      throw new SheafError(ErrorCode.TableAlreadyExists, 'taken')
    }
    const call = remote.operations.createTable({ id: ['t'] }, new Uint8Array(1), { dialect: 'lance' })
    await expect(call).rejects.toMatchObject({ code: ErrorCode.TableAlreadyExists })
  })
})

describe('bodies and rows', () => {
  test('a body that streams arrives whole, whatever its chunks', async () => {
    const { fake, remote } = await startEcho()
    const chunks = [1, 0, 3, 262_144, 262_143, 700_001].map((length, i) => Buffer.alloc(length, i + 1))
    async function* rows() {
      yield* chunks
    }
    await remote.operations.insertIntoTable({ id: ['t'] }, rows())
    expect(fake.last.body!.equals(Buffer.concat(chunks))).toBe(true)
  })

  test('a body that throws fails the call with its own error, and the reader of the body gets an error', async () => {
    let outcome: unknown
    let begin!: () => void
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    const server = await served(
      withHandler(async (_name, _request, _options, body) => {
        try {
          for await (const _ of body as AsyncIterable<Uint8Array>) begin()
        } catch (cause) {
          outcome = cause
          throw cause
        }
        return { num_inserted_rows: 0, version: 1 }
      }),
    )
    const mine = new Error('no more rows')
    async function* rows() {
      yield Buffer.alloc(300_000)
      await begun
      throw mine
    }
    const call = client(server.url).operations.insertIntoTable({ id: ['t'] }, rows())
    await expect(call).rejects.toBe(mine)
    await server.close()
    expect(outcome).toMatchObject({ message: expect.stringContaining('before its end') })
  })

  test('a body that is not made of bytes is InvalidInput', async () => {
    const { remote } = await startEcho()
    async function* rows() {
      yield 'text' as unknown as Uint8Array
    }
    const call = remote.operations.insertIntoTable({ id: ['t'] }, rows())
    await expect(call).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
  })

  test('an early error ends an endless body', async () => {
    const server = await served(
      withHandler(async () => {
        throw new SheafError(ErrorCode.TableNotFound, 'no table t')
      }),
    )
    let ended = false
    async function* rows() {
      try {
        for (;;) yield Buffer.alloc(100_000)
      } finally {
        ended = true
      }
    }
    const remote = client(server.url)
    const call = remote.operations.insertIntoTable({ id: ['t'] }, rows())
    await expect(call).rejects.toMatchObject({ code: ErrorCode.TableNotFound, message: 'no table t' })
    await expect.poll(() => ended).toBe(true)
  })

  test('rows come with the version they were read at', async () => {
    const { fake, remote } = await startEcho()
    const chunks = [Buffer.alloc(300_000, 1), Buffer.alloc(1, 2)]
    fake.answer = () => ({ version: 12, chunks })
    const reply = await remote.operations.queryTable(query)
    expect(reply.version).toBe(12)
    expect(Buffer.concat(reply.chunks).equals(Buffer.concat(chunks))).toBe(true)
  })
})

describe('errors', () => {
  test('an error arrives with all its fields', async () => {
    const { fake, remote } = await startEcho()
    const error = new SheafError(ErrorCode.ServiceUnavailable, 'who knows', {
      kind: 'commit-state-unknown',
      hint: 'look',
      at: { offset: 3, length: 2 },
      transactionId: 'a-b',
    })
    fake.answer = () => {
      throw error
    }
    const { code, message, status, kind, hint, at, transactionId } = error
    const received = await remote.operations.tableExists({ id: ['t'] }).catch(cause => cause)
    expect(received).toBeInstanceOf(SheafError)
    expect(received).toMatchObject({ code, message, status, kind, hint, at, transactionId })
  })

  test('an error reply of a proxy becomes the nearest error', async () => {
    const url = await listening(
      createServer((_, response) => response.writeHead(502).end('<html>bad gateway</html>')),
    )
    await expect(client(url).operations.tableExists({ id: ['t'] })).rejects.toMatchObject({
      code: ErrorCode.ServiceUnavailable,
      status: 502,
      message: '<html>bad gateway</html>',
    })
  })

  test.each([502, 504])('a write that a proxy answers with %i may have been committed', async status => {
    const url = await listening(
      createServer((request, response) =>
        request.resume().on('end', () => response.writeHead(status).end('gateway')),
      ),
    )
    const write = client(url).operations.createNamespace({ id: ['n'] })
    await expect(write).rejects.toMatchObject({ status, kind: 'commit-state-unknown' })
  })

  test.each([['no JSON'], ['{"tables":3}']])(
    'a reply that is not as specified is Internal: %s',
    async text => {
      const url = await listening(createServer((_, response) => response.end(text)))
      const { operations } = client(url)
      const broken = {
        code: ErrorCode.Internal,
        message: expect.stringContaining('does not follow the specification'),
      }
      await expect(operations.listAllTables({})).rejects.toMatchObject(broken)
      await expect(operations.queryTable(query)).rejects.toMatchObject(broken)
    },
  )

  test('an unreachable server is ServiceUnavailable, for writes too', async () => {
    const { server, remote } = await startEcho()
    await server.close()
    const refused = { code: ErrorCode.ServiceUnavailable, kind: 'service-unavailable' }
    await expect(remote.operations.tableExists({ id: ['t'] })).rejects.toMatchObject(refused)
    await expect(remote.operations.dropTable({ id: ['t'] })).rejects.toMatchObject(refused)
  })

  test('a connection lost after a write was sent is reported as an unknown outcome', async () => {
    const deaf = createNetServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => socket.destroy())
    })
    deaf.listen(0, '127.0.0.1')
    await once(deaf, 'listening')
    closing.push(async () => void deaf.close())
    const { operations } = client(`http://127.0.0.1:${(deaf.address() as AddressInfo).port}`)
    const lost = { code: ErrorCode.ServiceUnavailable }
    await expect(operations.tableExists({ id: ['t'] })).rejects.toMatchObject({
      ...lost,
      kind: 'service-unavailable',
    })
    await expect(operations.dropTable({ id: ['t'] })).rejects.toMatchObject({
      ...lost,
      kind: 'commit-state-unknown',
    })
  })

  test.each(['', 'nonsense', 'ftp://host'])('connecting to %j is InvalidInput', url => {
    expect(() => connectHttp(url)).toThrow(expect.objectContaining({ code: ErrorCode.InvalidInput }))
  })

  test('an address that ends in /v1 gets a hint', async () => {
    const { server } = await startEcho()
    for (const url of [`${server.url}/v1`, `${server.url}/v1/`]) {
      await expect(client(url).tableNames()).rejects.toMatchObject({
        status: 404,
        hint: `leave out /v1: connectHttp('${server.url}')`,
      })
    }
  })

  test.each([
    ['apiKey', "did you mean headers: { 'x-api-key': key }?"],
    ['token', "did you mean headers: { authorization: 'Bearer ...' }?"],
  ])('the unknown option %s gets a hint', (name, hint) => {
    expect(() => connectHttp('http://127.0.0.1:1', { [name]: 'k' } as never)).toThrow(
      expect.objectContaining({ code: ErrorCode.InvalidInput, hint }),
    )
  })
})

describe('aborting and closing', () => {
  /** A server whose operations wait until the test lets them go. */
  async function slow() {
    let begin!: () => void
    let go!: () => void
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    const gate = new Promise<void>(resolve => {
      go = resolve
    })
    const server = await served(
      withHandler(async () => {
        begin()
        await gate
        return { version: 1, num_deleted_rows: 0 }
      }),
    )
    closing.push(async () => go())
    return { remote: client(server.url), begun, go }
  }

  test('a call that was aborted before it began is not sent', async () => {
    const { fake, remote } = await startEcho()
    const reason = new Error('enough')
    const call = remote.operations.tableExists({ id: ['t'] }, { signal: AbortSignal.abort(reason) })
    await expect(call).rejects.toBe(reason)
    expect(fake.heard).toHaveLength(0)
  })

  test('an aborted read rejects with the reason of the signal', async () => {
    const { remote, begun } = await slow()
    const controller = new AbortController()
    const call = remote.operations.countTableRows({ id: ['t'] }, { signal: controller.signal })
    await begun
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
  })

  test('an aborted write that was sent completely is awaited: its outcome is known', async () => {
    const { remote, begun, go } = await slow()
    const controller = new AbortController()
    const request = { id: ['t'], predicate: 'true' }
    const call = remote.operations.deleteFromTable(request, { signal: controller.signal })
    await begun
    controller.abort()
    go()
    expect(await call).toEqual({ version: 1, num_deleted_rows: 0 })
  })

  test('an upload can be aborted while it is sent', async () => {
    const { remote, begun } = await slow()
    const controller = new AbortController()
    async function* rows() {
      yield Buffer.alloc(300_000)
      await begun
      controller.abort()
      for (;;) yield Buffer.alloc(300_000)
    }
    const call = remote.operations.insertIntoTable({ id: ['t'] }, rows(), { signal: controller.signal })
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('close waits for calls that have begun, and refuses others', async () => {
    const { remote, begun, go } = await slow()
    const call = remote.operations.deleteFromTable({ id: ['t'], predicate: 'true' })
    await begun
    const closed = remote.close()
    await expect(remote.operations.tableExists({ id: ['t'] })).rejects.toMatchObject({
      code: ErrorCode.ServiceUnavailable,
      message: expect.stringContaining('is closed'),
    })
    go()
    await closed
    expect(await call).toEqual({ version: 1, num_deleted_rows: 0 })
  })
})
