import { expect, test } from 'vitest'
import { findTable } from '../../src/catalog/lookup.js'
import type { TableHead } from '../../src/catalog/state.js'
import { decideDeclareTable } from '../../src/catalog/tables.js'
import { decideCreateVersion, decideDeleteVersions } from '../../src/catalog/versions.js'
import { commit, emptyCatalog, emptyChange } from '../support/catalog.js'

const declared = commit(emptyCatalog, 1, decideDeclareTable(emptyCatalog, ['t'], 'u', {}))
const manifest = { path: 'x', scheme: 'V2', meta: {} } as const

function withVersions(kind: 'lance' | 'pointer', ...versions: number[]): TableHead {
  const ops = versions.map(v => ({ op: 'version', t: 'u', v, kind, manifest }) as const)
  return findTable(commit(declared, 2, ...ops), ['t'])
}

function conflict(message: string) {
  return expect.objectContaining({ code: 14, message: expect.stringContaining(message) })
}

test('A-126: the next version of a lance table is the latest + 1, and the first is 1', () => {
  const head = findTable(declared, ['t'])
  expect(decideCreateVersion(head, 1, 'lance', manifest)).toMatchObject({ kind: 'lance', v: 1 })
  expect(() => decideCreateVersion(head, 2, 'lance', manifest)).toThrow(
    conflict('is not the next version, which is'),
  )
  const lance = withVersions('lance', 1, 2)
  expect(() => decideCreateVersion(lance, 2, 'lance', manifest)).toThrow(conflict('exists already'))
  expect(() => decideCreateVersion(lance, 4, 'lance', manifest)).toThrow(
    conflict('not the next version, which is 3'),
  )
  expect(() => decideCreateVersion(lance, 3, 'pointer', manifest)).toThrow(
    expect.objectContaining({ code: 13 }),
  )
})

test('A-126: a pointer table takes any number that was never used, 0 as its first too', () => {
  const head = findTable(declared, ['t'])
  expect(decideCreateVersion(head, 0, 'pointer', manifest).v).toBe(0)
  const pointer = withVersions('pointer', 0, 5)
  expect(decideCreateVersion(pointer, 9, 'lance', manifest)).toMatchObject({ kind: 'pointer', v: 9 })
  for (const v of [0, 5]) {
    expect(() => decideCreateVersion(pointer, v, 'pointer', manifest)).toThrow(conflict('exists already'))
  }
  expect(() => decideCreateVersion(pointer, 3, 'pointer', manifest)).toThrow(conflict('was deleted'))
})

test('a table with rows of Sheaf gets its versions from writes', () => {
  const head = findTable(commit(declared, 2, emptyChange('u', 1)), ['t'])
  expect(() => decideCreateVersion(head, 2, 'lance', manifest)).toThrow(expect.objectContaining({ code: 0 }))
})

test('A-137: ranges end before their end, -1 is through the latest, and overlaps count once', () => {
  const head = withVersions('pointer', 1, 2, 3, 4, 5)
  expect(decideDeleteVersions(head, [{ start_version: 2, end_version: 4 }])).toMatchObject({
    count: 2,
    op: { runs: [[2, 3]] },
  })
  expect(decideDeleteVersions(head, [{ start_version: 0, end_version: -1 }]).count).toBe(5)
  const overlapping = [
    { start_version: 1, end_version: 4 },
    { start_version: 3, end_version: 5 },
  ]
  expect(decideDeleteVersions(head, overlapping).op!.runs).toEqual([[1, 4]])
  expect(decideDeleteVersions(head, [{ start_version: 9, end_version: -1 }])).toEqual({ op: null, count: 0 })
})

test('A-137: the newest version of a table with data stays, a tagged one refuses by name', () => {
  const all = [{ start_version: 0, end_version: -1 }]
  expect(decideDeleteVersions(withVersions('lance', 1, 2, 3), all)).toMatchObject({ count: 2 })
  const tagged = commit(declared, 2, emptyChange('u', 1), emptyChange('u', 2), {
    op: 'tag',
    t: 'u',
    name: 'prod',
    v: 1,
  })
  expect(() => decideDeleteVersions(findTable(tagged, ['t']), all)).toThrow(
    expect.objectContaining({ status: 409, message: expect.stringContaining('prod') }),
  )
})

test('a deleted version never comes back, and the highest number stays', () => {
  const { op } = decideDeleteVersions(withVersions('pointer', 1, 2), [{ start_version: 0, end_version: -1 }])
  const versions = [1, 2].map(v => ({ op: 'version', t: 'u', v, kind: 'pointer', manifest }) as const)
  const head = findTable(commit(commit(declared, 2, ...versions), 3, op!), ['t'])
  expect(head).toMatchObject({ live: [], mark: 2, kind: 'pointer' })
  expect(() => decideCreateVersion(head, 2, 'pointer', manifest)).toThrow(conflict('was deleted'))
  expect(decideCreateVersion(head, 3, 'pointer', manifest).v).toBe(3)
})
