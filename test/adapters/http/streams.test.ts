/** Replies that are sent as they are found. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { tableFromIPC } from 'apache-arrow'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import type { RequestRecord } from '../../../adapters/http/options.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { concatChunks, encodeIpcFile } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { ArrowRows } from '../../../src/client/arrow-rows.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import { connect, type Namespace } from '../../../src/index.js'
import type { Operations } from '../../../src/protocol/calls.js'
import { ask, askJson, dial, repliesOf } from '../../support/http.js'
import { withHandler } from '../echo.js'

const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function start(operations: Operations, logger?: (record: RequestRecord) => void): Promise<HttpServer> {
  const server = await serve({ operations }, { port: 0, logger })
  closing.push(() => server.close())
  return server
}

const query = '/v1/table/t/query'
const body = JSON.stringify({ k: 100_000, vector: [] })
const asJson = { 'content-type': 'application/json' }
const asStream = { accept: 'application/vnd.apache.arrow.stream' }

describe('a table of 18 MB', () => {
  let ns: Namespace
  let file: Uint8Array

  beforeAll(async () => {
    ns = await connect('memory://')
    const rows = 18_000
    const dim = 256
    const vectors = Float32Array.from({ length: rows * dim }, (_, i) => i % 251)
    const table = await ns.createTable('t', [{ id: -1, vector: vectors.subarray(0, dim) }])
    const schema = await table.schema()
    const ids = Array.from({ length: rows }, (_, id) => ({
      id,
      vector: vectors.subarray(id * dim, (id + 1) * dim),
    }))
    await table.add(new ArrowRows(schema, [rowsToBatch(ids, schema)]) as never)
    file = await table.query().toIpc()
    return () => ns.close()
  })

  test('A-076 is streamed, with the bytes that it has as a whole', async () => {
    const { url } = await start(ns.operations)
    const reply = await ask(url, { path: query, body, headers: asJson })
    expect(reply.status).toBe(200)
    expect(reply.headers).toMatchObject({ 'transfer-encoding': 'chunked', 'x-lancedb-version': '2' })
    expect(reply.headers['content-length']).toBeUndefined()
    expect(reply.bytes.equals(file)).toBe(true)
  })

  test('is streamed as an IPC stream to a client that asks for one', async () => {
    const { url } = await start(ns.operations)
    const { headers, bytes } = await ask(url, { path: query, body, headers: { ...asJson, ...asStream } })
    expect(headers).toMatchObject({ 'transfer-encoding': 'chunked', 'content-type': asStream.accept })
    expect(
      Buffer.from(file)
        .subarray(8, 8 + bytes.length)
        .equals(bytes),
    ).toBe(true)
    expect(tableFromIPC(bytes).numRows).toBe(18_001)
  })

  test('has a length if it is small, or if the client does not support chunks', async () => {
    const { url } = await start(ns.operations)
    const few = await askJson(url, query, { k: 100, vector: [] })
    expect(few.headers['content-length']).toBe(String(few.bytes.length))
    const socket = dial(url)
    socket.write(
      `POST ${query} HTTP/1.0\r\n${'content-type: application/json'}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    const [old] = await repliesOf(socket)
    expect(old!.headers['content-length']).toBe(String(file.length))
    expect(old!.bytes.equals(file)).toBe(true)
  })

  test('arrives whole through a proxy, and in the Sheaf client', async () => {
    const inner = connectHttp((await start(ns.operations)).url)
    closing.push(() => inner.close())
    const outer = connectHttp((await start(inner.operations)).url)
    closing.push(() => outer.close())
    expect(Buffer.from(await outer.table('t').query().toIpc()).equals(file)).toBe(true)
  })

  test('continues as its reader reads, and ends when the reader disconnects', async () => {
    const signals: AbortSignal[] = []
    const watching = {
      ...ns.operations,
      queryTable: (request, options) => {
        signals.push(options!.signal!)
        return ns.operations.queryTable(request, options)
      },
    } satisfies Operations
    const { url } = await start(watching)
    const slow = await begin(url)
    expect((await askJson(url, query, { k: 1, vector: [] })).status).toBe(200)
    expect(Buffer.concat(await slow.toArray()).equals(file)).toBe(true)
    const gone = await begin(url)
    const aborted = once(signals.at(-1)!, 'abort')
    gone.destroy()
    await aborted
  })
})

/** A reply whose body nobody reads yet. */
async function begin(url: string): Promise<IncomingMessage> {
  const request = httpRequest(url + query, { method: 'POST', headers: asJson })
  request.on('error', () => {})
  request.end(body)
  const [response] = await once(request, 'response')
  return response
}

/** An answer whose rest comes from `source`, which is told what becomes of it. */
function answering(source: (signal: AbortSignal) => AsyncGenerator<Uint8Array>): Operations {
  return withHandler(async (_name, _request, { signal }) => {
    return { version: 1, chunks: [new Uint8Array(1000)], rest: source(signal!) }
  })
}

describe('a rest that fails', () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1000)
    throw new SheafError(ErrorCode.ServiceUnavailable, 'the disk is gone')
  }

  test('cuts the connection, so that no client takes the beginning for the whole', async () => {
    const logged: RequestRecord[] = []
    const { url } = await start(answering(failing), record => logged.push(record))
    await expect(ask(url, { path: query, body, headers: asJson })).rejects.toMatchObject({
      code: 'ECONNRESET',
    })
    await expect(ask(url, { path: query, body, headers: { ...asJson, ...asStream } })).rejects.toThrow()
    const fetched = fetch(url + query, { method: 'POST', body, headers: asJson })
    await expect(fetched.then(response => response.arrayBuffer())).rejects.toThrow()
    const remote = connectHttp(url)
    closing.push(() => remote.close())
    await expect(remote.table('t').query().toArray()).rejects.toMatchObject({
      code: ErrorCode.ServiceUnavailable,
    })
    expect((await ask(url, { path: '/healthz', method: 'GET' })).status).toBe(200)
    const cut = { status: 200, bytesOut: 2000, error: { message: 'the disk is gone' } }
    expect(logged[0]).toMatchObject(cut)
  })

  test('is not a table to apache-arrow, wherever it is cut', async () => {
    const batch = rowsToBatch(Array.from({ length: 1000 }, (_, id) => ({ id, name: `name ${id}` })))
    const file = concatChunks(encodeIpcFile(batch.schema, [batch, batch]))
    const footer = file.length - 10 - new DataView(file.buffer).getInt32(file.length - 10, true)
    const begun = file.subarray(0, 1000)
    const fetched = async (to: number, fails: boolean, headers = asJson) => {
      async function* rest() {
        yield file.subarray(begun.length, to)
        // No stream has the last piece of a file, which is its footer.
        yield to === footer ? file.subarray(footer) : file.subarray(to, to)
        if (fails) throw new SheafError(ErrorCode.ServiceUnavailable, 'the disk is gone')
      }
      const { url } = await start(withHandler(async () => ({ version: 1, chunks: [begun], rest: rest() })))
      return fetch(url + query, { method: 'POST', body, headers })
    }
    expect((await tableFromIPC(fetched(footer, false))).numRows).toBe(2000)
    for (const to of [begun.length + 1, file.length >> 1, file.length - 1]) {
      await expect(tableFromIPC(fetched(to, true))).rejects.toThrow()
    }
    // apache-arrow takes a stream to be whole where its source fails between two messages, so its bytes are read first.
    const stream = { ...asJson, ...asStream }
    expect(tableFromIPC(await (await fetched(footer, false, stream)).arrayBuffer()).numRows).toBe(2000)
    for (const to of [begun.length + 1, footer >> 1, footer - 8, footer]) {
      await expect(fetched(to, true, stream).then(reply => reply.arrayBuffer())).rejects.toThrow()
    }
  })
})

describe('a rest without end', () => {
  const piece = new Uint8Array(1 << 20)

  test('is read no faster than its reader reads, and closed when the reader is gone', async () => {
    let given = 0
    let ended!: () => void
    const end = new Promise<void>(resolve => {
      ended = resolve
    })
    const { url } = await start(
      answering(async function* () {
        try {
          for (;;) {
            given += piece.length
            yield piece
          }
        } finally {
          ended()
        }
      }),
    )
    const response = await begin(url)
    // The sockets take what they take, and then nothing moves.
    let before = -1
    while (given !== before) {
      before = given
      for (let i = 0; i < 5; i++) await ask(url, { path: '/healthz', method: 'GET' })
    }
    expect(given).toBeLessThan(64 << 20)
    for await (const _ of response) if (given > before) break
    await end
    expect(given - before).toBeLessThan(64 << 20)
  })

  test('is notified of the missing reader while it computes', async () => {
    let begun!: () => void
    const waiting = new Promise<void>(resolve => {
      begun = resolve
    })
    const told = new Promise<unknown>(resolve => {
      start(
        answering(async function* (signal) {
          yield piece
          begun()
          await once(signal, 'abort')
          resolve(signal.reason.name)
          throw signal.reason
        }),
      ).then(async ({ url }) => {
        const response = await begin(url)
        response.resume()
        await waiting
        response.destroy()
      })
    })
    expect(await told).toBe('AbortError')
  })
})
