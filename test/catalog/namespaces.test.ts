import { expect, test } from 'vitest'
import { namespaceNamesIn } from '../../src/catalog/listing.js'
import { findNamespace } from '../../src/catalog/lookup.js'
import { decideCreateNamespace, decideDropNamespace } from '../../src/catalog/namespaces.js'
import type { CatalogState } from '../../src/catalog/state.js'
import { decideDeclareTable } from '../../src/catalog/tables.js'
import { commit, emptyCatalog } from '../support/catalog.js'

function create(state: CatalogState, ...id: string[]): CatalogState {
  return commit(state, 1, ...decideCreateNamespace(state, id, 'Create', { owner: id.join('/') }))
}

test('a namespace is found under its parent, with its properties', () => {
  const state = create(create(emptyCatalog, 'a'), 'a', 'b')
  expect(findNamespace(state, ['a', 'b']).props).toEqual({ owner: 'a/b' })
  expect(namespaceNamesIn(state, findNamespace(state, ['a']))).toEqual(['b'])
  expect(namespaceNamesIn(state, findNamespace(state, []))).toEqual(['a'])
})

test('a namespace without its parent is refused', () => {
  expect(() => create(emptyCatalog, 'a', 'b')).toThrow(expect.objectContaining({ code: 1 }))
})

test('creating what exists: Create refuses, ExistOk keeps, Overwrite empties', () => {
  let state = create(create(emptyCatalog, 'a'), 'a', 'b')
  state = commit(state, 2, decideDeclareTable(state, ['a', 't'], 'uuid-t', {}))
  expect(() => decideCreateNamespace(state, ['a'], 'Create', {})).toThrow(
    expect.objectContaining({ code: 2 }),
  )
  expect(decideCreateNamespace(state, ['a'], 'ExistOk', { x: '1' })).toEqual([])
  const emptied = commit(state, 3, ...decideCreateNamespace(state, ['a'], 'Overwrite', { x: '1' }))
  const node = findNamespace(emptied, ['a'])
  expect([node.props, node.tables.size, node.namespaces.size]).toEqual([{ x: '1' }, 0, 0])
  expect([...emptied.drops.keys()]).toEqual(['tables/uuid-t'])
})

test('dropping: Restrict refuses a full one, Cascade drops everything below, Skip ignores a missing one', () => {
  let state = create(create(emptyCatalog, 'a'), 'a', 'b')
  state = commit(state, 2, decideDeclareTable(state, ['a', 'b', 't'], 'uuid-t', {}))
  expect(() => decideDropNamespace(state, ['a'], 'Fail', 'Restrict')).toThrow(
    expect.objectContaining({ code: 3 }),
  )
  const dropped = commit(state, 3, ...decideDropNamespace(state, ['a'], 'Fail', 'Cascade'))
  expect(findNamespace(dropped, []).namespaces.size).toBe(0)
  expect([dropped.namespaces.size, dropped.tables.size]).toEqual([1, 0])
  expect(decideDropNamespace(dropped, ['a'], 'Skip', 'Restrict')).toEqual([])
  expect(() => decideDropNamespace(dropped, ['a'], 'Fail', 'Restrict')).toThrow(
    expect.objectContaining({ code: 1 }),
  )
})

test('the root always exists', () => {
  expect(() => decideCreateNamespace(emptyCatalog, [], 'Create', {})).toThrow(
    expect.objectContaining({ code: 2 }),
  )
  expect(decideCreateNamespace(emptyCatalog, [], 'ExistOk', {})).toEqual([])
  expect(() => decideDropNamespace(emptyCatalog, [], 'Fail', 'Cascade')).toThrow(
    expect.objectContaining({ code: 13 }),
  )
})
