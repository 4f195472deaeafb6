/** One server, many databases. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Table as ArrowTable, makeVector } from 'apache-arrow'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import { type Databases, type DatabasesOptions, databases } from '../../../adapters/http/databases.js'
import type { RequestRecord } from '../../../adapters/http/options.js'
import { decodeIpc } from '../../../src/arrow/decode-ipc.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect, Namespace } from '../../../src/index.js'
import { askJson } from '../../support/http.js'
import { servers } from './servers.js'

let folder: string
let root: string
const opened: Databases[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sheaf-databases-'))
  root = join(folder, 'root')
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map(each => each.close()))
  rmSync(folder, { recursive: true, force: true })
})

function open(options: DatabasesOptions = {}): Databases {
  const all = databases(root, { connect: { cacheBytes: 1 << 20 }, ...options })
  opened.push(all)
  return all
}

// After what opens them: what comes later ends first.
const start = servers()

const listPath = '/v1/namespace/$/list'
const named = (database: string, prefix?: string) => ({
  'x-lancedb-database': database,
  ...(prefix !== undefined && { 'x-lancedb-database-prefix': prefix }),
})

/** The namespaces of a database, by way of HTTP; what is wrong where it cannot be had. */
async function spaces(url: string, headers: Record<string, string>): Promise<unknown[]> {
  const { hostname, port } = new URL(url)
  const reply = await fetch(`http://${hostname}:${port}${listPath}`, { headers })
  const json = (await reply.json()) as { namespaces: string[]; code: number; error: string }
  return reply.status === 200 ? json.namespaces : [reply.status, json.code, json.error]
}

/** Rows of 16 bytes. */
function numbers(count: number): ArrowTable {
  const column = () => makeVector(new Float64Array(count))
  return new ArrowTable({ a: column(), b: column() })
}

describe('databases', () => {
  test('each is a namespace in the directory of its name', async () => {
    const url = await start(open({ create: true }))
    for (const headers of [named('a'), named('b'), named('dev', 'x/y'), named('dev')]) {
      const name = Object.values(headers).join('-').replaceAll('/', '-')
      const made = await askJson(url, `/v1/namespace/${name}/create`, {}, headers)
      expect(made.status).toBe(200)
      expect(await spaces(url, headers)).toEqual([name])
    }
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'dev'])
    expect(existsSync(join(root, 'dev', 'x', 'y', '_log'))).toBe(true)
    const direct = await connect(join(root, 'a'))
    expect((await direct.operations.listNamespaces({ id: [] })).namespaces).toEqual(['a'])
    await direct.close()
  })

  test('a client of this package names one in its header', async () => {
    const url = await start(open({ create: true }))
    const [a, b] = ['a', 'b'].map(name => connectHttp(url, { headers: named(name) }))
    await a!.createTable('t', [{ n: 1 }])
    expect(await (await a!.openTable('t')).countRows()).toBe(1)
    await expect(b!.openTable('t')).rejects.toMatchObject({ code: ErrorCode.TableNotFound })
    await a!.close()
    await b!.close()
  })

  test('a missing database is 400, not 404, is named in the error, and is not created', async () => {
    mkdirSync(join(root, 'photos'), { recursive: true })
    const url = await start(open())
    for (const name of ['missing', 'photos']) {
      const error = await spaces(url, named(name))
      expect(error).toEqual([400, ErrorCode.InvalidInput, `there is no database "${name}"`])
    }
    expect(readdirSync(root)).toEqual(['photos'])
    expect(readdirSync(join(root, 'photos'))).toEqual([])
  })

  test('a request without a database gets the default one, or an error', async () => {
    const strict = await start(open({ create: true }))
    expect(await spaces(strict, {})).toEqual([400, 13, 'the request has no database'])
    const nameless = { 'x-lancedb-database-prefix': 'a' }
    expect(await spaces(strict, nameless)).toEqual([400, 13, expect.stringContaining('is empty')])
    const kind = await start(open({ create: true, default: 'main' }))
    expect(await spaces(kind, {})).toEqual([])
    expect(existsSync(join(root, 'main', '_log'))).toBe(true)
  })

  test.each([
    '..',
    '.',
    'a/..',
    '../a',
    '/a',
    'a//b',
    'a/',
    '_log',
    'a/_log',
    'tables',
    'a/Tables',
    'a, b',
    'a\\b',
    'a\0',
    '%2e%2e',
    'x'.repeat(256),
    'a/'.repeat(20),
    'CON',
    'a/nul.txt',
    'LPT\u00b9',
    'a.',
    'a ',
    'x:y',
    'acme::$INDEX_ALLOCATION',
    'a*',
  ])('%j is no name', async name => {
    const all = open({ create: true })
    await expect(all.use(name, async () => {})).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
    expect(existsSync(root)).toBe(false)
  })

  test('no database name leads outside the root', async () => {
    const all = open()
    const part = fc.oneof(
      fc.constantFrom('..', '.', '', 'a', '_tmp', '%2e', 'a\\..'),
      fc.string({ maxLength: 3 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 4 }), async parts => {
        const name = parts.join('/')
        await expect(all.use(name, async () => {})).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
      }),
    )
    expect(readdirSync(folder)).toEqual([])
  })

  test('a caller without access to a database does not learn whether it exists', async () => {
    const url = await start(open(), { authorize: (_, __, ___, { database }) => database === 'mine' })
    expect(await spaces(url, named('theirs'))).toEqual([403, 15, 'not allowed: listNamespaces of "$"'])
    expect(await spaces(url, named('mine'))).toEqual([400, 13, expect.any(String)])
  })

  test('the log names the database', async () => {
    const records: RequestRecord[] = []
    const url = await start(open({ create: true }), { logger: record => records.push(record) })
    await spaces(url, named('dev', 'a/b'))
    expect(records).toMatchObject([{ database: 'dev/a/b', status: 200 }])
  })
})

describe('opening and closing', () => {
  test('concurrent calls share one opening', async () => {
    const all = open({ create: true })
    const seen = await Promise.all(
      Array.from({ length: 20 }, () => all.use('a', async operations => operations)),
    )
    expect(new Set(seen).size).toBe(1)
  })

  test('a failed opening fails all waiting calls, and the next call tries again', async () => {
    const all = open()
    const calls = [1, 2].map(() => all.use('a', async () => 'done'))
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
    await (await connect(join(root, 'a'))).close()
    expect(await all.use('a', async () => 'done')).toBe('done')
  })

  test('of idle databases the most recently used stay open', async () => {
    const all = open({ create: true, keepOpen: 2 })
    const operationsOf = (name: string) => all.use(name, async operations => operations)
    const [a, b] = [await operationsOf('a'), await operationsOf('b')]
    expect(await operationsOf('a')).toBe(a)
    await operationsOf('c')
    expect(await operationsOf('a')).toBe(a)
    expect(await operationsOf('b')).not.toBe(b)
  })

  test('no database is closed during a call, and commits are there when it is opened again', async () => {
    const all = open({ create: true, keepOpen: 0 })
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const long = all.use('a', async operations => {
      await held
      await operations.createNamespace({ id: ['n'] })
      return operations
    })
    const meanwhile = await all.use('a', async operations => operations)
    await all.use('b', async () => {})
    release()
    expect(await long).toBe(meanwhile)
    const again = await all.use('a', async operations => {
      expect((await operations.listNamespaces({ id: [] })).namespaces).toEqual(['n'])
      return operations
    })
    expect(again).not.toBe(meanwhile)
  })

  test('a database whose rows are being sent stays open until the last row is sent', async () => {
    const all = open({ create: true, keepOpen: 0 })
    const url = await start(all)
    const count = 1_200_000
    await all.use('a', operations =>
      new Namespace(operations, async () => {}).createTable('t', numbers(count)),
    )
    const reply = await fetch(`${url}/v1/table/t/query`, {
      method: 'POST',
      headers: { ...named('a'), 'content-type': 'application/json' },
      body: JSON.stringify({ vector: [], k: count }),
    })
    expect(reply.headers.get('content-length')).toBe(null)
    let isClosed = false
    const closed = all.close().then(() => {
      isClosed = true
    })
    // Longer than it takes to close a database.
    for (let i = 0; i < 5; i++) expect((await spaces(url, named('a')))[0]).toBe(503)
    expect(isClosed).toBe(false)
    const { batches } = decodeIpc(new Uint8Array(await reply.arrayBuffer()))
    expect(batches.reduce((rows, { length }) => rows + length, 0)).toBe(count)
    await closed
  })

  test('closing waits for running calls, and refuses new ones', async () => {
    const all = open({ create: true })
    const work = all.use('a', operations => operations.createNamespace({ id: ['n'] }))
    const closed = all.close()
    await expect(all.use('a', async () => {})).rejects.toMatchObject({ code: ErrorCode.ServiceUnavailable })
    await work
    await closed
    await all.close()
  })

  test.each<[string, DatabasesOptions]>([
    ['memory://x', {}],
    ['', {}],
    ['root', { keepOpen: -1 }],
    ['root', { default: '../x' }],
  ])('databases(%j, %j) is refused', (path, options) => {
    const make = () => databases(path, options)
    expect(make).toThrow(expect.objectContaining({ code: ErrorCode.InvalidInput }))
  })
})
