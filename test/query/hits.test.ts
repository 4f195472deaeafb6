import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NumberRuns } from '../../src/primitives/number-runs.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { runTask } from '../../src/primitives/task.js'
import { mergeHits, Parts, type RankedHits, ranked } from '../../src/query/hits.js'
import type { Part } from '../../src/table/table-reader.js'

/** Three parts of which the last has the least ids. */
function parts(): Parts {
  const all = new Parts()
  for (const row0 of [2000, 1000, 0]) {
    all.add({ fragment: null!, batch: 0, first: 10, rows: 100 } as Part, NumberRuns.range(row0, 200))
  }
  return all
}

const distance = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, Infinity, -Infinity, 1e-45, -1e-45, 3.4028234663852886e38),
  fc.float({ noNaN: true }),
)
const hit = fc.record({ part: fc.nat(2), offset: fc.nat(99), distance })
const hits = fc.uniqueArray(hit, { maxLength: 60, selector: ({ part, offset }) => part * 100 + offset })

type Hit = { readonly part: number; readonly offset: number; readonly distance: number }

function listed(all: readonly Hit[]): RankedHits {
  return {
    partOf: Uint32Array.from(all, ({ part }) => part),
    offsets: Uint32Array.from(all, ({ offset }) => offset),
    distances: Float32Array.from(all, ({ distance }) => distance),
  }
}

/** By the rule, one pair after the other. */
function nearest(all: readonly Hit[], limit: number): RankedHits {
  const known = parts()
  const idOf = ({ part, offset }: Hit) => known.rowId(part, offset)
  const order = all.toSorted((a, b) =>
    a.distance === b.distance ? idOf(a) - idOf(b) : a.distance - b.distance,
  )
  return listed(order.slice(0, limit))
}

test('matches in any order are ranked by distance, equal ones by row id, for any distances', () => {
  fc.assert(
    fc.property(hits, fc.nat(70), (all, limit) => {
      expect(ranked(listed(all), limit, parts())).toStrictEqual(nearest(all, limit))
    }),
  )
})

test('more matches than are sorted at once are ranked alike', () => {
  const all = Array.from({ length: 250 }, (_, i) => ({
    part: i % 3,
    offset: Math.floor(i / 3),
    distance: i % 7,
  }))
  const many = [...Array(8).keys()].flatMap(by =>
    all.map(each => ({ ...each, distance: each.distance + 7 * by })),
  )
  expect(ranked(listed(many.toReversed()), 10, parts())).toStrictEqual(nearest(many, 10))
})

test('merging ranked lists gives the ranking of all their matches', () => {
  fc.assert(
    fc.property(hits, fc.nat(70), fc.nat(3), (all, limit, cut) => {
      const known = parts()
      const lists = [0, 1, 2, 3].map(list =>
        ranked(listed(all.filter((_, i) => i % (cut + 1) === list)), 60, known),
      )
      const { partOf, offsets, distances } = runTask(
        mergeHits(known, lists, limit, new Pacer()),
      ) as RankedHits
      expect(
        listed(Array.from(offsets, (offset, i) => ({ part: partOf[i]!, offset, distance: distances[i]! }))),
      ).toStrictEqual(nearest(all, limit))
    }),
  )
})
