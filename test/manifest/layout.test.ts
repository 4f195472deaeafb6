import { expect, test } from 'vitest'
import { applyChange, countRows } from '../../src/manifest/layout.js'
import { emptyChange } from '../support/catalog.js'

const schema = { id: 1, fields: [] }
const fragment = (id: number, rows: number, row0: number, blob: number) => ({
  id,
  rows,
  ids: { row0 },
  files: [{ blob, bytes: 8, fields: [1] }],
})
const one = applyChange(null, emptyChange('t', 1, { schema, add: [fragment(0, 10, 0, 0)] }), 5)

test('a blob of an entry is found in the slot that carries it', () => {
  expect(one.fragments[0]!.files).toEqual([{ slot: 5, blob: 0, bytes: 8, fields: [1] }])
})

test('appended fragments follow, and the older layout stays as it was', () => {
  const two = applyChange(one, emptyChange('t', 2, { add: [fragment(1, 5, 10, 2)] }), 6)
  expect(two.fragments.map(f => f.id)).toEqual([0, 1])
  expect(countRows(two)).toBe(15)
  expect(countRows(one)).toBe(10)
})

test('dead rows add up', () => {
  const two = applyChange(one, emptyChange('t', 2, { kind: 'delete', dead: [[0, { blob: 0 }, 3]] }), 6)
  const three = applyChange(two, emptyChange('t', 3, { kind: 'delete', dead: [[0, { blob: 1 }, 2]] }), 7)
  expect(three.fragments[0]!.dead).toEqual({
    parts: [
      { slot: 6, blob: 0 },
      { slot: 7, blob: 1 },
    ],
    count: 5,
  })
  expect(countRows(three)).toBe(5)
})

test('an overwrite drops all fragments and keeps nothing of the schema', () => {
  const two = applyChange(
    one,
    emptyChange('t', 2, {
      kind: 'overwrite',
      drop: [0],
      add: [fragment(1, 4, 10, 0)],
      schema: { id: 2, fields: [] },
    }),
    6,
  )
  expect(two.fragments.map(f => f.id)).toEqual([1])
  expect(two.schema.id).toBe(2)
})

test('a change on another base, or of a fragment that is not there, is corruption', () => {
  expect(() => applyChange(one, emptyChange('t', 3), 6)).toThrow(expect.objectContaining({ code: 18 }))
  expect(() => applyChange(one, emptyChange('t', 2, { drop: [7] }), 6)).toThrow(
    expect.objectContaining({ code: 18 }),
  )
  expect(() => applyChange(null, emptyChange('t', 1, { schema: null }), 6)).toThrow(
    expect.objectContaining({ code: 18 }),
  )
})
