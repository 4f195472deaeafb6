import { expect, test } from 'vitest'
import { findTable, tableByUuid, versionOf } from '../../src/catalog/lookup.js'
import { decideDeclareTable, decideDropTable } from '../../src/catalog/tables.js'
import { commit, emptyCatalog, emptyChange } from '../support/catalog.js'

const declared = commit(emptyCatalog, 1, decideDeclareTable(emptyCatalog, ['t'], 'uuid-1', { a: 'b' }))

test('a declared table has a name, a location and no version', () => {
  const head = findTable(declared, ['t'])
  expect(head).toMatchObject({ uuid: 'uuid-1', kind: 'declared', location: 'tables/uuid-1', mark: 0 })
  expect(() => versionOf(head)).toThrow(expect.objectContaining({ code: 11 }))
})

test('a taken name, a missing namespace and the root are refused', () => {
  expect(() => decideDeclareTable(declared, ['t'], 'uuid-2', {})).toThrow(
    expect.objectContaining({ code: 5 }),
  )
  expect(() => decideDeclareTable(declared, ['n', 't'], 'uuid-2', {})).toThrow(
    expect.objectContaining({ code: 1 }),
  )
  expect(() => decideDeclareTable(declared, [], 'uuid-2', {})).toThrow(expect.objectContaining({ code: 13 }))
})

test('names of the language itself are ordinary names', () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    expect(() => findTable(declared, [name])).toThrow(expect.objectContaining({ code: 4 }))
    const state = commit(declared, 2, decideDeclareTable(declared, [name], 'uuid-2', {}))
    expect(findTable(state, [name]).uuid).toBe('uuid-2')
  }
})

test('a version is a link in the chain, and older states keep their own', () => {
  const one = commit(declared, 2, emptyChange('uuid-1', 1))
  const two = commit(one, 3, emptyChange('uuid-1', 2))
  expect(findTable(two, ['t'])).toMatchObject({ kind: 'sheaf', mark: 2 })
  expect(versionOf(findTable(two, ['t']), 1)).toMatchObject({ version: 1, slot: 2, ts: 1002, kind: 'create' })
  expect(() => versionOf(findTable(one, ['t']), 2)).toThrow(expect.objectContaining({ code: 11 }))
})

test('a handle bound to a uuid is gone after a drop, even when the name is back', () => {
  const dropped = commit(declared, 2, decideDropTable(declared, ['t']))
  const again = commit(dropped, 3, decideDeclareTable(dropped, ['t'], 'uuid-2', {}))
  expect(findTable(again, ['t']).uuid).toBe('uuid-2')
  expect(() => tableByUuid(again, 'uuid-1', ['t'])).toThrow(expect.objectContaining({ code: 4 }))
  expect([...again.drops.keys()]).toEqual(['tables/uuid-1'])
})

test('a misspelt name gets the nearest one as hint', () => {
  const state = commit(emptyCatalog, 1, decideDeclareTable(emptyCatalog, ['packages'], 'u', {}))
  expect(() => findTable(state, ['pakages'])).toThrow(
    expect.objectContaining({ code: 4, hint: 'did you mean "packages"?' }),
  )
})
