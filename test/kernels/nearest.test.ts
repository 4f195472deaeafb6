import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Nearest } from '../../src/kernels/nearest.js'

test('the heap keeps the first k of the rows sorted by distance, then ordinal, in any order of arrival', () => {
  const rows = fc.uniqueArray(
    fc.record({
      distance: fc.constantFrom(-Infinity, -1.5, 0, 0.25, 3, Infinity),
      ordinal: fc.nat(2 ** 32 - 1),
    }),
    { selector: row => row.ordinal, maxLength: 60 },
  )
  fc.assert(
    fc.property(rows, fc.nat(70), (offered, k) => {
      const nearest = new Nearest(k)
      for (const { distance, ordinal } of offered) nearest.offer(distance, ordinal)
      const { distances, ordinals } = nearest.take()
      const sorted = [...offered].sort((a, b) =>
        a.distance === b.distance ? a.ordinal - b.ordinal : a.distance - b.distance,
      )
      expect([...ordinals]).toEqual(sorted.slice(0, k).map(row => row.ordinal))
      expect([...distances]).toEqual(sorted.slice(0, k).map(row => row.distance))
    }),
    { numRuns: 500 },
  )
})

test('the heap is empty after its rows were taken', () => {
  const nearest = new Nearest(2)
  nearest.offer(1, 1)
  nearest.take()
  nearest.offer(2, 2)
  expect([...nearest.take().ordinals]).toEqual([2])
})
