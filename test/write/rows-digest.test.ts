import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Batch, Column } from '../../src/arrow/column.js'
import { concatBatches } from '../../src/arrow/concat.js'
import { nullColumn } from '../../src/arrow/fill.js'
import { Place } from '../../src/arrow/place.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { DataType, Field, Schema } from '../../src/arrow/types.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { castColumn } from '../../src/write/lossless-cast.js'
import { RowsDigest } from '../../src/write/rows-digest.js'
import { batches, contents } from '../support/arrow-generators.js'

async function digestOf(...some: readonly Batch[]): Promise<string> {
  const digest = new RowsDigest()
  for (const batch of some) await digest.add(batch, new Pacer())
  return digest.finish('')
}

const some = batches.filter(({ batches }) => batches.length > 0)

test('equal rows of any types have one digest, for any batches and any order of columns', async () => {
  await fc.assert(
    fc.asyncProperty(some, fc.array(fc.nat(20), { maxLength: 4 }), async ({ schema, batches }, cuts) => {
      const all = concatBatches(batches)
      const expected = await digestOf(all)
      expect(await digestOf(...batches)).toBe(expected)
      const places = [0, ...cuts.map(cut => cut % (all.length + 1)), all.length].sort((a, b) => a - b)
      const pieces = places.slice(1).map((end, i) => sliceBatch(all, places[i]!, end - places[i]!))
      expect(await digestOf(...pieces)).toBe(expected)
      const turned = { schema: { fields: [...schema.fields].reverse() }, columns: [...all.columns].reverse() }
      expect(await digestOf({ ...turned, length: all.length })).toBe(expected)
      const more: Field = { name: 'a name of its own', type: { kind: 'bool' }, nullable: true }
      const wider = { fields: [...schema.fields, more] }
      const columns = [...all.columns, nullColumn(more.type, all.length)]
      expect(await digestOf({ schema: wider, columns, length: all.length })).toBe(expected)
    }),
    { numRuns: 200 },
  )
})

test('different rows of any types have different digests', async () => {
  const pair = some.chain(a => fc.tuple(fc.constant(concatBatches(a.batches)), fc.array(fc.nat())))
  await fc.assert(
    fc.asyncProperty(pair, async ([all, picks]) => {
      const rows = picks.map(pick => pick % Math.max(1, all.length)).filter(row => row < all.length)
      const pieces = rows.map(row => sliceBatch(all, row, 1))
      const other = pieces.length === 0 ? sliceBatch(all, 0, 0) : concatBatches(pieces)
      const isSame = other.length === all.length && sameValues(contents(all), contents(other))
      expect((await digestOf(all)) === (await digestOf(other))).toBe(isSame)
    }),
    { numRuns: 200 },
  )
})

/** By the bits of floats: a NaN is itself, and 0 is not -0. */
function sameValues(a: unknown, b: unknown): boolean {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, each) =>
      typeof each === 'bigint'
        ? `${each}n`
        : typeof each === 'number'
          ? String(Object.is(each, -0) ? '-0' : each)
          : each,
    )
  return text(a) === text(b)
}

const text: DataType = { kind: 'utf8', large: false }
const one = (type: DataType): Schema => ({ fields: [{ name: 'c', type, nullable: true }] })
const fitted = (batch: Batch, type: DataType): Batch => {
  const column: Column = castColumn(batch.columns[0]!, { name: 'x', type, nullable: true }, Place.column('x'))
  return { schema: one(type), length: batch.length, columns: [column] }
}

test('texts in a dictionary have the digest of plain texts', async () => {
  const index = { kind: 'int', bits: 16, signed: true } as const
  const batch = rowsToBatch([{ c: 'a' }, { c: null }, { c: 'b' }, { c: 'a' }], one(text))
  const coded = fitted(batch, { kind: 'dictionary', index, value: text, ordered: false })
  expect(await digestOf(coded)).toBe(await digestOf(batch))
})

test.each([
  ['where a text ends', [{ c: 'ab' }, { c: 'c' }], [{ c: 'a' }, { c: 'bc' }]],
  ['where a null is', [{ c: null }, { c: '' }], [{ c: '' }, { c: null }]],
  ['a null for an empty text', [{ c: 'a' }, { c: '' }], [{ c: 'a' }, { c: null }]],
  ['a row of nulls more', [{ c: 'a' }], [{ c: 'a' }, { c: null }]],
])('%s tells rows apart', async (_, a, b) => {
  expect(await digestOf(rowsToBatch(a, one(text)))).not.toBe(await digestOf(rowsToBatch(b, one(text))))
})
