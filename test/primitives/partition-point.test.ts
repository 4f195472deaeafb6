import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionPoint } from '../../src/primitives/partition-point.js'

test('the partition point is where a linear search would stop', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 20 })),
      fc.integer({ min: -1, max: 21 }),
      (numbers, limit) => {
        const sorted = numbers.sort((a, b) => a - b)
        const walked = sorted.findIndex(n => n >= limit)
        expect(partitionPoint(sorted.length, i => sorted[i]! < limit)).toBe(
          walked < 0 ? sorted.length : walked,
        )
      },
    ),
  )
})

test('tests only a few of many', () => {
  let asked = 0
  expect(
    partitionPoint(1_000_000, i => {
      asked++
      return i < 777_777
    }),
  ).toBe(777_777)
  expect(asked).toBeLessThanOrEqual(21)
})
