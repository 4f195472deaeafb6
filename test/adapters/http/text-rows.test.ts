/** Rows as JSON, JSON lines and CSV over HTTP, in both directions, and rows by a plain URL. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { tableFromIPC } from 'apache-arrow'
import { afterEach, describe, expect, test } from 'vitest'
import type { ServeOptions } from '../../../adapters/http/options.js'
import { connect, type Namespace, schema } from '../../../src/index.js'
import { ask, askJson } from '../../support/http.js'
import { servers } from './servers.js'

const start = servers()
const opened: Namespace[] = []
afterEach(async () => {
  for (const ns of opened.splice(0)) await ns.close()
})

const types = schema({
  id: 'int64!',
  title: 'string',
  year: 'int32',
  seen: 'timestamp(ms)',
  vector: 'vector(2)',
  tags: 'string[]',
})

const books = [
  { id: 1, title: 'Emma', year: 1815, seen: '2024-01-02T03:04:05.000', vector: [1, 0.5], tags: ['a', 'b'] },
  { id: 2, title: 'comma, "quoted"', year: null, seen: null, vector: null, tags: [] },
  { id: 3, title: 'ßx', year: 1900, seen: '1999-12-31T00:00:00.000', vector: [0, 2], tags: null },
]

async function served(options: ServeOptions = {}): Promise<{ ns: Namespace; url: string }> {
  const ns = await connect('memory://')
  opened.push(ns)
  return { ns, url: await start(ns, options) }
}

async function withBooks(options: ServeOptions = {}): Promise<{ ns: Namespace; url: string }> {
  const both = await served(options)
  await (await both.ns.createTable('books', [], { schema: types })).add(books)
  return both
}

function send(url: string, path: string, type: string | undefined, body: string | Uint8Array, headers = {}) {
  return ask(url, { path, body, headers: { ...(type && { 'content-type': type }), ...headers } })
}

const lines = (rows: readonly object[]) => rows.map(row => `${JSON.stringify(row)}\n`).join('')

describe('rows in', () => {
  test.each([
    ['application/json', JSON.stringify(books)],
    ['application/json; charset=utf-8', `\ufeff ${JSON.stringify(books, null, 2)} \n`],
    ['application/x-ndjson', lines(books)],
    ['application/jsonl', lines(books)],
    [
      'text/csv',
      'id,title,year,seen,vector,tags\n1,Emma,1815,2024-01-02T03:04:05Z,"[1,0.5]","[""a"",""b""]"\n2,"comma, ""quoted""",,,,[]\n3,ßx,1900,1999-12-31,"[0,2]",\n',
    ],
  ])('an insert of %s has the types of the table', async (type, body) => {
    const { ns, url } = await served()
    const table = await ns.createTable('books', [], { schema: types })
    const reply = await send(url, '/v1/table/books/insert', type, body)
    expect([reply.status, reply.json]).toMatchObject([200, { num_inserted_rows: 3, version: 2 }])
    const { ns: other } = await withBooks()
    const expected = await (await other.openTable('books')).query().toArray()
    expect(await table.query().toArray()).toEqual(expected)
  })

  test('a new table has inferred types', async () => {
    const { ns, url } = await served()
    const rows = [
      { id: 1, title: 'a', vector: [1, 2] },
      { id: 2, title: null, vector: [3, 4] },
    ]
    const made = await send(url, '/v1/table/t/create', 'application/json', JSON.stringify(rows))
    expect(made.status).toBe(200)
    const csv = await send(
      url,
      '/v1/table/c/create',
      'text/csv',
      'id,at,name\n1,2024-01-01,x\n2,2024-01-02,\n',
    )
    expect(csv.status).toBe(200)
    const typesOf = async (name: string) =>
      (await (await ns.openTable(name)).schema()).fields.map(field => [field.name, field.type.kind])
    expect(await typesOf('t')).toEqual([
      ['id', expect.any(String)],
      ['title', 'utf8'],
      ['vector', 'fixed_size_list'],
    ])
    expect((await typesOf('c')).map(([name]) => name)).toEqual(['id', 'at', 'name'])
    expect(await (await ns.openTable('t')).countRows()).toBe(2)
  })

  test('overwrite keeps the types of the table', async () => {
    const { ns, url } = await withBooks()
    const row = [{ id: 9, seen: '2024-01-01T00:00:00Z' }]
    const reply = await send(
      url,
      '/v1/table/books/insert?mode=overwrite',
      'application/json',
      JSON.stringify(row),
    )
    expect(reply.status).toBe(200)
    const [only, ...more] = await (await ns.openTable('books')).query().toArray()
    expect([only, more]).toMatchObject([{ id: 9, seen: new Date('2024-01-01'), title: null }, []])
  })

  test('a merge leaves columns unchanged that the first row does not have', async () => {
    const { ns, url } = await withBooks()
    const path =
      '/v1/table/books/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true'
    for (const [type, body] of [
      ['application/json', '[{"id": 1, "year": 1816}, {"id": 7, "year": 7}]'],
      ['application/x-ndjson', '{"id": 2, "year": 2}\n'],
      ['text/csv', 'year,id\n3,3\n'],
    ] as const) {
      expect((await send(url, path, type, body)).status, type).toBe(200)
    }
    const rows = await (await ns.openTable('books')).query().select(['id', 'title', 'year']).toArray()
    expect(rows.sort((a, b) => Number(a.id) - Number(b.id))).toEqual([
      { id: 1, title: 'Emma', year: 1816 },
      { id: 2, title: 'comma, "quoted"', year: 2 },
      { id: 3, title: 'ßx', year: 3 },
      { id: 7, title: null, year: 7 },
    ])
    const later = await send(
      url,
      path,
      'application/x-ndjson',
      '{"id": 1, "year": 1}\n{"id": 2, "title": "x"}\n',
    )
    expect([later.status, later.text]).toEqual([expect.any(Number), expect.stringContaining('title')])
    expect(later.status).toBeGreaterThanOrEqual(400)
  })

  test('parts of an upload may have different forms', async () => {
    const { ns, url } = await withBooks()
    const begun = await askJson(url, '/v1/table/books/multipart_write/create', {})
    const { upload_id: id } = begun.json as { upload_id: string }
    const path = `/v1/table/books/insert?upload_id=${id}&upload_part_id=`
    expect((await send(url, `${path}a`, 'text/csv', 'id,title\n10,x\n')).status).toBe(200)
    expect((await send(url, `${path}b`, 'application/json', '[{"id":11}]')).status).toBe(200)
    const done = await ask(url, { path: `/v1/table/books/multipart_write/complete?upload_id=${id}` })
    expect([done.status, await (await ns.openTable('books')).countRows()]).toEqual([200, 5])
  })

  test.each([
    ['application/json', '[{"id":1},{"id":"x"}]', 'row 1: column "id" has the type int64, got "x"'],
    ['application/json', '[{"id":1},{"id":2,}]', 'row 1 is not valid JSON'],
    ['application/json', '[{"id":1},{"nope":2}]', 'row 1: no column named "nope"'],
    ['application/json', '[{"id":1},[2]]', 'row 1 is not a JSON object: it begins with "["'],
    ['application/json', '[{"id":1}{"id":2}]', 'expected "," or "]" after row 0, got "{"'],
    ['application/json', '[{"id":1},]', 'row 1 is not a JSON object: it begins with "]"'],
    ['application/json', '[{"id":1}] 2', 'expected the end of the text after the JSON array, got "2"'],
    ['application/json', '[{"id":1},{"id":2}', 'ends after 2 complete rows'],
    ['application/json', '{"id":1}', 'must be a JSON array of objects'],
    ['application/json', '', 'the body is empty'],
    ['application/json', '[{"title":"x"}]', 'id'],
    ['application/x-ndjson', '{"id":1}\n\n{"id":2.5}\n', 'line 3: column "id" has the type int64, got 2.5'],
    ['application/x-ndjson', '{"id":1}\n[]\n', 'line 2 is not a JSON object'],
    ['text/csv', 'id,title\n1,a\nx,b\n', 'line 3: column "id" has the type int64, got "x"'],
    ['text/csv', 'id,title\n1\n', 'line 2 has 1 cells, but the file has 2 columns'],
    ['text/csv', 'id,wrong\n1,2\n', 'no column named "wrong"'],
  ])('%s %j is refused, and nothing is stored', async (type, body, message) => {
    const { ns, url } = await withBooks()
    const reply = await send(url, '/v1/table/books/insert', type, body)
    expect(reply.json).toMatchObject({ status: reply.status, error: expect.stringContaining(message) })
    expect([400, 404]).toContain(reply.status)
    expect(await (await ns.openTable('books')).version()).toBe(2)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'text/csv; header=absent',
    'multipart/form-data; boundary=x',
  ])('%s is refused with the known types', async type => {
    const { url } = await withBooks()
    const reply = await send(url, '/v1/table/books/insert', type, 'id\n1\n')
    expect([reply.status, reply.json]).toMatchObject([
      415,
      { code: 13, detail: expect.stringContaining('application/x-ndjson') },
    ])
  })

  test('text that is not UTF-8 is refused', async () => {
    const { url } = await withBooks()
    for (const type of ['application/json', 'application/x-ndjson', 'text/csv']) {
      const bytes = Buffer.from(type === 'text/csv' ? 'title\nx\xff\n' : '[{"title":"x\xff"}]', 'latin1')
      const reply = await send(url, '/v1/table/books/insert', type, bytes)
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('not UTF-8')])
    }
  })

  test('without a content type, rows are Arrow', async () => {
    const { url } = await withBooks()
    const reply = await send(url, '/v1/table/books/insert', undefined, '[{"id":1}]')
    expect([reply.status, reply.json]).toMatchObject([400, { code: 13 }])
  })

  test('limits on bodies, gzip and idempotency keys apply', async () => {
    const { ns, url } = await withBooks({ limits: { bodyBytes: 10_000 } })
    const body = JSON.stringify([{ id: 20 }])
    const key = { 'idempotency-key': 'k', 'content-encoding': 'gzip' }
    const json = 'application/json'
    const first = await send(url, '/v1/table/books/insert', json, gzipSync(body), key)
    const again = await send(url, '/v1/table/books/insert', json, gzipSync(body), key)
    expect([first.status, again.json]).toEqual([200, first.json])
    const other = await send(url, '/v1/table/books/insert', json, gzipSync('[{"id":21}]'), key)
    expect(other.status).toBe(422)
    const large = await send(url, '/v1/table/books/insert', json, `[${'{"id":1},'.repeat(2000)}{"id":1}]`)
    expect(large.status).toBe(413)
    expect(await (await ns.openTable('books')).countRows()).toBe(4)
  })

  test('a caller that may not insert sends no row', async () => {
    const { url } = await withBooks({ authorize: operation => operation !== 'insertIntoTable' })
    const reply = await send(url, '/v1/table/books/insert', 'text/csv', 'wrong\n1\n')
    expect([reply.status, reply.json]).toMatchObject([403, { code: 15 }])
  })

  test('any name of a column is a name', async () => {
    const { ns, url } = await served()
    const rows = '[{"__proto__":1,"a,b":2,"ä":"}]"}]'
    expect((await send(url, '/v1/table/t/create', 'application/json', rows)).status).toBe(200)
    const names = (await (await ns.openTable('t')).schema()).fields.map(({ name }) => name)
    expect(names).toEqual(['__proto__', 'a,b', 'ä'])
    const path = `/v1/table/t/rows?columns=${encodeURIComponent('ä,`a,b`,__proto__')}`
    expect((await ask(url, { method: 'GET', path })).text).toBe('[{"ä":"}]","a,b":2,"__proto__":1}]\n')
  })

  test('rows arrive in chunks cut anywhere', async () => {
    const { ns, url } = await withBooks()
    const body = Buffer.from(
      JSON.stringify([
        { id: 31, title: 'a}"\\{ß' },
        { id: 32, title: '\\"}' },
      ]),
    )
    const { hostname, port } = new URL(url)
    const headers = { 'content-type': 'application/json' }
    const request = httpRequest({ hostname, port, method: 'POST', path: '/v1/table/books/insert', headers })
    for (const byte of body) {
      request.write(Buffer.from([byte]))
      await new Promise(resolve => setImmediate(resolve))
    }
    request.end()
    const [response] = await once(request, 'response')
    response.resume()
    expect(response.statusCode).toBe(200)
    const rows = await (await ns.openTable('books')).query().where('id > 30').select(['title']).toArray()
    expect(rows.map(row => row.title)).toEqual(['a}"\\{ß', '\\"}'])
  })
})

const everything = { vector: null, k: 10 }
const browser = { 'user-agent': 'curl/8' }

describe('rows out', () => {
  test('a query is answered in the form that Accept prefers', async () => {
    const { url } = await withBooks()
    const query = (accept: string) =>
      askJson(url, '/v1/table/books/query', everything, { accept, ...browser })
    const json = await query('application/json')
    expect(json.headers).toMatchObject({ 'content-type': 'application/json', 'x-lancedb-version': '2' })
    expect(json.json).toMatchObject(books.map(({ seen: _, ...row }) => row))
    const ndjson = await query('application/x-ndjson')
    expect(ndjson.headers['content-type']).toBe('application/x-ndjson')
    expect(
      ndjson.text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toEqual(json.json)
    expect((await query('application/jsonl')).headers['content-type']).toBe('application/jsonl')
    const csv = await query('text/csv, application/json;q=0.5')
    expect(csv.headers['content-type']).toBe('text/csv')
    expect(csv.text.split('\n')[0]).toBe('id,title,year,seen,vector,tags')
    expect(csv.text).toContain('2,"comma, ""quoted""",,,,[]')
    for (const accept of ['*/*', 'application/*', 'application/vnd.apache.arrow.stream']) {
      expect(tableFromIPC((await query(accept)).bytes).numRows, accept).toBe(3)
    }
  })

  test('what was written as text can be read back', async () => {
    const { ns, url } = await withBooks()
    const original = await (await ns.openTable('books')).query().toArray()
    for (const type of ['application/json', 'application/x-ndjson', 'text/csv']) {
      const { bytes } = await askJson(url, '/v1/table/books/query', everything, { accept: type, ...browser })
      const copy = await ns.createTable('copy', [], { schema: types, mode: 'overwrite' })
      expect((await send(url, '/v1/table/copy/insert', type, bytes)).status).toBe(200)
      expect(await copy.query().toArray(), type).toEqual(original)
    }
  })

  test('clients that are generated from the specification get Arrow for JSON', async () => {
    const { url } = await withBooks()
    for (const agent of ['OpenAPI-Generator/1.0.0/python', undefined]) {
      const headers = { accept: 'application/json', ...(agent && { 'user-agent': agent }) }
      const reply = await askJson(url, '/v1/table/books/query', everything, headers)
      expect(reply.headers['content-type']).toBe('application/vnd.apache.arrow.file')
    }
  })

  test('integers have all their digits, and no rows are an empty list', async () => {
    const { ns, url } = await served()
    const big = 9007199254740993n
    await ns.createTable('t', [{ n: big, f: Number.NaN }], { schema: schema({ n: 'int64', f: 'float64' }) })
    const query = (accept: string, k: number) =>
      askJson(url, '/v1/table/t/query', { vector: null, k }, { accept, ...browser })
    expect((await query('application/json', 1)).text).toBe('[{"n":9007199254740993,"f":"NaN"}]\n')
    expect((await query('application/json', 0)).text).toBe('[]\n')
    expect((await query('application/x-ndjson', 0)).text).toBe('')
    expect((await query('text/csv', 0)).text).toBe('n,f\n')
  })

  test('a long answer is streamed, and its end is told', async () => {
    const { ns, url } = await served()
    const text = 'x'.repeat(1000)
    const rows = Array.from({ length: 40_000 }, (_, id) => ({ id, text }))
    await ns.createTable('t', rows)
    for (const [accept, least] of [
      ['application/json', 40_000_000],
      ['text/csv', 40_000_000],
    ] as const) {
      const reply = await askJson(url, '/v1/table/t/query', { vector: null, k: 1e9 }, { accept, ...browser })
      expect(reply.headers).toMatchObject({ 'transfer-encoding': 'chunked' })
      expect(reply.bytes.length).toBeGreaterThan(least)
      if (accept === 'application/json') expect((reply.json as object[]).length).toBe(40_000)
    }
  })

  test('a value that no text has is an error', async () => {
    const { ns, url } = await served()
    await ns.createTable('t', [{ at: 10n ** 17n }], { schema: schema({ at: 'timestamp(ms)' }) })
    const reply = await askJson(url, '/v1/table/t/query', everything, { accept: 'text/csv', ...browser })
    expect([reply.status, reply.json]).toMatchObject([
      400,
      { error: expect.stringContaining('row 0: column "at"') },
    ])
  })

  test('other operations with rows answer Arrow only', async () => {
    const { url } = await withBooks()
    const session = await askJson(url, '/v1/table/books/read_session/create', {})
    const [slice] = (session.json as { slices: { token: string }[] }).slices
    const path = '/v1/table/books/read_session/read'
    const reply = await askJson(url, path, { token: slice!.token }, { accept: 'text/csv' })
    expect(reply.status).toBe(406)
  })
})

describe('GET /v1/table/{id}/rows', () => {
  const get = (url: string, query: string, headers = {}) =>
    ask(url, { method: 'GET', path: `/v1/table/books/rows${query}`, headers })

  test('answers JSON, or what format or Accept say', async () => {
    const { url } = await withBooks()
    expect((await get(url, '')).json).toHaveLength(3)
    expect((await get(url, '', { accept: '*/*' })).headers['content-type']).toBe('application/json')
    expect((await get(url, '?columns=id,title&format=csv')).text).toBe(
      'id,title\n1,Emma\n2,"comma, ""quoted"""\n3,ßx\n',
    )
    expect((await get(url, '?columns=id&limit=1', { accept: 'application/x-ndjson' })).text).toBe(
      '{"id":1}\n',
    )
    expect((await get(url, '?columns=id&format=json', { accept: 'text/csv' })).text).toBe(
      '[{"id":1},\n{"id":2},\n{"id":3}]\n',
    )
    const arrow = await get(url, '?format=arrow')
    expect(arrow.headers['content-type']).toBe('application/vnd.apache.arrow.file')
    expect(tableFromIPC((await get(url, '?format=stream')).bytes).numRows).toBe(3)
  })

  test('filters, orders, pages and reads versions', async () => {
    const { ns, url } = await withBooks()
    const ids = async (query: string) => {
      const reply = await get(url, query)
      expect(reply.status, reply.text).toBe(200)
      return (reply.json as { id: number }[]).map(({ id }) => id)
    }
    expect(await ids('?filter=year%20%3E%201850')).toEqual([3])
    expect(await ids('?order=-year,title')).toEqual([3, 1, 2])
    expect(await ids('?order=-id&limit=1&offset=1')).toEqual([2])
    expect(await ids('?columns=id&columns=year&order=%60id%60')).toEqual([1, 2, 3])
    await (await ns.openTable('books')).delete('id = 1')
    expect(await ids('?version=2')).toEqual([1, 2, 3])
    expect(await ids('')).toEqual([2, 3])
  })

  test.each([
    ['?colums=id', 'colums is not a known parameter'],
    ['?columns=', 'columns must be names separated by commas, got ""'],
    ['?columns=id,id', 'columns has the name "id" twice'],
    ['?columns=nope', 'nope'],
    ['?order=-', 'order must have a column name after "-"'],
    ['?limit=-1', 'limit must be an integer from 0'],
    ['?limit=1&limit=2', 'limit is given 2 times'],
    ['?offset=x', 'offset must be an integer from 0'],
    ['?version=1.5', 'version must be an integer from 0'],
    ['?filter=', 'filter must be an SQL predicate'],
    ['?filter=year+%3E', 'year >'],
    ['?format=xml', 'format must be json, ndjson, csv, arrow, stream, got "xml"'],
  ])('%s is refused', async (query, message) => {
    const { url } = await withBooks()
    const reply = await get(url, query)
    expect([400, 404]).toContain(reply.status)
    expect(reply.json).toMatchObject({ detail: expect.stringContaining(message) })
  })

  test('a missing table is 404, an unknown Accept 406, another method 405, a body 400', async () => {
    const { url } = await withBooks()
    expect((await ask(url, { method: 'GET', path: '/v1/table/none/rows' })).json).toMatchObject({
      status: 404,
      code: 4,
    })
    expect((await get(url, '', { accept: 'image/png' })).status).toBe(406)
    expect((await ask(url, { path: '/v1/table/books/rows' })).status).toBe(405)
    const headers = { 'content-type': 'application/json', 'content-length': '2' }
    expect(
      (await ask(url, { method: 'GET', path: '/v1/table/books/rows', headers, body: '{}' })).status,
    ).toBe(400)
  })

  test('is authorized as queryTable', async () => {
    const asked: unknown[] = []
    const auth = { tokens: { ann: 'a long random text' } }
    const authorize = (operation: string, id: readonly string[]) => {
      asked.push([operation, id])
      return id[0] === 'books'
    }
    const { url } = await withBooks({ auth, authorize })
    expect((await get(url, '')).status).toBe(401)
    const headers = { authorization: 'Bearer a long random text' }
    expect((await get(url, '?limit=1', headers)).status).toBe(200)
    expect((await ask(url, { method: 'GET', path: '/v1/table/other/rows', headers })).status).toBe(403)
    expect(asked).toEqual([
      ['queryTable', ['books']],
      ['queryTable', ['other']],
    ])
  })
})

test('/ tells where the document is, and the document describes the route and the forms of rows', async () => {
  const { url } = await withBooks({ basePath: 'db' })
  for (const path of ['/db', '/db/']) {
    const about = await ask(url, { method: 'GET', path })
    expect(about.json).toMatchObject({ name: 'sheaf', openapi: '/db/openapi.json' })
  }
  const { json } = await ask(url, { method: 'GET', path: '/db/openapi.json' })
  const { paths } = json as { paths: Record<string, Record<string, Record<string, unknown>>> }
  const rows = paths['/v1/table/{id}/rows']!.get as { parameters: { name: string }[]; responses: object }
  expect(rows.parameters.map(({ name }) => name)).toEqual([
    ...['id', 'delimiter', 'columns', 'filter', 'order', 'limit', 'offset', 'version', 'format'],
  ])
  const texts = { 'application/json': {}, 'application/x-ndjson': {}, 'text/csv': {} }
  expect(rows.responses).toMatchObject({ 200: { content: texts } })
  for (const name of ['create', 'insert', 'merge_insert']) {
    expect(paths[`/v1/table/{id}/${name}`]!.post).toMatchObject({ requestBody: { content: texts } })
  }
  expect(paths['/v1/table/{id}/query']!.post).toMatchObject({ responses: { 200: { content: texts } } })
})
