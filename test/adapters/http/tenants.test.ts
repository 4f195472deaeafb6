/** Databases that are granted to callers: each opens its own and no other. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import { type Databases, databases } from '../../../adapters/http/databases.js'
import { type AuthOptions, Gate, type Principal } from '../../../adapters/http/gate.js'
import type { ServeOptions } from '../../../adapters/http/options.js'
import { serve } from '../../../adapters/http/server.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect } from '../../../src/index.js'
import { type OperationEntry, operationNames, operations } from '../../../src/protocol/operations.js'
import { ask, askJson } from '../../support/http.js'
import { servers } from './servers.js'

let root: string
const opened: Databases[] = []

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sheaf-tenants-'))
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map(each => each.close()))
  rmSync(root, { recursive: true, force: true })
})

const start = servers()

const auth: AuthOptions = {
  apiKeys: { acme: 'key-of-acme', globex: 'key-of-globex', ops: 'key-of-ops', idle: 'key-of-idle' },
  tokens: { acme: 'token-of-acme' },
  grants: { acme: ['acme', 'acme/test'], globex: ['globex'], ops: ['*'] },
}

async function startTenants(options: ServeOptions = { auth }): Promise<{ url: string; location: string }> {
  const acme = await connect(join(root, 'acme'))
  await acme.createTable('secret', [{ n: 1 }])
  const { location } = await acme.operations.describeTable({ id: ['secret'] })
  await acme.close()
  await (await connect(join(root, 'globex'))).close()
  const all = databases(root, { create: true, default: 'acme', connect: { cacheBytes: 1 << 20 } })
  opened.push(all)
  return { url: await start(all, options), location: location! }
}

const keyOf = (name: string) => ({ 'x-api-key': `key-of-${name}` })
const named = (database: string) => ({ 'x-lancedb-database': database })
const count = '/v1/table/secret/count_rows'
const denied = { status: 403, json: { code: ErrorCode.PermissionDenied } }

test('a key opens only its own databases, in any header that names them', async () => {
  const { url } = await startTenants()
  const open: [number, Record<string, string>][] = [
    [200, { ...keyOf('acme'), ...named('acme') }],
    [200, { authorization: 'Bearer token-of-acme', ...named('acme') }],
    [200, { ...keyOf('ops'), ...named('acme') }],
    // The default database is granted like any other.
    [200, keyOf('acme')],
    [403, keyOf('globex')],
    [403, { ...keyOf('globex'), ...named('acme') }],
    [403, { ...keyOf('globex'), ...named('acme'), 'x-lancedb-database-prefix': 'test' }],
    [403, { ...keyOf('globex'), ...named('globex/../acme') }],
    [403, { ...keyOf('globex'), ...named('globex,acme') }],
    [403, { ...keyOf('globex'), ...named('ACME') }],
    [403, { ...keyOf('globex'), ...named('*') }],
    [403, { ...keyOf('globex'), ...named('not-there') }],
    [403, { ...keyOf('acme'), ...named('acme/test/deeper') }],
    [403, { ...keyOf('idle'), ...named('acme') }],
    [403, { ...keyOf('idle'), ...named('idle') }],
    [400, { ...keyOf('ops'), ...named('acme,globex') }],
  ]
  for (const [status, headers] of open) {
    expect([headers, (await askJson(url, count, {}, headers)).status]).toEqual([headers, status])
  }
  const inBody = { identity: { api_key: 'key-of-globex' } }
  expect(await askJson(url, count, inBody, named('acme'))).toMatchObject(denied)
  expect(
    (await askJson(url, '/v1/namespace/n/create', {}, { ...keyOf('acme'), ...named('acme/test') })).status,
  ).toBe(200)
  // Nothing was made on the way.
  expect(readdirSync(root).sort()).toEqual(['acme', 'globex'])
})

test('no route opens a database that is not granted', async () => {
  const { url } = await startTenants()
  const headers = { 'content-type': 'application/json', ...keyOf('globex'), ...named('acme') }
  for (const name of operationNames) {
    const { routes }: OperationEntry = operations[name]
    for (const route of routes) {
      const [method, path] = route.split(' ') as [string, string]
      const body = method === 'GET' ? undefined : '{}'
      const reply = await ask(url, {
        method,
        path: path.replaceAll(/\{[^}]+\}/g, 'secret'),
        headers,
        ...(body && { body }),
      })
      expect([route, reply.status]).toEqual([route, 403])
    }
  }
})

test('the location of a table of another database opens nothing', async () => {
  const { url, location } = await startTenants()
  const globex = { ...keyOf('globex'), ...named('globex') }
  const folder = location.slice(root.length + 1)
  for (const place of [location, `file://${location}`, `../${folder}`, folder, `tables/../../${folder}`]) {
    for (const verb of ['register', 'declare']) {
      const reply = await askJson(url, `/v1/table/stolen/${verb}`, { location: place }, globex)
      expect(reply.status).toBeLessThan(500)
      const counted = await askJson(url, '/v1/table/stolen/count_rows', {}, globex)
      expect([verb, place, counted.status]).toEqual([verb, place, 404])
    }
  }
  const listed = await ask(url, { method: 'GET', path: '/v1/table', headers: globex })
  expect(listed.text).not.toContain('secret')
  const acme = connectHttp(url, { headers: { ...keyOf('acme'), ...named('acme') } })
  expect(await (await acme.openTable('secret')).countRows()).toBe(1)
  await acme.close()
})

test('a table of one database is neither inside nor around another database', async () => {
  const below = await connect(join(root, 'acme', 'below', 'deep'))
  await below.createTable('t', [{ n: 1 }])
  const { location } = await below.operations.describeTable({ id: ['t'] })
  await below.close()
  const acme = await connect(join(root, 'acme'))
  const inside = location!.slice(join(root, 'acme').length + 1)
  for (const place of ['below', 'below/deep', 'below/deep/x', inside]) {
    const refused = { code: ErrorCode.InvalidInput, message: expect.stringContaining('another database') }
    const declare = { id: ['u'], location: place }
    await expect(acme.operations.declareTable(declare)).rejects.toMatchObject(refused)
    await expect(acme.operations.registerTable(declare)).rejects.toMatchObject(refused)
    const batch = acme.operations.batchCommitTables({ operations: [{ declare_table: declare }] })
    await expect(batch).rejects.toMatchObject(refused)
  }
  await acme.operations.declareTable({ id: ['u'], location: 'below/beside' })
  await acme.close()
})

test('`authorize` gets the databases that a caller may open', async () => {
  const seen: (readonly string[] | undefined)[] = []
  const authorize: ServeOptions['authorize'] = (_operation, _id, _identity, { principal }) => {
    seen.push(principal?.databases)
    return true
  }
  const { url } = await startTenants({ auth, authorize })
  expect((await askJson(url, count, {}, { ...keyOf('acme'), ...named('acme') })).status).toBe(200)
  expect(seen).toEqual([['acme', 'acme/test']])
})

test('databases with keys do not start without grants', async () => {
  const all = databases(root)
  opened.push(all)
  const without = { apiKeys: { acme: 'a' } }
  const startWith = (options: ServeOptions) => serve(all, { port: 0, ...options })
  await expect(startWith({ auth: without })).rejects.toMatchObject({
    code: ErrorCode.InvalidInput,
    hint: expect.stringContaining('--grant'),
  })
  for (const options of [
    { auth: without, authorize: () => true },
    { auth: { ...without, grants: {} } },
    {},
  ]) {
    await (await startWith(options)).close()
  }
})

test.each([
  ['a name that nobody has', { acmee: ['acme'] }, 'did you mean "acme"'],
  ['no array', { acme: 'acme' }, 'auth.grants.acme must be an array'],
  ['no database', { acme: ['a//b'] }, 'the database'],
  ['a pattern', { acme: ['acme/../globex'] }, 'the database'],
  ['no object', ['acme'], 'auth.grants must be'],
])('grants of %s are refused', async (_, grants, problem) => {
  const all = databases(root)
  opened.push(all)
  const refused = serve(all, { port: 0, auth: { apiKeys: { acme: 'a' }, grants: grants as never } })
  const error = await refused.catch(cause => cause)
  expect(error).toMatchObject({ code: ErrorCode.InvalidInput })
  expect(`${error.message} ${error.hint}`).toContain(problem)
})

test('grants are refused if all callers share one namespace', async () => {
  const ns = await connect('memory://')
  await expect(serve(ns, { port: 0, auth })).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
  await ns.close()
})

test('what is granted to the owner of a key is not granted to a caller without grants', async () => {
  const gate = await Gate.open(auth, undefined)
  const owner = (await gate.admit({ api_key: 'key-of-globex' })) as Principal
  expect(() => gate.allowDatabase(owner, 'globex')).not.toThrow()
  for (const database of ['acme', 'globex/x', '*', '', 'constructor']) {
    expect(() => gate.allowDatabase(owner, database)).toThrow(
      expect.objectContaining({ code: ErrorCode.PermissionDenied }),
    )
  }
})
