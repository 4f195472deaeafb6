/** Who gets in, and what they may do: over a real server, from the wire. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import { databases } from '../../../adapters/http/databases.js'
import { type Asked, type Authorize, checkBinding } from '../../../adapters/http/gate.js'
import type { RequestRecord, ServeOptions } from '../../../adapters/http/options.js'
import { Secrets } from '../../../adapters/http/secrets.js'
import { serve } from '../../../adapters/http/server.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import { connect } from '../../../src/index.js'
import { type OperationEntry, operationNames, operations } from '../../../src/protocol/operations.js'
import type { Identity } from '../../../src/protocol/request-fields.js'
import { writeRequest } from '../../../src/protocol/wire.js'
import { ask, askJson, dial, type RawReply, repliesOf, sendRaw } from '../../support/http.js'
import { arbitraryOf } from '../../support/shape-arbitrary.js'
import { type Echo, echo } from '../echo.js'
import { servers } from './servers.js'

const start = servers()

async function startEcho(options: ServeOptions): Promise<{ fake: Echo; url: string }> {
  const fake = echo()
  return { fake, url: await start(fake, options) }
}

const describePath = '/v1/table/t/describe'
const auth = { tokens: { ann: 'token-of-ann', bob: 'token-of-bob' }, apiKeys: { robot: 'key-of-robot' } }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

function expectRefused(reply: RawReply, path = describePath): void {
  expect(reply.status).toBe(401)
  expect(reply.headers['www-authenticate']).toBe('Bearer')
  expect(reply.json).toMatchObject({
    type: '/errors/unauthorized-request',
    status: 401,
    code: ErrorCode.Unauthenticated,
    instance: path,
  })
}

describe('secrets', () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 })

  test('only the exact secret identifies its owner', () => {
    fc.assert(
      fc.property(fc.uniqueArray(text, { minLength: 1, maxLength: 5 }), text, (secrets, other) => {
        const named = Object.fromEntries(secrets.map((secret, i) => [`n${i}`, secret]))
        const known = new Secrets(named, 'these')
        for (const [i, secret] of secrets.entries()) expect(known.ownerOf(secret)).toBe(`n${i}`)
        for (const near of [other, '', ...secrets.flatMap(s => [`${s}x`, s.slice(1), s.slice(0, -1)])]) {
          expect(known.ownerOf(near)).toBe(Object.keys(named).find(name => named[name] === near))
        }
      }),
    )
  })

  test.each([
    ['no object', ['a'], 'must be an object'],
    ['an empty secret', { a: '' }, '"a"'],
    ['no text', { a: 7 }, '"a"'],
    ['one secret for two', { a: 'hidden', b: 'hidden' }, '"a" and "b"'],
  ])('%s is refused, and not shown', (_, secrets, message) => {
    const make = () => new Secrets(secrets as Record<string, string>, 'auth.tokens')
    expect(make).toThrow(expect.objectContaining({ code: ErrorCode.InvalidInput }))
    expect(make).toThrow(message)
    expect(make).not.toThrow(/hidden/)
  })
})

describe('authentication', () => {
  test('A-016 any configured token or key is accepted, and nothing else is', async () => {
    const { fake, url } = await startEcho({ auth })
    const inside: Record<string, string>[] = [
      bearer('token-of-ann'),
      { authorization: 'bearer   token-of-bob' },
      { 'x-api-key': 'key-of-robot' },
      { 'x-api-key': 'key-of-robot', ...bearer('wrong') },
      { 'x-api-key': 'wrong', ...bearer('token-of-bob') },
    ]
    for (const headers of inside) expect((await askJson(url, describePath, {}, headers)).status).toBe(200)
    const outside: Record<string, string>[] = [
      {},
      bearer('token-of-an'),
      bearer('token-of-ann2'),
      bearer('key-of-robot'),
      { 'x-api-key': 'token-of-ann' },
      { 'x-api-key': '' },
      { authorization: 'token-of-ann' },
      { authorization: 'Basic token-of-ann' },
      { authorization: 'Bearer' },
    ]
    const heard = fake.heard.length
    for (const headers of outside) expectRefused(await askJson(url, describePath, {}, headers))
    expect(fake.heard).toHaveLength(heard)
  })

  test('A-018 the identity in the body counts if the header has none', async () => {
    const { url } = await startEcho({ auth })
    const body = { identity: { auth_token: 'token-of-ann' } }
    expect((await askJson(url, describePath, body)).status).toBe(200)
    expect((await askJson(url, describePath, { identity: { api_key: 'key-of-robot' } })).status).toBe(200)
    expectRefused(await askJson(url, describePath, body, bearer('wrong')))
    for (const identity of [null, {}, { auth_token: null }, { auth_token: 'wrong' }]) {
      expectRefused(await askJson(url, describePath, { identity }))
    }
    // Where the body is a bare map, what is called identity there is an entry of it.
    const bare = '/v1/table/t/schema_metadata/update'
    expectRefused(await askJson(url, bare, body), bare)
  })

  test('an invalid identity is refused and not shown', async () => {
    const records: RequestRecord[] = []
    const { url } = await startEcho({ logger: record => records.push(record) })
    for (const identity of ['hidden', { auth_token: ['hidden'] }, { api_key: { hidden: 1 } }, ['hidden']]) {
      const reply = await askJson(url, describePath, { identity })
      expect([reply.status, reply.text.includes('hidden')]).toEqual([400, false])
    }
    expect(JSON.stringify(records.map(({ error }) => String(error)))).not.toContain('hidden')
  })

  test.each([describePath, '/v1/table/t/insert'])(
    'wrong credentials in the header are refused before the body of %s is there',
    async path => {
      const { url } = await startEcho({ auth })
      const socket = dial(url)
      const replies = repliesOf(socket)
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer wrong\r\ncontent-length: 1000\r\n\r\n`,
      )
      await new Promise(resolve => socket.once('data', resolve))
      socket.destroy()
      expectRefused((await replies)[0]!, path)
    },
  )

  test.each<[string, readonly string[], number]>([
    ['a key, the second right', ['x-api-key: wrong', 'x-api-key: key-of-robot'], 401],
    ['a key, the first right', ['x-api-key: key-of-robot', 'x-api-key: wrong'], 401],
    ['a token, the second right', ['authorization: Bearer x', 'authorization: Bearer token-of-ann'], 401],
    ['a token and a key, one right', ['authorization: Bearer x', 'x-api-key: key-of-robot'], 200],
  ])('sent twice: %s', async (_, fields, status) => {
    const { url } = await startEcho({ auth })
    const lines = [`POST ${describePath} HTTP/1.1`, 'host: localhost', 'connection: close', ...fields]
    const [reply] = await sendRaw(url, `${lines.join('\r\n')}\r\n\r\n`)
    expect(reply!.status).toBe(status)
  })

  test('an upload without credentials is refused unread, and a large body is not read to find credentials', async () => {
    const { fake, url } = await startEcho({ auth })
    expectRefused(await ask(url, { path: '/v1/table/t/insert', body: 'rows' }), '/v1/table/t/insert')
    const large = { padding: 'x'.repeat(1 << 20), identity: { auth_token: 'token-of-ann' } }
    expect((await askJson(url, describePath, large)).status).toBe(413)
    expect(fake.heard).toHaveLength(0)
    expect((await askJson(url, describePath, large, bearer('token-of-ann'))).status).toBe(200)
  })

  test.each<[string, Record<string, string>, string]>([
    ['without a content type', {}, '{}'],
    ['with another content type', { 'content-type': 'text/plain' }, 'a=1'],
  ])('a body %s is 401 without credentials, and 400 with credentials', async (_, headers, body) => {
    const { fake, url } = await startEcho({ auth })
    expectRefused(await ask(url, { path: describePath, headers, body }), describePath)
    const known = { ...headers, ...bearer('token-of-ann') }
    expect((await ask(url, { path: describePath, headers: known, body })).status).toBe(400)
    expect(fake.heard).toHaveLength(0)
  })

  test('health is public, the list of paths is not', async () => {
    const { url } = await startEcho({ auth })
    expect((await ask(url, { method: 'GET', path: '/healthz' })).status).toBe(200)
    for (const [method, path] of [
      ['GET', '/metrics'],
      ['GET', '/v1/nowhere'],
      ['PUT', describePath],
      ['GET', '/v1/table'],
    ] as const) {
      expectRefused(await ask(url, { method, path }), path)
    }
    const headers = bearer('token-of-ann')
    expect((await ask(url, { method: 'PUT', path: describePath, headers })).status).toBe(405)
    expect((await ask(url, { method: 'GET', path: '/v1/nowhere', headers })).status).toBe(404)
  })

  test('an idempotency key belongs to its caller', async () => {
    const { fake, url } = await startEcho({ auth })
    const keyOf = async (headers: Record<string, string>) => {
      const sent = { ...headers, 'idempotency-key': 'k' }
      expect((await askJson(url, '/v1/table/t/drop', {}, sent)).status).toBe(200)
      return fake.last.options.idempotencyKey
    }
    const ann = await keyOf(bearer('token-of-ann'))
    expect(await keyOf(bearer('token-of-ann'))).toBe(ann)
    expect(await keyOf(bearer('token-of-bob'))).not.toBe(ann)
  })

  test('no token or key is in a reply or in the log, and the log names the caller', async () => {
    const records: RequestRecord[] = []
    const { url } = await startEcho({ auth, logger: record => records.push(record) })
    const headers = { ...bearer('token-of-ann'), cookie: 'token-of-bob', 'x-request-id': 'r1' }
    const replies = [
      await askJson(url, describePath, {}, headers),
      await askJson(url, describePath, { id: 7 }, headers),
      await askJson(url, describePath, {}, bearer('wrong-secret')),
      await askJson(url, describePath, { identity: { api_key: 'wrong-secret' } }),
    ]
    expect(replies.map(({ status }) => status)).toEqual([200, 400, 401, 401])
    expect(records.map(({ principal }) => principal)).toEqual(['ann', 'ann', undefined, undefined])
    const seen =
      JSON.stringify(replies) + JSON.stringify(records.map(({ error, ...rest }) => [String(error), rest]))
    expect(seen).not.toMatch(/token-of|wrong-secret/)
  })

  test('no secret is in a reply if the body is not JSON', async () => {
    const records: RequestRecord[] = []
    const { url } = await startEcho({ auth, logger: record => records.push(record) })
    const headers = { 'content-type': 'application/json' }
    const body = '{"identity":{"api_key":"hidden"},"x":hidden}'
    const reply = await ask(url, { path: describePath, headers, body })
    expect([reply.status, reply.text.includes('hidden')]).toEqual([400, false])
    expect(inspect(records, { depth: 9 })).not.toContain('hidden')
  })

  test('calls are counted by caller, also if the body names the caller', async () => {
    const { fake, url } = await startEcho({ auth, limits: { inFlightPerCaller: 1 } })
    let go = () => {}
    const gone = new Promise<void>(resolve => {
      go = resolve
    })
    const begun = (calls: number) => expect.poll(() => fake.heard.length, { interval: 2 }).toBe(calls)
    fake.answer = () => gone.then(() => ({ location: 'anywhere' }))
    const ann = askJson(url, describePath, {}, bearer('token-of-ann'))
    await begun(1)
    const bob = askJson(url, describePath, { identity: { auth_token: 'token-of-bob' } })
    await begun(2)
    const again = [
      await askJson(url, describePath, { identity: { auth_token: 'token-of-ann' } }),
      await askJson(url, describePath, {}, bearer('token-of-bob')),
    ]
    expect(again.map(({ status }) => status)).toEqual([429, 429])
    go()
    expect([(await ann).status, (await bob).status]).toEqual([200, 200])
    expect(
      (await ask(url, { method: 'GET', path: '/metrics', headers: bearer('token-of-ann') })).status,
    ).toBe(200)
    expect((await ask(url, { method: 'GET', path: '/readyz' })).status).toBe(200)
  })

  test('without auth no caller is asked for credentials', async () => {
    const { url } = await startEcho({})
    expect((await askJson(url, describePath, {}, bearer('anything'))).status).toBe(200)
  })

  test.each([
    ['nothing', {}, 'would refuse every caller'],
    ['no secrets', { tokens: {}, apiKeys: {} }, 'would refuse every caller'],
    ['a way there is not', { token: { a: 'b' } }, 'auth.token'],
    ['no object', 'secret', 'auth must be an object'],
    ['no URL', { jwt: { jwksUrl: 'keys.json' } }, '"keys.json"'],
  ])('auth of %s is refused', async (_, given, message) => {
    const options = { port: 0, auth: given as ServeOptions['auth'] }
    const served = serve(echo(), options)
    await expect(served).rejects.toMatchObject({
      code: ErrorCode.InvalidInput,
      message: expect.stringContaining(message),
    })
  })
})

describe('authorize', () => {
  type Question = [operation: string, id: readonly string[]]

  /** A server that writes down what it is asked, and allows what `allows` allows. */
  async function startAsking(allows: Authorize = () => true, options: ServeOptions = {}) {
    const questions: Question[] = []
    const { fake, url } = await startEcho({
      ...options,
      authorize(operation, id, ...rest) {
        questions.push([operation, id])
        return allows(operation, id, ...rest)
      },
    })
    return { fake, url, questions }
  }

  const version = { version: 1, manifest_path: 'tables/m' }

  test.each<[string, unknown, Question[]]>([
    [describePath, {}, [['describeTable', ['t']]]],
    ['/v1/table/a$b/describe?delimiter=.', { id: ['a$b'] }, [['describeTable', ['a$b']]]],
    ['/v1/table/$$n$t/describe', {}, [['describeTable', ['n', 't']]]],
    ['/v1/namespace/$/describe', {}, [['describeNamespace', []]]],
    [
      '/v1/table/n$t/rename',
      { new_table_name: 'u' },
      [
        ['renameTable', ['n', 't']],
        ['renameTable', ['n', 'u']],
      ],
    ],
    [
      '/v1/table/n$t/rename',
      { new_table_name: 'u', to_root: true },
      [
        ['renameTable', ['n', 't']],
        ['renameTable', ['u']],
      ],
    ],
    [
      '/v1/table/version/batch-create',
      {
        entries: [
          { id: ['a'], ...version },
          { id: ['', 'b'], ...version },
          { id: ['a'], ...version, version: 2 },
        ],
      },
      [
        ['createTableVersion', ['a']],
        ['createTableVersion', ['b']],
      ],
    ],
    [
      '/v1/table/batch-commit',
      {
        operations: [
          { declare_table: { id: ['a'] } },
          { CreateTableVersion: { id: ['b'], ...version } },
          { delete_table_versions: { id: ['c'], ranges: [{ start_version: 0, end_version: 1 }] } },
          { deregister_table: { id: ['d'] } },
        ],
      },
      [
        ['declareTable', ['a']],
        ['createTableVersion', ['b']],
        ['batchDeleteTableVersions', ['c']],
        ['deregisterTable', ['d']],
      ],
    ],
    [
      '/v1/materialized_view/v/create',
      { kind: 'query', source_query: JSON.stringify({ table: 'n$s' }), output_schema: 'x' },
      [
        ['createMaterializedView', ['v']],
        ['queryTable', ['n', 's']],
      ],
    ],
    [
      '/v1/materialized_view/v/create',
      { query: 'SELECT * FROM n."s"' },
      [
        ['createMaterializedView', ['v']],
        ['queryTable', ['n', 's']],
      ],
    ],
    ['/v1/materialized_view/v/drop', {}, [['dropTable', ['v']]]],
    ['/v1/transaction/t1/describe', {}, [['describeTransaction', ['t1']]]],
    ['/v1/jobs/list', {}, [['listJobs', []]]],
    ['/v1/jobs/describe', { job_id: 'j1' }, [['describeJob', ['j1']]]],
    ['/v1/jobs/cancel', { job_id: 'j1' }, [['cancelJob', ['j1']]]],
  ])('%s %j asks for each object it names', async (path, body, expected) => {
    const { fake, url, questions } = await startAsking()
    await askJson(url, path, body)
    expect(questions).toEqual(expected)
    expect(fake.heard).toHaveLength(1)
    // Whichever is refused, nothing is done.
    for (const refused of expected) {
      const strict = await startAsking(
        (operation, id) => JSON.stringify([operation, id]) !== JSON.stringify(refused),
      )
      const reply = await askJson(strict.url, path, body)
      expect([reply.status, (reply.json as { code: number }).code]).toEqual([403, ErrorCode.PermissionDenied])
      expect(strict.fake.heard).toHaveLength(0)
    }
  })

  test('every operation is authorized', async () => {
    const { fake, url } = await startAsking(() => false, { auth })
    for (const name of operationNames) {
      const entry: OperationEntry = operations[name]
      const [request] = fc.sample(arbitraryOf(entry.request), { numRuns: 1, seed: 11 })
      const { method, path, body } = writeRequest(entry, request as Record<string, unknown>)
      const json = { 'content-type': 'application/json' }
      const wire = { method, path, ...(body !== null && { body }) }
      expect((await ask(url, { ...wire, headers: json })).status, name).toBe(401)
      expect(
        (await ask(url, { ...wire, headers: { ...json, ...bearer('token-of-ann') } })).status,
        name,
      ).toBe(403)
    }
    expect(fake.heard).toHaveLength(0)
  })

  test('listings are authorized for the namespace they list, listing all tables for the root', async () => {
    const { url, questions } = await startAsking()
    for (const path of ['/v1/table', '/v1/namespace/n/table/list', '/v1/namespace/n/list']) {
      await ask(url, { method: 'GET', path })
    }
    expect(questions).toEqual([
      ['listAllTables', []],
      ['listTables', ['n']],
      ['listNamespaces', ['n']],
    ])
  })

  test('gets identity, principal, context and database', async () => {
    const seen: [Identity, Asked][] = []
    const { url } = await startAsking(
      (_operation, _id, identity, asked) => {
        seen.push([identity, { ...asked }])
        return true
      },
      { auth },
    )
    const headers = {
      'x-sheaf-ctx-tenant': 'T',
      'x-lancedb-database': 'db',
      'user-agent': 'me',
      cookie: 'c=1',
    }
    await askJson(url, describePath, {}, { ...headers, ...bearer('token-of-bob') })
    await askJson(url, describePath, { identity: { api_key: 'key-of-robot' }, context: { own: 'x' } })
    const [[identity, asked], [second, other]] = seen as [[Identity, Asked], [Identity, Asked]]
    expect(identity).toEqual({ auth_token: 'token-of-bob' })
    expect(asked).toMatchObject({ principal: { name: 'bob' }, database: 'db' })
    expect(asked.context).toMatchObject({
      tenant: 'T',
      'header.user-agent': 'me',
      'header.x-lancedb-database': 'db',
    })
    expect(Object.keys(asked.context).filter(name => /authorization|cookie|api-key/.test(name))).toEqual([])
    expect([second, other.principal, other.context.own]).toEqual([
      { api_key: 'key-of-robot' },
      { name: 'robot' },
      'x',
    ])
  })

  test.each<[string, Authorize, number, number]>([
    ['false', () => false, 403, 15],
    ['false later', async () => false, 403, 15],
    ['nothing', (() => {}) as unknown as Authorize, 403, 15],
    ['what only looks like yes', (() => 'yes') as unknown as Authorize, 403, 15],
    [
      'an error of its own',
      () => {
        throw new TypeError('secret inside')
      },
      403,
      15,
    ],
    [
      'an error for the client',
      () => {
        throw new SheafError(ErrorCode.Throttling, 'not today')
      },
      429,
      21,
    ],
  ])('%s refuses', async (_, authorize, status, code) => {
    const records: RequestRecord[] = []
    const { fake, url } = await startEcho({ authorize, logger: record => records.push(record) })
    const reply = await ask(url, { path: '/v1/table/t/insert', body: 'rows' })
    expect([reply.status, (reply.json as { code: number }).code]).toEqual([status, code])
    expect(reply.text).not.toContain('secret')
    expect(fake.heard).toHaveLength(0)
    if (authorize.toString().includes('secret inside')) {
      expect(records[0]!.error).toMatchObject({ cause: { message: 'secret inside' } })
    }
  })

  test('a refused upload is not read', async () => {
    const { url } = await startAsking(() => false)
    const socket = dial(url)
    const replies = repliesOf(socket)
    socket.write('POST /v1/table/t/insert HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n')
    await new Promise(resolve => socket.once('data', resolve))
    socket.destroy()
    expect((await replies)[0]!.status).toBe(403)
  })

  test('a refused caller, or a caller that finds nothing, learns of no other table', async () => {
    const ns = await connect('memory://')
    await ns.createTable('secret', [{ a: 1 }])
    const url = await start(ns, { authorize: (_, id) => id[0] !== 'secret' && id[0] !== 'nothing' })
    const tell = async (name: string) => {
      const { json } = await askJson(url, `/v1/table/${name}/describe`, {})
      return JSON.stringify(json).replaceAll(name, 'x')
    }
    expect(await tell('secret')).toBe(await tell('nothing'))
    const near = await askJson(url, '/v1/table/secre/describe', {})
    expect([near.status, near.text.includes('secret')]).toEqual([404, false])
    await ns.close()
  })

  test.each(['in this thread', 'in databases'])(
    'a deregistered table may be registered by a caller that may register its former name, %s',
    async where => {
      const root = mkdtempSync(join(tmpdir(), 'sheaf-former-'))
      const ns = await connect(root)
      await ns.createTable('secret', [{ n: 1 }])
      const { location } = await ns.operations.deregisterTable({ id: ['secret'] })
      const isMany = where === 'in databases'
      const all = isMany ? databases(dirname(root), { default: basename(root) }) : undefined
      const names = new Set(['mine'])
      const authorize: Authorize = (_, id) => names.has(id.join('$'))
      const url = await start(all ?? ns, { authorize })
      const register = () => askJson(url, '/v1/table/mine/register', { location })
      const refused = await register()
      expect([refused.status, refused.json]).toMatchObject([403, { code: ErrorCode.PermissionDenied }])
      expect(refused.text).not.toContain('secret')
      expect(await ns.tableNames()).toEqual([])
      names.add('secret')
      expect((await register()).status).toBe(200)
      expect([await ns.tableNames(), await ns.table('mine').countRows()]).toEqual([['mine'], 1])
      await all?.close()
      await ns.close()
      rmSync(root, { recursive: true })
    },
  )

  test('a handle whose table was renamed is authorized for the current name', async () => {
    const ns = await connect('memory://')
    const questions: Question[] = []
    const url = await start(ns, {
      authorize(operation, id) {
        questions.push([operation, id])
        return id.at(-1) !== 'hidden'
      },
    })
    const remote = connectHttp(url)
    const table = await remote.createTable('open', [{ a: 1 }])
    questions.length = 0
    expect(await table.countRows()).toBe(1)
    expect(questions).toEqual([['countTableRows', ['open']]])
    await ns.renameTable('open', 'moved')
    expect(await table.countRows()).toBe(1)
    expect(questions.slice(1)).toEqual([
      ['countTableRows', ['open']],
      ['countTableRows', ['moved']],
    ])
    await ns.renameTable('moved', 'hidden')
    await expect(table.countRows()).rejects.toMatchObject({ code: ErrorCode.PermissionDenied })
    await expect(table.add([{ a: 2 }])).rejects.toMatchObject({ code: ErrorCode.PermissionDenied })
    await remote.close()
    await ns.close()
  })
})

describe('binding', () => {
  test.each(['0.0.0.0', '::', '', '192.168.1.5', 'example.org', '127.0.0.1.example.org', '1270.0.0.1'])(
    '%j needs auth, or the explicit option to go without',
    async host => {
      expect(() => checkBinding(host, {})).toThrow(expect.objectContaining({ code: ErrorCode.InvalidInput }))
      expect(() => checkBinding(host, { auth })).not.toThrow()
      expect(() => checkBinding(host, { allowAnonymous: true })).not.toThrow()
    },
  )

  test.each(['127.0.0.1', '127.8.9.1', 'localhost', 'LOCALHOST', '::1', '::ffff:127.0.0.1'])(
    '%j is this machine only',
    host => expect(() => checkBinding(host, {})).not.toThrow(),
  )

  test('serve refuses before it listens', async () => {
    await expect(serve(echo(), { port: 0, host: '0.0.0.0' })).rejects.toMatchObject({
      code: ErrorCode.InvalidInput,
      hint: expect.stringContaining('allowAnonymous'),
    })
    const url = await start(echo(), { host: '0.0.0.0', allowAnonymous: true })
    expect((await ask(url.replace('0.0.0.0', '127.0.0.1'), { path: '/v1/table/t/exists' })).status).toBe(200)
  })
})
