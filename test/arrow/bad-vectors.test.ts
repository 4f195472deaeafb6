import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commonVectors, soundBatch, soundRows, vectorsIn } from '../../src/arrow/bad-vectors.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { runAtOnce } from '../../src/arrow/steps.js'
import type { Schema } from '../../src/arrow/types.js'
import { batchToRows } from '../../src/arrow/values.js'

const size = 3
const schemaOf = (bits: 16 | 32 | 64): Schema => {
  const item = { name: 'item', type: { kind: 'float', bits }, nullable: true } as const
  const type = { kind: 'fixed_size_list', size, child: item } as const
  return {
    fields: [
      { name: 'id', type: { kind: 'float', bits: 64 }, nullable: false },
      { name: 'a', type, nullable: true },
      { name: 'b', type, nullable: true },
    ],
  }
}

const element = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: -100, max: 100 }) },
  fc.constantFrom(null, Number.NaN, Infinity, -Infinity),
)
const vector = fc.oneof(
  { weight: 8, arbitrary: fc.array(element, { minLength: size, maxLength: size }) },
  fc.constant(null),
)
const rows = fc
  .array(fc.tuple(vector, vector), { maxLength: 40 })
  .map(pairs => pairs.map(([a, b], id) => ({ id, a, b })))
const bits = fc.constantFrom(16, 32, 64)

const isBad = (list: readonly (number | null)[] | null) =>
  list !== null && !list.every(value => value !== null && Number.isFinite(value))

test('bad vectors are handled the same in batches and in plain objects', () => {
  fc.assert(
    fc.property(rows, bits, fc.constantFrom('null', 'skip'), (rows, bits, mode) => {
      const schema = schemaOf(bits as 16 | 32 | 64)
      const sound = soundRows(rows, 10, vectorsIn(schema), mode)
      const expected =
        mode === 'skip'
          ? rows.filter(({ a, b }) => !isBad(a) && !isBad(b))
          : rows.map(({ id, a, b }) => ({ id, a: isBad(a) ? null : a, b: isBad(b) ? null : b }))
      expect(sound.rows).toEqual(expected)
      expect([...(sound.numbers as Uint32Array)]).toEqual(
        (mode === 'skip' ? expected : rows).map(({ id }) => 10 + id),
      )
      const batch = soundBatch(rowsToBatch(rows, schema), schema, mode, 10)
      expect(batchToRows(batch)).toEqual(batchToRows(rowsToBatch(expected, schema)))
      for (const column of batch.columns.slice(1)) expect(column.children[0]!.nullCount).toBe(0)
    }),
  )
})

test('a number is bad if it is infinite in the width of its column; the greatest finite ones are good', () => {
  const edges = {
    16: [65_519, 65_520],
    32: [3.4028235e38, 3.4028236e38],
    64: [Number.MAX_VALUE, Infinity],
  } as const
  for (const bits of [16, 32, 64] as const) {
    const [good, bad] = edges[bits]
    const vectors = vectorsIn(schemaOf(bits))
    const kept = (value: number) =>
      soundRows([{ id: 0, a: [1, value, -value] }], 0, vectors, 'skip').rows.length
    expect([kept(good), kept(bad)]).toEqual([1, 0])
  }
})

test('a value that is not an array of numbers stays, and a later step refuses it', () => {
  const odd = [{ a: 'x' }, { a: [1, 'x', 2] }, { a: 7 }, { a: undefined }, {}]
  expect(soundRows(odd, 0, vectorsIn(schemaOf(32)), 'skip').rows).toEqual(odd)
})

test('the length of a column of vectors is the most frequent one; an empty vector has none', () => {
  const rows = [
    { a: [1], b: [1, 2], c: ['x'], d: [1, null], g: [] },
    { a: [1, 2, 3], b: new Float32Array(2), c: [1], d: [], f: [1], g: new Float64Array(2) },
    { a: [1, 2, 3], b: [1], c: null, d: Uint8Array.of(1), h: new Float64Array(3) },
    { a: null, e: null, h: new Float64Array(3) },
  ]
  expect(runAtOnce(commonVectors(rows, name => name !== 'f'))).toEqual(
    new Map([
      ['a', { size: 3, bits: 32 }],
      ['b', { size: 2, bits: 32 }],
      ['g', { size: 2, bits: 64 }],
      ['h', { size: 3, bits: 64 }],
    ]),
  )
})

test('two lengths that are equally frequent are refused', () => {
  const rows = [{ a: [1, 2, 3] }, { a: [1, 2] }, { a: [1] }, { a: [3, 4] }, { a: [4, 5, 6] }]
  expect(() => runAtOnce(commonVectors(rows, () => true))).toThrow(
    'column "a" has 2 vectors of length 2 and 2 of length 3: it is not clear which are bad',
  )
})
