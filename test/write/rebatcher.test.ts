import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { batchBytes, columnBytes } from '../../src/arrow/layout.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { Schema } from '../../src/arrow/types.js'
import { batchToRows } from '../../src/arrow/values.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { Rebatcher } from '../../src/write/rebatcher.js'

const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
    { name: 's', type: { kind: 'utf8', large: false }, nullable: true },
    { name: 'b', type: { kind: 'binary', large: false }, nullable: true },
  ],
}
const limits = { column: 100 * 1024, batch: 150 * 1024 }

/** Widths of two columns of rows that follow each other. */
const run = fc.record({
  count: fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 5 })),
  s: fc.oneof(fc.constantFrom(0, 1, 40), fc.integer({ min: 0, max: 150_000 })),
  b: fc.oneof(fc.constantFrom(0, 1, 40), fc.integer({ min: 0, max: 1000 })),
})

function batchOf(runs: readonly { count: number; s: number; b: number }[]): Batch {
  const rows: Record<string, unknown>[] = []
  let bytes = 0
  for (const { count, s, b } of runs) {
    for (let i = 0; i < count && bytes < 800_000; i++) {
      rows.push({ id: rows.length, s: 'x'.repeat(s), b: i % 3 === 0 ? null : new Uint8Array(b) })
      bytes += s + b
    }
  }
  return rowsToBatch(rows, schema)
}

test('rebatching keeps all rows in order, with as many per batch as the limits of rows and bytes allow', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(run, { minLength: 1, maxLength: 3 }), { maxLength: 5 }),
      fc.integer({ min: 1, max: 4000 }),
      async (incoming, most) => {
        const batches = incoming.map(batchOf)
        const source = new Rebatcher(batches, new Pacer(undefined), limits)
        const taken: Batch[][] = []
        for (;;) {
          const some = await source.take(most)
          if (some.length === 0) break
          taken.push(some)
        }
        const rowsOf = (each: readonly Batch[]) =>
          each.flatMap(batch =>
            batchToRows(batch).map(row => [row.id, row.s, (row.b as Uint8Array | null)?.length]),
          )
        expect(rowsOf(taken.flat())).toEqual(rowsOf(batches))
        for (const [i, some] of taken.entries()) {
          const count = some.reduce((sum, { length }) => sum + length, 0)
          const columns = schema.fields.map((_, c) => some.map(batch => columnBytes(batch.columns[c]!)))
          const bytes = columns.map(own => own.reduce((sum, each) => sum + each, 0))
          const isWithin = (sizes: readonly number[]) =>
            sizes.every(size => size <= limits.column) && sizes.reduce((a, b) => a + b) <= limits.batch
          expect(count).toBeLessThanOrEqual(most)
          if (count > 1) expect(isWithin(bytes)).toBe(true)
          const next = taken[i + 1]
          if (count === most || next === undefined) continue
          // One row more would be too much; it may share the offsets and bitmap bytes of those before it.
          const more = sliceBatch(next[0]!, 0, 1).columns.map(columnBytes)
          expect(isWithin(bytes.map((size, c) => size + more[c]!))).toBe(false)
        }
      },
    ),
    { numRuns: 30 },
  )
})

test('inline rows are all rows or none', async () => {
  const batch = batchOf([{ count: 100, s: 40, b: 0 }])
  const bytes = batchBytes(batch)
  const all = new Rebatcher([batch], new Pacer(undefined), limits)
  expect(await all.drainUpTo(bytes)).toEqual([batch])
  const more = new Rebatcher([batch], new Pacer(undefined), limits)
  expect(await more.drainUpTo(bytes - 1)).toBe(null)
  expect(await more.take(1000)).toEqual([batch])
})
