/** What the documents list is what there is. */
import { readFileSync } from 'node:fs'
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
