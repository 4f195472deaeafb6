/** Indexes on the wire, as both families of clients ask for them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { openWithBuilder } from '../../support/index-builds.js'

let root: Awaited<ReturnType<typeof openWithBuilder>>
let server: HttpServer

beforeAll(async () => {
  root = await openWithBuilder()
  server = await serve(root.ns, { port: 0 })
  await root.ns.createTable('t', [{ id: 1, text: 'one' }])
})
afterAll(async () => {
  await server.close()
  await root.ns.close()
})

const call = async (path: string, body?: object, method = 'POST') => {
  const json = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const reply = await fetch(`${server.url}/v1/table/t/${path}`, body === undefined ? { method } : json)
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
}
const created = (name: string) => ({
  status: 200,
  body: { transaction_id: expect.any(String), job_id: expect.any(String), index_name: name },
})

test('an index is created, listed and described without a body or with one, and dropped', async () => {
  expect(await call('create_index', { column: 'id', index_type: 'btree' })).toEqual(created('id_idx'))
  await root.ns.table('t').waitForIndex('id_idx')
  const scalar = { column: 'text', index_type: 'BITMAP', name: 'a/b' }
  expect(await call('create_scalar_index', scalar)).toEqual(created('a/b'))
  await root.ns.table('t').waitForIndex('a/b')
  const named = (reply: { body: Record<string, unknown> }) =>
    (reply.body.indexes as { index_name: string }[]).map(({ index_name }) => index_name)
  for (const body of [undefined, {}, { version: null }]) {
    expect(named(await call('index/list/', body))).toEqual(['a/b', 'id_idx'])
    expect(await call('index/a%2Fb/stats', body)).toEqual({
      status: 200,
      body: {
        index_type: 'BITMAP',
        distance_type: null,
        num_indexed_rows: 1,
        num_unindexed_rows: 0,
        num_indices: 1,
        status: 'ready',
      },
    })
  }
  expect(await call('index/id_idx/stats', undefined, 'GET')).toMatchObject({ body: { index_type: 'BTREE' } })
  expect(await call('index/a%2Fb/drop')).toMatchObject({ status: 200 })
  expect(await call('index/a%2Fb/drop/', {})).toMatchObject({ status: 404, body: { code: 6 } })
  expect(named(await call('index/list'))).toEqual(['id_idx'])
})

test.each<[string, object, number, number]>([
  // LanceDB replaces unless it is told not to, and must not retry what cannot succeed.
  ['create_index', { column: 'text', index_type: 'BTREE', name: 'id_idx' }, 409, 7],
  ['create_index/', { column: 'text', index_type: 'BTREE', name: 'id_idx', replace: false }, 400, 7],
  ['create_index', { column: 'no', index_type: 'BTREE' }, 404, 12],
  // A 404 would be taken for a table that is missing.
  ['create_index/', { column: 'no', index_type: 'BTREE' }, 400, 12],
  ['create_index', { index_type: 'BTREE' }, 400, 13],
  ['create_index', { column: 'id', index_type: 'HASH' }, 400, 13],
  ['create_index/', { column: 'id', index_type: 'IVF_PQ', metric_type: 'l2' }, 400, 13],
  ['create_index/', { column: 'id', index_type: 'FTS' }, 400, 13],
  ['create_index/', { column: 'id', index_type: 'ZONE_MAP' }, 406, 0],
  ['index/no/stats/', {}, 404, 6],
])('%s %j is refused with %i', async (path, body, status, code) => {
  expect(await call(path, body)).toMatchObject({ status, body: { code } })
})

test('in the dialect of Lance an index is replaced', async () => {
  const other = { column: 'text', index_type: 'BTREE', name: 'id_idx' }
  expect(await call('create_index/', other)).toEqual(created('id_idx'))
  await root.ns.table('t').waitForIndex('id_idx')
  expect(await root.ns.table('t').listIndices()).toMatchObject([{ columns: ['text'] }])
})
