/** How many candidates are measured: as many as the order of their guessed distances needs. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lateRows, watchedRows } from '../../src/indexes/vector/saturation.js'
import { NearCandidates } from '../../src/query/near-candidates.js'

function measured(distances: readonly number[]): NearCandidates {
  const candidates = new NearCandidates(Uint32Array.from(distances.keys()))
  candidates.distances.set(distances)
  candidates.measured = distances.length
  return candidates
}

test('candidates in the order of their distances settle with the watched rows', () => {
  const candidates = measured(Array.from({ length: 100 }, (_, i) => i))
  expect(candidates.enoughAt(1, 1).rank).toBe(10)
  expect(candidates.enoughAt(30, 1).rank).toBe(30)
  expect(candidates.enoughFor(10, { factor: 2, more: 5 })).toBe(25)
})

test('of equal distances as many count as are watched', () => {
  expect(measured([1, 1, 1, 1, ...Array(20).fill(2)]).enoughAt(3, 1).rank).toBe(10)
  expect(measured([...Array(20).fill(2), 1, 2]).enoughAt(3, 1).rank).toBe(21)
})

test('copies of one row count as one watched point, up to a bound', () => {
  const copies = (each: number) => measured(Array.from({ length: 3000 }, (_, i) => Math.floor(i / each)))
  expect(copies(20).enoughAt(1, 10).rank).toBe(181)
  expect(copies(20).enoughAt(1, 1).rank).toBe(10)
  expect(copies(20).enoughAt(300, 10).rank).toBe(294)
  expect(copies(20).enoughFor(1, { factor: 2, more: 5 })).toBe(453)
  expect(copies(20).enoughFor(1, { factor: 1, more: 5 })).toBe(15)
  expect(copies(1500).enoughAt(1, 10).rank).toBe(1024)
})

test('all but a few of the watched rows are among the candidates when they settle', () => {
  const some = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(some, fc.integer({ min: 1, max: 200 }), (distances, k) => {
      const { rank: at } = measured(distances).enoughAt(k, 1)
      const watched = Math.min(distances.length, watchedRows(k))
      const farthest = distances.toSorted((a, b) => a - b)[watched - 1]!
      const found = distances.slice(0, at).filter(distance => distance <= farthest)
      expect(found.length).toBeGreaterThanOrEqual(watched - lateRows(watched))
      const nearer = distances.slice(at).filter(distance => distance < farthest)
      expect(nearer.length).toBeLessThanOrEqual(lateRows(watched))
      expect(distances[at - 1]).toBeLessThanOrEqual(farthest)
    }),
  )
})

test('candidates are measured in the order of their rows, and keep their ranks', () => {
  const candidates = new NearCandidates(Uint32Array.of(70, 5, 90, 1, 2))
  expect(candidates.next(3)).toEqual({ ranks: Uint32Array.of(1, 0, 2), ordinals: Uint32Array.of(5, 70, 90) })
  candidates.measured = 3
  expect(candidates.next(5)).toEqual({ ranks: Uint32Array.of(3, 4), ordinals: Uint32Array.of(1, 2) })
})
