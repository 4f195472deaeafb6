import { expect, test } from 'vitest'
import { applyChange, countRows, LayoutBuilder } from '../../src/manifest/layout.js'
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
  expect(one.fragments[0]!.files).toEqual([{ slot: 5, blob: 0, bytes: 8, schema: 1, fields: [1] }])
})

test('appended fragments follow, and the older manifest stays unchanged', () => {
  const two = applyChange(one, emptyChange('t', 2, { add: [fragment(1, 5, 10, 2)] }), 6)
  expect(two.fragments.map(f => f.id)).toEqual([0, 1])
  expect(countRows(two)).toBe(15)
  expect(countRows(one)).toBe(10)
})

test('deleted rows add up', () => {
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

test('a change of the schema leaves the rows unchanged', () => {
  const two = applyChange(one, emptyChange('t', 2, { kind: 'schema', schema: { id: 2, fields: [] } }), 6)
  expect(two).toEqual({ ...one, version: 2, schema: { id: 2, fields: [] }, earlier: [schema] })
})

test('a restore has the fragments of the restored version, and counters that did not go back', () => {
  const two = applyChange(one, emptyChange('t', 2, { kind: 'delete', dead: [[0, { blob: 0 }, 3]] }), 6)
  const next = { row: 500, frag: 9, field: 3 }
  const parts = { kind: 'restore', base: 7, schema: { id: 4, fields: [] }, next } as const
  const restored = applyChange(
    two,
    emptyChange('t', 8, { ...parts, restore: { version: 2, fragments: 1 } }),
    9,
  )
  expect(restored).toEqual({ ...two, version: 8, schema: { id: 4, fields: [] }, earlier: [schema], next })
  const wrong = emptyChange('t', 8, { ...parts, restore: { version: 2, fragments: 2 } })
  expect(() => applyChange(two, wrong, 9)).toThrow(expect.objectContaining({ code: 18 }))
})

test('a manifest taken in between stays unchanged', () => {
  const builder = new LayoutBuilder(one)
  builder.apply(emptyChange('t', 2, { add: [fragment(1, 5, 10, 2)], dead: [[0, { blob: 0 }, 1]] }), 6)
  const two = builder.layout()
  builder.apply(emptyChange('t', 3, { dead: [[0, { blob: 1 }, 1]] }), 7)
  builder.apply(emptyChange('t', 4, { drop: [1], dead: [[0, { blob: 1 }, 8]] }), 8)
  const four = builder.layout()
  expect([one, two, four].map(countRows)).toEqual([10, 14, 0])
  expect(four.fragments.map(f => [f.id, f.dead.parts.length])).toEqual([[0, 3]])
  expect(two.fragments.map(f => [f.id, f.dead.parts.length])).toEqual([
    [0, 1],
    [1, 0],
  ])
})

test('10,000 changes are replayed quickly', () => {
  const builder = new LayoutBuilder(null)
  const begun = performance.now()
  for (let v = 1; v <= 10_000; v++) {
    const dead = v % 2 === 0 ? [[v - 2, { blob: 0 }, 1] as const, [0, { blob: 1 }, 1] as const] : []
    builder.apply(emptyChange('t', v, { add: [fragment(v - 1, 20_000, 0, 0)], dead }), v)
  }
  const layout = builder.layout()
  // A hundred times what it takes.
  expect(performance.now() - begun).toBeLessThan(3000)
  expect(layout.fragments).toHaveLength(10_000)
  expect(layout.fragments[0]!.dead.count).toBe(5_001)
})

test('a change on another base, or of a missing fragment, is corruption', () => {
  expect(() => applyChange(one, emptyChange('t', 3), 6)).toThrow(expect.objectContaining({ code: 18 }))
  expect(() => applyChange(one, emptyChange('t', 2, { drop: [7] }), 6)).toThrow(
    expect.objectContaining({ code: 18 }),
  )
  expect(() => applyChange(one, emptyChange('u', 2), 6)).toThrow(expect.objectContaining({ code: 18 }))
  const tooMany = emptyChange('t', 2, { dead: [[0, { blob: 0 }, 11]] })
  expect(() => applyChange(one, tooMany, 6)).toThrow(expect.objectContaining({ code: 18 }))
  const twice = emptyChange('t', 2, { drop: [0, 0] })
  expect(() => applyChange(one, twice, 6)).toThrow(expect.objectContaining({ code: 18 }))
  expect(() => applyChange(null, emptyChange('t', 1, { schema: null }), 6)).toThrow(
    expect.objectContaining({ code: 18 }),
  )
})
