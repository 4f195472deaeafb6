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

test.each(['docs/http-limits.md'])('the JavaScript of %s runs', document => {
  // Inside the package, so that `import 'sheaf'` finds it the way users do.
  mkdirSync('dist/readme', { recursive: true })
  const folder = mkdtempSync(join('dist', 'readme', 'docs-'))
  try {
    const blocks = [...readFileSync(document, 'utf8').matchAll(/^```js\n([\s\S]*?)^```/gm)]
    expect(blocks.length).toBeGreaterThan(0)
    for (const [i, [, text]] of blocks.entries()) {
      const file = join(folder, `block-${i + 1}.mjs`)
      writeFileSync(file, text!)
      execFileSync(process.execPath, [resolve(file)], { cwd: folder, timeout: 60_000 })
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
