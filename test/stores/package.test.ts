/** The packed package with the clients, imported, required and in a bundle. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installPacked } from '../peers/packed.mjs'
import { providers } from './providers.js'
import { Server } from './server.js'

const here = resolve('test/stores')
const programs = join(here, 'node_modules', '.programs')

/** Connects twice, and prints the number of rows. */
const program = (path: string, storage: object | undefined, imports: string) => `
  ${imports}
  async function main() {
    for (let i = 0; i < 2; i++) {
      const ns = await connect(${JSON.stringify(path)}, { storage: ${JSON.stringify(storage)} })
      const table = i === 0 ? await ns.createTable('t', [{ id: 1 }]) : await ns.openTable('t')
      await table.add([{ id: 2 }])
      if (i === 1) console.log(await table.countRows())
      await ns.close()
    }
    const error = await connect(${JSON.stringify(path)}, { create: false, storage: { retries: 'x' } }).catch(each => each)
    console.log(error instanceof SheafError, error.name)
  }
  main()`

function runProgram(name: string, code: string, environment = {}): string {
  const path = join(programs, name)
  writeFileSync(path, code)
  const env = { ...process.env, ...environment }
  return execFileSync(process.execPath, [path], {
    encoding: 'utf8',
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

beforeAll(() => {
  expect(installPacked(here)).toBe(true)
  mkdirSync(programs, { recursive: true })
}, 200_000)
afterAll(() => rmSync(programs, { recursive: true, force: true }))

describe.each(providers.filter(each => each.program !== null))('the package with $name', provider => {
  let server: Server
  beforeAll(async () => {
    server = await Server.start(provider.program!)
    await provider.createBucket(server.url)
  })
  afterAll(() => server?.stop())

  test.each([
    ['imported', 'program.mjs', "import { connect, SheafError } from 'sheaf'"],
    ['required', 'program.cjs', "const { connect, SheafError } = require('sheaf')"],
  ])('connects by a path when it is %s', (kind, name, imports) => {
    const code = program(provider.path(kind), provider.storage(server.url), imports)
    expect(runProgram(name, code)).toBe('3\ntrue InvalidInput\n')
  })

  test.runIf(provider.environment !== null)('is configured by the environment', () => {
    const code = program(
      provider.path('environment'),
      undefined,
      "import { connect, SheafError } from 'sheaf'",
    )
    const printed = runProgram('environment.mjs', code, provider.environment!(server.url))
    expect(printed).toBe('3\ntrue InvalidInput\n')
  })
})

test('a bundle without the package says that the option store is needed', async () => {
  const entry = join(programs, 'entry.mjs')
  writeFileSync(
    entry,
    "import { connect } from 'sheaf'\nconnect('s3://bucket/prefix').catch(error => console.log(error.name, error.hint))",
  )
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-bundle-'))
  try {
    const bundle = await rolldown({ input: entry, platform: 'node', logLevel: 'silent' })
    await bundle.write({ dir: folder, format: 'esm', entryFileNames: 'program.mjs' })
    const { stdout } = spawnSync(process.execPath, [join(folder, 'program.mjs')], { encoding: 'utf8' })
    expect(stdout).toMatch(/^InvalidInput if a bundler packed sheaf .* import openS3Store from 'sheaf\/s3'/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
