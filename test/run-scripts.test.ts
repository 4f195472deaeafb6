/** The npm scripts in a folder with spaces. Copies of tools that only note their arguments stand for the tools. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sheaf a (copy) & more '))
  write('package-lock.json', '{"packages":{"":{}}}')
  mkdirSync(join(root, 'scripts'))
  for (const name of ['run.mjs', 'npm.mjs']) copyFileSync(`scripts/${name}`, join(root, 'scripts', name))
  for (const script of ['scripts/build-kernels.mjs', 'scripts/bundle.mjs']) write(script, noting(script))
})
afterEach(() => rmSync(root, { recursive: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

/** A program that appends its name and its arguments to a file. */
function noting(name: string): string {
  const log = JSON.stringify(join(root, 'log'))
  return `import('node:fs').then(fs => fs.appendFileSync(${log}, JSON.stringify([${JSON.stringify(name)}, ...process.argv.slice(2)]) + '\\n'))`
}

function run(command: string): unknown[] {
  const env = { ...process.env, npm_execpath: join(root, 'npm folder/npm-cli.js') }
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/run.mjs'), command], { env })
  expect([status, String(stderr)]).toEqual([0, ''])
  const lines = readFileSync(join(root, 'log'), 'utf8').trimEnd().split('\n')
  return lines.map(line => JSON.parse(line) as unknown)
}

test('npm scripts run tools without a shell, so paths may have spaces', () => {
  write('node_modules/.package-lock.json', '{"packages":{}}')
  write('node_modules/typescript/package.json', '{"bin":{"tsc":"./bin/tsc"}}')
  write('node_modules/typescript/bin/tsc', noting('tsc'))
  expect(run('build')).toEqual([
    ['scripts/build-kernels.mjs'],
    ['tsc', '-p', 'tsconfig.json'],
    ['scripts/bundle.mjs'],
  ])
})

test('npm installs missing packages of a folder with spaces', () => {
  const tsc = noting('tsc')
  const install = `
    const fs = require('node:fs')
    fs.mkdirSync('node_modules/typescript', { recursive: true })
    fs.writeFileSync('node_modules/typescript/package.json', '{"bin":{"tsc":"tsc"}}')
    fs.writeFileSync('node_modules/typescript/tsc', ${JSON.stringify(tsc)})
  `
  write('npm folder/npm-cli.js', `${noting('npm')}\n${install}`)
  expect(run('build')[0]).toEqual([
    'npm',
    'ci',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--prefix',
    root,
  ])
})
