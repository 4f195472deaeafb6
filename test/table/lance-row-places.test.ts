/** Rows are found by their ids, compared with a map from ids to rows. */
import { expect, test } from 'vitest'
import type { Fragment, RowIds } from '../../src/manifest/layout.js'
import { runSequence } from '../../src/primitives/unordered-runs.js'
import { LanceRowPlaces, noRow } from '../../src/table/lance-row-places.js'
import { randomFrom } from '../support/clock.js'

function fragment(id: number, ids: RowIds, rows: number): Fragment {
  return { id, rows, ids, files: [], dead: { parts: [], count: 0 } }
}

function ofIds(id: number, ids: readonly number[]): Fragment {
  const sequence = runSequence(ids)
  const [least, greatest] = [Math.min(...ids), Math.max(...ids)]
  const known = { sequence, least, greatest }
  return fragment(id, sequence.isAscending ? known : { ...known, ascending: false }, ids.length)
}

test('addresses are found in their fragments', () => {
  const places = new LanceRowPlaces([
    fragment(3, { row0: 3 * 2 ** 32 }, 10),
    fragment(1, { row0: 2 ** 32 }, 5),
  ])
  expect(places.rows).toBe(15)
  expect(places.firsts).toEqual([0, 10])
  expect([3 * 2 ** 32, 3 * 2 ** 32 + 9, 2 ** 32, 2 ** 32 + 4].map(id => places.ordinalOf(id))).toEqual([
    0, 9, 10, 14,
  ])
  expect([0, 4, 2 ** 32 + 5, 3 * 2 ** 32 + 10, 2 ** 60].map(id => places.ordinalOf(id))).toEqual(
    [0, 4, 2 ** 32 + 5, 3 * 2 ** 32 + 10, 2 ** 60].map(() => noRow),
  )
})

test('of several rows with an id, the row of the fragment that was written last is found', () => {
  const next = randomFrom(3)
  const random = (below: number) => Math.floor(next() * below)
  for (let run = 0; run < 200; run++) {
    const fragments = Array.from({ length: 1 + random(5) }, (_, i) => {
      const ids = new Set(Array.from({ length: 1 + random(30) }, () => random(60)))
      const ordered = random(2) === 0 ? [...ids].sort((a, b) => a - b) : [...ids]
      return ofIds(10 - 2 * i + 5 * random(4), ordered)
    }).filter(({ id }, i, all) => all.findIndex(other => other.id === id) === i)
    const known = new Map<number, number>()
    const owner = new Map<number, number>()
    let first = 0
    for (const { id, ids, rows } of fragments) {
      for (let row = 0; row < rows; row++) {
        const rowId = (ids as { readonly sequence: { at(rank: number): number } }).sequence.at(row)
        if ((owner.get(rowId) ?? -1) > id) continue
        owner.set(rowId, id)
        known.set(rowId, first + row)
      }
      first += rows
    }
    const places = new LanceRowPlaces(fragments)
    for (let id = 0; id < 62; id++) expect(places.ordinalOf(id)).toBe(known.get(id) ?? noRow)
  }
})
