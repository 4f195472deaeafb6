/** A server whose reads are done in worker threads: it answers as one that does all in its own. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type * as http from '../../../adapters/http/public.js'
import type * as workers from '../../../adapters/worker/public.js'
import type * as sheaf from '../../../src/index.js'
import { ask, askJson } from '../../support/http.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'

const { connect } = (await import(shipped('index'))) as typeof sheaf
const { serve } = (await import(shipped('http'))) as typeof http
const { connectWorker } = (await import(shipped('worker'))) as typeof workers
const freshRoot = temporaryRoots()

describe('a table of 20 MB, served by two threads', () => {
  const rows = 20_000
  const root = freshRoot()
  let url: string
  let plainUrl: string

  beforeAll(async () => {
    const plain = await connect(root)
    const text = 'x'.repeat(1000)
    await plain.createTable(
      't',
      Array.from({ length: rows }, (_, id) => ({ id, text: `${id}${text}` })),
    )
    const threaded = await connectWorker(root, { workers: 2 })
    const servers = [await serve(plain, { port: 0 }), await serve(threaded, { port: 0 })]
    plainUrl = servers[0]!.url
    url = servers[1]!.url
    return async () => {
      for (const server of servers) await server.close()
      await threaded.close()
      await plain.close()
    }
  })

  const json = { 'content-type': 'application/json' }
  const stream = { ...json, accept: 'application/vnd.apache.arrow.stream' }

  test.each([
    ['as a file', json, {}],
    ['as a stream', stream, {}],
    ['as a stream in LZ4', { ...stream, accept: `${stream.accept}; codecs=lz4` }, {}],
    ['half of it, by a filter', stream, { filter: 'id % 2 = 0', k: rows }],
    ['less than is gathered', json, { k: 10 }],
    ['nothing', json, { filter: 'id < 0' }],
  ])('is answered with the same bytes: %s', async (_, headers, wanted) => {
    const request = { path: '/v1/table/t/query', body: JSON.stringify({ vector: [], k: rows, ...wanted }) }
    const [expected, answer] = await Promise.all(
      [plainUrl, url].map(server => ask(server, { ...request, headers })),
    )
    expect(answer!.status).toBe(200)
    expect(answer!.bytes.equals(expected!.bytes)).toBe(true)
    const coding = 'transfer-encoding'
    expect(answer!.headers[coding]).toBe(expected!.headers[coding])
  })

  test('is read in slices by all threads, and each thread pins the version it reads', async () => {
    const pins = () => readdirSync(join(root, '_pins')).length
    const begun = await askJson(url, '/v1/table/t/read_session/create', { slices: 4 })
    expect(begun.status).toBe(200)
    const { session, slices } = JSON.parse(begun.bytes.toString())
    const held = pins()
    const request = (token: string) => ({
      path: '/v1/table/t/read_session/read',
      headers: stream,
      body: JSON.stringify({ token }),
    })
    const read = (server: string) =>
      Promise.all(slices.map(({ token }: { token: string }) => ask(server, request(token))))
    const answers = await read(url)
    // The thread that began it had one before.
    expect(pins()).toBe(held + 1)
    const expected = await read(plainUrl)
    for (const [i, { bytes }] of answers.entries()) expect(bytes.equals(expected[i]!.bytes)).toBe(true)
    await askJson(url, '/v1/table/t/read_session/close', { session })
  })
})
