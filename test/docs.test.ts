/** What the documents list is what there is. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { aggregateNames } from '../src/sql/binding/aggregates.js'
import { rewriteNames } from '../src/sql/binding/rewrites.js'
import { functionNames } from '../src/sql/functions/functions.js'

test('docs/sql.md names every function, and no other', () => {
  const text = readFileSync(new URL('../docs/sql.md', import.meta.url), 'utf8')
  const [, table] = text.split(/<!-- \/?functions -->/)
  const listed = [...table!.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name!)
  expect(listed.sort()).toEqual([...functionNames, ...rewriteNames, ...aggregateNames].sort())
})

test('what docs/worker.md shows runs', () => {
  const text = readFileSync(new URL('../docs/worker.md', import.meta.url), 'utf8')
  const [, script] = /^```js\n([\s\S]*?)^```/m.exec(text)!
  mkdirSync('dist/readme', { recursive: true })
  // Inside the package, so that `import 'sheaf/worker'` finds it.
  const folder = mkdtempSync(join('dist', 'readme', 'run-'))
  try {
    const file = resolve(folder, 'worker.mjs')
    writeFileSync(file, script!)
    expect(execFileSync(process.execPath, [file], { cwd: folder, encoding: 'utf8' })).toBe('1\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
