/** What users install: packed, installed without dev dependencies, weighed and opened. */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const megabytes = 1e6
const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']

let folder: string
let files: { path: string; size: number }[]

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sheaf-package-'))
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder, '--loglevel=error'], {
    stdio: 'pipe',
  })
  const tarball = readdirSync(folder).find(name => name.endsWith('.tgz'))!
  const app = join(folder, 'app')
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{"name":"app","private":true,"type":"module"}')
  execFileSync('npm', ['install', join(folder, tarball), '--omit=dev', '--ignore-scripts', ...quiet], {
    cwd: app,
    stdio: 'pipe',
  })
  const modules = join(app, 'node_modules')
  files = readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => ({ path: path.slice(modules.length + 1), size: statSync(path).size }))
}, 180_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a production install', () => {
  test('is smaller than 20 MB', () => {
    const total = files.reduce((sum, file) => sum + file.size, 0)
    console.log(`production install: ${(total / megabytes).toFixed(2)} MB in ${files.length} files`)
    expect(total).toBeLessThan(20 * megabytes)
  })

  test('has no native code and no install script', () => {
    expect(files.filter(({ path }) => /\.(node|so|dylib|dll)$|binding\.gyp$/.test(path))).toEqual([])
    const manifests = files.filter(({ path }) => /^(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    expect(manifests.length).toBeGreaterThan(1)
    for (const { path } of manifests) {
      const { scripts = {} } = JSON.parse(readFileSync(join(folder, 'app', 'node_modules', path), 'utf8'))
      expect({
        path,
        scripts: Object.keys(scripts).filter(name => /^(pre|post)?install$/.test(name)),
      }).toEqual({
        path,
        scripts: [],
      })
    }
  })

  test('carries types for every entry, and no test, bench or source map', () => {
    const own = files
      .filter(({ path }) => path.startsWith('sheaf/'))
      .map(({ path }) => path.slice('sheaf/'.length))
    const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
    type Condition = { types: string; default: string }
    for (const conditions of Object.values<Record<'import' | 'require', Condition>>(exports)) {
      for (const { types, default: code } of [conditions.import, conditions.require]) {
        expect(own).toContain(types.slice(2))
        expect(own).toContain(code.slice(2))
      }
    }
    expect(own.filter(path => /\.map$|^dist\/(test|bench|scripts)\//.test(path))).toEqual([])
    expect(own).toContain('LICENSE')
  })

  test('loads code for writes at the first write', () => {
    const lib = join(folder, 'app', 'node_modules', 'sheaf', 'dist', 'lib')
    const loaded = new Set(['index.js'])
    for (const name of loaded) {
      const imports = readFileSync(join(lib, name), 'utf8').matchAll(/(?:from|^import)\s*"\.\/([^"]+)"/gm)
      for (const [, imported] of imports) loaded.add(imported!)
    }
    const sizes = (names: Iterable<string>) =>
      [...names].reduce((sum, name) => sum + statSync(join(lib, name)).size, 0)
    const later = readdirSync(lib).filter(name => name.startsWith('shared-later'))
    expect(later).toHaveLength(1)
    expect([...loaded]).not.toContain(later[0])
    console.log(
      `loaded at first: ${(sizes(loaded) / megabytes).toFixed(2)} MB, later: ${sizes(later) / megabytes}`,
    )
    expect(sizes(later)).toBeGreaterThan(0.15 * sizes(loaded))
  })

  test('opens, writes, searches and closes', () => {
    const script = `
      import { connect, SheafError } from 'sheaf'
      import { readCsv, writeCsv } from 'sheaf/files'
      import { serve, connectHttp } from 'sheaf/http'
      import { connectWorker } from 'sheaf/worker'
      import { operations } from 'sheaf/protocol'
      const rows = [{ id: 1, vector: [1, 0] }, { id: 2, vector: [0, 1] }]
      const found = []
      const direct = await connect('./data')
      await writeCsv('rows.csv', rows)
      await direct.createTable('t', readCsv('rows.csv'))
      const server = await serve(direct, { port: 0 })
      const remote = connectHttp(server.url)
      const worker = await connectWorker('./data')
      for (const ns of [direct, remote, worker]) {
        const table = await ns.openTable('t')
        found.push((await table.search([0, 1]).limit(1).toArray())[0].id)
      }
      await worker.close()
      await remote.close()
      await server.close()
      await direct.close()
      console.log(JSON.stringify({ found, operations: Object.keys(operations).length, error: SheafError.name }))`
    writeFileSync(join(folder, 'app', 'main.mjs'), script)
    const out = execFileSync('node', ['main.mjs'], { cwd: join(folder, 'app'), encoding: 'utf8' })
    expect(JSON.parse(out)).toEqual({ found: [2, 2, 2], operations: 72, error: 'SheafError' })
    expect(existsSync(join(folder, 'app', 'node_modules', '.bin', 'sheaf'))).toBe(true)
  })
})

test('the lock file has an entry for every dependency it names, so that npm ci installs it', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, Record<'dependencies' | 'optionalDependencies', Record<string, string>>>
  }
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter(name => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages))
      .map(name => `${path} needs ${name}`),
  )
  expect(missing).toEqual([])
})
