/** What is passed over of a column in memory never held a row of the answer. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { Schema } from '../../src/arrow/types.js'
import { BlockZones } from '../../src/query/block-zones.js'
import { bindFilter } from '../../src/sql/binding/bind.js'
import { selectRows } from '../../src/sql/evaluate.js'

const schema: Schema = {
  fields: [
    { name: 'rising', type: { kind: 'int', bits: 64, signed: true }, nullable: true },
    { name: 'mixed', type: { kind: 'float', bits: 64 }, nullable: true },
  ],
}
const length = 40_001
const rows = Array.from({ length }, (_, i) => ({
  rising: i % 1000 === 7 ? null : BigInt(i),
  mixed: i < 10_000 ? Number.NaN : (i * 7919) % length,
}))

/** The rows that pass, looked at as a scan does, `step` rows at a time; and how many were looked at. */
function scanned(text: string, batch: ReturnType<typeof rowsToBatch>, step: number) {
  const filter = bindFilter(text, schema)
  const zones = BlockZones.of(filter, batch, new Map())
  const passing: number[] = []
  let looked = 0
  for (let from = 0, to: number; from < length; from = to) {
    from = zones?.next(from, length) ?? from
    to = Math.min(length, from + step)
    to = zones?.until(from, to) ?? to
    looked += to - from
    for (const row of selectRows(filter, sliceBatch(batch, from, to - from)).toIndices())
      passing.push(from + row)
  }
  return { passing, looked }
}

const conditions = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('rising', 'mixed'),
      fc.constantFrom('=', '<>', '<', '<=', '>', '>='),
      fc.oneof(fc.constantFrom(0, 8191, 8192, 40_000), fc.integer({ min: -1, max: length })),
    )
    .map(([name, op, value]) => `${name} ${op} ${value}`),
  fc.constantFrom('rising IS NULL', 'mixed > 40000', 'rising = mixed', 'rising IN (5, 39999)'),
)

test('the second filter skips stretches without matching rows, and finds the rows of the first', () => {
  const filter = fc.oneof(
    conditions,
    fc.tuple(conditions, fc.constantFrom('AND', 'OR'), conditions).map(parts => parts.join(' ')),
    conditions.map(condition => `NOT (${condition})`),
  )
  const step = fc.constantFrom(4096, 16_384, 65_536)
  fc.assert(
    fc.property(filter, step, (text, rowsAtOnce) => {
      const batch = rowsToBatch(rows, schema)
      const first = scanned(text, batch, rowsAtOnce)
      expect(first.looked).toBe(length)
      expect(scanned(text, batch, rowsAtOnce).passing).toEqual(first.passing)
    }),
    { numRuns: 25 },
  )
})

test('one value of a rising key is searched in one stretch', () => {
  const batch = rowsToBatch(rows, schema)
  scanned('rising = 20000', batch, 65_536)
  expect(scanned('rising = 20000', batch, 65_536)).toEqual({ passing: [20_000], looked: 8192 })
})

test('if stretches hardly differ their statistics are soon ignored', () => {
  const batch = rowsToBatch(rows.slice(10_000).concat(rows.slice(10_000, 20_000)), schema)
  for (let i = 0; i < 60; i++) scanned('mixed = 20000.5', batch, 65_536)
  expect(
    BlockZones.of(bindFilter('mixed = 1', schema), { ...batch, columns: [batch.columns[1]!] }, new Map()),
  ).toBeNull()
})

test('a filter that can fail evaluates every row each time', () => {
  const batch = rowsToBatch(rows, schema)
  const text = 'CASE WHEN CAST(rising / 0.5 AS int) = 1 THEN rising ELSE 0 END > 39000'
  const filter = bindFilter(text, schema)
  for (let time = 0; time < 4; time++) expect(BlockZones.of(filter, batch, new Map())).toBeNull()
})
