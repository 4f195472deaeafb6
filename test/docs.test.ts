/** What the documents list is what there is, and their code runs as it stands. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { operationNames } from '../src/protocol/operations.js'
import { aggregateNames } from '../src/sql/binding/aggregates.js'
import { rewriteNames } from '../src/sql/binding/rewrites.js'
import { functionNames } from '../src/sql/functions/functions.js'
import { blocksOf, docScripts } from './support/doc-blocks.js'

const scripts = docScripts()

test('docs/sql.md names every function, and no other', () => {
  const text = readFileSync('docs/sql.md', 'utf8')
  const [, table] = text.split(/<!-- \/?functions -->/)
  const listed = [...table!.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name!)
  expect(listed.sort()).toEqual([...functionNames, ...rewriteNames, ...aggregateNames].sort())
})

test('what docs/worker.md shows runs', () => {
  expect(scripts.run(...blocksOf('docs/worker.md', 'js'))).toEqual(['1\n'])
})

test('what docs/http.md shows runs, and prints what it says', () => {
  const printed = scripts.run(...blocksOf('docs/http.md', 'js'))
  expect(printed).toHaveLength(8)
  expect(printed[0]).toMatch(
    /^3\n.*"id": 3.*"id": 2.*\n.*"half": 1.25.*\n.*"id": 1, .*\n404 .*did you mean .*price/,
  )
  expect(printed[1]).toMatch(/^1$[\s\S]*^15 /m)
  expect(printed[2]).toBe('https://app.example\n403\n')
  expect(printed[3]).toMatch(/^\[\]$/m)
  expect(printed[4]).toBe('15 not allowed: the database "acme"\n')
  expect(printed[5]).toMatch(/r-17 .*blue[\s\S]*second \(by blue\)/)
})

test('every operation that docs/http.md names is one', () => {
  const text = readFileSync('docs/http.md', 'utf8')
  const verbs = /`((?:alter|batch|cancel|create|declare|deregister|describe|drop|list|rename)[A-Z]\w+)`/g
  const named = [...text.matchAll(verbs)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(10)
  expect(operationNames).toEqual(expect.arrayContaining(named))
})
