/** `sheaf view`, as a user runs it. The tables are those of test/lance/tables.test.ts. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { exampleLine } from '../../../adapters/cli/view.js'
import { connectHttp } from '../../../adapters/http/client.js'
import { connect, ErrorCode } from '../../../src/index.js'
import { filesOf } from '../../support/damage.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'

const golden = join(import.meta.dirname, '../../golden/lance-tables')
const freshRoot = temporaryRoots()
const program = shipped('cli')
const children: ChildProcessWithoutNullStreams[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Starts `sheaf view` on a free port, and returns its address. */
async function view(directory: string, ...options: string[]): Promise<string> {
  const child = spawn(process.execPath, [program, 'view', directory, '--port', '0', ...options])
  children.push(child)
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`ended with ${code}`)))
  ended.catch(() => {})
  const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), ended])) as [string]
  return line.replace('listening on ', '')
}

/** Runs `sheaf` until it ends. */
function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('a directory of LanceDB is served, also the versions that are written later', async () => {
  const folder = freshRoot()
  const newest = '18446744073709551609.manifest'
  cpSync(golden, folder, { recursive: true, filter: path => !path.endsWith(newest) })
  const before = [...filesOf(folder).keys()]
  const url = await view(folder)
  await using ns = await connectHttp(url)
  expect(await ns.tableNames()).toEqual(['plain', 'stable'])
  const table = await ns.openTable('plain')
  expect(await table.version()).toBe(5)
  expect((await table.versions()).map(({ version }) => version)).toEqual([1, 2, 3, 4, 5])
  expect(await (await table.checkout('first')).countRows()).toBe(40)
  expect((await table.search([103, 1, 2]).limit(1).toArray())[0]).toMatchObject({ id: 103, _distance: 0 })
  expect((await table.schema()).fields.map(({ name }) => name)).toContain('twice')
  await expect(table.delete('true')).rejects.toMatchObject({
    status: 403,
    code: ErrorCode.PermissionDenied,
    message: 'a directory of LanceDB is read-only',
    hint: expect.stringContaining('write it with LanceDB'),
  })
  expect([...filesOf(folder).keys()]).toEqual(before)
  cpSync(join(golden, 'plain.lance/_versions', newest), join(folder, 'plain.lance/_versions', newest))
  expect(await table.countRows("words = 'new'")).toBe(1)
  expect(run('head', url, 'plain', '--limit', '1', '--version', '1')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^\{"id":0,.*\}\n$/),
  })
})

test('one table is served at its path and at its address, to callers with a key', async () => {
  for (const directory of [join(golden, 'stable.lance'), `lance+${pathToFileURL(golden)}`]) {
    const url = await view(directory, '--tokens', 'me=geheim')
    await expect((await connectHttp(url)).tableNames()).rejects.toMatchObject({ status: 401 })
    await using ns = await connectHttp(url, { headers: { authorization: 'Bearer geheim' } })
    expect(await (await ns.openTable('stable')).countRows()).toBe(40)
  }
})

test('a root is served for reading', async () => {
  const folder = freshRoot()
  await using root = await connect(folder)
  await root.createTable('t', [{ a: 1 }])
  await using ns = await connectHttp(await view(folder))
  const table = await ns.openTable('t')
  expect(await table.countRows()).toBe(1)
  await expect(table.add([{ a: 2 }])).rejects.toMatchObject({ status: 403 })
  await root.table('t').add([{ a: 2 }])
  expect(await table.countRows()).toBe(2)
})

test('a directory without tables, a missing directory and an option of serve are refused', () => {
  const folder = freshRoot()
  expect(run('view', folder)).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/^sheaf: there is no directory ".*" \(pass the directory .*\)\n$/),
  })
  mkdirSync(folder)
  expect(run('view', folder)).toEqual({
    status: 1,
    stdout: '',
    stderr: `sheaf: "${folder}" has no table of LanceDB, and is not a root of Sheaf (sheaf serve creates a root)\n`,
  })
  expect(run('view', folder, '--keep-versions', '1d')).toMatchObject({ status: 2, stdout: '' })
})

test('the line with an example has the credential that the server needs, and quotes names', () => {
  const url = 'http://127.0.0.1:2333'
  expect(exampleLine(url, 'items', undefined)).toBe(`try: npx sheaf head ${url} items`)
  expect(exampleLine(url, "it's", { tokens: {} })).toBe(
    `try: npx sheaf head ${url} 'it'\\''s' --token <token>`,
  )
  expect(exampleLine(url, 'ns$t', { apiKeys: {} })).toBe(`try: npx sheaf head ${url} 'ns$t' --api-key <key>`)
})
