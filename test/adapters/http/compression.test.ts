/** Bodies of requests and replies in a coding, and Arrow buffers in a codec. */
import zlib from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { decodeIpc, startsAsFile } from '../../../src/arrow/decode-ipc.js'
import { encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { columnValues } from '../../../src/arrow/values.js'
import { writesZstd } from '../../../src/arrow/zstd.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect } from '../../../src/index.js'
import { ask, askJson } from '../../support/http.js'
import { servers } from './servers.js'

const start = servers()

const words = Array.from({ length: 3000 }, (_, id) => ({ id, word: ['red', 'green', 'blue'][id % 3] }))
const everything = { k: 5000, filter: 'true', columns: ['id', 'word'] }
const query = '/v1/table/t/query'
const arrowFile = 'application/vnd.apache.arrow.file'
const arrowStream = 'application/vnd.apache.arrow.stream'

async function served(options = {}) {
  const ns = await connect('memory://')
  await ns.createTable('t', words)
  return { ns, url: await start(ns, options) }
}

function idsIn(bytes: Uint8Array): unknown[] {
  return decodeIpc(bytes).batches.flatMap(({ columns }) => columnValues(columns[0]!))
}

const ids = words.map(({ id }) => id)

describe('rows', () => {
  test('have buffers in LZ4 if Accept asks for it, as a file and as a stream', async () => {
    const { url } = await served()
    const plain = await askJson(url, query, everything)
    for (const form of [arrowFile, arrowStream]) {
      const reply = await askJson(url, query, everything, { accept: `${form}; codecs="snappy, lz4"` })
      expect(reply.headers).toMatchObject({ 'content-type': form, 'x-lancedb-version': '1' })
      expect(reply.headers['content-encoding']).toBeUndefined()
      expect(startsAsFile(reply.bytes)).toBe(form === arrowFile)
      expect(reply.bytes.length).toBeLessThan(plain.bytes.length * 0.6)
      expect(idsIn(reply.bytes)).toEqual(ids)
    }
  })

  test('of a long answer are compressed while they are found', async () => {
    const { ns, url } = await served()
    for (let i = 0; i < 5; i++) await (await ns.openTable('t')).add(words)
    const reply = await askJson(
      url,
      query,
      { ...everything, k: 50_000 },
      { accept: `${arrowStream};codecs=lz4` },
    )
    expect(idsIn(reply.bytes)).toEqual(Array.from({ length: 6 }, () => ids).flat())
  })

  test('in ZSTD need a Node that writes it', async () => {
    const { url } = await served()
    const reply = await askJson(url, query, everything, { accept: `${arrowFile};codecs=zstd` })
    if (writesZstd) expect(idsIn(reply.bytes)).toEqual(ids)
    else
      expect(reply).toMatchObject({
        status: 406,
        json: { detail: expect.stringContaining('cannot write ZSTD') },
      })
    const either = await askJson(url, query, everything, { accept: `${arrowFile};codecs="zstd,lz4"` })
    expect(idsIn(either.bytes)).toEqual(ids)
  })

  test('are compressed as a whole only for a client that prefers this to plain bytes', async () => {
    const { url } = await served()
    const usual = await askJson(url, query, everything, { 'accept-encoding': 'gzip, deflate, br' })
    expect(usual.headers['content-encoding']).toBeUndefined()
    const wanted = { 'accept-encoding': 'gzip, identity;q=0.1' }
    const coded = await askJson(url, query, everything, wanted)
    expect(coded.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': arrowFile })
    expect(idsIn(zlib.gunzipSync(coded.bytes))).toEqual(ids)
    const both = await askJson(url, query, everything, { ...wanted, accept: `${arrowFile};codecs=lz4` })
    expect(both.headers['content-encoding']).toBeUndefined()
  })
})

describe('JSON', () => {
  test('is compressed if it is long and the client accepts gzip', async () => {
    const { ns, url } = await served()
    for (let i = 0; i < 60; i++) await ns.createNamespace(`a-namespace-with-a-long-name-${i}`)
    const list = { method: 'GET', path: '/v1/namespace/$/list' }
    const plain = await ask(url, list)
    const coded = await ask(url, { ...list, headers: { 'accept-encoding': 'gzip' } })
    expect(coded.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
    expect(JSON.parse(zlib.gunzipSync(coded.bytes).toString())).toEqual(plain.json)
    const refused = await ask(url, { ...list, headers: { 'accept-encoding': 'gzip;q=0, identity' } })
    expect(refused.headers['content-encoding']).toBeUndefined()
    const short = await ask(url, {
      method: 'GET',
      path: '/v1/table/t/tags/list',
      headers: { 'accept-encoding': 'gzip' },
    })
    expect(short.headers['content-encoding']).toBeUndefined()
  })
})

describe('an Accept header that no reply satisfies is 406, before the operation runs', () => {
  test.each([
    [query, { ...everything }, 'text/html'],
    [query, { ...everything }, `${arrowFile};q=0`],
    [query, { ...everything }, `${arrowFile};codecs=snappy`],
    ['/v1/table/t/delete', { predicate: 'id = 1' }, 'text/csv'],
    ['/v1/table/t/delete', { predicate: 'id = 1' }, arrowFile],
    ['/v1/table/t/delete', { predicate: 'id = 1' }, 'application/json;q=0, */*'],
  ])('%s %j %s', async (path, body, accept) => {
    const { ns, url } = await served()
    const reply = await askJson(url, path, body, { accept })
    expect(reply).toMatchObject({ status: 406, json: { status: 406, detail: expect.stringContaining('') } })
    expect(await (await ns.openTable('t')).version()).toBe(1)
  })

  test.each([
    ['*/*', arrowFile],
    ['application/*', arrowFile],
    ['application/json', arrowFile],
    [`text/html, ${arrowStream}`, arrowStream],
    [`${arrowStream};q=0.5, ${arrowFile}`, arrowFile],
    [`${arrowFile};q=0.5, ${arrowStream}`, arrowStream],
    [`${arrowFile}, application/json`, arrowFile],
  ])('%s is answered by %s', async (accept, type) => {
    const { url } = await served()
    const reply = await askJson(url, query, everything, { accept })
    expect([reply.status, reply.headers['content-type']]).toEqual([200, type])
  })
})

describe('a request in gzip', () => {
  const json = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const stream = { 'content-type': arrowStream, 'content-encoding': 'gzip' }

  test('is read, JSON and rows', async () => {
    const { ns, url } = await served()
    const body = zlib.gzipSync(JSON.stringify(everything))
    expect(idsIn((await ask(url, { path: query, headers: json, body })).bytes)).toEqual(ids)
    const { bytes } = await askJson(url, query, everything, { accept: arrowStream })
    const insert = { path: '/v1/table/t/insert', headers: stream, body: zlib.gzipSync(bytes) }
    expect((await ask(url, insert)).json).toMatchObject({ num_inserted_rows: 3000 })
    expect(await (await ns.openTable('t')).countRows()).toBe(6000)
  })

  test('that is not gzip, or is cut off, is refused, and no row is added', async () => {
    const { ns, url } = await served()
    const { bytes } = await askJson(url, query, everything, { accept: arrowStream })
    const packed = zlib.gzipSync(bytes)
    for (const body of [
      bytes,
      packed.subarray(0, -9),
      Buffer.alloc(0),
      Buffer.concat([packed, Buffer.from('x')]),
    ]) {
      const reply = await ask(url, { path: '/v1/table/t/insert', headers: stream, body })
      expect([reply.status, reply.json]).toEqual([
        400,
        expect.objectContaining({ code: ErrorCode.InvalidInput }),
      ])
    }
    expect(await (await ns.openTable('t')).countRows()).toBe(3000)
  })

  test('that decompresses to more than the limit is 413', async () => {
    const { url } = await served({ limits: { bodyBytes: 1 << 20 } })
    const blanks = zlib.gzipSync(Buffer.alloc(64 << 20, ' '))
    expect(blanks.length).toBeLessThan(1 << 20)
    expect((await ask(url, { path: query, headers: json, body: blanks })).status).toBe(413)
    const rows = rowsToBatch(Array.from({ length: 9 }, (_, id) => ({ id, word: 'x'.repeat(1 << 20) })))
    const body = zlib.gzipSync(Buffer.concat(encodeIpcStream(rows.schema, [rows])))
    expect((await ask(url, { path: '/v1/table/t/insert', headers: stream, body })).status).toBe(413)
  })
})

test('a request in zstd is read by every Node, a broken one is refused', async () => {
  const { url } = await served()
  const text = Buffer.from(JSON.stringify({ predicate: 'id < 2' }))
  const head = (text.length << 3) | 1
  const frame = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 80, head & 255, head >> 8, 0]), text])
  const headers = { 'content-type': 'application/json', 'content-encoding': 'zstd' }
  const count = (body: Buffer) => ask(url, { path: '/v1/table/t/count_rows', headers, body })
  expect((await count(frame)).text).toBe('2')
  for (const body of [frame.subarray(0, -1), text]) {
    expect(await count(body)).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining('zstd') },
    })
  }
})
