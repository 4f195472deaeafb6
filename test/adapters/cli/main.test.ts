/** The built program, as a user runs it. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import { usage } from '../../../adapters/cli/usage.js'
import { connectHttp } from '../../../adapters/http/client.js'
import { encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { connect } from '../../../src/index.js'
import { dial } from '../../support/http.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'

const freshRoot = temporaryRoots()
const program = shipped('cli')

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', timeout: 20_000 })
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
async function serve(root: string): Promise<Running> {
  const child = spawn(process.execPath, [program, 'serve', root, '--port', '0'])
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
  })

  test('arguments that make no sense exit with 2 and say why', () => {
    const result = run('serve')
    expect(result).toMatchObject({ status: 2, stdout: '' })
    expect(result.stderr).toMatch(/^sheaf: serve needs a directory\n\nUsage: sheaf serve/)
  })

  test('a directory that cannot be written exits with 1 and says why, without a stack', () => {
    const file = freshRoot()
    writeFileSync(file, 'not a directory')
    const result = run('serve', file, '--port', '0')
    expect(result).toMatchObject({ status: 1, stdout: '' })
    expect(result.stderr).toMatch(/^sheaf: .+\n$/)
    expect(result.stderr).toContain(file)
  })
})

describe('sheaf verify', () => {
  test('exits with 0 where all is well, with 1 and a line for each problem where it is not, and repairs', async () => {
    const root = freshRoot()
    const ns = await connect(root, { upkeep: { compact: false } })
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
      expect.stringMatching(/^page _hist\/\S+\.page: .*\(--repair makes it again\)\n$/),
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

describe('sheaf serve', () => {
  test('tells its address as the only line of its output, serves, and keeps what was written', async () => {
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

  test('a port in use exits with 1 and says what to do', async () => {
    const { url } = await serve(freshRoot())
    const result = run('serve', freshRoot(), '--port', new URL(url).port)
    expect(result).toMatchObject({ status: 1, stdout: '' })
    expect(result.stderr).toMatch(/^sheaf: cannot listen on .*EADDRINUSE \(choose another port/)
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
