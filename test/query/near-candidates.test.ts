/** How many candidates are measured: as many as the order of their guessed distances needs. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { enoughWork, lateRows, watchedRows } from '../../src/indexes/vector/saturation.js'
import { NearCandidates } from '../../src/query/near-candidates.js'

function measured(distances: readonly number[]): NearCandidates {
  const candidates = new NearCandidates(Uint32Array.from(distances.keys()))
  candidates.distances.set(distances)
  candidates.measured = distances.length
  return candidates
}

test('candidates in the order of their distances settle with the rows that are watched', () => {
  const candidates = measured(Array.from({ length: 100 }, (_, i) => i))
  expect(candidates.settledAt(1)).toBe(10)
  expect(candidates.settledAt(30)).toBe(30)
  expect(enoughWork({ factor: 2, more: 5 }, candidates.settledAt(10))).toBe(25)
})

test('equal distances count as far as they go', () => {
  expect(measured([1, 1, 1, 1, ...Array(20).fill(2)]).settledAt(3)).toBe(24)
})

test('all of the watched rows but a few lie where candidates settled', () => {
  const some = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(some, fc.integer({ min: 1, max: 200 }), (distances, k) => {
      const at = measured(distances).settledAt(k)
      const watched = Math.min(distances.length, watchedRows(k))
      const farthest = distances.toSorted((a, b) => a - b)[watched - 1]!
      const late = distances.slice(at).filter(distance => distance <= farthest)
      expect(late).toHaveLength(lateRows(watched))
      expect(distances[at - 1]).toBeLessThanOrEqual(farthest)
    }),
  )
})

test('candidates are measured in the order of their rows, and keep their ranks', () => {
  const candidates = new NearCandidates(Uint32Array.of(70, 5, 90, 1, 2))
  expect([...candidates.nextRanks(3)]).toEqual([1, 0, 2])
  candidates.measured = 3
  expect([...candidates.nextRanks(5)]).toEqual([3, 4])
})
