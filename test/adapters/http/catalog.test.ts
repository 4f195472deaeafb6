/** What the operations on the catalog look like on the wire: paths, bodies, statuses in both dialects. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { connect, type Namespace, type Schema } from '../../../src/index.js'
import { MemoryStore } from '../../../src/storage/memory-store.js'
import { ask, askJson } from '../../support/http.js'
import { commitPast } from '../../support/lance.js'

const intSchema: Schema = {
  fields: [{ name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: true }],
}

let ns: Namespace
let server: HttpServer
let url: string

beforeAll(async () => {
  const store = new MemoryStore('memory://')
  await commitPast(store, 'lake/found', 1)
  ns = await connect('memory://', { store })
  server = await serve(ns, { port: 0 })
  url = server.url
  await ns.createNamespace('n')
  await ns.createTable('n$rows', [{ id: 1 }])
  const rows = await ns.openTable('n$rows')
  await rows.add([{ id: 2 }])
  await rows.tags.create('tagged', 1)
  await ns.operations.declareTable({ id: ['p'] })
  await ns.operations.createTableVersion({ id: ['p'], version: 3, manifest_path: 'x' })
})
afterAll(async () => {
  await server.close()
  await ns.close()
})

describe('refusals', () => {
  const manifest_path = 'x'
  const range = (start_version: number, end_version: number) => ({ ranges: [{ start_version, end_version }] })

  /** Path, body, code, status, and status with a slash at the end of the path. */
  const cases: readonly (readonly [path: string, body: unknown, number, number, number])[] = [
    ['namespace/n/create', {}, 2, 409, 400],
    ['namespace/n/drop', {}, 3, 409, 400],
    ['namespace/no/drop', {}, 1, 404, 404],
    ['namespace/no/describe', {}, 1, 404, 404],
    ['table/p/declare', {}, 5, 409, 400],
    ['table/no$t/declare', {}, 1, 404, 404],
    ['table/t/declare', { location: '../x' }, 13, 400, 400],
    ['table/p/register', { location: 'lake/found' }, 5, 409, 400],
    ['table/t/register', { location: 'lake/empty' }, 13, 400, 400],
    ['table/t/register', {}, 13, 400, 400],
    ['table/no/deregister', {}, 4, 404, 404],
    ['table/no/describe', {}, 4, 404, 404],
    ['table/n$rows/describe', { version: 9 }, 11, 404, 404],
    ['table/p/describe', { tag: 'no' }, 8, 404, 400],
    ['table/p/exists', { version: 9 }, 11, 404, 400],
    ['table/no/exists', {}, 4, 404, 404],
    ['table/p/rename', { new_table_name: 'rows', new_namespace_id: ['n'] }, 5, 409, 400],
    ['table/p/rename', { new_table_name: 'q', new_namespace_id: ['no'] }, 1, 404, 404],
    ['table/p/stats', {}, 0, 406, 406],
    ['table/p/restore', { version: 3 }, 0, 406, 406],
    ['table/n$rows/restore', { version: 9 }, 11, 404, 400],
    ['table/n$rows/version/create', { version: 3, manifest_path }, 0, 406, 406],
    ['table/p/version/create', { version: 3, manifest_path }, 14, 409, 409],
    ['table/p/version/create', { version: 9 }, 13, 400, 400],
    ['table/no/version/create', { version: 1, manifest_path }, 4, 404, 404],
    ['table/p/version/describe', { version: 9 }, 11, 404, 404],
    ['table/n$rows/version/delete', range(1, 2), 19, 409, 400],
    ['table/version/batch-create', { entries: [{ id: ['p'], version: 3, manifest_path }] }, 14, 409, 409],
    ['table/version/batch-create', { entries: [] }, 13, 400, 400],
    ['table/batch-commit', { operations: [{ deregister_table: { id: ['no'] } }] }, 4, 404, 404],
    ['table/batch-commit', { operations: [{ declare_table: { id: ['p'] } }] }, 5, 409, 400],
    ['table/p/tags/version', { tag: 'no' }, 8, 404, 400],
    ['table/n$rows/tags/create', { tag: 'tagged', version: 1 }, 9, 409, 400],
    ['table/n$rows/tags/create', { tag: 'new', version: 9 }, 11, 404, 400],
    ['table/n$rows/tags/update', { tag: 'no', version: 1 }, 8, 404, 400],
    ['transaction/no/describe', {}, 10, 404, 400],
    ['transaction/no/alter', { actions: [{ setStatusAction: { status: 'Canceled' } }] }, 10, 404, 400],
  ]

  test.each(cases)(
    'A-028 A-164 %s %j is code %i: %i, with a slash %i',
    async (path, body, code, plain, slash) => {
      const instance = `/v1/${path}`
      const asked = await askJson(url, instance, body)
      expect(asked.json).toMatchObject({ code, status: plain, instance })
      expect(asked.status).toBe(plain)
      const inLance = await askJson(url, `${instance}/`, body)
      expect(inLance.json).toMatchObject({ code, status: slash, instance: `${instance}/` })
      expect(inLance.status).toBe(slash)
      expect(inLance.headers['content-type']).toBe('application/json')
    },
  )
})

describe('bodies', () => {
  test('the metadata of a schema is a bare map in both directions', async () => {
    const reply = await askJson(url, '/v1/table/n$rows/schema_metadata/update', { a: 'b', id: 'not an id' })
    expect([reply.status, reply.json]).toEqual([200, { a: 'b', id: 'not an id' }])
    const { metadata } = await ns.operations.describeTable({ id: ['n', 'rows'] })
    expect(metadata).toEqual({ a: 'b', id: 'not an id' })
    for (const body of [[], 'x', null, { a: 1 }]) {
      const refused = await askJson(url, '/v1/table/n$rows/schema_metadata/update', body)
      expect([body, refused.status, refused.json]).toMatchObject([body, 400, { code: 13 }])
    }
  })

  test('A-035 versions are listed with paging in the query, and the body `null` as engines send it', async () => {
    const path = '/v1/table/n$rows/version/list?limit=1&descending=true'
    const headers = { 'content-type': 'application/json' }
    const { json } = await ask(url, { path, body: 'null', headers })
    const { versions, page_token } = json as { versions: { version: number }[]; page_token: string }
    const rest = await ask(url, { path: `${path}&page_token=${encodeURIComponent(page_token)}` })
    const { versions: older } = rest.json as { versions: { version: number }[] }
    expect([versions.length, older.length]).toEqual([1, 1])
    expect(older[0]!.version).toBe(versions[0]!.version - 1)
  })

  test('tags are a map of their own with a slash, and a field without', async () => {
    const tagged = { tagged: { version: 1, manifestSize: 0 } }
    expect((await askJson(url, '/v1/table/n$rows/tags/list', {})).json).toEqual({ tags: tagged })
    expect((await askJson(url, '/v1/table/n$rows/tags/list/', {})).json).toEqual(tagged)
  })

  test('A-150 the path names a transaction, whatever table the body names', async () => {
    const { transaction_id } = await ns.operations.createTableVersion({
      id: ['p'],
      version: 100,
      manifest_path: 'x',
    })
    const path = `/v1/transaction/${transaction_id}/describe`
    expect((await askJson(url, path, { id: ['p'] })).json).toMatchObject({ status: 'Succeeded' })
  })

  test('A-010 batches name tables by arrays, so a name may contain the delimiter', async () => {
    const id = ['n', 'with $ inside']
    const batch = { operations: [{ declare_table: { id } }, { DeregisterTable: { id } }] }
    const { status, json } = await askJson(url, '/v1/table/batch-commit?delimiter=.', batch)
    expect(status).toBe(200)
    expect(json).toMatchObject({ results: [{ declare_table: {} }, { deregister_table: { id } }] })
  })
})

describe('headers', () => {
  test('A-166 idempotency-key sent again gives the same reply; an empty one is refused', async () => {
    const send = (key: string, name: string) =>
      askJson(url, `/v1/namespace/${name}/create`, {}, { 'idempotency-key': key })
    const first = await send('once', 'made')
    const again = await send('once', 'made')
    expect([first.status, again.status, again.json]).toEqual([200, 200, first.json])
    const other = await send('once', 'other')
    expect([other.status, other.json]).toMatchObject([422, { code: 13, status: 422 }])
    expect((await send('', 'empty')).json).toMatchObject({ code: 13, error: 'idempotency-key is empty' })
    const twice = { 'content-type': 'application/json', 'idempotency-key': ['a', 'b'] }
    const refused = await ask(url, { path: '/v1/namespace/twice/create', body: '{}', headers: twice })
    expect(refused.json).toMatchObject({
      status: 400,
      error: 'the request has the header field idempotency-key twice',
    })
  })

  describe('two inserts of other rows under one id', () => {
    const rowsOf = (...ids: number[]) => {
      return Buffer.concat(
        encodeIpcStream(intSchema, [
          rowsToBatch(
            ids.map(id => ({ id })),
            intSchema,
          ),
        ]),
      )
    }
    const insert = (table: string, ids: number[], headers: Record<string, string>) =>
      ask(url, { path: `/v1/table/${table}/insert/`, body: rowsOf(...ids), headers })

    test('of one request id: both are committed, from any caller, since proxies forward that id', async () => {
      await ns.createTable('twice', [{ id: 0 }], { schema: intSchema })
      for (const userAgent of ['envoy', 'LanceDB-Python-Client/0.40.0']) {
        const headers = { 'x-request-id': 'r', 'user-agent': userAgent }
        expect((await insert('twice', [1], headers)).status).toBe(200)
        expect((await insert('twice', [2], headers)).status).toBe(200)
        const merge = await ask(url, {
          path: '/v1/table/twice/merge_insert/?on=id&when_not_matched_insert_all=true',
          body: rowsOf(3),
          headers,
        })
        expect(merge.status).toBe(200)
      }
      const rows = await ns.table('twice').query().toArray()
      expect(rows.map(({ id }) => id).sort()).toEqual([0, 1, 1, 2, 2, 3])
    })

    test('of one idempotency key: the second is refused, in both dialects', async () => {
      await ns.createTable('once', [{ id: 0 }], { schema: intSchema })
      const headers = { 'idempotency-key': 'k' }
      expect((await insert('once', [1], headers)).json).toMatchObject({ num_inserted_rows: 1 })
      expect((await insert('once', [1], headers)).json).toMatchObject({ num_inserted_rows: 1, version: 2 })
      expect((await insert('once', [2], headers)).status).toBe(422)
      const path = '/v1/table/once/insert'
      expect((await ask(url, { path, body: rowsOf(2), headers })).status).toBe(422)
      expect(await ns.table('once').countRows()).toBe(2)
    })
  })

  test('x-request-id is the idempotency key only of writes that LanceDB clients repeat with the same id', async () => {
    await ns.createTable('counted', [{ id: 0 }])
    const update = (headers: Record<string, string>) =>
      askJson(url, '/v1/table/counted/update/', { updates: [['id', 'id + 1']] }, headers)
    const lancedb = { 'x-request-id': 'u', 'user-agent': 'LanceDB-Node-Client/0.39.0' }
    const first = await update(lancedb)
    expect((await update(lancedb)).json).toEqual(first.json)
    await update({ ...lancedb, 'user-agent': 'curl/8' })
    await update({ 'x-request-id': 'u' })
    await update({ ...lancedb, 'user-agent': 'Not-LanceDB-Node-Client/0.39.0' })
    await update({ ...lancedb, 'idempotency-key': 'own' })
    const [row] = await ns.table('counted').query().toArray()
    expect(row).toEqual({ id: 5 })
    const drop = (name: string) => askJson(url, `/v1/table/${name}/drop/`, {}, lancedb)
    for (const name of ['a', 'b']) await ns.createTable(name, [{ id: 0 }])
    expect([(await drop('a')).status, (await drop('b')).status]).toEqual([200, 200])
  })

  test('x-sheaf-table identifies the table, also after a rename', async () => {
    await ns.createTable('named', [{ id: 1 }])
    const { uuid } = await ns.operations.describeTable({ id: ['named'] })
    const count = (headers: Record<string, string>) => askJson(url, '/v1/table/named/count_rows', {}, headers)
    await ns.renameTable('named', 'renamed')
    expect((await count({})).status).toBe(404)
    expect((await count({ 'x-sheaf-table': uuid! })).json).toBe(1)
    expect((await count({ 'x-sheaf-table': '' })).status).toBe(404)
    await ns.dropTable('renamed')
    expect((await count({ 'x-sheaf-table': uuid! })).json).toMatchObject({ code: 4 })
  })
})
