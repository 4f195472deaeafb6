import { describe, expect, test, vi } from 'vitest'
import type { RequestRecord, ServeOptions } from '../../../adapters/http/options.js'
import { serve } from '../../../adapters/http/server.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import { bindHandlers, type Handlers } from '../../../src/protocol/calls.js'
import { type OperationEntry, operationNames, operations } from '../../../src/protocol/operations.js'
import { unservedRoutes } from '../../../src/protocol/unserved-routes.js'
import { ask, askJson, type RawReply } from '../../support/http.js'
import { type Echo, echo } from '../echo.js'
import { servers } from './servers.js'

const start = servers()

async function startEcho(options: ServeOptions = {}): Promise<{ fake: Echo; url: string }> {
  const fake = echo()
  return { fake, url: await start(fake, options) }
}

/** Every route of the table, with names for placeholders. */
const routes = operationNames.flatMap(name =>
  (operations[name] as OperationEntry).routes.map(route => {
    const [method, template] = route.split(' ') as [string, string]
    const path = template.replace('{id}', 'x').replace('{index_name}', 'i')
    return { name, method, path }
  }),
)

function expectError(reply: RawReply, status: number, code: number, path: string): void {
  expect(reply.status).toBe(status)
  expect(reply.headers['content-type']).toBe('application/json')
  expect(reply.json).toMatchObject({
    type: expect.stringMatching(/^\/errors\/[a-z-]+$/),
    title: expect.any(String),
    status,
    detail: expect.any(String),
    instance: path,
    code,
    error: expect.any(String),
  })
}

describe('routes', () => {
  test('A-001 every route of the table reaches its operation, and another method gets 405 with Allow', async () => {
    const { fake, url } = await startEcho()
    fake.answer = () => {
      throw new SheafError(ErrorCode.Throttling, 'reached')
    }
    for (const { name, method, path } of routes) {
      const reached = await ask(url, { method, path })
      // Some requests lack what their operation needs; that too is told by the operation.
      const error = (reached.json as { error: string }).error
      expect(error === 'reached' || error.startsWith(name), `${method} ${path}: ${error}`).toBe(true)

      const refused = await ask(url, { method: 'PUT', path })
      expectError(refused, 405, ErrorCode.Unsupported, path)
      expect(refused.headers.allow?.split(', ')).toContain(method)
    }
  })

  test('A-002 paths are relative to a base path', async () => {
    const { fake, url } = await startEcho({ basePath: 'some/base/' })
    expect(url).toMatch(/\/some\/base$/)
    expect((await ask(url, { path: '/some/base/v1/table/t/exists' })).status).toBe(200)
    expect(fake.last.request).toEqual({ id: ['t'] })
    expectError(await ask(url, { path: '/v1/table/t/exists' }), 404, 0, '/v1/table/t/exists')
    expect((await ask(url, { path: '/some/basement/v1/table/t/exists' })).status).toBe(404)
  })

  test('A-004 a trailing slash is accepted on every route, and alone decides the dialect', async () => {
    const { fake, url } = await startEcho()
    fake.answer = heard => {
      expect(heard.options.dialect).toBe('lance')
      throw new SheafError(ErrorCode.Throttling, 'reached')
    }
    for (const { name, method, path } of routes) {
      const { error } = (await ask(url, { method, path: `${path}/` })).json as { error: string }
      expect(error === 'reached' || error.startsWith(name), `${path}/: ${error}`).toBe(true)
    }
    fake.answer = heard => expect(heard.options.dialect).toBe('namespace')
    expect((await ask(url, { path: '/v1/table/t/exists' })).status).toBe(200)
  })

  test.each([
    ['POST', '/'],
    ['POST', '/v1/table/t/teleport'],
    ['POST', '/v1/table/t//describe'],
    ['POST', '/v1/table/a/b/describe'],
    ['GET', '//v1/table'],
    ['OPTIONS', '*'],
  ])('A-005 %s %s is unknown: 404 with code 0', async (method, path) => {
    const { url } = await startEcho()
    expectError(await ask(url, { method, path }), 404, ErrorCode.Unsupported, path)
  })

  test('A-005 an unknown path is 400 with code 13 in the slash dialect, where 404 would mean a missing table', async () => {
    const { url } = await startEcho()
    const path = '/v1/table/a/b/describe/'
    expectError(await ask(url, { path }), 400, ErrorCode.InvalidInput, path)
  })

  test('A-005 a known route that is not served is 406 with code 0', async () => {
    const handlers = Object.fromEntries(operationNames.map(name => [name, 'unsupported']))
    const url = await start({ operations: bindHandlers(handlers as unknown as Handlers<null>, null) })
    for (const { method, path } of routes) {
      expectError(await ask(url, { method, path }), 406, ErrorCode.Unsupported, path)
    }
    for (const route of unservedRoutes) {
      const [method, template] = route.split(' ') as [string, string]
      const path = template.replaceAll(/\{\w+\}/g, 'x')
      expectError(await ask(url, { method, path }), 406, ErrorCode.Unsupported, path)
    }
  })

  test('A-163 only /v1 has routes', async () => {
    const { url } = await startEcho()
    expectError(await ask(url, { path: '/v2/table/t/exists' }), 404, 0, '/v2/table/t/exists')
  })

  test('health is served below the base path', async () => {
    const { url } = await startEcho({ basePath: '/base' })
    const reply = await ask(url, { method: 'GET', path: '/base/healthz' })
    expect([reply.status, reply.json]).toEqual([200, { status: 'ok' }])
  })
})

describe('identifiers', () => {
  const described = async (path: string, body: unknown = {}) => {
    const { fake, url } = await startEcho()
    const reply = await askJson(url, path, body)
    return reply.status === 200 ? fake.last.request.id : reply
  }

  test('A-006 the id is percent-decoded once, then split', async () => {
    expect(await described('/v1/table/a%24b/describe')).toEqual(['a', 'b'])
    expect(await described('/v1/table/a$b/describe')).toEqual(['a', 'b'])
    expect(await described('/v1/table/a%2524b/describe')).toEqual(['a%24b'])
    expect(await described('/v1/table/caf%C3%A9%20x/describe')).toEqual(['café x'])
    expect(await described('/v1/table/../describe')).toEqual(['..'])
  })

  test('A-007 the delimiter can be chosen, and be several characters, but not none', async () => {
    expect(await described('/v1/table/a.b.t/describe?delimiter=.')).toEqual(['a', 'b', 't'])
    expect(await described('/v1/table/a::b/describe?delimiter=%3A%3A')).toEqual(['a', 'b'])
    expect(await described('/v1/table/a/describe?delimiter=')).toMatchObject({ status: 400 })
  })

  test('A-008 the delimiter alone is the root namespace', async () => {
    expect(await described('/v1/namespace/$/describe')).toEqual([])
    expect(await described('/v1/namespace/./describe?delimiter=.')).toEqual([])
    const { fake, url } = await startEcho()
    await ask(url, { method: 'GET', path: '/v1/namespace/list?delimiter=.' })
    expect(fake.last).toMatchObject({ name: 'listNamespaces', request: { id: [] } })
  })

  test('A-009 empty names are dropped', async () => {
    expect(await described('/v1/table/$$t$$/describe')).toEqual(['t'])
  })

  test('A-010 the id in the body is exact if names contain the delimiter', async () => {
    expect(await described('/v1/table/a$b$c/describe', { id: ['a', 'b$c'] })).toEqual(['a', 'b$c'])
  })

  test('A-011 the root as a table is 400', async () => {
    expect(await described('/v1/table/$/describe')).toMatchObject({ status: 400 })
  })

  test('A-012 path and body that name different tables are 400', async () => {
    expect(await described('/v1/table/a/describe', { id: ['b'] })).toMatchObject({ status: 400 })
  })

  test('A-013 an id in the body may be missing, null, or the same', async () => {
    expect(await described('/v1/table/a$b/describe', { id: null })).toEqual(['a', 'b'])
    expect(await described('/v1/table/a$b/describe', { id: ['a', 'b'] })).toEqual(['a', 'b'])
  })

  test('A-014 A-093 the index name is percent-decoded once and must agree with the body', async () => {
    const { fake, url } = await startEcho()
    const path = '/v1/table/t/index/a%2Fb%20c%2525/drop'
    expect((await ask(url, { path })).status).toBe(200)
    expect(fake.last.request).toEqual({ id: ['t'], index_name: 'a/b c%25' })
    expect((await askJson(url, path, { index_name: 'a/b c%25' })).status).toBe(200)
    expectError(await askJson(url, path, { index_name: 'other' }), 400, 13, path)
  })
})

describe('requests', () => {
  test('query parameters become fields of the request, with their types', async () => {
    const { fake, url } = await startEcho()
    const query =
      'on=a&on=b%20c&when_matched_update_all=true&when_not_matched_by_source_delete=false' +
      '&when_matched_update_all_filt=source.x+%3E+target.x&timeout=30s&use_index=false'
    await ask(url, { path: `/v1/table/t/merge_insert?${query}`, body: 'rows' })
    expect(fake.last.request).toEqual({
      id: ['t'],
      on: ['a', 'b c'],
      when_matched_update_all: true,
      when_not_matched_by_source_delete: false,
      when_matched_update_all_filt: 'source.x > target.x',
      timeout: '30s',
    })
    const properties = encodeURIComponent('{"a":"b"}')
    await ask(url, { path: `/v1/table/t/create/?mode=exist_ok&properties=${properties}`, body: 'rows' })
    expect(fake.last.request).toEqual({ id: ['t'], mode: 'ExistOk', properties: { a: 'b' } })
  })

  test('a filter of 40 KB fits into the URL', async () => {
    const { fake, url } = await startEcho()
    const filter = `source.x = '${'y'.repeat(40_000)}'`
    const query = new URLSearchParams({ on: 'a', when_matched_update_all_filt: filter })
    expect((await ask(url, { path: `/v1/table/t/merge_insert/?${query}`, body: 'rows' })).status).toBe(200)
    expect(fake.last.request.when_matched_update_all_filt).toBe(filter)
  })

  test('A-035 limit and page_token are read from body and query, and the body wins', async () => {
    const { fake, url } = await startEcho()
    const path = '/v1/table/t/version/list?limit=5&page_token=p&descending=true'
    await ask(url, { path })
    expect(fake.last.request).toEqual({ id: ['t'], limit: 5, page_token: 'p', descending: true })
    await askJson(url, path, { limit: 7 })
    expect(fake.last.request).toEqual({ id: ['t'], limit: 7, page_token: 'p', descending: true })
    await askJson(url, path, null)
    expect(fake.last.request).toEqual({ id: ['t'], limit: 5, page_token: 'p', descending: true })
  })

  test('A-003 a JSON operation works without a body and without a content type', async () => {
    const { fake, url } = await startEcho()
    expect((await ask(url, { path: '/v1/table/t/describe/' })).status).toBe(200)
    const empty = { 'content-type': 'application/json' }
    expect((await ask(url, { path: '/v1/table/t/describe', headers: empty })).status).toBe(200)
    expect(fake.last.request).toEqual({ id: ['t'] })
  })

  test.each([
    ['no content type', {}, '{}'],
    ['another content type', { 'content-type': 'text/plain' }, '{}'],
    ['a type that only looks like it', { 'content-type': 'application/jsonp' }, '{}'],
    ['no JSON', { 'content-type': 'application/json' }, '{"a":'],
    ['no UTF-8', { 'content-type': 'application/json' }, new Uint8Array([0x22, 0xff, 0x22])],
    ['an array', { 'content-type': 'application/json' }, '[1]'],
    ['depth', { 'content-type': 'application/json' }, '['.repeat(100_000)],
  ])('A-003 a body with %s is a malformed request', async (_, headers, body) => {
    const { fake, url } = await startEcho()
    const path = '/v1/table/t/describe'
    const reply = await ask(url, { path, headers, body })
    expectError(reply, 400, ErrorCode.InvalidInput, path)
    expect(reply.json).toMatchObject({ type: '/errors/bad-request', title: 'Malformed request' })
    expect(fake.heard).toHaveLength(0)
  })

  test('JSON is JSON with a charset and under any type that ends in +json', async () => {
    const { url } = await startEcho()
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/merge+json']) {
      const reply = await askJson(url, '/v1/table/t/describe', {}, { 'content-type': type })
      expect(reply.status, type).toBe(200)
    }
  })

  test('Arrow bodies are passed on with any content type, and the bare map is the whole body', async () => {
    const { fake, url } = await startEcho()
    await ask(url, { path: '/v1/table/t/insert', body: 'any bytes' })
    expect(fake.last.body?.toString()).toBe('any bytes')
    fake.answer = () => ({ metadata: { b: '2' } })
    const reply = await askJson(url, '/v1/table/t/schema_metadata/update', { id: 'x', a: '1' })
    expect(fake.last.request).toEqual({ id: ['t'], metadata: { id: 'x', a: '1' } })
    expect(reply.json).toEqual({ b: '2' })
  })

  test('A-017 A-018 identity in the header fills or replaces identity in the body', async () => {
    const { fake, url } = await startEcho()
    const body = { identity: { api_key: 'from body', auth_token: 'from body' } }
    await askJson(url, '/v1/table/t/describe', body)
    expect(fake.last.request.identity).toEqual(body.identity)
    const headers = { authorization: 'bearer secret', 'x-api-key': 'key' }
    await askJson(url, '/v1/table/t/describe', body, headers)
    const identity = { auth_token: 'secret', api_key: 'key' }
    expect(fake.last.request.identity).toEqual(identity)
    expect(fake.last.options.identity).toEqual(identity)
    await askJson(url, '/v1/table/t/describe', body, { authorization: 'Bearer secret' })
    expect(fake.last.request.identity).toEqual({ auth_token: 'secret' })
  })

  test('A-021 context comes from header fields with any of the known prefixes, keys in lower case', async () => {
    const { fake, url } = await startEcho()
    const headers = {
      'X-Ns-Ctx-Tenant': 'A b',
      'x-sheaf-ctx-two': '2',
      'x-lance-ctx-three': '3',
      'x-ctx-no': '0',
    }
    await askJson(url, '/v1/table/t/describe', {}, headers)
    expect(fake.last.options.context).toEqual({ tenant: 'A b', two: '2', three: '3' })
  })

  test('A-024 context in a body is tolerated', async () => {
    const { url } = await startEcho()
    const body = { context: { a: 'b' }, new_columns: [{ name: 'c', expression: '1' }] }
    expect((await askJson(url, '/v1/table/t/add_columns', body)).status).toBe(200)
  })

  describe('unknown names', () => {
    const sent: readonly (readonly [what: string, path: string, body: object | string, message: string])[] = [
      [
        'a write',
        '/v1/table/t/update',
        { where: 'id = 1', updates: [['a', '1']] },
        'where is not a known field',
      ],
      ['a query', '/v1/table/t/query', { k: 1, vector: [], filtr: 'id = 1' }, 'filtr is not a known field'],
      [
        'within a query',
        '/v1/table/t/query',
        { k: 1, full_text_query: { query: 'a', colum: 'b' } },
        'full_text_query.colum is',
      ],
      ['a count', '/v1/table/t/count_rows', { filter: 'id = 1' }, 'filter is not a known field'],
      [
        'the URL of a write',
        '/v1/table/t/insert?upload=7&mode=overwrite',
        'rows',
        'upload is not a known parameter',
      ],
      [
        'the URL of a query',
        '/v1/table/t/query?format=csv',
        { k: 1, vector: [] },
        'format is not a known parameter',
      ],
    ]
    test.each(sent)('%s is refused, from any client', async (_, path, body, message) => {
      const { url, fake } = await startEcho()
      for (const client of [undefined, 'LanceDB-Node-Client/9.9.9', 'curl/8.5.0']) {
        const headers: Record<string, string> = client === undefined ? {} : { 'user-agent': client }
        const reply =
          typeof body === 'string'
            ? await ask(url, { path, body, headers })
            : await askJson(url, path, body, headers)
        expectError(reply, 400, ErrorCode.InvalidInput, path.split('?')[0]!)
        expect(reply.json).toHaveProperty('error', expect.stringContaining(message))
      }
      expect(fake.heard).toHaveLength(0)
    })

    test.each([['LanceDB-Node-Client/9.9.9'], ['OpenAPI-Generator/9.9.9/java'], [undefined]])(
      'other reads skip them and log it for clients that may be newer: %s',
      async client => {
        const records: RequestRecord[] = []
        const { url, fake } = await startEcho({ logger: record => records.push(record) })
        const headers: Record<string, string> = client === undefined ? {} : { 'user-agent': client }
        const body = { version: 3, new_thing: { a: 1 } }
        const reply = await askJson(url, '/v1/table/t/describe?newer=1', body, headers)
        expect(reply.status).toBe(200)
        expect(fake.last.request).toEqual({ id: ['t'], version: 3 })
        await vi.waitFor(() => expect(records).toMatchObject([{ skipped: ['?newer', 'new_thing'] }]))
      },
    )

    test('other reads refuse them from all other clients', async () => {
      const { url } = await startEcho()
      for (const path of ['/v1/table/t/describe', '/v1/table/t/describe?versoin=2']) {
        const body = path.includes('?') ? {} : { versoin: 2 }
        const reply = await askJson(url, path, body, { 'user-agent': 'curl/8.5.0' })
        expectError(reply, 400, ErrorCode.InvalidInput, '/v1/table/t/describe')
        expect(reply.json).toHaveProperty('error', expect.stringContaining('versoin is not a known'))
      }
    })
  })

  test('A-166 idempotency-key is the key of a call', async () => {
    const { fake, url } = await startEcho()
    const headers = { 'x-request-id': 'r', 'idempotency-key': 'once' }
    await askJson(url, '/v1/table/t/delete/', { predicate: 'true' }, headers)
    expect(fake.last.options.idempotencyKey).toBe('once')
    await askJson(url, '/v1/table/t/delete/', { predicate: 'true' }, { 'x-request-id': 'r' })
    expect(fake.last.options.idempotencyKey).toBe(undefined)
  })

  test.each([
    ['content-length', { 'content-length': '1001' }],
    ['chunks', { 'transfer-encoding': 'chunked' }],
  ])('A-037 a body above the limit is 413, told by its %s', async (_, headers) => {
    const { fake, url } = await startEcho({ limits: { bodyBytes: 1000 } })
    const body = 'x'.repeat(1001)
    for (const [path, type] of [
      ['/v1/table/t/insert', 'application/vnd.apache.arrow.stream'],
      ['/v1/table/t/describe', 'application/json'],
    ] as const) {
      const fields = { ...headers, 'content-type': type }
      expectError(await ask(url, { path, headers: fields, body }), 413, ErrorCode.InvalidInput, path)
    }
    expect(fake.heard).toHaveLength(0)
    expect((await ask(url, { path: '/v1/table/t/insert', body: body.slice(1) })).status).toBe(200)
  })
})

describe('replies', () => {
  test('bare integers and texts are JSON values', async () => {
    const { url } = await startEcho()
    expect((await ask(url, { path: '/v1/table/t/count_rows' })).text).toBe('7')
    const query = { k: 1, filter: 'true' }
    const plan = await askJson(url, '/v1/table/t/analyze_plan', query)
    expect([plan.headers['content-type'], plan.text]).toEqual(['application/json', '"a \\"plan\\""'])
  })

  test('fields with several names are sent under all of them', async () => {
    const { fake, url } = await startEcho()
    fake.answer = () => ({ updated_rows: 2, version: 5 })
    const reply = await askJson(url, '/v1/table/t/update', { updates: [['a', '1']] })
    expect(reply.json).toEqual({ updated_rows: 2, rows_updated: 2, version: 5 })
  })

  test('tags are a bare map in the slash dialect only', async () => {
    const { fake, url } = await startEcho()
    const tags = { v1: { version: 2, manifestSize: 10 } }
    fake.answer = () => ({ tags })
    expect((await ask(url, { path: '/v1/table/t/tags/list/' })).json).toEqual(tags)
    expect((await ask(url, { path: '/v1/table/t/tags/list' })).json).toEqual({ tags })
    expect((await ask(url, { method: 'GET', path: '/v1/table/t/tags/list' })).json).toEqual({ tags })
  })

  test('A-071 A-072 rows come as an Arrow IPC file, with the version that was read', async () => {
    const { url } = await startEcho()
    const reply = await askJson(url, '/v1/table/t/query', { k: 1, vector: [1] })
    expect(reply.headers['content-type']).toBe('application/vnd.apache.arrow.file')
    expect(reply.headers['x-lancedb-version']).toBe('3')
    expect(reply.text).toBe('ARROW1 and so on')
  })

  test('A-071 a client that accepts only an Arrow IPC stream gets the stream inside the file', async () => {
    const { fake, url } = await startEcho()
    const footer = Buffer.from('the footer')
    const length = Buffer.alloc(4)
    length.writeInt32LE(footer.length)
    const file = Buffer.concat([Buffer.from('ARROW1\0\0the stream'), footer, length, Buffer.from('ARROW1')])
    const stream = 'application/vnd.apache.arrow.stream'
    for (const cut of [1, 7, 8, 9, 20, 30, 40]) {
      fake.answer = () => ({ version: 1, chunks: [file.subarray(0, cut), file.subarray(cut)] })
      const reply = await askJson(url, '/v1/table/t/query', { k: 1, vector: [1] }, { accept: stream })
      expect([reply.headers['content-type'], reply.text]).toEqual([stream, 'the stream'])
    }
    const both = `${stream}, application/vnd.apache.arrow.file`
    const reply = await askJson(url, '/v1/table/t/query', { k: 1, vector: [1] }, { accept: both })
    expect(reply.bytes.equals(file)).toBe(true)
  })

  test('A-121 A-165 exists answers 200 without a body, jobs 202, everything else 200', async () => {
    const { url } = await startEcho()
    const exists = await ask(url, { path: '/v1/table/t/exists' })
    expect([exists.status, exists.bytes.length]).toEqual([200, 0])
    expect((await ask(url, { path: '/v1/table/t/refresh' })).status).toBe(202)
    expect((await askJson(url, '/v1/table/t/backfill_column', { column: 'c' })).status).toBe(202)
    expect((await ask(url, { path: '/v1/namespace/n/create' })).status).toBe(200)
  })

  test('the version that sets the dialect of LanceDB is on every reply', async () => {
    const { url } = await startEcho()
    for (const path of ['/v1/table/t/exists', '/v1/nowhere', '/healthz', '/v1/table/%/exists']) {
      expect((await ask(url, { path })).headers['phalanx-version'], path).toBe('0.5.0')
    }
  })
})

describe('errors', () => {
  test('A-026 an error is an object with type, title, status, detail, instance, code and error', async () => {
    const { fake, url } = await startEcho()
    fake.answer = () => {
      throw new SheafError(ErrorCode.ColumnNotFound, 'no column named "x"', { hint: 'did you mean "y"?' })
    }
    const path = '/v1/table/t/describe'
    expect((await ask(url, { path: `${path}?with_table_uri=true` })).json).toEqual({
      type: '/errors/not-found-error',
      title: 'Not found Error',
      status: 404,
      detail: 'no column named "x" (did you mean "y"?)',
      instance: path,
      code: 12,
      error: 'no column named "x"',
      hint: 'did you mean "y"?',
      docs: 'sheaf/docs/errors.md#columnnotfound',
    })
  })

  test.each([
    [ErrorCode.ServiceUnavailable, 503],
    [ErrorCode.Throttling, 429],
  ])('A-029 code %i is %i with Retry-After', async (code, status) => {
    const { fake, url } = await startEcho()
    fake.answer = () => {
      throw new SheafError(code, 'later')
    }
    const reply = await ask(url, { path: '/v1/table/t/exists' })
    expect([reply.status, reply.headers['retry-after']]).toEqual([status, '1'])
  })

  test('A-164 statuses in the slash dialect: 409 only for code 14, 404 only for what is missing by name', async () => {
    const { fake, url } = await startEcho()
    const lance = async (code: ErrorCode, operation: string) => {
      fake.answer = () => {
        throw new SheafError(code, 'no')
      }
      const [plain, slash] = await Promise.all(
        ['', '/'].map(end => askJson(url, `/v1/table/t/${operation}${end}`, { predicate: 'true' })),
      )
      expect(slash!.json).toMatchObject({ code, status: slash!.status })
      expect(plain!.status).toBe(new SheafError(code, '').status)
      return slash!.status
    }
    const conflicts = [2, 3, 5, 7, 9, 19, 23] as ErrorCode[]
    for (const code of conflicts) expect(await lance(code, 'delete'), `code ${code}`).toBe(400)
    expect(await lance(ErrorCode.ConcurrentModification, 'delete')).toBe(409)
    for (const code of [1, 4, 6] as ErrorCode[]) expect(await lance(code, 'delete'), `code ${code}`).toBe(404)
    for (const code of [8, 10, 12, 22] as ErrorCode[])
      expect(await lance(code, 'delete'), `code ${code}`).toBe(400)
    expect(await lance(ErrorCode.TableVersionNotFound, 'describe')).toBe(404)
    expect(await lance(ErrorCode.TableVersionNotFound, 'delete')).toBe(400)
    expect(await lance(ErrorCode.Unsupported, 'delete')).toBe(406)
    expect(await lance(ErrorCode.ServiceUnavailable, 'delete')).toBe(503)
  })

  test.each(['table t is taken', 'table t already exists'])(
    'A-164 creating a table that exists says "already exists" in the slash dialect: %s',
    async message => {
      const { fake, url } = await startEcho()
      fake.answer = () => {
        throw new SheafError(ErrorCode.TableAlreadyExists, message, { hint: 'or not' })
      }
      const slash = await ask(url, { path: '/v1/table/t/create/', body: 'rows' })
      expect([slash.status, slash.json]).toMatchObject([400, { code: 5, hint: 'or not' }])
      expect(slash.text).toContain('already exists')
      const plain = await ask(url, { path: '/v1/table/t/create', body: 'rows' })
      expect([plain.status, (plain.json as { error: string }).error]).toEqual([409, message])
    },
  )

  test('an internal error is 500 with code 18, and only the log has details', async () => {
    const records: RequestRecord[] = []
    const { fake, url } = await startEcho({ logger: record => records.push(record) })
    const cause = new TypeError('secret at /home/someone/file.ts')
    fake.answer = () => {
      throw cause
    }
    const path = '/v1/table/t/exists'
    const reply = await ask(url, { path })
    expectError(reply, 500, ErrorCode.Internal, path)
    expect(reply.text).not.toMatch(/secret|file\.ts|node:|TypeError/)
    const sizes = { durationMs: expect.any(Number), bytesIn: 0, bytesOut: reply.bytes.length }
    expect(records).toEqual([
      { method: 'POST', path, operation: 'tableExists', status: 500, ...sizes, error: cause },
    ])
  })

  test('a reply that cannot be written is an internal error', async () => {
    const { fake, url } = await startEcho()
    fake.answer = () => ({ properties: { n: 1n } })
    expectError(await ask(url, { path: '/v1/namespace/n/describe' }), 500, 18, '/v1/namespace/n/describe')
  })
})

describe('options', () => {
  test('a port in use, an invalid port and an invalid limit are refused', async () => {
    const { url } = await startEcho()
    const port = Number(new URL(url).port)
    await expect(serve(echo(), { port })).rejects.toMatchObject({
      code: ErrorCode.ServiceUnavailable,
      message: expect.stringContaining(`127.0.0.1:${port}: EADDRINUSE`),
    })
    await expect(serve(echo(), { port: 70_000 })).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
    await expect(serve(echo(), { port: 0, limits: { bodyBytes: Number.NaN } })).rejects.toMatchObject({
      code: ErrorCode.InvalidInput,
    })
  })
})
