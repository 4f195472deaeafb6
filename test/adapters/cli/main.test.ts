/** The built program, as a user runs it. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import { usage, usageOf } from '../../../adapters/cli/usage.js'
import { connectHttp } from '../../../adapters/http/client.js'
import { encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { connect } from '../../../src/index.js'
import { filesOf } from '../../support/damage.js'
import { dial } from '../../support/http.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'

const freshRoot = temporaryRoots()
const program = shipped('cli')

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const options = { encoding: 'utf8', timeout: 20_000 } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], options)
  return { status, stdout, stderr }
}

const children: ChildProcessWithoutNullStreams[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

interface Running {
  readonly url: string
  readonly child: ChildProcessWithoutNullStreams
  /** All of standard output so far. */
  readonly lines: string[]
  readonly exit: Promise<readonly [code: number | null, signal: string | null]>
}

/** Starts `sheaf serve` on a free port, and waits for its address. */
async function serve(root: string, ...options: string[]): Promise<Running> {
  const child = spawn(process.execPath, [program, 'serve', root, '--port', '0', ...options])
  children.push(child)
  const exit = once(child, 'exit') as Promise<[number | null, string | null]>
  const lines: string[] = []
  const reader = createInterface(child.stdout).on('line', line => lines.push(line))
  await once(reader, 'line')
  return { url: lines[0]!.replace('listening on ', ''), child, lines, exit }
}

/** Whether somebody listens there. */
async function accepts(url: string): Promise<boolean> {
  const socket = dial(url)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

describe('sheaf', () => {
  test('--help and --version go to standard output', () => {
    const version = JSON.parse(readFileSync('package.json', 'utf8')).version
    expect(run('--help')).toMatchObject({ status: 0, stdout: usage, stderr: '' })
    expect(run('--version')).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' })
    expect(run('help', 'serve')).toMatchObject({ status: 0, stdout: usageOf('serve'), stderr: '' })
  })

  test('arguments that make no sense exit with 2 and say why', () => {
    const result = run('serve')
    expect(result).toMatchObject({ status: 2, stdout: '' })
    expect(result.stderr).toMatch(/^sheaf: serve needs <directory>\n\nUsage: sheaf serve/)
  })

  test('a directory that cannot be written exits with 1 and says why, without a stack', () => {
    const file = freshRoot()
    writeFileSync(file, 'not a directory')
    const result = run('serve', file, '--port', '0')
    expect(result).toMatchObject({ status: 1, stdout: '' })
    expect(result.stderr).toMatch(/^sheaf: .+\n$/)
    expect(result.stderr).toContain(file)
  })

  test('a root that is not there, or is damaged, exits with 1 and says what is wrong, without a stack', async () => {
    const root = freshRoot()
    expect(run('inspect', root)).toEqual({
      status: 1,
      stdout: '',
      stderr: `sheaf: there is no directory "${root}"\n`,
    })
    await (await connect(root)).close()
    writeFileSync(join(root, '_log', '1'.padStart(20, '0')), 'torn')
    for (const command of ['inspect', 'compact']) {
      const result = run(command, root)
      expect(result.status).toBe(1)
      expect(result.stderr).toMatch(/^sheaf: slot 1 is torn.*\n$/)
    }
  })
})

describe('sheaf inspect', () => {
  test('prints what a root contains while another process serves it, and changes nothing', async () => {
    const root = freshRoot()
    await (await connect(root)).close()
    const empty = run('inspect', root)
    expect(empty).toMatchObject({ status: 0, stderr: '' })
    expect(empty.stdout).toMatch(
      /: 0 tables\n {2}root [\w-]+, format 1\n {2}slot 0, checkpoint none; 1 slot, .*\n\n$/,
    )

    const ns = await connect(root, { maintenance: { compact: false } })
    await ns.createNamespace('ns1', { properties: { owner: 'ann' } })
    const table = await ns.createTable('ns1$t', [{ a: 1 }, { a: 2 }])
    await table.tags.create('first', 1)
    await table.delete('a = 1')
    await ns.createTable('t', [{ a: 1 }])
    await ns.close()
    const { child, exit } = await serve(root)
    const before = [...filesOf(root).keys()]
    const { status, stdout, stderr } = run('inspect', root)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const [, , , , ...tree] = stdout.replace(/ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d /g, ' ').split('\n')
    expect(tree).toEqual([
      't  v1 (create)  1 row  152 B  1 fragment',
      'ns1/  owner=ann',
      '  t  v2 (delete)  1 row  160 B  1 fragment  1 deleted row',
      '    tag first = v1',
      '',
    ])
    const json = run('inspect', root, 'ns1$t', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      id: ['ns1', 't'],
      kind: 'table',
      rows: 1,
      deadRows: 1,
      columns: [{ name: 'a', type: 'float64', nullable: true }],
      versions: [
        { version: 2, operation: 'delete' },
        { version: 1, operation: 'create' },
      ],
    })
    expect([...filesOf(root).keys()]).toEqual(before)
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
  })
})

describe('sheaf compact', () => {
  test('does all due maintenance and prints it, and then finds nothing more to do', async () => {
    const root = freshRoot()
    const ns = await connect(root, { maintenance: { compact: false } })
    const table = await ns.createTable('t', [{ a: 0 }])
    for (let i = 1; i < 10; i++) await table.add([{ a: i }])
    await ns.close()
    const first = run('compact', root, '--keep-versions', '0s')
    expect(first).toMatchObject({ status: 0, stderr: '' })
    expect(first.stdout).toMatch(
      /^t: 10 fragments, now 1; 10 rows, [\d.]+ k?B written\n10 versions expired; checkpoint written\n$/,
    )
    expect(run('compact', root, '--keep-versions=0s')).toEqual({
      status: 0,
      stdout: 'nothing to do\n',
      stderr: '',
    })
  })
})

describe('sheaf verify', () => {
  test('exits with 0 for a sound root, with 1 and a line per problem for a damaged one, and repairs', async () => {
    const root = freshRoot()
    const ns = await connect(root, { maintenance: { compact: false } })
    const table = await ns.createTable('t', [{ a: 1 }])
    for (let i = 1; i < 65; i++) await table.add([{ a: i }])
    await ns.optimize()
    await ns.close()
    const clean = run('verify', root)
    expect(clean).toMatchObject({ status: 0, stdout: '' })
    expect(clean.stderr).toMatch(/^no problems in 1 tables, 66 versions: .*\n$/)

    const [page] = readdirSync(join(root, '_hist'))
    truncateSync(join(root, '_hist', page!), 100)
    const damaged = run('verify', root)
    expect([damaged.status, damaged.stdout]).toEqual([
      1,
      expect.stringMatching(/^page _hist\/\S+\.page: .*\(--repair rebuilds it\)\n$/),
    ])
    const repaired = run('verify', root, '--repair')
    expect(repaired).toMatchObject({ status: 0, stdout: '' })
    expect(repaired.stderr).toMatch(/^repaired: page _hist/)
    expect(run('verify', root).status).toBe(0)
    truncateSync(join(root, '_log', '1'.padStart(20, '0')), 9)
    expect(run('verify', root, '--repair')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('slot _log/'),
    })
    expect(run('verify', freshRoot())).toMatchObject({ status: 1, stdout: '' })
  })
})

describe('sheaf doctor', () => {
  test('checks a directory, says that it is fit, and leaves nothing behind', () => {
    const root = freshRoot()
    mkdirSync(root)
    const { status, stdout, stderr } = run('doctor', root)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.filter(line => line.startsWith('passed  ')).length).toBeGreaterThan(10)
    expect(stdout).toMatch(/^ {2}put( +\d+\.\d+){4}$/m)
    expect(lines.at(-1)).toBe(`${root} is fit for a root.`)
    expect(readdirSync(root)).toEqual([])
    const json = run('doctor', root, '--json')
    expect(json).toMatchObject({ status: 0, stderr: '' })
    expect(JSON.parse(json.stdout)).toMatchObject({
      path: root,
      fit: true,
      verdict: lines.at(-1),
      checks: expect.arrayContaining([
        {
          name: 'a second conditional put is refused',
          risk: expect.stringContaining('commit'),
          passed: true,
          ms: expect.any(Number),
          error: null,
        },
      ]),
      latencies: { put: { calls: 100, p50: expect.any(Number) }, get: {}, getRange: {}, list: {} },
    })
    expect(readdirSync(root)).toEqual([])
  })

  test('SIGINT stops it, and it leaves nothing behind', async () => {
    const root = freshRoot()
    mkdirSync(root)
    const child = spawn(process.execPath, [program, 'doctor', root])
    children.push(child)
    const exit = once(child, 'exit')
    await once(createInterface(child.stdout), 'line')
    child.kill('SIGINT')
    expect(await exit).toEqual([130, null])
    expect(readdirSync(root)).toEqual([])
  })

  test('leaves nothing behind if the program that reads its output ends early', async () => {
    const root = freshRoot()
    mkdirSync(root)
    const child = spawn(process.execPath, [program, 'doctor', root])
    children.push(child)
    const exit = once(child, 'exit')
    await once(child.stdout, 'data')
    child.stdout.destroy()
    expect(await exit).toEqual([0, null])
    expect(readdirSync(root)).toEqual([])
  })

  test.each([
    ['s3://bucket/prefix', 1, '(npm install @aws-sdk/client-s3)\n'],
    ['az://container', 1, '(npm install @azure/storage-blob@12.32)\n'],
    ['gs://bucket', 1, '(npm install @google-cloud/storage@7)\n'],
    ['s3:///prefix', 1, 'names no bucket'],
    ['https://host/bucket', 1, 'use connectHttp'],
    ['./no/such/directory', 1, 'there is no directory "./no/such/directory"\n'],
    ['memory://', 2, 'doctor needs a directory or a bucket, not memory://\n'],
  ])('%s exits with %i, and says what to do', (directory, status, text) => {
    const result = run('doctor', directory)
    expect([result.status, result.stdout]).toEqual([status, ''])
    expect(result.stderr).toContain(text)
    expect(result.stderr).not.toContain('    at ')
  })
})

describe('sheaf serve', () => {
  test('prints its address as the only line of its output, serves, and keeps what was written', async () => {
    const root = freshRoot()
    const first = await serve(root)
    expect(first.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const ns = connectHttp(first.url)
    await ns.createTable('t', [{ a: 1 }, { a: 2 }])
    await ns.close()
    first.child.kill('SIGTERM')
    expect(await first.exit).toEqual([0, null])
    expect(first.lines).toHaveLength(1)

    const second = await serve(root)
    const again = connectHttp(second.url)
    expect(await (await again.openTable('t')).countRows()).toBe(2)
    await again.close()
    second.child.kill('SIGINT')
    expect(await second.exit).toEqual([0, null])
  })

  test('a closed terminal stops it like SIGTERM, also if its messages cannot be written', async () => {
    const { child, exit } = await serve(freshRoot(), '--log', 'text')
    child.stderr.destroy()
    child.kill('SIGHUP')
    expect(await exit).toEqual([0, null])
  })

  test('a port in use exits with 1 and says what to do', async () => {
    const { url } = await serve(freshRoot())
    const result = run('serve', freshRoot(), '--port', new URL(url).port)
    expect(result).toMatchObject({ status: 1, stdout: '' })
    expect(result.stderr).toMatch(/^sheaf: cannot listen on .*EADDRINUSE \(choose another port/)
  })

  test('a caller without a secret gets another answer than a caller with one, and no secret is in the log', async () => {
    const root = freshRoot()
    const file = `${root}.tokens`
    writeFileSync(file, '# of the team\n\nann = hunter2\nbob\n')
    const misuse = run('serve', root, '--tokens-file', file)
    expect(misuse).toMatchObject({ status: 2, stdout: '' })
    expect(misuse.stderr).toContain(`sheaf: --tokens-file: line 4 of "${file}" must be name=secret\n`)
    expect(misuse.stderr).not.toContain('hunter2')
    writeFileSync(file, 'ann = hunter2\n')
    // Of one owner, and the other one as secret.
    const key = `${root}.keys`
    writeFileSync(key, 'ann = hunter3\n')
    const secrets = ['--tokens-file', file, '--api-keys-file', key]
    const { url, child, exit } = await serve(root, ...secrets, '--log', 'json')
    const logged = child.stderr.setEncoding('utf8').toArray() as Promise<string[]>
    await (await fetch(`${url}/v1/table/hunter2$hunter3/describe`, { method: 'POST' })).text()
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    const [line, ...rest] = (await logged).join('').split('\n')
    expect(JSON.parse(line!)).toMatchObject({ method: 'POST', path: '/v1/table/[secret]$[secret]/describe' })
    expect(rest[0]).toMatch(/^sheaf: SIGTERM: answering/)
    expect((await logged).join('')).not.toContain('hunter')
  })

  test('many databases: every directory below the one it was given', async () => {
    const root = freshRoot()
    await (await connect(join(root, 'main'))).close()
    const { url, child, exit } = await serve(root, '--databases', '--default-database', 'main')
    const create = (database: Record<string, string>) =>
      fetch(`${url}/v1/namespace/n/create`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...database },
        body: '{}',
      })
    expect((await create({})).status).toBe(200)
    expect((await create({ 'x-lancedb-database': 'other' })).status).toBe(400)
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    expect(readdirSync(root)).toEqual(['main'])
    await using main = await connect(join(root, 'main'))
    expect(await main.namespaceNames()).toEqual(['n'])
  })

  test('workers serve requests within the limits of the server', async () => {
    // A compaction would join the rows to one batch, and one batch may take all memory.
    await using other = await connect('memory://', { maintenance: { compact: false } })
    const rows = Array.from({ length: 1000 }, (_, id) => ({ id, text: 'x'.repeat(600) }))
    const table = await other.createTable('t', rows)
    const file = await table.query().toIpc()
    for (let i = 0; i < 3; i++) await table.add(rows)
    const root = freshRoot()
    const { url, child, exit } = await serve(root, '--workers', '2', '--max-uploads', '1MiB')
    const headers = { 'content-type': 'application/vnd.apache.arrow.file' }
    const post = async (path: string, body: Uint8Array) =>
      (await fetch(`${url}/v1/table/t/${path}`, { method: 'POST', headers, body })).status
    expect(await post('create', file)).toBe(200)
    // A merge holds all batches of its rows.
    expect(
      await post('merge_insert?on=id&when_not_matched_insert_all=true', await table.query().toIpc()),
    ).toBe(413)
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    await using written = await connect(root, { readOnly: true })
    expect(await (await written.openTable('t')).countRows()).toBe(1000)
    const refused = run('serve', root, '--databases', '--workers', '2')
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--workers')])
  })

  test('tenants: a key opens the databases granted to it and no other', async () => {
    const root = freshRoot()
    const keys = ['--databases', '--create-databases', '--api-keys', 'acme=a-key,globex=g-key']
    const refused = run('serve', root, '--port', '0', ...keys)
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('--grant')])
    const { url, child, exit } = await serve(
      root,
      ...keys,
      '--grant',
      'acme=acme',
      '--grant',
      'globex=globex',
    )
    const open = async (key: string, database: string) => {
      const headers = { 'x-api-key': key, 'x-lancedb-database': database }
      return (await fetch(`${url}/v1/table`, { headers })).status
    }
    expect(await open('a-key', 'acme')).toBe(200)
    expect(await open('g-key', 'acme')).toBe(403)
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
  })

  test('SIGTERM answers the request that has begun, then exits with 0', async () => {
    const { url, child, exit } = await serve(freshRoot())
    const ns = connectHttp(url)
    await ns.createTable('t', [{ a: 1 }])
    const table = await ns.openTable('t')
    const batch = rowsToBatch([{ a: 2 }])
    const stream = Buffer.concat(encodeIpcStream(batch.schema, [batch]))
    const request = httpRequest(`${url}/v1/table/${table.id[0]}/insert`, {
      method: 'POST',
      headers: { expect: '100-continue' },
    })
    const answered = once(request, 'response')
    request.flushHeaders()
    await once(request, 'continue')
    child.kill('SIGTERM')
    await expect.poll(() => accepts(url)).toBe(false)
    request.end(stream)
    const [response] = await answered
    expect(response.statusCode).toBe(200)
    expect(JSON.parse(Buffer.concat(await response.toArray()).toString())).toMatchObject({
      num_inserted_rows: 1,
    })
    await ns.close()
    expect(await exit).toEqual([0, null])
  })
})
