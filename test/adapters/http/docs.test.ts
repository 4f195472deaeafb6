/** The code in docs/http.md runs as it stands, against the built package. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationNames } from '../../../src/protocol/operations.js'

const text = readFileSync('docs/http.md', 'utf8')

/** Inside the package, so that `import 'sheaf'` finds it the way users do. */
let folder: string

beforeAll(() => {
  mkdirSync('dist/readme', { recursive: true })
  folder = mkdtempSync(join('dist', 'readme', 'http-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every block runs, and prints what it says', () => {
  const blocks = [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, code]) => code!)
  const files = blocks.map((_, i) => `./block-${i + 1}.mjs`)
  for (const [i, code] of blocks.entries()) writeFileSync(join(folder, files[i]!), code)
  const all = join(folder, 'all.mjs')
  // One process, one block after the other.
  writeFileSync(all, files.map(file => `console.log('-- block'); await import('${file}')`).join('\n'))
  const out = execFileSync(process.execPath, [resolve(all)], { cwd: folder, encoding: 'utf8' })
  const printed = out.split('-- block').slice(1)
  expect(printed).toHaveLength(5)
  expect(printed[0]).toMatch(/^1$[\s\S]*^15 /m)
  expect(printed[1]).toMatch(/^\[\]$/m)
  expect(printed[2]).toMatch(/r-17 .*blue[\s\S]*second \(by blue\)/)
})

test('every operation it names is one', () => {
  const verbs = /`((?:alter|batch|create|declare|deregister|describe|drop|list|rename)[A-Z]\w+)`/g
  const named = [...text.matchAll(verbs)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(10)
  expect(operationNames).toEqual(expect.arrayContaining(named))
})
