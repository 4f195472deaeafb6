import { expect, test } from 'vitest'
import { checkRows, findTable, versionOf } from '../../src/catalog/lookup.js'
import { latestOf } from '../../src/catalog/state.js'
import {
  decideDeclareTable,
  decideDropTable,
  decideProps,
  decideRegisterTable,
  decideRenameTable,
} from '../../src/catalog/tables.js'
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

test('names of JavaScript properties are ordinary table names', () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    expect(() => findTable(declared, [name])).toThrow(expect.objectContaining({ code: 4 }))
    const state = commit(declared, 2, decideDeclareTable(declared, [name], 'uuid-2', {}))
    expect(findTable(state, [name]).uuid).toBe('uuid-2')
  }
})

test('versions exist once made, and older states keep their own', () => {
  const one = commit(declared, 2, emptyChange('uuid-1', 1))
  const two = commit(one, 3, emptyChange('uuid-1', 2))
  expect(findTable(two, ['t'])).toMatchObject({ kind: 'sheaf', mark: 2, live: [[1, 2]] })
  expect(versionOf(findTable(two, ['t']), 1)).toBe(1)
  expect(versionOf(findTable(two, ['t']))).toBe(2)
  expect(() => versionOf(findTable(one, ['t']), 2)).toThrow(expect.objectContaining({ code: 11 }))
})

test('the replay of a long table starts again every 64 changes', () => {
  let state = declared
  for (let v = 1; v <= 130; v++)
    state = commit(state, v + 1, emptyChange('uuid-1', v, { start: state.tables.get('uuid-1')!.start }))
  expect(state.tables.get('uuid-1')!.start).toBe(128)
})

test('a handle bound to a uuid is invalid after a drop, even if the name exists again', () => {
  const dropped = commit(declared, 2, decideDropTable(findTable(declared, ['t'])))
  const again = commit(dropped, 3, decideDeclareTable(dropped, ['t'], 'uuid-2', {}))
  expect(findTable(again, ['t']).uuid).toBe('uuid-2')
  expect(() => findTable(again, ['t'], 'uuid-1')).toThrow(expect.objectContaining({ code: 4 }))
  expect([...again.drops]).toEqual([['tables/uuid-1', { uuid: 'uuid-1', slot: 2, ts: 1002 }]])
})

test('a misspelt name gets the nearest one as hint', () => {
  const state = commit(emptyCatalog, 1, decideDeclareTable(emptyCatalog, ['packages'], 'u', {}))
  expect(() => findTable(state, ['pakages'])).toThrow(
    expect.objectContaining({ code: 4, hint: 'did you mean "packages"?' }),
  )
})

test('a rename changes the name alone; onto itself it does nothing, onto another it is refused', () => {
  const nested = commit(declared, 2, { op: 'namespace', id: ['n'], props: {} })
  const head = findTable(nested, ['t'])
  expect(decideRenameTable(nested, head, 't')).toEqual([])
  expect(() => decideRenameTable(nested, head, 'x', ['missing'])).toThrow(
    expect.objectContaining({ code: 1 }),
  )
  const moved = commit(nested, 3, ...decideRenameTable(nested, head, 'x', ['n']))
  expect(findTable(moved, ['n', 'x'])).toEqual({ ...head, id: ['n', 'x'] })
  expect(findTable(moved, ['t'], 'uuid-1').id).toEqual(['n', 'x'])
  expect(() => findTable(moved, ['t'])).toThrow(expect.objectContaining({ code: 4 }))
  const taken = commit(moved, 4, decideDeclareTable(moved, ['y'], 'uuid-2', {}))
  expect(() => decideRenameTable(taken, findTable(taken, ['y']), 'x', ['n'])).toThrow(
    expect.objectContaining({ code: 5 }),
  )
})

test('A-142: a registered table comes back unchanged, under any name, with properties merged', () => {
  const two = commit(declared, 2, emptyChange('uuid-1', 1), { op: 'tag', t: 'uuid-1', name: 'a', v: 1 })
  const gone = commit(two, 3, { op: 'deregister', t: 'uuid-1' })
  expect(() => findTable(gone, ['t'])).toThrow(expect.objectContaining({ code: 4 }))
  const nothing = { scheme: 'V2', versions: [] } as const
  const ops = decideRegisterTable(
    gone,
    { id: ['u'], uuid: 'uuid-9', location: 'tables/uuid-1', props: { c: 'd' }, found: nothing },
    'Create',
  )
  const back = commit(gone, 4, ...ops)
  expect(findTable(back, ['u'])).toEqual({ ...findTable(two, ['t']), id: ['u'], props: { a: 'b', c: 'd' } })
  expect(back.detached.size).toBe(0)
})

test('what a Lance engine left at a location is registered with its versions', () => {
  const found = {
    scheme: 'V2',
    versions: [
      [3, 10],
      [4, 10],
      [7, 12],
    ],
  } as const
  const ops = decideRegisterTable(
    emptyCatalog,
    { id: ['l'], uuid: 'uuid-1', location: 'old/l.lance', props: {}, found },
    'Create',
  )
  const head = findTable(commit(emptyCatalog, 1, ...ops), ['l'])
  expect(head).toMatchObject({
    kind: 'lance',
    external: true,
    mark: 7,
    live: [
      [3, 4],
      [7, 7],
    ],
  })
  expect(() => checkRows(head)).toThrow(expect.objectContaining({ code: 0 }))
})

test('a location that the caller chose is forgotten, not deleted, and no other table is in or around it', () => {
  const state = commit(emptyCatalog, 1, decideDeclareTable(emptyCatalog, ['a'], 'u1', {}, 'mine/a'))
  for (const location of ['mine/a', 'mine/a/b', 'mine', 'tables', 'tables/u9']) {
    expect(() => decideDeclareTable(state, ['b'], 'u2', {}, location), location).toThrow(
      expect.objectContaining({ code: 13 }),
    )
  }
  expect(decideDeclareTable(state, ['b'], 'u2', {}, 'mine/ab').location).toBe('mine/ab')
  const dropped = commit(state, 2, decideDropTable(findTable(state, ['a'])))
  expect(dropped.drops.size).toBe(0)
  expect(decideDeclareTable(dropped, ['b'], 'u2', {}, 'mine/a').location).toBe('mine/a')
})

test('locations that differ only in case overlap, because some disks ignore case', () => {
  const state = commit(emptyCatalog, 1, decideDeclareTable(emptyCatalog, ['a'], 'u1', {}, 'lake/a'))
  for (const location of ['Lake/A', 'LAKE', 'lake/A/b', 'Tables/u1', 'TABLES']) {
    expect(() => decideDeclareTable(state, ['b'], 'u2', {}, location), location).toThrow(
      expect.objectContaining({
        code: 13,
        message: expect.stringContaining(`location "${location}" overlaps`),
      }),
    )
  }
  expect(decideDeclareTable(state, ['b'], 'u2', {}, 'Lake/B').location).toBe('Lake/B')
})

test('properties are merged by key, up to 64 KiB', () => {
  const head = findTable(declared, ['t'])
  expect(decideProps(head, { a: 'b' })).toEqual([])
  const merged = commit(declared, 2, ...decideProps(head, { c: 'd' }))
  expect(findTable(merged, ['t']).props).toEqual({ a: 'b', c: 'd' })
  expect(() => decideProps(head, { long: 'x'.repeat(65_535) })).toThrow(expect.objectContaining({ code: 13 }))
})

test('an operation of a newer build stops a reader with a clear message', () => {
  expect(() => commit(declared, 2, { op: 'fold', t: 'uuid-1' } as never)).toThrow(
    expect.objectContaining({ code: 0, message: expect.stringContaining('"fold"') }),
  )
})

test('the newest of several versions is the latest', () => {
  expect(latestOf(findTable(declared, ['t']))).toBeUndefined()
  expect(latestOf(findTable(commit(declared, 2, emptyChange('uuid-1', 1)), ['t']))).toBe(1)
})
