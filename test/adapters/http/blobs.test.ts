import { tableFromIPC } from 'apache-arrow'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { connect, type Namespace } from '../../../src/index.js'
import { blobRows } from '../../support/blobs.js'

let ns: Namespace
let server: HttpServer

beforeAll(async () => {
  ns = await connect('memory://')
  const abc = new TextEncoder().encode('abcdefghij')
  await ns.operations.createTable({ id: ['t'] }, blobRows([abc, null, new Uint8Array(0), 's3://bucket/key']))
  server = await serve(ns, { port: 0 })
})
afterAll(async () => {
  await server.close()
  await ns.close()
})

function post(path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${server.url}/v1/table/t/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function rowsOf(response: Response) {
  expect(response.status).toBe(200)
  return tableFromIPC(new Uint8Array(await response.arrayBuffer()))
}

function bytes(rowId: number, range?: string): Promise<Response> {
  const headers: Record<string, string> = range === undefined ? {} : { range }
  return fetch(`${server.url}/v1/table/t/blob/image/${rowId}/bytes?version=1`, { headers })
}

test('a query of LanceDB’s clients returns blobs as descriptors, other queries return the stored bytes', async () => {
  const query = { k: 10, vector: [] }
  const described = await rowsOf(await post('query/', query))
  const field = described.schema.fields[1]!
  expect(Object.fromEntries(field.metadata)).toEqual({ 'lance-encoding:blob': 'true' })
  expect(
    described
      .getChild('image')!
      .toArray()
      .map((row: { toJSON(): object } | null) => row?.toJSON() ?? null),
  ).toEqual([
    { kind: 0, position: 0n, size: 10n, blob_id: 0, blob_uri: '' },
    null,
    { kind: 0, position: 0n, size: 0n, blob_id: 0, blob_uri: '' },
    { kind: 3, position: 0n, size: 0n, blob_id: 0, blob_uri: 's3://bucket/key' },
  ])
  const stored = await rowsOf(await post('query', query))
  expect(stored.schema.fields[1]!.metadata.get('ARROW:extension:name')).toBe('lance.blob.v2')
})

test('fetch_blobs returns the bytes in the order of the row ids, with nulls and repeats', async () => {
  const found = await rowsOf(await post('fetch_blobs/', { column: 'image', row_ids: [2, 1, 0, 0] }))
  const texts = [...found.getChild('image')!].map(each => each && Buffer.from(each as Uint8Array).toString())
  expect(texts).toEqual(['', null, 'abcdefghij', 'abcdefghij'])
  const part = await rowsOf(
    await post('fetch_blobs', { column: 'image', row_ids: [0], offset: 2, length: 3 }),
  )
  expect(Buffer.from(part.getChild('image')!.get(0) as Uint8Array).toString()).toBe('cde')
  expect(part.getChild('_size')!.get(0)).toBe(10n)
})

test.each([
  ['id', [0], 400, /not a blob column: it has the type int32/],
  ['no', [0], 404, /no column named "no"/],
  ['image', [0, 77], 400, /no row with the id 77/],
  ['image', [3], 406, /is stored at a URI, and the server does not open URIs/],
])('fetch_blobs of column %s and rows %s is refused', async (column, row_ids, status, message) => {
  const response = await post('fetch_blobs', { column, row_ids })
  expect(response.status).toBe(status)
  expect(((await response.json()) as { error: string }).error).toMatch(message)
})

test('a blob is returned whole or as the requested range', async () => {
  const whole = await bytes(0)
  expect([whole.status, await whole.text()]).toEqual([200, 'abcdefghij'])
  const range = await bytes(0, 'bytes=2-4')
  expect([range.status, range.headers.get('content-range'), await range.text()]).toEqual([
    206,
    'bytes 2-4/10',
    'cde',
  ])
  const open = await bytes(0, 'bytes=7-')
  expect([open.status, open.headers.get('content-range'), await open.text()]).toEqual([
    206,
    'bytes 7-9/10',
    'hij',
  ])
  const beyond = await bytes(0, 'bytes=10-12')
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */10'])
  expect(await beyond.json()).toMatchObject({ status: 416, code: 13 })
  const empty = await bytes(2, 'bytes=0-0')
  expect([empty.status, empty.headers.get('content-range')]).toEqual([416, 'bytes */0'])
  expect((await bytes(1, 'bytes=0-0')).status).toBe(204)
  expect(whole.headers.get('x-lancedb-version')).toBe('1')
})
