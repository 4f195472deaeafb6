/** What the documents list is what there is. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { aggregateNames } from '../src/sql/aggregates.js'
import { functionNames } from '../src/sql/functions.js'
import { rewriteNames } from '../src/sql/rewrites.js'

test('docs/sql.md names every function, and no other', () => {
  const text = readFileSync(new URL('../docs/sql.md', import.meta.url), 'utf8')
  const [, table] = text.split(/<!-- \/?functions -->/)
  const listed = [...table!.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name!)
  expect(listed.sort()).toEqual([...functionNames, ...rewriteNames, ...aggregateNames].sort())
})
