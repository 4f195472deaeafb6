/** Which tables are views, and which of them follow their sources, whatever becomes of their names. */
import { expect, test } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import { checkWritable } from '../../src/catalog/lookup.js'
import type { CatalogOp } from '../../src/catalog/ops.js'
import type { CatalogState } from '../../src/catalog/state.js'
import { commit, emptyCatalog, emptyChange } from '../support/catalog.js'

const view = (t: string, auto_refresh: boolean, id: readonly string[]): CatalogOp[] => [
  { op: 'declare', t, id, location: `tables/${t}`, props: {} },
  { op: 'view', t, definition: { kind: 'query', source_query: '{}', auto_refresh, source: null } },
  emptyChange(t, 1),
]
const following = (state: CatalogState) => [...state.following.keys()].sort()

function reloaded(state: CatalogState): CatalogState {
  const loader = catalogMachine.load({ root: 'root', format: 1 })
  for (const text of catalogMachine.save(state)) loader.add(text)
  return loader.end()
}

test('a view keeps its state through renames, checkpoints and other locations', () => {
  let state = commit(emptyCatalog, 1, { op: 'namespace', id: ['n'], props: {} })
  state = commit(
    state,
    2,
    ...view('a', true, ['a']),
    ...view('b', false, ['b']),
    ...view('c', true, ['n', 'c']),
  )
  expect(following(state)).toEqual(['a', 'c'])
  const src = { uuid: 's', version: 3, firstRow: 7 }
  state = commit(state, 3, emptyChange('a', 2), { op: 'shows', t: 'a', src })
  state = commit(state, 4, { op: 'rename', t: 'a', id: ['n', 'x'] })
  for (const each of [state, reloaded(state)]) {
    expect(each.tables.get('a')!.view).toMatchObject({ src, definition: { auto_refresh: true } })
    expect(following(each)).toEqual(['a', 'c'])
    expect(() => checkWritable(each.tables.get('a')!)).toThrow(/materialized view/)
  }
  state = commit(state, 5, { op: 'deregister', t: 'a' })
  expect(following(state)).toEqual(['c'])
  state = commit(reloaded(state), 6, {
    op: 'attach',
    t: 'a',
    location: 'tables/a',
    id: ['n', 'a'],
    props: {},
  })
  expect(following(state)).toEqual(['a', 'c'])
  expect(state.tables.get('a')!.view!.src).toEqual(src)
  state = commit(state, 7, { op: 'namespace', id: ['n'], props: null })
  expect(following(state)).toEqual([])
  state = commit(state, 8, { op: 'drop', t: 'b' })
  expect(state.tables.size).toBe(0)
})
