/** Rows for a change that lost the race for its slot: those of the newer version, without looking at what did not change. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Fragment } from '../../src/manifest/layout.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { sourceSchema } from '../../src/query/source.js'
import { bindFilter } from '../../src/sql/binding/bind.js'
import { TableReader } from '../../src/table/table-reader.js'
import { MatchedRows } from '../../src/write/matched-rows.js'
import { batchRows, openFragments } from '../support/fragments.js'

const rows = batchRows + 1000
const offset = fc.oneof(fc.nat(rows - 1), fc.constantFrom(0, batchRows - 1, batchRows, rows - 1))

test('matches on a newer version equal those of a first look, with the same arrays if no row was deleted', async () => {
  const died = fc.uniqueArray(offset, { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(died, died, fc.integer({ min: 2, max: 50_000 }), async (first, second, step) => {
      const later = second.filter(row => !first.includes(row))
      fc.pre(later.length > 0)
      const sorted = [first, later].map(list => list.sort((a, b) => a - b))
      const { source, layout } = await openFragments([rows, 20_000, 30_000], [sorted])
      const [fragment, other, added] = layout.fragments as [Fragment, Fragment, Fragment]
      const readerOf = (fragments: readonly Fragment[]) =>
        new TableReader(source, 'tables/t', { ...layout, fragments })
      const before = { parts: fragment.dead.parts.slice(0, 1), count: first.length }
      const filter = bindFilter(`id % ${step} = 0`, sourceSchema(layout.schema))
      const matched = new MatchedRows()
      const known = await matched.find(readerOf([{ ...fragment, dead: before }, other]), filter, new Pacer())
      const found = await matched.find(readerOf([fragment, other, added]), filter, new Pacer())
      const fresh = await new MatchedRows().find(readerOf([fragment, other, added]), filter, new Pacer())
      expect([...found]).toEqual([...fresh])
      expect(found.get(other)).toBe(known.get(other))
      const dead = new Set([...first, ...later])
      const expected = Array.from({ length: rows }, (_, row) => row).filter(
        row => row % step === 0 && !dead.has(row),
      )
      expect(Array.from(found.get(fragment) ?? [])).toEqual(expected)
    }),
    { numRuns: 12 },
  )
})
