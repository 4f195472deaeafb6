/** A-158 A-165: views on the wire: both paths of a refresh, with a body or without. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { connect, type Namespace } from '../../../src/index.js'
import { jobEnd, viewRequest } from '../../suites/views.js'

let ns: Namespace
let server: HttpServer

beforeAll(async () => {
  ns = await connect('memory://')
  server = await serve(ns, { port: 0 })
  await ns.createTable('t', [{ id: 1n, n: 20n }])
})
afterAll(async () => {
  await server.close()
  await ns.close()
})

const post = async (path: string, body?: object) => {
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const reply = await fetch(`${server.url}/v1/${path}`, body === undefined ? { method: 'POST' } : json)
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
}

test('a view is created and refreshed', async () => {
  const { id: _, ...view } = viewRequest()
  expect(await post('materialized_view/v/create', view)).toEqual({ status: 200, body: { version: 1 } })
  expect(await post('materialized_view/v/create', view)).toMatchObject({ status: 409, body: { code: 5 } })
  for (const path of ['table/v/refresh', 'materialized_view/v/refresh', 'table/v/refresh/']) {
    for (const body of [undefined, {}, { src_version: 1, max_rows_per_fragment: 10 }]) {
      const reply = await post(path, body)
      expect(reply).toEqual({ status: 202, body: { job_id: expect.any(String) } })
      expect(await jobEnd(ns.operations, reply.body.job_id as string)).toMatchObject({ status: 'Succeeded' })
    }
  }
  expect(await ns.table('v').query().toArray()).toEqual([{ id: 1, twice: 40 }])
})

test.each<[string, object, number, number]>([
  ['table/t/refresh', {}, 400, 13],
  ['materialized_view/no/refresh', {}, 404, 4],
  ['table/v/refresh', { concurrency: 0 }, 400, 13],
  ['table/v/refresh', { src_version: 9 }, 404, 11],
  ['table/v/update', { updates: [['twice', '1']] }, 409, 19],
  ['table/v/update/', { updates: [['twice', '1']] }, 400, 19],
])('%s %j is refused with %i', async (path, body, status, code) => {
  expect(await post(path, body)).toMatchObject({ status, body: { code } })
})

test("LanceDB's Python client creates a view, waits for its rows, describes, lists, refreshes and drops it", async () => {
  const query = 'SELECT `id` AS "id", n * 2 AS "twice" FROM "t" WHERE n > 10'
  const created = await post('materialized_view/p/create', { query, with_no_data: false })
  expect(created).toEqual({ status: 202, body: { version: 1, job_id: expect.any(String) } })
  await jobEnd(ns.operations, created.body.job_id as string)
  expect(await ns.table('p').query().toArray()).toEqual([{ id: 1, twice: 40 }])
  expect(await post('materialized_view/p/describe')).toMatchObject({
    status: 200,
    body: { source_table: 't', query: 'SELECT id, n * 2 AS twice FROM t WHERE n > 10' },
  })
  const refresh = await post('materialized_view/p/refresh', { full: false, source_version: 1 })
  await jobEnd(ns.operations, refresh.body.job_id as string)
  expect((await post('jobs/describe', { job_id: refresh.body.job_id })).body).toMatchObject({
    job_state: 'DONE',
    result: { mode: 'no_op', rows_written: 0, source_version: 1, version: 2 },
  })
  const listed = await fetch(`${server.url}/v1/namespace/$/materialized_view/list`)
  expect(await listed.json()).toEqual({ views: ['p', 'v'] })
  expect(await post('materialized_view/p/drop')).toMatchObject({ status: 200 })
  expect(
    await post('materialized_view/e/create', { query: 'SELECT * FROM "t"', with_no_data: true }),
  ).toEqual({
    status: 200,
    body: { version: 1 },
  })
})
